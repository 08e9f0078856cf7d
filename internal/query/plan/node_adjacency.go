package plan

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Expand joins each row with the edges of vertex From. With Into, To is already bound and only edges to it match. Edge may be
// 0. Edges in columns of DistinctFrom (an edge or a list of edges) are excluded. Where holds the predicates that read only Edge
// and To. Rows whose From is null are dropped.
type Expand struct {
	Input          Node
	From, Edge, To Col
	Types          []string
	Dir            graph.Direction
	Labels         *LabelExpr // of To
	Into           bool
	DistinctFrom   []Col
	Where          []Expr
}

func (n *Expand) inputs(f func(*Node)) { f(&n.Input) }

func (n *Expand) exprs(f exprVisitor) { f.all(n.Where) }

func (n *Expand) describe(f *formatter) (name, args string) {
	name = "ExpandAll"
	if n.Into {
		name = "ExpandInto"
	}
	return name, "(" + f.col(n.From) + ")" + f.edge(n.Edge, n.Types, "", n.Dir) + f.vertex(n.To, n.Labels) + f.extra(n.Where, n.DistinctFrom)
}

func (n *Expand) rows(e *Estimator, in float64) float64 {
	o := e.o
	rows := in * o.Fanout(n.Types, n.Dir, e.Labels[n.From], n.Labels) * e.selectivity(n.Where)
	if n.Into {
		return rows / max(1, o.Vertices(e.Labels[n.To]))
	}
	e.Labels[n.To] = n.Labels
	return rows
}

// Intersect joins each row with the vertices to which edges of both Legs lead, once for each pair of such edges.
type Intersect struct {
	Input  Node
	To     Col
	Labels *LabelExpr // of To
	Legs   []Leg
}

func (n *Intersect) inputs(f func(*Node)) { f(&n.Input) }

func (*Intersect) exprs(exprVisitor) {}

func (n *Intersect) describe(f *formatter) (name, args string) {
	args = f.vertex(n.To, n.Labels)
	for i, leg := range n.Legs {
		args += []string{" FROM ", " AND "}[min(i, 1)] + "(" + f.col(leg.From) + ")" + f.edge(leg.Edge, leg.Types, "", leg.Dir) + f.extra(nil, leg.DistinctFrom)
		if leg.Exists {
			args += " EXISTS"
		}
	}
	return "ExpandIntersect", args
}

func (n *Intersect) rows(e *Estimator, in float64) float64 {
	o := e.o
	rows := in
	for _, l := range n.Legs {
		rows *= o.Fanout(l.Types, l.Dir, e.Labels[l.From], n.Labels)
	}
	e.Labels[n.To] = n.Labels
	return rows / max(1, o.Vertices(n.Labels))
}

// MultiplicityCount returns one row: the sum over the rows of Input of the product of their path multiplicities and of the columns
// Times, which is the number of rows that Input would have with the trees of Multiplicities expanded. Without either: the number
// of rows.
type MultiplicityCount struct {
	Input          Node
	Multiplicities []Multiplicity
	Times          []Col
	Out            Col
}

func (n *MultiplicityCount) inputs(f func(*Node)) { f(&n.Input) }

func (*MultiplicityCount) exprs(exprVisitor) {}

func (n *MultiplicityCount) describe(f *formatter) (name, args string) {
	parts := make([]string, len(n.Multiplicities))
	for i, w := range n.Multiplicities {
		parts[i] = "(" + f.col(w.Col) + ")" + f.branches(w.Branches)
	}
	args = strings.Join(parts, ", ")
	for _, c := range n.Times {
		args += " TIMES " + f.col(c)
	}
	return "MultiplicityCount", strings.TrimSpace(args + " AS " + f.col(n.Out))
}

func (*MultiplicityCount) rows(e *Estimator, _ float64) float64 {
	return e.outer
}

// PathMultiplicity adds Out to each row, the path multiplicity of its vertex Col: the number of rows from expanding the
// Branches. Rows where it is 0 are dropped.
type PathMultiplicity struct {
	Input Node
	Multiplicity
	Out Col
}

func (n *PathMultiplicity) inputs(f func(*Node)) { f(&n.Input) }

func (*PathMultiplicity) exprs(exprVisitor) {}

func (n *PathMultiplicity) describe(f *formatter) (name, args string) {
	return "PathMultiplicity", "(" + f.col(n.Col) + ")" + f.branches(n.Branches) + " AS " + f.col(n.Out)
}

func (*PathMultiplicity) rows(_ *Estimator, in float64) float64 { return in }

// PairMultiplicity adds Out to each row: the number of pairs of edges, one along the only branch of each of Ends, that lead to
// different vertices; if Absent, the number of edges of the first to vertices to which no edge of the second leads. Rows where it
// is 0 are dropped.
type PairMultiplicity struct {
	Input  Node
	Ends   [2]Multiplicity
	Absent bool
	Out    Col
}

func (n *PairMultiplicity) inputs(f func(*Node)) { f(&n.Input) }

func (*PairMultiplicity) exprs(exprVisitor) {}

func (n *PairMultiplicity) describe(f *formatter) (name, args string) {
	between := " <> "
	if n.Absent {
		between = " EXCEPT "
	}
	end := func(m *Multiplicity) string { return "(" + f.col(m.Col) + ")" + f.branches(m.Branches) }
	return "PairMultiplicity", end(&n.Ends[0]) + between + end(&n.Ends[1]) + " AS " + f.col(n.Out)
}

func (*PairMultiplicity) rows(_ *Estimator, in float64) float64 { return in }
