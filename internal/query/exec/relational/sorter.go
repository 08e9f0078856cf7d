package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// sorter orders rows; in a subplan, those of each row of the frame by themselves, the rows of the frame in their order.
//
// With a limit of k rows it holds about 2k: it takes rows in until it has that many, keeps the k first of them, and from
// then on drops rows that go behind the last of these before it copies them, key by key: a key is computed for the rows
// that those before it leave. When memory is short it puts what it holds on disk as a sorted run, and merges the runs in
// the end.
type sorter struct {
	runtime.Input
	limits
	keys  []plan.SortKey
	es    *expr.Evaluators
	xs    []runtime.Evaluator
	from  []int          // input position of each column
	spool runtime.Buffer // the columns, then the keys
	width int            // of the columns
	whole []int          // positions in the spool of all columns, and of the returned ones
	give  []int
	// bound holds the keys of the k-th row once k rows have arrived; only at the top level.
	bound []graph.Value
	// after holds the keys of the row behind which a page begins.
	afterX []plan.Expr
	after  []graph.Value
	// sorted is the number of the first keys in whose order the rows arrive. Once there are enough, which end with the keys last, rows behind
	// them are not read. computed is the number of keys of the last row of a batch.
	sorted   int
	last     []graph.Value
	computed int
	order    []int32
	vals     [][]graph.Value
	kept     runtime.Sel // of the last key
	spare    runtime.Sel // for the next one, so that no key overwrites the rows that it reads
	one      runtime.Batch
	filled   bool
	full     int           // rows to buffer before pruning
	top      runtime.Batch // the returned rows
	out      runtime.Batch
	at       int
	disk     sortedRuns
	framed   bool // the rows on disk are those of a subplan
}

// Sort compiles a Sort.
func Sort(c *compile.Compiler, n *plan.Sort, need plan.ColSet) *runtime.Stage {
	exprs := make([]plan.Expr, len(n.Keys))
	for i, k := range n.Keys {
		exprs[i] = c.ByEdge(k.Expr, n.Input)
	}
	below := c.Below(need, exprs...)
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need)}
	from := in.Positions(s.Cols)
	give := runtime.AllPositions(len(from))
	whole := runtime.AllPositions(len(from) + len(n.Keys))
	for j, k := range n.Keys {
		if k.Col != 0 && need.Has(k.Col) {
			s.Cols, give = append(s.Cols, k.Col), append(give, len(from)+j)
		}
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		o := &sorter{
			Input: runtime.Input{In: kids[0]}, limits: limits{r: r, skipX: n.Skip, limX: n.Limit}, keys: n.Keys,
			afterX: n.After, sorted: n.Sorted,
			es: expr.New(r, in.Cols), from: from, width: len(from), give: give, whole: whole,
			spool: runtime.Buffer{Acct: runtime.Account{Run: r, Name: "Sort"}}, vals: make([][]graph.Value, len(n.Keys)),
		}
		for j, e := range exprs {
			o.es.Group = j
			o.xs = append(o.xs, o.es.Add(e))
		}
		return o
	}
	return s
}

func (o *sorter) Open(ctx context.Context) error {
	if err := o.limits.open(ctx); err != nil {
		return err
	}
	o.after, o.last = o.after[:0], o.last[:0]
	for _, e := range o.afterX {
		v, err := expr.Scalar(ctx, o.r, e)
		if err != nil {
			return err
		}
		o.after = append(o.after, v)
	}
	o.filled, o.at, o.bound = false, 0, o.bound[:0]
	o.full = 2*max(o.most(), 0) + fewFirst
	o.disk.Close()
	o.spool.Reset(len(o.whole))
	return o.In.Open(ctx)
}

// fewFirst is how many rows beyond twice the limit are held before there is a bound.
const fewFirst = 64

// most is the number of rows to keep; -1: all.
func (o *sorter) most() int {
	if o.limit < 0 {
		return -1
	}
	if o.skip+o.limit < 0 || o.skip+o.limit > 1<<31 {
		return 1 << 31
	}
	return int(o.skip + o.limit)
}

func (o *sorter) Next(ctx context.Context) (*runtime.Batch, error) {
	if !o.filled {
		if err := o.fill(ctx); err != nil {
			return nil, err
		}
		o.filled = true
		if len(o.disk.runs) > 0 {
			if o.spool.All.N > 0 {
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
		if o.skip > 0 && o.spool.All.Row == nil {
			o.order = o.order[min(int(min(o.skip, 1<<31)), len(o.order)):]
		} else if o.skip > 0 {
			o.order = o.dropSkipped(o.order)
		}
	}
	if len(o.disk.runs) > 0 {
		return o.merged()
	}
	n := min(len(o.order)-o.at, o.r.BatchSize())
	if n <= 0 {
		return nil, nil
	}
	o.out.Reset(len(o.give))
	o.out.AppendRows(&o.spool.All, o.give, o.order[o.at:o.at+n])
	o.out.N = n
	o.at += n
	return &o.out, nil
}

func (o *sorter) fill(ctx context.Context) error {
	k := o.most()
	for {
		b, err := o.In.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if k == 0 {
			continue
		}
		for s := runtime.AllRows(b.N); len(s) > 0; {
			part := s
			if k > 0 && len(o.bound) == 0 && b.Row == nil {
				part = s[:min(len(s), max(o.full-o.spool.All.N, 1))] // the bound then serves for the rest
			}
			s = s[len(part):]
			end := part[len(part)-1]
			if part, err = o.compute(ctx, b, part, end); err != nil {
				return err
			}
			if err := o.take(b, part); err != nil {
				return err
			}
			if o.sorted > 0 && o.complete(end, k) {
				return nil
			}
			if k > 0 && o.spool.All.N >= o.full {
				if err := o.prune(ctx, k); err != nil {
					return err
				}
				o.full = 2*o.spool.All.N + o.r.BatchSize()
			}
		}
		if o.spool.Acct.ShouldSpill() {
			if err := o.spillRun(ctx); err != nil {
				return err
			}
		}
	}
}

// complete reports whether no row behind the i-th of the batch, whose keys were computed last, is one of the first k of a page whose rows arrive
// in order.
func (o *sorter) complete(i int32, k int) bool {
	if len(o.last) == 0 {
		if o.spool.All.N < k {
			return false
		}
		for j := range o.sorted {
			o.last = append(o.last, graph.Detach(o.spool.All.Cols[o.width+j].Value(k-1)))
		}
	}
	for j, v := range o.last {
		switch {
		case j >= o.computed: // it is behind the bound by the keys before
			return true
		case order(o.vals[j][i], v) != 0:
			return true
		case v.IsNull():
			return false // rows without a property come from no index, in no order of the other keys
		}
	}
	return o.sorted == len(o.keys)
}

// compute computes the keys of the rows of s that precede the bound, and are behind the page before, and returns these rows. end is
// the last row of s.
func (o *sorter) compute(ctx context.Context, b *runtime.Batch, s runtime.Sel, end int32) (runtime.Sel, error) {
	o.es.Begin(s)
	for j, x := range o.xs {
		o.es.Narrow(s)
		var err error
		if o.vals[j], err = x.Eval(ctx, b, s); err != nil {
			return nil, err
		}
		if s[len(s)-1] == end {
			o.computed = j + 1
		}
		if len(o.bound)+len(o.after) == 0 {
			continue
		}
		last := j == len(o.xs)-1
		kept := o.spare[:0]
		for _, i := range s {
			if len(o.after) > 0 {
				if c := o.compareTo(o.after, i, j); c < 0 || c == 0 && last {
					continue
				}
			}
			if len(o.bound) > 0 {
				if c := o.compareTo(o.bound, i, j); c > 0 || c == 0 && last {
					continue
				}
			}
			kept = append(kept, i)
		}
		o.kept, o.spare = kept, o.kept
		if s = kept; len(s) == 0 {
			break
		}
	}
	return s, nil
}

// compareTo compares the keys of a row up to the j-th with others.
func (o *sorter) compareTo(keys []graph.Value, i int32, j int) int {
	for k := range o.keys[:j+1] {
		if c := order(o.vals[k][i], keys[k]); c != 0 {
			if o.keys[k].Desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// take copies rows and their keys.
func (o *sorter) take(b *runtime.Batch, s runtime.Sel) error {
	if len(s) == 0 {
		return nil
	}
	o.one.N, o.one.Row = b.N, b.Row
	o.one.Cols = o.one.Cols[:0]
	for _, p := range o.from {
		o.one.Cols = append(o.one.Cols, b.Cols[p])
	}
	for _, vs := range o.vals {
		o.one.Cols = append(o.one.Cols, graph.Column{Vals: vs})
	}
	return o.spool.AddRows(&o.one, o.whole, s)
}

// arrange sorts the numbers of the buffered rows into order and truncates each part to the limit.
func (o *sorter) arrange(ctx context.Context) error {
	steps, ended := 0, false
	o.order = append(o.order[:0], runtime.AllRows(o.spool.All.N)...)
	keys := o.spool.All.Cols[o.width:]
	row := o.spool.All.Row
	k := o.most()
	compare := func(a, b int32) int {
		if steps++; !ended && (steps&0xfff == 0 || len(keys) > 0 && fn.Large(keys[0].Vals[a])) {
			ended = ctx.Err() != nil
		}
		if ended {
			return 0 // the rest is done at once, and discarded
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
	}
	if k >= 0 && row == nil && k < len(o.order) {
		o.order = least(o.order, k, compare)
	}
	slices.SortFunc(o.order, compare)
	if ended {
		return graph.DeadlineError(context.Cause(ctx))
	}
	if k < 0 || row == nil {
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

// dropSkipped removes the skipped rows of each row of the frame.
func (o *sorter) dropSkipped(order []int32) []int32 {
	left, n := order[:0], int64(0)
	last := int32(-1)
	for _, i := range order {
		if row := o.spool.All.Row[i]; row != last {
			last, n = row, 0
		}
		if n++; n > o.skip {
			left = append(left, i)
		}
	}
	return left
}

// prune keeps only the first k rows of each row of the frame, in their order.
func (o *sorter) prune(ctx context.Context, k int) error {
	if err := o.arrange(ctx); err != nil {
		return err
	}
	o.top.Reset(len(o.whole))
	o.top.AppendRows(&o.spool.All, o.whole, o.order)
	o.top.N = len(o.order)
	o.spool.Reset(len(o.whole))
	if err := o.spool.Add(&o.top, o.whole); err != nil {
		return err
	}
	if o.top.Row == nil && o.top.N == k {
		o.bound = o.bound[:0]
		for j := range o.keys {
			o.bound = append(o.bound, o.top.Cols[o.width+j].Vals[k-1])
		}
	}
	return nil
}

// least moves the k least rows to the front, in any order, and returns them.
func least(rows []int32, k int, compare func(a, b int32) int) []int32 {
	heap := rows[:k] // the greatest of them at its root
	sift := func(i int) {
		for {
			most := i
			for kid := 2*i + 1; kid <= 2*i+2 && kid < k; kid++ {
				if compare(heap[kid], heap[most]) > 0 {
					most = kid
				}
			}
			if most == i {
				return
			}
			heap[i], heap[most] = heap[most], heap[i]
			i = most
		}
	}
	for i := k/2 - 1; i >= 0; i-- {
		sift(i)
	}
	for _, row := range rows[k:] {
		if k > 0 && compare(row, heap[0]) < 0 {
			heap[0] = row
			sift(0)
		}
	}
	return heap
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

func (o *sorter) Close() {
	o.spool.Acct.Release()
	o.disk.Close()
	o.In.Close()
}
