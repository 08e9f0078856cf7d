package relational

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// blockAggregate merges the groups that the shards make of their vertices or edges, on workers if cores are free. Without keys, it
// returns the row once for each row of the frame. The planner uses it only where transactions have shard.Aggregates. It runs its
// input instead if groups are so many that they may have to spill, for values that cannot be added up in parts, and for a parameter that
// makes a condition no range. BenchmarkRewrites/BlockAggregate in bench/traversal compares the two.
type blockAggregate struct {
	runtime.Input
	r     *runtime.Run
	frame *runtime.Frame
	node  *plan.BlockAggregate
	cols  []plan.Col
	aggs  []blockColumn // of the columns that are read
	req   shard.Aggregate
	table *GroupTable

	begun, direct bool
	at            int // the next group, or, without keys, row of the frame
	entries       []entry
	keys          [][]graph.Value
	group         []int32 // by entry
	out           runtime.Batch
}

// blockColumn is an aggregate.
type blockColumn struct {
	*aggColumn
	agg    plan.Agg
	at     int     // in the request; -1: it counts rows
	floats []int32 // by group, the part with a sum of floats, plus 1: two cannot be added as if there were one
}

// entry is a group of a part.
type entry struct {
	of    *shard.Groups
	part  int32
	group int
}

// verticesPerLabel is how many vertices there may be for each one with the label; else a scan of the label is faster.
const verticesPerLabel = 64

// BlockAggregate compiles a BlockAggregate.
func BlockAggregate(c *compile.Compiler, n *plan.BlockAggregate, need plan.ColSet) *runtime.Stage {
	in := c.Compile(n.Input, need)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: in.Cols}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &blockAggregate{
			Input: runtime.Input{In: kids[0]}, r: r, frame: r.Frame, node: n, cols: in.Cols, table: NewGroupTable(r, "BlockAggregate", len(n.Keys)),
		}
		for _, g := range n.Aggs {
			if need.Has(g.Col) {
				x.aggs = append(x.aggs, blockColumn{aggColumn: newAggColumn(r, g, make([]runtime.Evaluator, len(g.Args))), agg: g})
			}
		}
		return x
	}
	return s
}

// Open implements runtime.Operator.
func (x *blockAggregate) Open(context.Context) error {
	x.begun, x.direct, x.at = false, false, 0
	return nil
}

// Close implements runtime.Operator.
func (x *blockAggregate) Close() {
	x.reset()
	x.In.Close()
}

// reset forgets all groups.
func (x *blockAggregate) reset() {
	x.table.Reset()
	for i := range x.aggs {
		x.aggs[i].reset()
		x.aggs[i].floats = nil
	}
}

// Next implements runtime.Operator.
func (x *blockAggregate) Next(ctx context.Context) (*runtime.Batch, error) {
	if !x.begun {
		x.begun = true
		var err error
		if x.direct, err = x.run(ctx); err != nil {
			return nil, err
		}
		if !x.direct {
			x.reset()
			if err := x.In.Open(ctx); err != nil {
				return nil, err
			}
		}
	}
	if !x.direct {
		return x.In.Next(ctx)
	}
	all := x.table.len()
	if len(x.node.Keys) == 0 {
		all = x.frame.Rows()
	}
	n := min(all-x.at, x.r.BatchSize())
	if n == 0 {
		return nil, nil
	}
	x.out.Reset(len(x.cols))
	x.out.N = n
	for i, col := range x.cols {
		c := &x.out.Cols[i]
		if k := slices.IndexFunc(x.node.Keys, func(key plan.Item) bool { return key.Col == col }); k >= 0 {
			c.Vals = x.table.keys[k].appendTo(c.Vals, x.at, x.at+n)
			continue
		}
		a := &x.aggs[slices.IndexFunc(x.aggs, func(g blockColumn) bool { return g.agg.Col == col })]
		for g := x.at; g < x.at+n; g++ {
			group := g
			if len(x.node.Keys) == 0 {
				group = 0
			}
			v, err := a.result(group)
			if err != nil {
				return nil, err
			}
			c.Vals = append(c.Vals, v)
		}
	}
	for i := x.at; i < x.at+n && x.frame != nil; i++ {
		x.out.Row = append(x.out.Row, int32(i))
	}
	x.at += n
	return &x.out, nil
}

// run adds up the groups, and reports whether it could.
func (x *blockAggregate) run(ctx context.Context) (bool, error) {
	if x.r.Env.Partial || x.frame != nil && len(x.node.Keys) > 0 || !x.request() {
		return false, nil
	}
	x.reset()
	parts, err := addUp(ctx, x.r, &x.req)
	if parts == nil || err != nil {
		return false, err
	}
	done, err := x.merge(parts)
	if e, ok := errors.AsType[*graph.Error](err); ok && e.Kind == graph.KindBudget && len(x.node.Keys) > 0 {
		return false, nil // the input spills
	}
	return done, err
}

// request sets the request, or reports false if the names, the parameters or the counters do not allow it.
func (x *blockAggregate) request() (ok bool) {
	r, n := x.r, x.node
	req := shard.Aggregate{Dir: n.Dir, Props: x.req.Props[:0], Where: x.req.Where[:0], Keys: x.req.Keys[:0], Aggs: x.req.Aggs[:0]}
	counts := r.Tx.Counts()
	label := n.Labels
	if n.Type != "" {
		if req.Type, ok = r.Graph.Type(n.Type); !ok || !n.All(counts) {
			return false
		}
		label = n.FromLabels
	}
	if label != nil {
		if n.Type == "" {
			if req.Label, ok = r.Graph.Label(label.Name); !ok {
				return false
			}
		}
		if label.Op == plan.LabelName && counts.ByLabel[label.Name] < counts.Vertices/verticesPerLabel {
			return false
		}
	}
	place := func(name string) int {
		id, ok := r.Graph.Prop(name)
		if !ok {
			return -1
		}
		at := slices.Index(req.Props, id)
		if at < 0 {
			at = len(req.Props)
			req.Props = append(req.Props, id)
		}
		return at
	}
	for _, k := range n.Keys {
		at := place(k.Expr.(*plan.Prop).Key)
		if at < 0 {
			return false
		}
		req.Keys = append(req.Keys, at)
	}
	for i := range x.aggs {
		g := &x.aggs[i]
		if g.at = -1; n.CountsRows(&g.agg) {
			continue
		}
		key, _ := n.Prop(&g.agg)
		at := place(key)
		if at < 0 {
			return false
		}
		g.at = len(req.Aggs)
		req.Aggs = append(req.Aggs, shard.PartialAgg{Func: aggFuncs[g.agg.Func], Prop: at})
	}
	ranges, ok := adjacency.NewRanges(r, n.Where)
	if ok {
		req.Where, ok = ranges.Where(r, req.Where)
	}
	x.req = req
	return ok
}

var aggFuncs = map[string]shard.AggFunc{"count": shard.AggCount, "min": shard.AggMin, "max": shard.AggMax, "sum": shard.AggSum, "avg": shard.AggSum}

// merge merges the groups of parts, and reports whether it could.
func (x *blockAggregate) merge(parts []*shard.Groups) (bool, error) {
	x.entries = x.entries[:0]
	for p, of := range parts {
		for g := range of.Rows {
			x.entries = append(x.entries, entry{of, int32(p) + 1, g})
		}
	}
	slices.SortStableFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.of.First[a.group], b.of.First[b.group]) })
	n := len(x.entries)
	x.group = append(x.group[:0], make([]int32, n)...)
	groups := 1
	if keys := len(x.node.Keys); keys > 0 {
		x.keys = x.keys[:0]
		for k := range keys {
			col := make([]graph.Value, n)
			for i, e := range x.entries {
				col[i] = e.of.Keys[k][e.group]
			}
			x.keys = append(x.keys, col)
		}
		var b runtime.Batch
		b.N = n
		if err := x.table.Numbers(&b, x.keys, runtime.AllRows(n), x.group); err != nil {
			return false, err
		}
		groups = x.table.len()
	}
	if err := x.table.Acct.Grow(groups * len(x.aggs) * accumulatorSize); err != nil {
		return false, err
	}
	for i := range x.aggs {
		if ok, err := x.mergeColumn(&x.aggs[i], groups); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// mergeColumn merges the values of an aggregate, and reports whether it could. A group with a sum of some values is equivalent to one row
// with the sum, and others with 0.
func (x *blockAggregate) mergeColumn(a *blockColumn, groups int) (bool, error) {
	a.grow(groups)
	if n, ok := a.acc.(*countAccumulators); ok {
		for i, e := range x.entries {
			if a.at < 0 {
				n.n[x.group[i]] += e.of.Rows[e.group]
			} else {
				n.n[x.group[i]] += e.of.Counts[a.at][e.group]
			}
		}
		return true, nil
	}
	n := len(x.entries)
	sums := x.req.Aggs[a.at].Func == shard.AggSum
	vals, zeros, times, more := make([]graph.Value, n), []graph.Value(nil), []graph.Value(nil), []int32(nil)
	for i, e := range x.entries {
		v, count := e.of.Values[a.at][e.group], e.of.Counts[a.at][e.group]
		if vals[i] = v; !sums {
			continue
		}
		if v.Kind() == graph.Float {
			a.floats = append(a.floats, make([]int32, groups-len(a.floats))...)
			if of := &a.floats[x.group[i]]; *of == 0 {
				*of = e.part
			} else if *of != e.part {
				return false, nil
			}
		}
		if !v.IsNull() {
			count--
		}
		if count > 0 {
			zeros, times, more = append(zeros, graph.IntValue(0)), append(times, graph.IntValue(count)), append(more, x.group[i])
		}
	}
	a.cols[0] = vals
	if err := a.take(n, runtime.AllRows(n), x.group, nil); err != nil {
		return false, err
	}
	a.cols[0] = zeros
	return true, a.take(len(zeros), runtime.AllRows(len(zeros)), more, times)
}

// unitsPerPart divides the parts of an aggregation for Pool.Parts, whose own have at least 32 entries.
const unitsPerPart = 32

// addUp has the shards answer a request, on workers if cores are free. It returns nil if the caller must read rows.
func addUp(ctx context.Context, r *runtime.Run, req *shard.Aggregate) ([]*shard.Groups, error) {
	agg, err := r.Aggregate(ctx, req)
	if agg == nil || err != nil {
		return nil, err
	}
	parts, err := addBeside(ctx, r, agg)
	if parts == nil && err == nil || errors.Is(err, shard.ErrOrder) {
		parts, err = addInOrder(ctx, r, agg)
	}
	var out []*shard.Groups
	for _, p := range parts {
		if err == nil {
			var some []*shard.Groups
			some, err = p.Groups()
			out = append(out, some...)
		}
	}
	if errors.Is(err, shard.ErrRows) {
		return nil, nil
	}
	if req.Type == 0 {
		for _, g := range out {
			for _, n := range g.Rows {
				r.See(n)
			}
		}
	}
	return out, err
}

// addBeside adds all parts on workers. It returns none if no core is free.
func addBeside(ctx context.Context, r *runtime.Run, agg shard.Aggregation) (parts []shard.Partial, err error) {
	n := agg.Parts()
	if n < 2 {
		return nil, nil
	}
	_, err = exchange.NewPool(r, func() {}).Parts(ctx, n*unitsPerPart, func(_ int, r *runtime.Run) func(lo, hi int) error {
		p := agg.Begin(false)
		parts = append(parts, p)
		return func(lo, hi int) error {
			return addParts(ctx, r, p, (lo+unitsPerPart-1)/unitsPerPart, (hi+unitsPerPart-1)/unitsPerPart)
		}
	})
	return parts, err
}

// partsPerCheck is how many parts are added between two checks for the end of the run: each Add opens what it reads.
const partsPerCheck = 8

// addInOrder adds all parts.
func addInOrder(ctx context.Context, r *runtime.Run, agg shard.Aggregation) ([]shard.Partial, error) {
	p := agg.Begin(true)
	for lo, n := 0, agg.Parts(); lo < n; lo += partsPerCheck {
		if err := r.CheckCancel(ctx); err != nil {
			return nil, err
		}
		if err := addParts(ctx, r, p, lo, min(lo+partsPerCheck, n)); err != nil {
			return nil, err
		}
	}
	return []shard.Partial{p}, nil
}

// addParts adds parts lo … hi-1.
func addParts(ctx context.Context, r *runtime.Run, p shard.Partial, lo, hi int) error {
	visited, err := p.Add(ctx, lo, hi)
	if err != nil {
		return err
	}
	r.See(int64(visited))
	return r.Visit(visited)
}
