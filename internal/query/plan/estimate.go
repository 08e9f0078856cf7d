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

	start *Start
	seen  float64            // visits of the nodes so far
	lists map[Col][]list     // the lists that the plan has read or come by so far
	ends  map[Col]*LabelExpr // labels that these imply
	// skew is by how much more rows the node at hand has than Rows says, because its vertices were reached by their edges; skewOf is it after
	// each node.
	skew   float64
	skewOf map[Node]float64
	// collected is about how many elements the lists in columns have.
	collected map[Col]float64
	// byDegree has expansions of which the degrees of their sources tell all that is asked.
	byDegree map[*Expand]bool
}

// Estimate estimates the rows of a node and of all below it. The estimate of a subplan is for all outer rows together, as PROFILE
// counts them.
func (o *Statistics) Estimate(n Node) *Estimator {
	e := &Estimator{o: o, Labels: map[Col]*LabelExpr{}, Rows: map[Node]float64{}, outer: 1, lists: map[Col][]list{}, ends: map[Col]*LabelExpr{}, skew: 1, skewOf: map[Node]float64{}, byDegree: map[*Expand]bool{}, collected: map[Col]float64{}}
	e.of(n)
	return e
}

func (e *Estimator) of(n Node) float64 {
	e.o.Steps.Add(1)
	in, count, before := 1.0, 0, e.seen
	n.inputs(func(*Node) { count++ })
	if count == 1 {
		n.inputs(func(c *Node) { in = e.of(*c) })
	}
	switch x := n.(type) {
	case *Slice:
		e.seen = before + e.limit(x, in, e.seen-before)
	case *BlockAggregate, *EdgeGroups:
		e.seen = before // the input runs only where blocks cannot tell
	case *Unit:
		e.skew = 1
	}
	e.seen += e.expressions(n, in)
	e.seen += e.visits(n, in)
	rows := n.rows(e, in)
	e.Rows[n], e.skewOf[n] = rows, e.skew
	EachPlan(n, func(c *Node) {
		skew := e.skew
		e.sub(*c, in)
		e.skew = skew
	})
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
