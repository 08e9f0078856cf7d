package relational

import (
	"cmp"
	"context"
	"math/bits"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// aggColumn computes one aggregate for all groups.
type aggColumn struct {
	args []runtime.Evaluator
	// ready reads the arguments of rows that a worker has prepared.
	ready []runtime.Evaluator
	cols  [][]graph.Value
	acct  runtime.Account
	seen  *GroupTable // for DISTINCT: the pairs of group and argument so far
	acc   accumulators
	pair  runtime.Batch // a batch whose row numbers are groups, for seen
	num   []int32
	kept  runtime.Sel
	// alone reports whether there is only one group, at the top level. A bitmap then finds repeated vertices.
	alone  bool
	seenV  graph.VertexSet
	seenVN int // bytes of seenV that are accounted
}

// accumulators hold the state of one aggregate for all groups.
type accumulators interface {
	// grow adds groups up to n; new ones are empty.
	grow(n int)
	// reset removes all groups.
	reset()
	// add adds the rows of s: row i belongs to group[i], its arguments are cols[k][i], and it counts times[i] times, or once if
	// times is nil. It returns the number of bytes that it retains.
	add(cols [][]graph.Value, s runtime.Sel, group []int32, times []graph.Value) (int, error)
	// result returns the value of a group.
	result(group int) (graph.Value, error)
}

func checkAggregate(a plan.Agg) error {
	if _, ok := fn.LookupAggregate(a.Func); ok {
		return nil
	}
	return graph.SyntaxError("UnknownFunction", graph.Pos{}, "there is no aggregate %s()", a.Func)
}

func newAggColumn(r *runtime.Run, a plan.Agg, args []runtime.Evaluator) *aggColumn {
	c := &aggColumn{args: args, cols: make([][]graph.Value, len(args)), acct: runtime.Account{Run: r, Name: "Aggregate"}}
	switch {
	case a.Func == "count":
		c.acc = &countAccumulators{}
	case a.Func == "collect":
		c.acc = &listAccumulators{nesting: runtime.Nesting{Run: r}}
	case a.Func == "sum":
		c.acc = &sumAccumulators{}
	case a.Func == "min":
		c.acc = &extremeAccumulators{r: r, sign: 1}
	case a.Func == "max":
		c.acc = &extremeAccumulators{r: r, sign: -1}
	default:
		f, _ := fn.LookupAggregate(a.Func)
		c.acc = &genericAccumulators{r: r, agg: f, fn: r.Env.Fn, row: make([]graph.Value, len(args)), keeps: strings.HasPrefix(a.Func, "percentile")}
	}
	if a.Distinct && len(args) > 0 {
		c.seen = NewGroupTable(r, "Aggregate", 1)
	}
	return c
}

func (c *aggColumn) grow(n int) { c.acc.grow(n) }

func (c *aggColumn) reset() {
	c.acc.reset()
	c.acct.Release()
	c.seenV.Clear()
	c.seenVN = 0
	if c.seen != nil {
		c.seen.Reset()
	}
}

func (c *aggColumn) result(group int) (graph.Value, error) { return c.acc.result(group) }

// add adds the rows of s, whose arguments args compute; otherwise it is like accumulators.add.
func (c *aggColumn) add(ctx context.Context, args []runtime.Evaluator, b *runtime.Batch, s runtime.Sel, group []int32, times []graph.Value) error {
	if n, ok := c.acc.(*countAccumulators); ok && len(args) == 1 {
		if x, ok := args[0].(*expr.Column); ok && b.Cols[x.Pos].IDs != nil {
			if c.seen == nil {
				_, err := n.add(nil, s, group, times) // none is null
				return err
			}
			if c.alone {
				for _, id := range b.Cols[x.Pos].IDs {
					if c.seenV.Add(id) {
						n.n[0]++
					}
				}
				return runtime.GrowSet(&c.acct, &c.seenV, &c.seenVN)
			}
		}
	}
	if err := c.eval(ctx, args, b, s); err != nil {
		return err
	}
	return c.take(b.N, s, group, times)
}

// eval computes the arguments of the rows of s.
func (c *aggColumn) eval(ctx context.Context, args []runtime.Evaluator, b *runtime.Batch, s runtime.Sel) (err error) {
	for k, a := range args {
		if c.cols[k], err = a.Eval(ctx, b, s); err != nil {
			return err
		}
	}
	return nil
}

// take adds the rows of s, of n, whose arguments are in c.cols.
func (c *aggColumn) take(n int, s runtime.Sel, group []int32, times []graph.Value) error {
	if c.seen != nil {
		times = nil
		var err error
		if s, err = c.unseen(n, s, group); err != nil {
			return err
		}
	}
	size, err := c.acc.add(c.cols, s, group, times)
	if err != nil {
		return err
	}
	return c.acct.Grow(size)
}

// unseen returns the rows of s whose first argument is not null and new to their group.
func (c *aggColumn) unseen(n int, s runtime.Sel, group []int32) (runtime.Sel, error) {
	c.pair.N, c.pair.Row = n, group
	for len(c.num) < n {
		c.num = append(c.num, 0)
	}
	known := int32(c.seen.len())
	if err := c.seen.Numbers(&c.pair, c.cols[:1], s, c.num); err != nil {
		return nil, err
	}
	c.kept = c.kept[:0]
	for _, i := range s {
		if c.num[i] != known {
			continue
		}
		known++
		if v := c.cols[0][i]; c.alone && v.Kind() == graph.VertexKind && !c.seenV.Add(v.Vertex()) {
			continue // counted when it came in a batch of ids
		}
		c.kept = append(c.kept, i)
	}
	return c.kept, nil
}

// countAccumulators implements count().
type countAccumulators struct{ n []int64 }

func (c *countAccumulators) grow(n int) {
	for len(c.n) < n {
		c.n = append(c.n, 0)
	}
}

func (c *countAccumulators) reset() { c.n = c.n[:0] }

func (c *countAccumulators) add(cols [][]graph.Value, s runtime.Sel, group []int32, times []graph.Value) (int, error) {
	if times != nil {
		for _, i := range s {
			if len(cols) > 0 && cols[0][i].IsNull() {
				continue
			}
			n, ok := addInts(c.n[group[i]], times[i].Int())
			if !ok {
				return 0, adjacency.CountOverflow()
			}
			c.n[group[i]] = n
		}
		return 0, nil
	}
	if len(cols) == 0 {
		for _, i := range s {
			c.n[group[i]]++
		}
		return 0, nil
	}
	for _, i := range s {
		if !cols[0][i].IsNull() {
			c.n[group[i]]++
		}
	}
	return 0, nil
}

func (c *countAccumulators) result(g int) (graph.Value, error) { return graph.IntValue(c.n[g]), nil }

// listAccumulators implements collect().
type listAccumulators struct {
	lists   [][]graph.Value
	nesting runtime.Nesting
}

func (c *listAccumulators) grow(n int) {
	for len(c.lists) < n {
		c.lists = append(c.lists, nil)
	}
}

func (c *listAccumulators) reset() {
	clear(c.lists)
	c.lists = c.lists[:0]
}

func (c *listAccumulators) add(cols [][]graph.Value, s runtime.Sel, group []int32, _ []graph.Value) (size int, _ error) {
	for _, i := range s {
		if v := cols[0][i]; !v.IsNull() {
			if err := c.nesting.Run.CheckLargeNoContext(v); err != nil {
				return 0, err
			}
			c.nesting.Begin()
			if err := c.nesting.Add(v); err != nil {
				return 0, err
			}
			c.lists[group[i]] = append(c.lists[group[i]], v)
			size += memory.ValueSize(v)
		}
	}
	return size, nil
}

func (c *listAccumulators) result(g int) (graph.Value, error) {
	return graph.ListValue(c.lists[g]), nil
}

// genericAccumulators implements any aggregate by one fn.Accumulator for each group.
type genericAccumulators struct {
	r    *runtime.Run
	agg  *fn.Aggregate
	fn   *fn.Context
	accs []fn.Accumulator
	row  []graph.Value
	// keeps reports whether an accumulator retains all values.
	keeps bool
}

func (f *genericAccumulators) grow(n int) {
	for len(f.accs) < n {
		f.accs = append(f.accs, f.agg.New())
	}
}

func (f *genericAccumulators) reset() { f.accs = f.accs[:0] }

func (f *genericAccumulators) add(cols [][]graph.Value, s runtime.Sel, group []int32, times []graph.Value) (int, error) {
	for _, i := range s {
		for k := range cols {
			f.row[k] = cols[k][i]
			if err := f.r.CheckLargeNoContext(f.row[k]); err != nil {
				return 0, err
			}
		}
		if r, ok := f.accs[group[i]].(fn.Repeater); ok && times != nil {
			if err := r.AddN(f.row[0], times[i].Int()); err != nil {
				return 0, err
			}
			continue
		}
		if err := f.accs[group[i]].Add(f.row); err != nil {
			return 0, err
		}
	}
	if f.keeps {
		return 24 * len(s), nil
	}
	return 0, nil
}

func (f *genericAccumulators) result(g int) (graph.Value, error) {
	if s, ok := f.accs[g].(interface{ Sort(*fn.Context) error }); ok {
		if err := s.Sort(f.fn); err != nil {
			return graph.Value{}, err
		}
	}
	return f.accs[g].Result()
}

// sumAccumulators implements sum(): integer addition while all values and the sum are 64-bit integers, then an accumulator.
type sumAccumulators struct {
	accs []*fn.Sum
	ints []int64
	some []bool // whether the group has an integer
}

func (s *sumAccumulators) grow(n int) {
	for len(s.ints) < n {
		s.ints = append(s.ints, 0)
		s.some = append(s.some, false)
		s.accs = append(s.accs, nil)
	}
}

func (s *sumAccumulators) reset() {
	s.ints, s.some, s.accs = s.ints[:0], s.some[:0], s.accs[:0]
}

func (s *sumAccumulators) add(cols [][]graph.Value, rows runtime.Sel, group []int32, times []graph.Value) (int, error) {
	for _, i := range rows {
		v, g := cols[0][i], group[i]
		if v.IsNull() {
			continue
		}
		n := int64(1)
		if times != nil {
			n = times[i].Int()
		}
		if s.accs[g] == nil && v.Kind() == graph.Int {
			if sum, ok := addProduct(s.ints[g], v.Int(), n); ok {
				s.ints[g], s.some[g] = sum, true
				continue
			}
		}
		if s.accs[g] == nil {
			s.accs[g] = &fn.Sum{}
			if s.some[g] {
				if err := s.accs[g].AddN(graph.IntValue(s.ints[g]), 1); err != nil {
					return 0, err
				}
			}
		}
		if err := s.accs[g].AddN(v, n); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// extremeAccumulators implements min() and max(): of values that are equal in the global order, it keeps the first.
type extremeAccumulators struct {
	r    *runtime.Run
	sign int // 1 for min, -1 for max
	vals []graph.Value
}

func (x *extremeAccumulators) grow(n int) {
	for len(x.vals) < n {
		x.vals = append(x.vals, graph.Value{})
	}
}

func (x *extremeAccumulators) reset() {
	clear(x.vals)
	x.vals = x.vals[:0]
}

func (x *extremeAccumulators) add(cols [][]graph.Value, s runtime.Sel, group []int32, _ []graph.Value) (int, error) {
	for _, i := range s {
		v, best := &cols[0][i], &x.vals[group[i]]
		order := 0
		switch {
		case v.Kind() == graph.Int && best.Kind() == graph.Int:
			order = cmp.Compare(v.Int(), best.Int())
		case v.IsNull():
			continue
		case best.IsNull():
			order = -x.sign
		default:
			if err := x.r.CheckLargeNoContext(*v); err != nil {
				return 0, err
			}
			order = fn.Order(*v, *best)
		}
		if order*x.sign < 0 {
			*best = *v
		}
	}
	return 0, nil
}

func (x *extremeAccumulators) result(g int) (graph.Value, error) { return x.vals[g], nil }

// addInts adds two integers and reports whether the sum fits.
func addInts(a, b int64) (int64, bool) {
	sum, _ := bits.Add64(uint64(a), uint64(b), 0)
	s := int64(sum)
	return s, (s > a) == (b > 0) || b == 0
}

// addProduct adds n times b to a, n > 0, and reports whether the result fits.
func addProduct(a, b, n int64) (int64, bool) {
	if n == 1 {
		return addInts(a, b)
	}
	product := b * n
	if product/n != b {
		return 0, false
	}
	return addInts(a, product)
}

func (s *sumAccumulators) result(g int) (graph.Value, error) {
	if s.accs[g] == nil {
		return graph.IntValue(s.ints[g]), nil
	}
	return s.accs[g].Result()
}
