package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// VarExpand joins each row with the trails of Min to Max edges (Max nil: no bound) from From: Edges (or 0) is the list of edges
// in the order of the pattern, To the end. Where is about EdgeVar, and holds for every edge on the way. With
// Ends set, every end comes once a row, and no list is made. Reversed says that From is the pattern's right end,
// so that Edges is in the order from To to From. With Ends and a Min of 1, Depth (or 0) is the least number of edges
// to the end and Last (or 0) the last edge of a way that short; From itself is then no end.
type VarExpand struct {
	Input           Node
	From, Edges, To Col
	Types           []string
	Dir             graph.Direction
	Min, Max        Expr
	Labels          *LabelExpr // of To
	Into            bool
	DistinctFrom    []Col
	EdgeVar         Col
	Where           []Expr
	Ends            bool
	Reversed        bool
	Depth, Last     Col
}

func (n *VarExpand) inputs(f func(*Node)) { f(&n.Input) }

func (n *VarExpand) exprs(f exprVisitor) {
	f.one(&n.Min)
	f.one(&n.Max)
	f.all(n.Where)
}

func (n *VarExpand) describe(f *formatter) (name, args string) {
	name = "VarLengthExpand"
	if n.Into {
		name += "Into"
	}
	if n.Ends {
		name += "Distinct"
	}
	if n.Depth != 0 || n.Last != 0 {
		name += "ByDepth"
	}
	return name, "(" + f.col(n.From) + ")" + f.edge(n.Edges, n.Types, f.length(n.Min, n.Max), n.Dir) +
		f.vertex(n.To, n.Labels) + f.extra(n.Where, n.DistinctFrom)
}

func (n *VarExpand) rows(e *Estimator, in float64) float64 {
	o := e.o
	rows := in * o.VarFanout(n.Types, n.Dir, e.Labels[n.From], n.Labels, &Length{Min: n.Min, Max: n.Max})
	if n.Into {
		return rows / max(1, o.Vertices(e.Labels[n.To]))
	}
	e.Labels[n.To] = n.Labels
	return rows
}

// ShortestPath joins each row with the shortest path, or all of them, between From and To, both bound.
type ShortestPath struct {
	Input             Node
	From, To          Col
	Path, Edges, Edge Col // the path, its list of edges, or its only edge (a pattern without *); each may be 0
	Length            Col // the number of its edges; or 0
	Types             []string
	Dir               graph.Direction
	Min, Max          Expr
	All               bool
	EdgeVar           Col
	Where             []Expr // on every edge, through EdgeVar
	PathWhere         []Expr // on the path as a whole; the shortest that satisfies them
}

func (n *ShortestPath) inputs(f func(*Node)) { f(&n.Input) }

func (n *ShortestPath) exprs(f exprVisitor) {
	f.one(&n.Min)
	f.one(&n.Max)
	f.all(n.Where)
	f.all(n.PathWhere)
}

func (n *ShortestPath) describe(f *formatter) (name, args string) {
	name = "ShortestPath"
	if n.All {
		name = "AllShortestPaths"
	}
	if n.Length != 0 {
		name += "Length"
	}
	return name, "(" + f.col(n.From) + ")" + f.edge(n.Edges, n.Types, f.length(n.Min, n.Max), n.Dir) +
		f.vertex(n.To, nil) + f.extra(append(append([]Expr{}, n.Where...), n.PathWhere...), nil)
}

func (*ShortestPath) rows(_ *Estimator, in float64) float64 { return in }

// FrontierCount returns one row: the number of distinct vertices that the hops reach from the vertices From of all rows. With
// Trail, walks must not repeat an edge. If Most is not 0, there is one hop, and the result counts the ends of trails of Least
// (0 or 1) to Most edges.
type FrontierCount struct {
	Input Node
	From  Col
	Hops  []Hop
	Out   Col
	// Trail says that no two hops may use the same edge.
	Trail       bool
	Least, Most int
}

func (n *FrontierCount) inputs(f func(*Node)) { f(&n.Input) }

func (n *FrontierCount) exprs(f exprVisitor) {
	for i := range n.Hops {
		f.all(n.Hops[i].Where)
	}
}

func (n *FrontierCount) describe(f *formatter) (name, args string) {
	length := ""
	args = "(" + f.col(n.From) + ")"
	if n.Most > 0 {
		length = fmt.Sprintf("*%d..", n.Least)
		if n.Most < math.MaxInt {
			length += strconv.Itoa(n.Most)
		}
	}
	for _, h := range n.Hops {
		reads := Reads(h.Where...)
		args += f.edge(reads.shown(h.Edge), h.Types, length, h.Dir)
		args += f.vertex(reads.shown(h.To), h.Labels)
		if len(h.Where) > 0 {
			args += f.extra(h.Where, nil) + " "
		}
	}
	args = strings.TrimSpace(args)
	if n.Trail {
		args += " BY TRAILS"
	}
	return "FrontierCount", args + " AS " + f.col(n.Out)
}

func (*FrontierCount) rows(e *Estimator, _ float64) float64 {
	return e.outer
}
