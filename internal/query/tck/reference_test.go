package tck

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// The reference evaluator below matches patterns by trying everything, straight from openCypher's definition.

// refGraph is a small graph: vertices and edges are named by their places.
type refGraph struct {
	vertices []refVertex
	edges    []refEdge
}

type refVertex struct {
	labels string // a subset of "AB"
	x      any    // int or nil
}

type refEdge struct {
	src, dst int
	typ      string
	w        int
}

type (
	vertexRef int
	edgeRef   int
	row       map[string]any // vertexRef, edgeRef, []edgeRef or nil
)

type nodePattern struct {
	name  string // or ""
	label string // a subset of "AB"
	x     any    // int or nil
}

type relPattern struct {
	name     string
	types    []string
	dir      int // 1 to the right, -1 to the left, 0 both
	w        any
	varying  bool
	min, max int // max -1: no bound
}

type pathPattern struct {
	nodes []nodePattern
	rels  []relPattern
}

type matchClause struct {
	optional bool
	paths    []pathPattern
	where    []condition
}

// condition is a conjunct of WHERE: its text and its truth, where null counts as false.
type condition struct {
	text  string
	holds func(g *refGraph, r row) bool
}

func (p nodePattern) String() string {
	s := "(" + p.name
	for _, l := range p.label {
		s += ":" + string(l)
	}
	if p.x != nil {
		s += fmt.Sprintf(" {x: %d}", p.x)
	}
	return s + ")"
}

func (p relPattern) String() string {
	s := p.name
	if len(p.types) > 0 {
		s += ":" + strings.Join(p.types, "|")
	}
	if p.varying {
		s += fmt.Sprintf("*%d..", p.min)
		if p.max >= 0 {
			s += strconv.Itoa(p.max)
		}
	}
	if p.w != nil {
		s += fmt.Sprintf(" {w: %d}", p.w)
	}
	return []string{"<-[" + s + "]-", "-[" + s + "]-", "-[" + s + "]->"}[p.dir+1]
}

func (p pathPattern) String() string {
	s := p.nodes[0].String()
	for i, r := range p.rels {
		s += r.String() + p.nodes[i+1].String()
	}
	return s
}

func (c matchClause) String() string {
	s := "MATCH "
	if c.optional {
		s = "OPTIONAL MATCH "
	}
	for i, p := range c.paths {
		if i > 0 {
			s += ", "
		}
		s += p.String()
	}
	for i, w := range c.where {
		s += []string{" WHERE ", " AND "}[min(i, 1)] + w.text
	}
	return s
}

// create writes the statement that creates the graph.
func (g *refGraph) create() string {
	var parts []string
	for i, v := range g.vertices {
		s := fmt.Sprintf("(v%d", i)
		for _, l := range v.labels {
			s += ":" + string(l)
		}
		s += fmt.Sprintf(" {id: %d", i)
		if v.x != nil {
			s += fmt.Sprintf(", x: %d", v.x)
		}
		parts = append(parts, s+"})")
	}
	for i, e := range g.edges {
		parts = append(parts, fmt.Sprintf("(v%d)-[:%s {id: %d, w: %d}]->(v%d)", e.src, e.typ, i, e.w, e.dst))
	}
	return "CREATE " + strings.Join(parts, ", ")
}

// apply returns the rows after a clause.
func (c matchClause) apply(g *refGraph, rows []row) []row {
	var out []row
	for _, r := range rows {
		m := &refMatch{g: g, used: map[edgeRef]bool{}}
		m.paths(c.paths, r, func(found row) {
			for _, w := range c.where {
				if !w.holds(g, found) {
					return
				}
			}
			out = append(out, found)
			m.found = true
		})
		if c.optional && !m.found {
			nulls := clone(r)
			for _, name := range c.names() {
				if _, ok := nulls[name]; !ok {
					nulls[name] = nil
				}
			}
			out = append(out, nulls)
		}
	}
	return out
}

// names returns the variables of a clause.
func (c matchClause) names() []string {
	var out []string
	for _, p := range c.paths {
		for _, n := range p.nodes {
			out = append(out, n.name)
		}
		for _, r := range p.rels {
			out = append(out, r.name)
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	sort.Strings(out)
	return slices.Compact(out)
}

func clone(r row) row {
	out := row{}
	maps.Copy(out, r)
	return out
}

// refMatch looks for the matches of one clause and one row.
type refMatch struct {
	g     *refGraph
	used  map[edgeRef]bool
	found bool
}

func (m *refMatch) paths(paths []pathPattern, r row, yield func(row)) {
	if len(paths) == 0 {
		yield(r)
		return
	}
	p := paths[0]
	m.node(p.nodes[0], r, func(v vertexRef, r row) {
		m.rels(p, 0, v, r, func(r row) { m.paths(paths[1:], r, yield) })
	})
}

func (m *refMatch) node(p nodePattern, r row, yield func(vertexRef, row)) {
	for i := range m.g.vertices {
		m.nodeAt(p, vertexRef(i), r, yield)
	}
}

func (m *refMatch) nodeAt(p nodePattern, v vertexRef, r row, yield func(vertexRef, row)) {
	x := m.g.vertices[v]
	for _, l := range p.label {
		if !strings.ContainsRune(x.labels, l) {
			return
		}
	}
	if p.x != nil && p.x != x.x {
		return
	}
	if r, ok := bind(r, p.name, v); ok {
		yield(v, r)
	}
}

// bind returns a variable a value; false if it has another.
func bind(r row, name string, v any) (row, bool) {
	if name == "" {
		return r, true
	}
	if old, ok := r[name]; ok {
		return r, fmt.Sprint(old) == fmt.Sprint(v) && old != nil
	}
	r = clone(r)
	r[name] = v
	return r, true
}

func (m *refMatch) rels(p pathPattern, i int, at vertexRef, r row, yield func(row)) {
	if i == len(p.rels) {
		yield(r)
		return
	}
	rel := p.rels[i]
	arrive := func(v vertexRef, value any, r row) {
		if r, ok := bind(r, rel.name, value); ok {
			m.nodeAt(p.nodes[i+1], v, r, func(v vertexRef, r row) { m.rels(p, i+1, v, r, yield) })
		}
	}
	if !rel.varying {
		m.steps(rel, at, func(e edgeRef, v vertexRef) { arrive(v, e, r) })
		return
	}
	m.trails(rel, at, []edgeRef{}, func(es []edgeRef, v vertexRef) { arrive(v, slices.Clone(es), r) })
}

// steps calls yield for each edge that the pattern may go over, while it counts as used.
func (m *refMatch) steps(rel relPattern, at vertexRef, yield func(edgeRef, vertexRef)) {
	for i, e := range m.g.edges {
		ref := edgeRef(i)
		if m.used[ref] || len(rel.types) > 0 && !slices.Contains(rel.types, e.typ) || rel.w != nil && rel.w != e.w {
			continue
		}
		m.used[ref] = true
		if e.src == int(at) && rel.dir >= 0 {
			yield(ref, vertexRef(e.dst))
		}
		if e.dst == int(at) && (rel.dir < 0 || rel.dir == 0 && e.src != e.dst) {
			yield(ref, vertexRef(e.src))
		}
		delete(m.used, ref)
	}
}

func (m *refMatch) trails(rel relPattern, at vertexRef, so []edgeRef, yield func([]edgeRef, vertexRef)) {
	if len(so) >= rel.min && (rel.max < 0 || len(so) <= rel.max) {
		yield(so, at)
	}
	if rel.max >= 0 && len(so) >= rel.max {
		return
	}
	m.steps(rel, at, func(e edgeRef, v vertexRef) { m.trails(rel, v, append(so, e), yield) })
}
