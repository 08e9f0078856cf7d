package tck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// refPart is a part of a path: hops that are walked once or from min to max times (max -1: no bound). With rising, x rises
// from the first vertex of each repetition to the last, and with mark, w of its edges is 1.
type refPart struct {
	hops         []relPattern
	repeat       bool
	min, max     int
	rising, mark bool
}

// refWalk is a path pattern of parts, with a selector.
type refWalk struct {
	selector string // "", SHORTEST k, ANY k, ALL SHORTEST or SHORTEST k GROUPS
	k        int
	parts    []refPart
	middle   string // the label of the vertices between the parts
	longer   int    // the condition on all paths: more edges than this
}

func (p *refPart) text(i int) string {
	if !p.repeat {
		return strings.TrimSuffix(strings.TrimPrefix(pathPattern{nodes: []nodePattern{{}, {}}, rels: p.hops}.String(), "()"), "()")
	}
	s := fmt.Sprintf("((x%d)", i)
	for j, h := range p.hops {
		h.name = fmt.Sprintf("r%d_%d", i, j)
		to := nodePattern{}
		if j == len(p.hops)-1 {
			to.name = fmt.Sprintf("y%d", i)
		}
		hop := pathPattern{nodes: []nodePattern{{}, to}, rels: []relPattern{h}}
		s += strings.TrimPrefix(hop.String(), "()")
	}
	var where []string
	if p.rising {
		where = append(where, fmt.Sprintf("x%d.x < y%d.x", i, i))
	}
	if p.mark {
		where = append(where, fmt.Sprintf("r%d_0.w = 1", i))
	}
	if len(where) > 0 {
		s += " WHERE " + strings.Join(where, " AND ")
	}
	most := ""
	if p.max >= 0 {
		most = strconv.Itoa(p.max)
	}
	return fmt.Sprintf("%s){%d,%s}", s, p.min, most)
}

func (w *refWalk) String() string {
	path := "(a)"
	for i := range w.parts {
		if i > 0 {
			path += "(:" + w.middle + ")"
		}
		path += w.parts[i].text(i)
	}
	path += "(b)"
	if w.longer > 0 {
		path = fmt.Sprintf("(%s WHERE size(r0_0) > %d)", path, w.longer)
	}
	return "MATCH p = " + strings.TrimSpace(w.selector+" "+path)
}

// refPath is a trail with the number of repetitions of the first part.
type refPath struct {
	from, to, rounds int
	edges            []int
}

// all returns every trail that matches.
func (w *refWalk) all(g *refGraph) []refPath {
	var out []refPath
	for v := range g.vertices {
		m := &refMatch{g: g, used: map[edgeRef]bool{}}
		p := refPath{from: v}
		w.walk(m, 0, 0, v, &p, func(end int) {
			if w.longer == 0 || p.rounds > w.longer {
				out = append(out, refPath{p.from, end, p.rounds, slices.Clone(p.edges)})
			}
		})
	}
	return out
}

// walk continues from a vertex after a number of rounds of a part.
func (w *refWalk) walk(m *refMatch, part, round, at int, p *refPath, yield func(end int)) {
	if part == len(w.parts) {
		yield(at)
		return
	}
	x := &w.parts[part]
	if round >= x.min && (part == len(w.parts)-1 || strings.Contains(m.g.vertices[at].labels, w.middle)) {
		w.walk(m, part+1, 0, at, p, yield)
	}
	if x.max >= 0 && round >= x.max {
		return
	}
	first := len(p.edges)
	var hop func(i, v int)
	hop = func(i, v int) {
		if i < len(x.hops) {
			m.steps(x.hops[i], vertexRef(v), func(e edgeRef, to vertexRef) {
				p.edges = append(p.edges, int(e))
				hop(i+1, int(to))
				p.edges = p.edges[:len(p.edges)-1]
			})
			return
		}
		lo, okLo := m.g.vertices[at].x.(int)
		hi, okHi := m.g.vertices[v].x.(int)
		if x.rising && (!okLo || !okHi || lo >= hi) || x.mark && m.g.edges[p.edges[first]].w != 1 {
			return
		}
		if part == 0 {
			p.rounds++
		}
		w.walk(m, part, round+1, v, p, yield)
		if part == 0 {
			p.rounds--
		}
	}
	hop(0, at)
}

// wanted returns, for each pair of ends, the lengths of the requested paths; if the selector determines the paths, the paths.
func (w *refWalk) wanted(g *refGraph) []string {
	pairs := map[[2]int][]refPath{}
	for _, p := range w.all(g) {
		k := [2]int{p.from, p.to}
		pairs[k] = append(pairs[k], p)
	}
	var out []string
	for _, paths := range pairs {
		slices.SortStableFunc(paths, func(a, b refPath) int { return len(a.edges) - len(b.edges) })
		groups := 0
		for i, p := range paths {
			if i == 0 || len(p.edges) != len(paths[i-1].edges) {
				groups++
			}
			if w.selector != "" && (w.open() && i >= w.k || !w.open() && groups > w.k) {
				break
			}
			out = append(out, w.show(p.from, p.to, p.edges))
		}
	}
	sort.Strings(out)
	return out
}

// open reports whether the selector may choose among several paths.
func (w *refWalk) open() bool {
	return w.selector != "" && !strings.HasSuffix(w.selector, "GROUPS") && !strings.HasPrefix(w.selector, "ALL")
}

func (w *refWalk) show(from, to int, edges []int) string {
	if w.open() {
		return fmt.Sprintf("%d %d: %d", from, to, len(edges))
	}
	return fmt.Sprintf("%d %d: %v", from, to, edges)
}

func (g *patternGenerator) walk() *refWalk {
	w := &refWalk{k: 1 + g.r.IntN(3), middle: "A"}
	switch g.r.IntN(5) {
	case 0:
		w.selector = fmt.Sprintf("SHORTEST %d", w.k)
	case 1:
		w.selector = fmt.Sprintf("SHORTEST %d GROUPS", w.k)
	case 2:
		w.selector, w.k = "ALL SHORTEST", 1
	case 3:
		w.selector = fmt.Sprintf("ANY %d", w.k)
	}
	for range 1 + g.r.IntN(3) {
		p := refPart{repeat: true, min: g.r.IntN(3), max: -1, rising: g.chance(15), mark: g.chance(15)}
		if w.selector != "" && g.chance(30) {
			p = refPart{min: 1, max: 1}
		} else if g.chance(60) {
			p.max = max(1, p.min+g.r.IntN(3))
		}
		for range 1 + g.r.IntN(4)/2 {
			p.hops = append(p.hops, relPattern{dir: []int{0, 1, 1, -1}[g.r.IntN(4)], types: [][]string{nil, nil, {"T"}, {"U"}}[g.r.IntN(4)]})
			if !p.repeat {
				break
			}
		}
		w.parts = append(w.parts, p)
	}
	if w.selector != "" && w.parts[0].repeat && g.chance(20) {
		w.longer = 1 + g.r.IntN(2)
	}
	return w
}

// TestWalks compares quantified paths and path selectors with trying everything.
func TestWalks(t *testing.T) {
	for seed := range *matches {
		g := &patternGenerator{r: rand.New(rand.NewPCG(uint64(seed), 12))}
		g.makeGraph()
		w := g.walk()
		want := w.wanted(&g.graph)
		ends := []string{"", " MATCH (a), (b)", " MATCH (b)"}[g.r.IntN(3)]
		text := ends + " " + w.String() + " RETURN a.id, b.id, [r IN relationships(p) | r.id], [n IN nodes(p) | n.id]"
		for _, s := range []setting{{shards: 1}, {shards: 3, batch: 2, disable: rules}} {
			e := newEngine(s, nil)
			if _, err := e.run(g.graph.create(), nil); err != nil {
				t.Fatal(err)
			}
			a, err := e.run(text, nil)
			if err != nil {
				t.Fatalf("seed %d: %s\n%s", seed, text, describe(err))
			}
			var got []string
			for _, row := range a.rows {
				var edges []int
				for _, x := range row[2].([]any) {
					edges = append(edges, int(x.(int64)))
				}
				if len(row[3].([]any)) != len(edges)+1 || hasTwice(edges) {
					t.Errorf("seed %d: no trail: %v", seed, row)
				}
				got = append(got, w.show(int(row[0].(int64)), int(row[1].(int64)), edges))
			}
			sort.Strings(got)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %d shards\n%s\n%s\nwant %q\ngot  %q", seed, s.shards, g.graph.create(), text, want, got)
			}
		}
	}
}

func hasTwice(s []int) bool {
	s = slices.Clone(s)
	slices.Sort(s)
	return len(slices.Compact(slices.Clone(s))) != len(s)
}
