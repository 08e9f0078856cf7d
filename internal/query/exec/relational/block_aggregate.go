package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// blockAggregate aggregates blocks of decoded properties, by their statistics where these suffice, and returns the row once for
// each row of the frame. The planner uses it only where transactions have shard.Summaries. It runs its input instead if most of the blocks
// are not decoded yet: to decode all of them for one aggregate takes longer than to read the stored values, which the caches decode when
// they are read again. It does so too for a parameter that makes a condition no range.
// BenchmarkRewrites/BlockAggregate in bench/traversal compares the two.
type blockAggregate struct {
	runtime.Input
	r     *runtime.Run
	frame *runtime.Frame
	node  *plan.BlockAggregate
	aggs  []blockColumn

	begun, direct, done bool
	req                 shard.Summarize
	group               []int32 // zeros: there is one group
	one                 [1]graph.Value
	out                 runtime.Batch
}

// blockColumn is an aggregate of a property, or of rows.
type blockColumn struct {
	*aggColumn
	agg  plan.Agg
	prop int // its place in the request; -1: rows
}

// BlockAggregate compiles a BlockAggregate.
func BlockAggregate(c *compile.Compiler, n *plan.BlockAggregate, need plan.ColSet) *runtime.Stage {
	in := c.Compile(n.Input, need)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: in.Cols}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		if len(n.Keys) > 0 {
			return newBlockGroups(r, n, kids[0], in.Cols)
		}
		a := &blockAggregate{Input: runtime.Input{In: kids[0]}, r: r, frame: r.Frame, node: n}
		for _, g := range n.Aggs {
			if need.Has(g.Col) {
				a.aggs = append(a.aggs, blockColumn{aggColumn: newAggColumn(r, g, make([]runtime.Evaluator, len(g.Args))), agg: g})
			}
		}
		return a
	}
	return s
}

func (a *blockAggregate) Open(context.Context) error {
	a.begun, a.direct, a.done = false, false, false
	return nil
}

func (a *blockAggregate) Next(ctx context.Context) (*runtime.Batch, error) {
	if !a.begun {
		a.begun = true
		var err error
		if a.direct, err = a.summarize(ctx); err != nil {
			return nil, err
		}
		if !a.direct {
			if err := a.In.Open(ctx); err != nil {
				return nil, err
			}
		}
	}
	if !a.direct {
		return a.In.Next(ctx)
	}
	n := a.frame.Rows()
	if a.done || n == 0 {
		return nil, nil
	}
	a.done = true
	a.out.Reset(len(a.aggs))
	a.out.N = n
	if a.frame != nil {
		a.out.Row = runtime.AllRows(n)
	}
	for k := range a.aggs {
		v, err := a.aggs[k].result(0)
		if err != nil {
			return nil, err
		}
		for range n {
			a.out.Cols[k].Vals = append(a.out.Cols[k].Vals, v)
		}
	}
	return &a.out, nil
}

// summarize aggregates the blocks, and reports whether it could.
func (a *blockAggregate) summarize(ctx context.Context) (bool, error) {
	if ok := a.request(); !ok {
		return false, nil
	}
	for _, g := range a.aggs {
		g.reset()
		g.grow(1)
	}
	ok, err := a.r.Summarize(ctx, &a.req, a)
	if !ok || err != nil {
		return false, err
	}
	if a.node.Type == "" && len(a.req.Where) == 0 { // blocks do not show which vertices exist
		c := a.r.Tx.Counts()
		n := c.Vertices
		if a.node.Labels != nil {
			n = c.ByLabel[a.node.Labels.Name]
		}
		for _, g := range a.aggs {
			if g.prop < 0 {
				g.acc.(*countAccumulators).n[0] = int64(n)
			}
		}
	}
	return true, nil
}

// request sets the request, or reports false if the names, the parameters or the counters do not allow it.
func (a *blockAggregate) request() bool {
	r, n := a.r, a.node
	a.req = shard.Summarize{Dir: n.Dir, Props: a.req.Props[:0], Where: a.req.Where[:0]}
	if n.Type != "" {
		ok := false
		if a.req.Type, ok = r.Graph.Type(n.Type); !ok || !n.All(r.Tx.Counts()) {
			return false
		}
	} else if n.Labels != nil && !n.All(r.Tx.Statistics()) {
		return false
	}
	for k := range a.aggs {
		g := &a.aggs[k]
		g.prop = -1
		key, ok := n.Prop(&g.agg)
		if !ok {
			continue
		}
		id, ok := r.Graph.Prop(key)
		if !ok {
			return false
		}
		g.prop = 0
		for g.prop < len(a.req.Props) && a.req.Props[g.prop] != id {
			g.prop++
		}
		if g.prop == len(a.req.Props) {
			a.req.Props = append(a.req.Props, id)
		}
	}
	ranges, ok := adjacency.NewRanges(r, n.Where)
	if ok {
		a.req.Where, ok = ranges.Where(r, a.req.Where)
	}
	return ok
}

// Block implements shard.Sink. A block with a summary is equivalent to a few rows: one with its extreme, one with its sum, and
// for a mean as many with 0 as make up the number of its values.
func (a *blockAggregate) Block(n int, props []graph.Summary) (bool, error) {
	for _, g := range a.aggs {
		switch {
		case g.prop < 0 || g.agg.Func == "count":
		case g.agg.Func == "min" || g.agg.Func == "max":
			if !props[g.prop].Ordered {
				return false, nil
			}
		case !props[g.prop].Summed:
			return false, nil
		}
	}
	for _, g := range a.aggs {
		if g.prop < 0 {
			g.acc.(*countAccumulators).n[0] += int64(n)
			continue
		}
		p := &props[g.prop]
		if p.Count == 0 {
			continue
		}
		var err error
		switch g.agg.Func {
		case "count":
			g.acc.(*countAccumulators).n[0] += int64(p.Count)
		case "min":
			err = a.add(g, p.Min)
		case "max":
			err = a.add(g, p.Max)
		default:
			if err = a.add(g, graph.IntValue(p.Sum)); err == nil && p.Count > 1 {
				err = a.add(g, graph.IntValue(0), graph.IntValue(int64(p.Count-1)))
			}
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// add adds a value to an aggregate the given number of times.
func (a *blockAggregate) add(g blockColumn, v graph.Value, times ...graph.Value) error {
	a.one[0] = v
	g.cols[0] = a.one[:]
	return g.take(1, runtime.AllRows(1), a.zeros(1), times)
}

// Values implements shard.Sink.
func (a *blockAggregate) Values(ctx context.Context, n int, props [][]graph.Value) error {
	if err := a.r.CheckCancel(ctx); err != nil {
		return err
	}
	if err := a.r.Visit(n); err != nil {
		return err
	}
	for _, g := range a.aggs {
		if g.prop < 0 {
			g.acc.(*countAccumulators).n[0] += int64(n)
			continue
		}
		g.cols[0] = props[g.prop]
		if err := g.take(n, runtime.AllRows(n), a.zeros(n), nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *blockAggregate) zeros(n int) []int32 {
	for len(a.group) < n {
		a.group = append(a.group, 0)
	}
	return a.group
}

func (a *blockAggregate) Close() {
	for _, g := range a.aggs {
		g.acct.Release()
	}
	a.In.Close()
}
