package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// aggregate returns one row for each distinct combination of keys, or one row without keys; in a subplan, separately for each
// row of the frame. When memory runs short, rows of new groups spill to disk, and their groups follow the others.
type aggregate struct {
	runtime.Input
	r        *runtime.Run
	frame    *runtime.Frame
	es       *expr.Evaluators
	keys     []runtime.Evaluator
	aggs     []*aggColumn
	outKey   []int // the keys in the output
	table    *GroupTable
	encoded  *encodedKeys
	cols     [][]graph.Value
	times    runtime.Evaluator // of plan.Aggregate.Times; nil: each row counts once
	counts   []graph.Value
	group    []int32
	filled   bool
	at       int
	sized    int            // groups whose accumulators are accounted for
	byWorker []workerGroups // by the worker that prepares rows
	own      [][]graph.Value
	over     *overflow // nil in a subplan, without keys, and without a disk
	known    runtime.Sel
	rest     runtime.Sel
	out      runtime.Batch
}

// accumulatorSize estimates the bytes of one aggregate for one group.
const accumulatorSize = 32

// Aggregate compiles an Aggregate.
func Aggregate(c *compile.Compiler, n *plan.Aggregate, need plan.ColSet) *runtime.Stage {
	var exprs []plan.Expr
	for _, k := range n.Keys {
		exprs = append(exprs, c.ByEdge(k.Expr, n.Input))
	}
	keys := exprs
	var aggs []plan.Agg
	for _, a := range n.Aggs {
		if need.Has(a.Col) {
			args := make([]plan.Expr, len(a.Args))
			for i, e := range a.Args {
				args[i] = c.ByEdge(e, n.Input)
			}
			a.Args = args
			aggs = append(aggs, a)
			exprs = append(exprs, a.Args...)
		}
	}
	below := c.Below(plan.ColSet{}, append(exprs, n.Times)...)
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}}
	var outKey []int
	for k, key := range n.Keys {
		if need.Has(key.Col) {
			outKey = append(outKey, k)
			s.Cols = append(s.Cols, key.Col)
		}
	}
	for _, a := range aggs {
		s.Cols = append(s.Cols, a.Col)
		c.Fail(checkAggregate(a))
	}
	encodable := encodable(c, keys, n.Input)
	if st := (&aggregateStage{in: in, keys: keys, encodable: encodable, aggs: aggs}); n.Times == nil && st.helps() {
		in.Above, in.Width = st.grouper, st.width()
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		a := &aggregate{
			Input: runtime.Input{In: kids[0]}, r: r, frame: r.Frame, es: expr.New(r, in.Cols), outKey: outKey,
			table: NewGroupTable(r, "Aggregate", len(n.Keys)), cols: make([][]graph.Value, len(n.Keys)),
			own: make([][]graph.Value, len(n.Keys)),
		}
		a.keys = a.es.AddAll(keys)
		a.encoded = newEncodedKeys(r, encodable, in.Cols)
		width := len(n.Keys)
		if n.Times != nil {
			a.times = a.es.Add(n.Times)
			width++
		}
		at := 0
		for _, g := range aggs {
			x := newAggColumn(r, g, a.es.AddAll(g.Args))
			for range g.Args {
				x.ready = append(x.ready, &expr.Column{Pos: at})
				at++
			}
			x.alone = len(n.Keys) == 0 && r.Frame == nil
			a.aggs = append(a.aggs, x)
			width += len(g.Args)
		}
		if len(n.Keys) > 0 && r.Frame == nil && r.Env.Spill != nil {
			a.over = &overflow{table: a.table, width: width}
		}
		return a
	}
	return s
}

func (a *aggregate) Open(ctx context.Context) error {
	a.filled = false
	a.byWorker = a.byWorker[:0]
	a.reset()
	if a.over != nil {
		a.over.Close()
	}
	return a.In.Open(ctx)
}

// reset removes all groups.
func (a *aggregate) reset() {
	a.at, a.sized = 0, 0
	a.table.Reset()
	a.encoded.reset()
	for _, g := range a.aggs {
		g.reset()
	}
}

// groups is the number of groups. Without keys, each row of the frame has one, even without rows.
func (a *aggregate) groups() int {
	if len(a.keys) == 0 {
		return a.frame.Rows()
	}
	return a.table.len()
}

func (a *aggregate) Next(ctx context.Context) (*runtime.Batch, error) {
	if !a.filled {
		if err := a.fill(ctx); err != nil {
			return nil, err
		}
		a.filled = true
	}
	if a.over != nil && a.at == a.groups() {
		if err := a.refill(ctx); err != nil {
			return nil, err
		}
	}
	n := min(a.groups()-a.at, a.r.BatchSize())
	if n == 0 {
		return nil, nil
	}
	a.out.Reset(len(a.outKey) + len(a.aggs))
	a.out.N = n
	for k, key := range a.outKey {
		c := &a.out.Cols[k]
		c.Vals = a.table.keys[key].appendTo(c.Vals, a.at, a.at+n)
	}
	for k, g := range a.aggs {
		c := &a.out.Cols[len(a.outKey)+k]
		for i := range n {
			v, err := g.result(a.at + i)
			if err != nil {
				return nil, err
			}
			c.Vals = append(c.Vals, v)
		}
	}
	if a.frame != nil {
		for i := a.at; i < a.at+n; i++ {
			row := int32(i)
			if len(a.keys) > 0 {
				row = a.table.row[i]
			}
			a.out.Row = append(a.out.Row, row)
		}
	}
	a.at += n
	return &a.out, nil
}

func (a *aggregate) fill(ctx context.Context) error {
	if len(a.keys) == 0 {
		if err := a.grow(); err != nil {
			return err
		}
	}
	for {
		b, err := a.In.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if b.Grouped != nil {
			if err := a.addGrouped(ctx, b); err != nil {
				return err
			}
			continue
		}
		s := runtime.AllRows(b.N)
		a.es.Begin(s)
		if a.encoded.fit(b) && (a.over == nil || !a.over.on) {
			if err := a.encode(ctx, b, s); err != nil {
				return err
			}
			continue
		}
		if err := a.compute(ctx, b, s); err != nil {
			return err
		}
		if a.over != nil && a.over.on {
			for _, g := range a.aggs {
				if err := g.eval(ctx, g.args, b, s); err != nil {
					return err
				}
			}
			if err := a.divide(b, s); err != nil {
				return err
			}
			continue
		}
		if err := a.number(b, s); err != nil {
			return err
		}
		if err := a.add(ctx, b, s); err != nil {
			return err
		}
	}
}

// encode adds a batch by the codes of its keys.
func (a *aggregate) encode(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	if err := a.repeat(ctx, b, s); err != nil {
		return err
	}
	a.room(b.N)
	if err := a.encoded.number(ctx, b, a.table, a.group); err != nil {
		return err
	}
	if err := a.grow(); err != nil {
		return err
	}
	return a.add(ctx, b, s)
}

// add adds a batch to the groups of its rows.
func (a *aggregate) add(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	for _, g := range a.aggs {
		if err := g.add(ctx, g.args, b, s, a.group, a.counts); err != nil {
			return err
		}
	}
	a.watch()
	return nil
}

// repeat computes how often the rows of a batch count.
func (a *aggregate) repeat(ctx context.Context, b *runtime.Batch, s runtime.Sel) (err error) {
	if a.times != nil {
		a.counts, err = a.times.Eval(ctx, b, s)
	}
	return err
}

// compute computes the keys of a batch and how often its rows count.
func (a *aggregate) compute(ctx context.Context, b *runtime.Batch, s runtime.Sel) (err error) {
	if err := a.repeat(ctx, b, s); err != nil {
		return err
	}
	for k, x := range a.keys {
		if a.cols[k], err = x.Eval(ctx, b, s); err != nil {
			return err
		}
	}
	return nil
}

// room extends a.group to n rows.
func (a *aggregate) room(n int) {
	if len(a.group) < n {
		a.group = make([]int32, max(n, a.r.BatchSize()))
	}
}

// number sets a.group for the rows of a batch whose keys are computed, and creates new groups.
func (a *aggregate) number(b *runtime.Batch, s runtime.Sel) error {
	a.room(b.N)
	if len(a.keys) == 0 {
		if b.Row != nil {
			copy(a.group, b.Row)
		}
		return nil
	}
	if err := a.table.Numbers(b, a.cols, s, a.group); err != nil {
		return err
	}
	return a.grow()
}

// grow creates the accumulators of new groups.
func (a *aggregate) grow() error {
	n := a.groups()
	if n == a.sized {
		return nil
	}
	for _, g := range a.aggs {
		g.grow(n)
	}
	added := n - a.sized
	a.sized = n
	return a.table.Acct.Grow(added * len(a.aggs) * accumulatorSize)
}

func (a *aggregate) Close() {
	a.table.Acct.Release()
	a.encoded.reset()
	for _, g := range a.aggs {
		g.acct.Release()
	}
	if a.over != nil {
		a.over.Close()
	}
	a.In.Close()
}
