package plan

import "github.com/hopgate/hopgate/internal/graph"

// Guesses of rows where no statistic tells.
const (
	guessGroups = 0.1  // groups a row
	guessElems  = 10.0 // elements of a list, paths between two vertices, rows of a procedure
	guessLines  = 1000.0
	guessLimit  = 10 // rows
)

// estimator computes how many rows each node gives.
type estimator struct {
	o      *optimizer
	labels map[Col]*LabelExpr // of the vertices found so far
	rows   map[Node]float64
	outer  float64 // rows that the Argument of the subplan at work gives
}

// estimate fills in Query.Estimates. The rows of a subplan are those for all outer rows together, as PROFILE counts them.
func (o *optimizer) estimate() {
	e := &estimator{o: o, labels: map[Col]*LabelExpr{}, rows: map[Node]float64{}, outer: 1}
	e.of(o.q.Root)
	o.q.Estimates = e.rows
}

func (e *estimator) of(n Node) float64 {
	in := 1.0
	switch n := n.(type) {
	case *Apply, *Transactions, *Foreach, *Merge, *HashJoin, *Product, *Union:
	default:
		inputs(n, func(c *Node) { in = e.of(*c) })
	}
	rows := e.node(n, in)
	e.rows[n] = rows
	eachPlan(n, func(c *Node) { e.sub(*c, in) })
	return rows
}

// sub estimates a subplan that runs for so many rows.
func (e *estimator) sub(n Node, outer float64) float64 {
	before := e.outer
	e.outer = outer
	rows := e.of(n)
	e.outer = before
	return rows
}

func (e *estimator) node(n Node, in float64) float64 {
	o := e.o
	switch n := n.(type) {
	case *Unit:
		return 1
	case *Argument:
		return e.outer
	case *Scan:
		e.labels[n.Out] = n.Labels
		return in * o.vertices(n.Labels)
	case *Seek:
		e.labels[n.Out] = &LabelExpr{Name: n.Index.Label}
		return in * e.keys(&n.Index, n.Keys, n.Each)
	case *SeekEdges:
		return in * e.keys(&n.Index, n.Keys, n.Each)
	case *SeekID:
		if n.Each {
			return in * e.elements(n.Key)
		}
		return in
	case *SeekRange:
		e.labels[n.Out] = &LabelExpr{Name: n.Index.Label}
		return in * o.all(&n.Index) * e.interval(n.Equal, n.Lo, n.Hi)
	case *SeekEdgeRange:
		return in * o.all(&n.Index) * e.interval(n.Equal, n.Lo, n.Hi)
	case *Expand:
		rows := in * o.fanout(n.Types, n.Dir, e.labels[n.From], n.Labels) * e.selectivity(n.Where)
		if n.Into {
			return rows / max(1, o.vertices(e.labels[n.To]))
		}
		e.labels[n.To] = n.Labels
		return rows
	case *Intersect:
		rows := in
		for _, l := range n.Legs {
			rows *= o.fanout(l.Types, l.Dir, e.labels[l.From], n.Labels)
		}
		e.labels[n.To] = n.Labels
		return rows / max(1, o.vertices(n.Labels))
	case *VarExpand:
		fan := o.fanout(n.Types, n.Dir, e.labels[n.From], nil)
		rows := in * (&matcher{o: o}).varFanout(fan, PatEdge{Length: &Length{Min: n.Min, Max: n.Max}}, o.vertices(n.Labels))
		if n.Into {
			return rows / max(1, o.vertices(e.labels[n.To]))
		}
		e.labels[n.To] = n.Labels
		return rows
	case *FindPaths, *CheapestPaths, *Traverse, *CallProc:
		return in * guessElems
	case *Filter:
		return in * e.selectivity(n.Preds)
	case *Aggregate:
		if len(n.Keys) == 0 {
			return e.outer
		}
		return max(1, in*guessGroups)
	case *Distinct:
		return max(1, in*selOther)
	case *Sort:
		return limited(in, n.Limit)
	case *Slice:
		return limited(in, n.Limit)
	case *Unwind:
		return in * e.elements(n.List)
	case *Apply:
		in = e.of(n.Input)
		rows := e.sub(n.Sub, in)
		switch n.Kind {
		case Inner:
			return rows
		case Optional:
			return max(in, rows)
		}
		return in
	case *Transactions:
		in = e.of(n.Input)
		return e.sub(n.Sub, in)
	case *Foreach:
		in = e.of(n.Input)
		e.sub(n.Sub, in*e.elements(n.List))
		return in
	case *Merge:
		in = e.of(n.Input)
		return max(in, e.sub(n.Match, in))
	case *HashJoin:
		return max(e.of(n.Left), e.of(n.Right))
	case *Product:
		return e.of(n.Left) * e.of(n.Right)
	case *Union:
		rows := 0.0
		for _, c := range n.Inputs {
			rows += e.of(c)
		}
		return rows
	case *LoadCSV:
		return in * guessLines
	case *Drain:
		return 0
	case *CountStore, *FoldCount, *FrontierCount:
		return e.outer
	}
	return in
}

func (e *estimator) selectivity(preds []Expr) float64 {
	s := 1.0
	for _, p := range preds {
		s *= e.o.selectivity(p, e.labels)
	}
	return s
}

// keys is how many entries of an index equal the keys.
func (e *estimator) keys(ix *graph.Index, keys []Expr, each bool) float64 {
	rows := 1.0
	if !ix.Unique {
		rows = max(1, e.o.all(ix)/max(1, e.o.distinct(ix)))
	}
	if each {
		rows *= e.elements(keys[0])
	}
	return rows
}

// interval is the part of an index that lies in a range.
func (e *estimator) interval(equal []Expr, lo, hi Expr) float64 {
	s := 1.0
	for range equal {
		s *= selEqual
	}
	for _, bound := range []Expr{lo, hi} {
		if bound != nil {
			s *= selRange
		}
	}
	return s
}

// elements is how many elements a list has.
func (e *estimator) elements(list Expr) float64 {
	if l, ok := list.(*ListLit); ok {
		return float64(len(l.Elems))
	}
	return guessElems
}

// limited is what a limit leaves of rows.
func limited(rows float64, limit Expr) float64 {
	if limit == nil {
		return rows
	}
	return min(rows, float64(bound(limit, guessLimit)))
}
