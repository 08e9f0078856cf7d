package plan

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Select says which of the paths between two vertices FindPaths returns.
type Select uint8

// The selections.
const (
	SelectAll    Select = iota // every trail
	SelectPaths                // Count of the shortest ones
	SelectGroups               // all of the Count smallest lengths
)

// Walk is a path pattern as an automaton: a sequence of parts, each once or repeated, and vertices between them.
//
//	Parts[0] Nodes[0] Parts[1] Nodes[1] … Parts[n-1]
type Walk struct {
	Parts []WalkPart
	Nodes []WalkNode // one fewer than Parts
	// Select and Count choose among the paths with the same ends that satisfy everything in the Walk; a nil Count is 1.
	Select Select
	Count  Expr
	// Where are conditions on the whole path. They may be about all columns that the Walk binds, and its ends.
	Where []Expr
}

// WalkPart is a sequence of edges that occurs once or Min to Max times (Max nil: no bound). Edges holds the list of all edges
// of the part; without Repeat, it is the only hop's Edge. Nodes and the hops' Edges are the entities of one repetition, for the
// conditions Where on each repetition; rows do not have these columns.
type WalkPart struct {
	Repeat   bool
	Min, Max Expr
	Edges    Col
	Nodes    []Col // one more than Hops
	Hops     []WalkHop
	Where    []Expr
}

// WalkHop is one edge of a part. Dir is Out if it leads from left to right.
type WalkHop struct {
	Edge  Col
	Types []string
	Dir   graph.Direction
}

// WalkNode is a vertex between two parts, with conditions on it.
type WalkNode struct {
	Col   Col
	Where []Expr
}

// FindPaths joins each row with the paths of a Walk from From: Edges (or 0) is the list of all edges, To the end; it also binds the
// columns of the Walk's parts and nodes. No path repeats an edge, or contains one of DistinctFrom. With Into, To is already bound.
// Reversed says that From is the right end; the lists always run from left to right.
type FindPaths struct {
	Input           Node
	From, Edges, To Col
	Walk            *Walk
	Into            bool
	DistinctFrom    []Col
	Reversed        bool
}

func (n *FindPaths) inputs(f func(*Node)) { f(&n.Input) }

func (n *FindPaths) exprs(f exprVisitor) { n.Walk.exprs(f.one, f.all) }

func (n *FindPaths) describe(f *formatter) (name, args string) {
	return "FindPaths", f.findPaths(n)
}

func (*FindPaths) rows(_ *Estimator, in float64) float64 {
	return in * guessElems
}

// Binds returns the columns that a walk binds apart from its ends and the list of all edges.
func (w *Walk) Binds() []Col {
	var cols []Col
	for i := range w.Parts {
		cols = append(cols, w.Parts[i].Edges)
	}
	for i := range w.Nodes {
		cols = append(cols, w.Nodes[i].Col)
	}
	return cols
}

// Locals returns the columns for the entities of one repetition of a part.
func (p *WalkPart) Locals() []Col {
	cols := slices.Clone(p.Nodes)
	for _, h := range p.Hops {
		cols = append(cols, h.Edge)
	}
	return cols
}

// exprs calls f with each expression of a walk.
func (w *Walk) exprs(one func(*Expr), all func([]Expr)) {
	one(&w.Count)
	all(w.Where)
	for i := range w.Parts {
		p := &w.Parts[i]
		one(&p.Min)
		one(&p.Max)
		all(p.Where)
	}
	for i := range w.Nodes {
		all(w.Nodes[i].Where)
	}
}

// Reads returns the columns that a walk reads from its row, including its ends if conditions read them.
func (w *Walk) Reads() ColSet {
	s := NewColSet()
	read := func(e *Expr) {
		if *e != nil {
			s.Reads(*e)
		}
	}
	w.exprs(read, func(es []Expr) {
		for i := range es {
			read(&es[i])
		}
	})
	for _, c := range w.Binds() {
		s.Remove(c)
	}
	for i := range w.Parts {
		for _, c := range w.Parts[i].Locals() {
			s.Remove(c)
		}
	}
	return s
}

// walk returns a walk's pattern between its ends, with its conditions.
func (f *formatter) walk(w *Walk) string {
	var s strings.Builder
	where := slices.Clone(w.Where)
	for i := range w.Parts {
		p := &w.Parts[i]
		if p.Repeat {
			s.WriteString("(")
		}
		for j, h := range p.Hops {
			if p.Repeat {
				s.WriteString(f.vertex(p.Nodes[j], nil))
			}
			s.WriteString(f.edge(h.Edge, h.Types, "", h.Dir))
		}
		if p.Repeat {
			s.WriteString(f.vertex(p.Nodes[len(p.Hops)], nil))
			if len(p.Where) > 0 {
				s.WriteString(" WHERE " + f.exprs(p.Where, " AND "))
			}
			s.WriteString("){" + f.optional(p.Min) + "," + f.optional(p.Max) + "}")
		} else {
			where = append(where, p.Where...)
		}
		if i < len(w.Nodes) {
			s.WriteString(f.vertex(w.Nodes[i].Col, nil))
			where = append(where, w.Nodes[i].Where...)
		}
	}
	if len(where) > 0 {
		s.WriteString(" WHERE " + f.exprs(where, " AND "))
	}
	return s.String()
}

func (f *formatter) optional(e Expr) string {
	if e == nil {
		return ""
	}
	return f.expr(e)
}

// selector returns the selector of the paths.
func (f *formatter) selector(w *Walk) string {
	k := "1"
	if w.Count != nil {
		k = f.expr(w.Count)
	}
	switch w.Select {
	case SelectPaths:
		return "SHORTEST " + k
	case SelectGroups:
		return "SHORTEST " + k + " GROUPS"
	}
	return "ALL"
}

func (f *formatter) findPaths(n *FindPaths) string {
	s := f.selector(n.Walk) + " (" + f.col(n.From) + ") [" + f.walk(n.Walk) + "] " + f.vertex(n.To, nil)
	if n.Reversed {
		s += " FROM RIGHT"
	}
	return s + f.extra(nil, n.DistinctFrom)
}
