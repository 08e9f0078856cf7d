package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Ends returns the columns of the source and the target of an edge with a direction.
func (e *PatEdge) Ends() (src, dst Col) {
	if e.Dir == graph.In {
		return e.Right, e.Left
	}
	return e.Left, e.Right
}

// Expansion returns where an edge is expanded from and to, and in which direction.
func (e *PatEdge) Expansion(left bool) (from, to Col, dir graph.Direction) {
	if left {
		return e.Left, e.Right, e.Dir
	}
	return e.Right, e.Left, e.Dir.Reverse()
}

// Binds returns the columns that matching an edge of a pattern binds apart from its ends.
func (e *PatEdge) Binds() []Col {
	cols := []Col{e.Col}
	if e.Walk != nil {
		cols = append(cols, e.Walk.Binds()...)
	}
	return cols
}

// Reads returns the columns that the conditions and the bounds of an edge of variable length read, apart from those that it binds.
func (e *PatEdge) Reads() ColSet {
	s := NewColSet()
	if e.Walk != nil {
		s.AddAll(e.Walk.Reads())
	}
	s.ReadsAll(e.Where)
	if e.Length != nil {
		s.ReadsAll([]Expr{e.Length.Min, e.Length.Max})
	}
	s.Remove(e.EdgeVar)
	return s
}

// OtherEnd returns the end of a test for an edge that is not vertex to, and the direction from there; 0 if to is not an end.
func (x *HasEdge) OtherEnd(to Col) (Col, graph.Direction) {
	a, okA := x.From.(*ColRef)
	b, okB := x.To.(*ColRef)
	switch {
	case !okA || !okB || a.Col == b.Col:
		return 0, 0
	case a.Col == to:
		return b.Col, x.Dir.Reverse()
	case b.Col == to:
		return a.Col, x.Dir
	}
	return 0, 0
}

// Binds reports whether an element of the pattern binds a column.
func (p *Pattern) Binds(c Col) bool {
	return slices.ContainsFunc(p.Vertices, func(v PatVertex) bool { return v.Col == c && !v.Bound }) ||
		slices.ContainsFunc(p.Edges, func(e PatEdge) bool { return e.Col == c && !e.Bound })
}

// OneBareEdge reports whether the pattern is ()-[:T]->().
func (p *Pattern) OneBareEdge() bool {
	return len(p.Edges) == 1 && len(p.Edges[0].Types) <= 1 && p.Edges[0].Dir != graph.Both && p.Edges[0].Length == nil && len(p.Preds) == 0 &&
		!slices.ContainsFunc(p.Vertices, func(v PatVertex) bool { return v.Bound || v.Labels != nil })
}

// Clone copies a pattern, but not its expressions.
func (p *Pattern) Clone() *Pattern {
	return &Pattern{
		Vertices: slices.Clone(p.Vertices), Edges: slices.Clone(p.Edges), Paths: slices.Clone(p.Paths), Preds: slices.Clone(p.Preds),
	}
}

// MergeVertices replaces vertex y by vertex x.
func (p *Pattern) MergeVertices(x, y Col) {
	at := slices.IndexFunc(p.Vertices, func(v PatVertex) bool { return v.Col == y })
	labels := p.Vertices[at].Labels
	p.Vertices = slices.Delete(p.Vertices, at, at+1)
	for i := range p.Vertices {
		if v := &p.Vertices[i]; v.Col == x {
			v.Labels = AndLabels(v.Labels, labels)
		}
	}
	for i := range p.Edges {
		if e := &p.Edges[i]; e.Left == y {
			e.Left = x
		}
		if e := &p.Edges[i]; e.Right == y {
			e.Right = x
		}
	}
}

// Branch returns p with a condition instead of its predicate i, for the rows that those before do not satisfy.
func (p *Pattern) Branch(i int, cond Expr, before []Expr) *Pattern {
	b := *p
	b.Preds = append(slices.Delete(slices.Clone(p.Preds), i, i+1), Conjuncts(cond)...)
	for _, e := range before {
		known := &Call{Func: "coalesce", Args: []Expr{e, &Const{Value: graph.BoolValue(false)}}}
		b.Preds = append(b.Preds, &Op{Op: Not, Args: []Expr{known}})
	}
	return &b
}

// Columns returns the columns of a pattern that others may read.
func (p *Pattern) Columns() (cols []Col) {
	for _, v := range p.Vertices {
		cols = append(cols, v.Col)
	}
	for _, e := range p.Edges {
		if e.Named {
			cols = append(cols, e.Col)
		}
	}
	for _, path := range p.Paths {
		cols = append(cols, path.Col)
	}
	return cols
}

// Edge returns the index of an edge.
func (p *Pattern) Edge(c Col) int {
	return slices.IndexFunc(p.Edges, func(e PatEdge) bool { return e.Col == c })
}

// MergeEdges makes edge b of the pattern the same edge as a. It fails if the result is not one pattern: two edges without
// direction that share no vertex coincide in two ways.
func (p *Pattern) MergeEdges(a, b Col) bool {
	i, j := p.Edge(a), p.Edge(b)
	ea, eb := p.Edges[i], p.Edges[j]
	var pairs [][2]Col // vertices that coincide
	if ea.Dir != graph.Both && eb.Dir != graph.Both {
		as, at := ea.Ends()
		bs, bt := eb.Ends()
		pairs = [][2]Col{{as, bs}, {at, bt}}
	} else {
		switch { // a self-loop has one row, so a common end decides the direction of the other edge
		case ea.Left == eb.Left:
			pairs = [][2]Col{{ea.Right, eb.Right}}
		case ea.Left == eb.Right:
			pairs = [][2]Col{{ea.Right, eb.Left}}
		case ea.Right == eb.Left:
			pairs = [][2]Col{{ea.Left, eb.Right}}
		case ea.Right == eb.Right:
			pairs = [][2]Col{{ea.Left, eb.Left}}
		default:
			return false
		}
		if ea.Dir == graph.Both {
			// The direction is b's, which may be written from the other end.
			ea.Dir = eb.Dir
			if ea.Left == eb.Right || ea.Right == eb.Left {
				ea.Dir = eb.Dir.Reverse()
			}
		}
	}
	switch {
	case len(ea.Types) == 0:
		ea.Types = eb.Types
	case len(eb.Types) > 0:
		ea.Types = slices.DeleteFunc(slices.Clone(ea.Types), func(t string) bool { return !slices.Contains(eb.Types, t) })
	}
	p.Edges[i] = ea
	p.Edges = slices.Delete(p.Edges, j, j+1)
	as := map[Col]Col{b: a}
	for len(pairs) > 0 {
		x, y := pairs[0][0], pairs[0][1]
		if pairs = pairs[1:]; x == y {
			continue
		}
		p.MergeVertices(x, y)
		for k := range pairs {
			for l := range pairs[k] {
				if pairs[k][l] == y {
					pairs[k][l] = x
				}
			}
		}
		for from, to := range as {
			if to == y {
				as[from] = x
			}
		}
		as[y] = x
	}
	p.Preds = slices.Clone(p.Preds)
	for k, e := range p.Preds {
		var ok bool
		if p.Preds[k], ok = renamed(e, as); !ok {
			return false
		}
	}
	return true
}

// OfHop reports whether conditions can belong to a Hop: they read only its edge and the vertex that it leads to, either of
// which may be 0, run no subplan, and are deterministic.
func OfHop(preds []Expr, edge, to Col) bool {
	for _, e := range preds {
		if HasSubquery(e) || Random(e) {
			return false
		}
		for c := range Reads(e).All() {
			if c != edge && c != to {
				return false
			}
		}
	}
	return true
}
