package plan

import "github.com/hopgate/hopgate/internal/graph"

// Guesses without statistics.
const (
	guessGroups = 0.1  // groups per row
	guessElems  = 10.0 // elements of a list, paths between two vertices, rows of a procedure
	guessLines  = 1000.0
	guessLimit  = 10 // rows
)

// Estimator computes the estimated rows of each node.
type Estimator struct {
	o      *Statistics
	Labels map[Col]*LabelExpr // of the vertices bound so far
	Rows   map[Node]float64
	outer  float64 // rows of the Argument of the current subplan
}

// Estimate estimates the rows of a node and of all below it. The estimate of a subplan is for all outer rows together, as PROFILE
// counts them.
func (o *Statistics) Estimate(n Node) *Estimator {
	e := &Estimator{o: o, Labels: map[Col]*LabelExpr{}, Rows: map[Node]float64{}, outer: 1}
	e.of(n)
	return e
}

func (e *Estimator) of(n Node) float64 {
	e.o.Steps.Add(1)
	in, count := 1.0, 0
	n.inputs(func(*Node) { count++ })
	if count == 1 {
		n.inputs(func(c *Node) { in = e.of(*c) })
	}
	rows := n.rows(e, in)
	e.Rows[n] = rows
	EachPlan(n, func(c *Node) { e.sub(*c, in) })
	return rows
}

// sub estimates a subplan that runs for that many rows.
func (e *Estimator) sub(n Node, outer float64) float64 {
	before := e.outer
	e.outer = outer
	rows := e.of(n)
	e.outer = before
	return rows
}

func (e *Estimator) selectivity(preds []Expr) float64 {
	s := 1.0
	for _, p := range preds {
		s *= e.o.Selectivity(p, e.Labels)
	}
	return s
}

// keys estimates the entries of an index that equal the keys.
func (e *Estimator) keys(ix *graph.Index, keys []Expr, each bool) float64 {
	rows := 1.0
	if !ix.Unique {
		rows = max(1, e.o.All(ix)/max(1, e.o.Distinct(ix)))
	}
	if each {
		rows *= e.elements(keys[0])
	}
	return rows
}

// interval estimates the entries of an index within a range.
func (e *Estimator) interval(n *SeekRange) float64 {
	rows := e.o.All(&n.Index)
	if n.Area != NoArea {
		return e.o.InArea(n.Area, &n.Index)
	}
	for range n.Equal {
		rows *= selEqual
	}
	for _, bound := range []Expr{n.Lo, n.Hi} {
		if bound != nil {
			rows *= selRange
		}
	}
	return rows
}

// elements estimates the length of a list.
func (e *Estimator) elements(list Expr) float64 {
	if l, ok := list.(*ListLit); ok {
		return float64(len(l.Elems))
	}
	return guessElems
}

// limited applies a limit to an estimate.
func limited(rows float64, limit Expr) float64 {
	if limit == nil {
		return rows
	}
	return min(rows, float64(Bound(limit, guessLimit)))
}
