package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// sorter orders rows; in a subplan, those of each row of the frame by themselves, the rows of the frame in their order.
//
// With a limit of k rows it holds about 2k: it takes rows in until it has that many, keeps the k first of them, and from
// then on drops rows that go behind the last of these before it copies them. When memory is short it puts what it holds
// on disk as a sorted run, and merges the runs in the end.
type sorter struct {
	input
	limits
	keys  []plan.SortKey
	es    *evaluators
	xs    []evaluator
	from  []int // input position of each column
	spool spool // the columns, then the keys
	width int   // of the columns
	// bound are the keys of the k-th row, once there were k; only at the top level.
	bound  []graph.Value
	order  []int32
	vals   [][]graph.Value
	kept   sel
	one    batch
	filled bool
	full   int // rows to hold before they are cut to those wanted
	out    batch
	at     int
	disk   sortedRuns
	framed bool // the rows on disk are those of a subplan
}

func (c *compiler) sort(n *plan.Sort, need plan.ColSet) *stage {
	exprs := make([]plan.Expr, len(n.Keys))
	for i, k := range n.Keys {
		exprs[i] = c.byEdge(k.Expr, n.Input)
	}
	below := c.below(need, exprs...)
	in := c.compile(n.Input, below)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		o := &sorter{
			input: input{kids[0]}, limits: limits{r: r, skipX: n.Skip, limX: n.Limit}, keys: n.Keys,
			es: r.evaluators(in.cols), from: in.positions(s.cols), width: len(s.cols),
			spool: spool{acct: account{r: r, name: "Sort"}}, vals: make([][]graph.Value, len(n.Keys)),
		}
		o.xs = o.es.addAll(exprs)
		return o
	}
	return s
}

func (o *sorter) open(ctx context.Context) error {
	if err := o.limits.open(ctx); err != nil {
		return err
	}
	o.filled, o.at, o.bound = false, 0, o.bound[:0]
	o.full = 2*max(o.wanted(), 0) + o.r.batchSize()
	o.disk.close()
	o.spool.reset(o.width + len(o.keys))
	return o.in.open(ctx)
}

// wanted is the number of rows to keep, -1 for all.
func (o *sorter) wanted() int {
	if o.limit < 0 {
		return -1
	}
	if o.skip+o.limit < 0 || o.skip+o.limit > 1<<31 {
		return 1 << 31
	}
	return int(o.skip + o.limit)
}

func (o *sorter) next(ctx context.Context) (*batch, error) {
	if !o.filled {
		if err := o.fill(ctx); err != nil {
			return nil, err
		}
		o.filled = true
		if len(o.disk.runs) > 0 {
			if o.spool.all.N > 0 {
				if err := o.spillRun(ctx); err != nil {
					return nil, err
				}
			}
			if err := o.startMerge(o.disk.runs); err != nil {
				return nil, err
			}
		}
		if err := o.arrange(ctx); err != nil {
			return nil, err
		}
		if o.skip > 0 && o.spool.all.row == nil {
			o.order = o.order[min(int(min(o.skip, 1<<31)), len(o.order)):]
		} else if o.skip > 0 {
			o.order = o.dropSkipped(o.order)
		}
	}
	if len(o.disk.runs) > 0 {
		return o.merged()
	}
	n := min(len(o.order)-o.at, o.r.batchSize())
	if n <= 0 {
		return nil, nil
	}
	o.out.reset(o.width)
	o.out.appendRows(&o.spool.all, allPositions(o.width), o.order[o.at:o.at+n])
	o.out.N = n
	o.at += n
	return &o.out, nil
}

func (o *sorter) fill(ctx context.Context) error {
	k := o.wanted()
	for {
		b, err := o.in.next(ctx)
		if b == nil || err != nil {
			return err
		}
		if k == 0 {
			continue
		}
		s := allRows(b.N)
		o.es.begin(s)
		for j, x := range o.xs {
			if o.vals[j], err = x.eval(ctx, b, s); err != nil {
				return err
			}
		}
		if len(o.bound) > 0 {
			s = o.before(s)
		}
		if err := o.take(b, s); err != nil {
			return err
		}
		if k > 0 && o.spool.all.N >= o.full {
			if err := o.prune(ctx, k); err != nil {
				return err
			}
			o.full = 2*o.spool.all.N + o.r.batchSize()
		}
		if o.spool.acct.short() {
			if err := o.spillRun(ctx); err != nil {
				return err
			}
		}
	}
}

// before gives the rows of s that go before the bound.
func (o *sorter) before(s sel) sel {
	o.kept = o.kept[:0]
	for _, i := range s {
		for j := range o.keys {
			c := order(o.vals[j][i], o.bound[j])
			if o.keys[j].Desc {
				c = -c
			}
			if c < 0 {
				o.kept = append(o.kept, i)
			}
			if c != 0 {
				break
			}
		}
	}
	return o.kept
}

// take copies rows and their keys.
func (o *sorter) take(b *batch, s sel) error {
	if len(s) == 0 {
		return nil
	}
	o.one.N, o.one.row = b.N, b.row
	o.one.Cols = o.one.Cols[:0]
	for _, p := range o.from {
		o.one.Cols = append(o.one.Cols, b.Cols[p])
	}
	for _, vs := range o.vals {
		o.one.Cols = append(o.one.Cols, graph.Column{Vals: vs})
	}
	return o.spool.addRows(&o.one, allPositions(len(o.one.Cols)), s)
}

// arrange sorts the numbers of the rows held into order, and, with a limit, cuts each part to it.
func (o *sorter) arrange(ctx context.Context) error {
	steps, ended := 0, false
	o.order = append(o.order[:0], allRows(o.spool.all.N)...)
	keys := o.spool.all.Cols[o.width:]
	row := o.spool.all.row
	slices.SortFunc(o.order, func(a, b int32) int {
		if steps++; !ended && (steps&0xfff == 0 || len(keys) > 0 && fn.Large(keys[0].Vals[a])) {
			ended = ctx.Err() != nil
		}
		if ended {
			return 0 // the rest is done at once, and thrown away
		}
		if row != nil && row[a] != row[b] {
			return int(row[a] - row[b])
		}
		for j := range keys {
			if c := order(keys[j].Vals[a], keys[j].Vals[b]); c != 0 {
				if o.keys[j].Desc {
					return -c
				}
				return c
			}
		}
		return int(a - b) // equal rows stay in their order
	})
	if ended {
		return graph.DeadlineError(context.Cause(ctx))
	}
	k := o.wanted()
	if k < 0 {
		return nil
	}
	if row == nil {
		o.order = o.order[:min(k, len(o.order))]
		return nil
	}
	left, n := o.order[:0], 0
	last := int32(-1)
	for _, i := range o.order {
		if row[i] != last {
			last, n = row[i], 0
		}
		if n++; n <= k {
			left = append(left, i)
		}
	}
	o.order = left
	return nil
}

// dropSkipped drops the first rows of each row of the frame.
func (o *sorter) dropSkipped(order []int32) []int32 {
	left, n := order[:0], int64(0)
	last := int32(-1)
	for _, i := range order {
		if row := o.spool.all.row[i]; row != last {
			last, n = row, 0
		}
		if n++; n > o.skip {
			left = append(left, i)
		}
	}
	return left
}

// prune keeps only the first k rows (of each row of the frame), in their order.
func (o *sorter) prune(ctx context.Context, k int) error {
	if err := o.arrange(ctx); err != nil {
		return err
	}
	var kept batch
	width := len(o.spool.all.Cols)
	kept.reset(width)
	kept.appendRows(&o.spool.all, allPositions(width), o.order)
	kept.N = len(o.order)
	o.spool.reset(width)
	if err := o.spool.add(&kept, allPositions(width)); err != nil {
		return err
	}
	if kept.row == nil && kept.N == k {
		o.bound = o.bound[:0]
		for j := range o.keys {
			o.bound = append(o.bound, kept.Cols[o.width+j].Vals[k-1])
		}
	}
	return nil
}

// order is fn.Order with the common cases inline.
func order(a, b graph.Value) int {
	if a.Kind() == graph.Int && b.Kind() == graph.Int {
		switch x, y := a.Int(), b.Int(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return fn.Order(a, b)
}

func (o *sorter) close() {
	o.spool.acct.release()
	o.disk.close()
	o.in.close()
}
