package tck

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

var matches = flag.Int("matches", 400, "random statements of TestMatchesOfPatterns")

// rules are the optimizer's rules that must not change an answer.
var rules = []string{"EdgeExists", "MergeMatches", "FilterIntoMatch", "CountPushdown", "TopK", "CountStore", "FrontierCount"}

// TestMatchesOfPatterns compares random MATCH statements with the reference evaluator.
func TestMatchesOfPatterns(t *testing.T) {
	for seed := range *matches {
		g := &patternGenerator{r: rand.New(rand.NewPCG(uint64(seed), 11))}
		g.makeGraph()
		text, want := g.statement()
		if len(want) > 1<<16 {
			continue
		}
		for _, s := range []setting{{shards: 1}, {shards: 3, batch: 2, disable: rules}} {
			e := newEngine(s, nil)
			if _, err := e.run(g.graph.create(), nil); err != nil {
				t.Fatal(err)
			}
			got := ""
			if a, err := e.run(text, nil); err != nil {
				got = describe(err)
			} else {
				got = sortedRows(a)
			}
			if got != want {
				t.Errorf("seed %d, %d shards\n%s\n%s\nwant %s\ngot  %s", seed, s.shards, g.graph.create(), text, want, got)
				break
			}
		}
	}
}

// patternGenerator generates random graphs and MATCH statements.
type patternGenerator struct {
	r     *rand.Rand
	graph refGraph
	kinds map[string]string // of a variable: vertex, edge or list
	names int
}

func (g *patternGenerator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *patternGenerator) makeGraph() {
	g.kinds = map[string]string{}
	n := 1 + g.r.IntN(5)
	for range n {
		v := refVertex{labels: []string{"", "A", "B", "AB", "AB"}[g.r.IntN(5)]}
		if g.chance(80) {
			v.x = g.r.IntN(3)
		}
		g.graph.vertices = append(g.graph.vertices, v)
	}
	for range 2 + g.r.IntN(6) {
		g.graph.edges = append(g.graph.edges, refEdge{g.r.IntN(n), g.r.IntN(n), []string{"T", "U"}[g.r.IntN(2)], g.r.IntN(2)})
	}
}

// variable returns a known variable of a kind, a new one, or none.
func (g *patternGenerator) variable(kind string, known int, taken map[string]bool) string {
	if g.chance(known) {
		var of []string
		for name, k := range g.kinds {
			if k == kind && !taken[name] {
				of = append(of, name)
			}
		}
		if len(of) > 0 {
			sort.Strings(of)
			return of[g.r.IntN(len(of))]
		}
	}
	if g.chance(25) {
		return ""
	}
	g.names++
	return fmt.Sprint(kind[:1], g.names)
}

func (g *patternGenerator) path(taken map[string]bool, fresh map[string]string) pathPattern {
	var p pathPattern
	node := func() {
		n := nodePattern{name: g.variable("vertex", 35, nil)}
		if n.name == "" && g.chance(30) { // one of this clause
			var of []string
			for name, k := range fresh {
				if k == "vertex" {
					of = append(of, name)
				}
			}
			if sort.Strings(of); len(of) > 0 {
				n.name = of[g.r.IntN(len(of))]
			}
		}
		if g.kinds[n.name] == "" && n.name != "" {
			fresh[n.name] = "vertex"
		}
		if g.chance(15) {
			n.label = []string{"A", "B", "AB"}[g.r.IntN(3)]
		}
		if g.chance(6) {
			n.x = g.r.IntN(3)
		}
		p.nodes = append(p.nodes, n)
	}
	node()
	varying := false
	for range g.r.IntN(7) / 2 {
		r := relPattern{dir: []int{0, 0, 1, 1, -1}[g.r.IntN(5)], varying: !varying && g.chance(30)}
		varying = varying || r.varying
		kind := "edge"
		if r.varying {
			kind = "list"
			r.min, r.max = g.r.IntN(3), -1
			if g.chance(80) {
				r.max = r.min + g.r.IntN(3)
			}
		}
		r.name = g.variable(kind, 12, taken)
		if r.name != "" {
			taken[r.name] = true
			if g.kinds[r.name] == "" {
				fresh[r.name] = kind
			}
		}
		r.types = [][]string{nil, nil, nil, {"T"}, {"U"}, {"T", "U"}}[g.r.IntN(6)]
		if g.chance(8) {
			r.w = g.r.IntN(2)
		}
		p.rels = append(p.rels, r)
		node()
	}
	return p
}

func (g *patternGenerator) clause() matchClause {
	c := matchClause{optional: g.chance(25)}
	taken, fresh := map[string]bool{}, map[string]string{}
	for range 1 + g.r.IntN(8)/6 {
		c.paths = append(c.paths, g.path(taken, fresh))
	}
	maps.Copy(g.kinds, fresh)
	for range g.r.IntN(6) / 4 {
		if w, ok := g.condition(); ok {
			c.where = append(c.where, w)
		}
	}
	return c
}

func (g *patternGenerator) known(kind string) string {
	var of []string
	for name, k := range g.kinds {
		if k == kind {
			of = append(of, name)
		}
	}
	if len(of) == 0 {
		return ""
	}
	sort.Strings(of)
	return of[g.r.IntN(len(of))]
}

func (g *patternGenerator) condition() (condition, bool) {
	a, b, e := g.known("vertex"), g.known("vertex"), g.known("edge")
	if a == "" {
		return condition{}, false
	}
	x := func(gr *refGraph, r row, name string) any {
		if v, ok := r[name].(vertexRef); ok {
			return gr.vertices[v].x
		}
		return nil
	}
	k := g.r.IntN(3)
	switch g.r.IntN(10) {
	case 8, 9:
		p := pathPattern{
			nodes: []nodePattern{{name: a}, {name: b}},
			rels:  []relPattern{{types: [][]string{nil, {"T"}, {"U"}}[g.r.IntN(3)], dir: g.r.IntN(3) - 1}},
		}
		not := g.chance(70)
		text := p.String()
		if not {
			text = "NOT " + text
		}
		return condition{text, func(gr *refGraph, r row) bool {
			return (len(matchClause{paths: []pathPattern{p}}.apply(gr, []row{r})) > 0) != not
		}}, true
	case 0:
		return condition{fmt.Sprintf("%s.x = %s.x", a, b), func(gr *refGraph, r row) bool {
			p, q := x(gr, r, a), x(gr, r, b)
			return p != nil && q != nil && p == q
		}}, true
	case 1:
		return condition{fmt.Sprintf("%s.x > %d", a, k), func(gr *refGraph, r row) bool {
			p, ok := x(gr, r, a).(int)
			return ok && p > k
		}}, true
	case 2:
		return condition{fmt.Sprintf("NOT %s:A", a), func(gr *refGraph, r row) bool {
			v, ok := r[a].(vertexRef)
			return ok && !strings.Contains(gr.vertices[v].labels, "A")
		}}, true
	case 3, 7:
		return condition{fmt.Sprintf("%s <> %s", a, b), func(_ *refGraph, r row) bool {
			return r[a] != nil && r[b] != nil && r[a] != r[b]
		}}, true
	case 4:
		return condition{a + ".x IS NULL", func(gr *refGraph, r row) bool { return x(gr, r, a) == nil }}, true
	case 5:
		p := pathPattern{nodes: []nodePattern{{name: a}, {label: "B"}}, rels: []relPattern{{types: []string{"T"}, dir: 1}}}
		not := g.chance(50)
		text := p.String()
		if not {
			text = "NOT " + text
		}
		return condition{text, func(gr *refGraph, r row) bool {
			return (len(matchClause{paths: []pathPattern{p}}.apply(gr, []row{r})) > 0) != not
		}}, true
	}
	if e == "" {
		return condition{}, false
	}
	return condition{fmt.Sprintf("%s.w = %d", e, k%2), func(gr *refGraph, r row) bool {
		v, ok := r[e].(edgeRef)
		return ok && gr.edges[v].w == k%2
	}}, true
}

// statement writes a statement and its expected answer.
func (g *patternGenerator) statement() (text, answer string) {
	rows := []row{{}}
	for range 1 + g.r.IntN(3) {
		c := g.clause()
		text += c.String() + "\n"
		if rows = c.apply(&g.graph, rows); len(rows) > 50 {
			break
		}
	}
	var names []string
	for name := range g.kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	var lines []string
	v := g.known("vertex")
	switch k := g.r.IntN(8); {
	case k == 0, k > 5:
		return text + "RETURN count(*)", show([]any{int64(len(rows))})
	case k == 1 && v != "", k == 2 && v != "":
		seen := map[string]bool{}
		for _, r := range rows {
			if r[v] != nil {
				seen[fmt.Sprint(r[v])] = true
			}
		}
		if k == 1 {
			return text + "RETURN count(DISTINCT " + v + ")", show([]any{int64(len(seen))})
		}
		for x := range seen {
			lines = append(lines, "["+x+"]")
		}
		text += "WITH DISTINCT " + v + " WHERE " + v + " IS NOT NULL RETURN " + v + ".id"
	default:
		var items []string
		for _, n := range names {
			if g.kinds[n] == "list" {
				items = append(items, "[x IN "+n+" | x.id]")
			} else {
				items = append(items, n+".id")
			}
		}
		if len(items) == 0 {
			items = append(items, "1")
		}
		text += "RETURN " + strings.Join(items, ", ")
		for _, r := range rows {
			var cells []any
			for _, n := range names {
				cells = append(cells, cell(r[n], g.kinds[n]))
			}
			if len(cells) == 0 {
				cells = append(cells, int64(1))
			}
			lines = append(lines, show(cells))
		}
	}
	sort.Strings(lines)
	return text, strings.Join(lines, " ")
}

func cell(v any, kind string) any {
	switch v := v.(type) {
	case vertexRef:
		return int64(v)
	case edgeRef:
		return int64(v)
	case []edgeRef:
		out := []any{}
		for _, e := range v {
			out = append(out, int64(e))
		}
		return out
	}
	return nil
}
