package relational

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// blockGroups aggregates vertices by properties from blocks of decoded properties, on workers if cores are free. A key that
// has codes in a block is hashed once for each of its codes, and Ints are added without values. The planner uses
// it only where transactions have shard.Blocks. It runs its input instead if most of the blocks are not decoded yet, as blockAggregate
// does, or if groups are so many that they may have to spill.
// BenchmarkRewrites/BlockAggregate in bench/traversal compares the two.
type blockGroups struct {
	runtime.Input
	r    *runtime.Run
	node *plan.BlockAggregate
	cols []plan.Col
	aggs []blockColumn // of the columns that are read
	keys []int         // places in props

	begun, direct bool
	groups        *groupBlocks
	order         []int32 // groups by their first vertices
	at            int     // in order
	out           runtime.Batch
}

const (
	// maxBlockGroups bounds the groups. From minGrouped vertices on, there must be verticesPerGroup of them for each group.
	maxBlockGroups, minGrouped, verticesPerGroup = 1 << 16, 1 << 13, 2
	// unitsPerBlock divides a block for Parts, whose parts have at least 32 entries.
	unitsPerBlock = 8
)

var (
	errManyGroups = errors.New("there are too many groups")
	errOtherKinds = errors.New("a worker takes only Ints")
)

func newBlockGroups(r *runtime.Run, n *plan.BlockAggregate, in runtime.Operator, cols []plan.Col) *blockGroups {
	x := &blockGroups{Input: runtime.Input{In: in}, r: r, node: n, cols: cols}
	for _, g := range n.Aggs {
		if slices.Contains(cols, g.Col) {
			x.aggs = append(x.aggs, blockColumn{aggColumn: newAggColumn(r, g, make([]runtime.Evaluator, len(g.Args))), agg: g})
		}
	}
	return x
}

// Open implements runtime.Operator.
func (x *blockGroups) Open(context.Context) error {
	x.begun, x.direct, x.at = false, false, 0
	return nil
}

// Close implements runtime.Operator.
func (x *blockGroups) Close() {
	x.release()
	x.In.Close()
}

// release forgets all groups.
func (x *blockGroups) release() {
	for _, g := range x.aggs {
		g.reset()
	}
	if x.groups != nil {
		x.groups.release()
		x.groups = nil
	}
}

// Next implements runtime.Operator.
func (x *blockGroups) Next(ctx context.Context) (*runtime.Batch, error) {
	if !x.begun {
		x.begun = true
		var err error
		if x.direct, err = x.group(ctx); err != nil {
			return nil, err
		}
		if !x.direct {
			x.release()
			if err := x.In.Open(ctx); err != nil {
				return nil, err
			}
		}
	}
	if !x.direct {
		return x.In.Next(ctx)
	}
	n := min(len(x.order)-x.at, x.r.BatchSize())
	if n == 0 {
		return nil, nil
	}
	x.out.Reset(len(x.cols))
	x.out.N = n
	for i, col := range x.cols {
		c := &x.out.Cols[i]
		if k := slices.IndexFunc(x.node.Keys, func(key plan.Item) bool { return key.Col == col }); k >= 0 {
			for _, g := range x.order[x.at : x.at+n] {
				c.Vals = append(c.Vals, x.groups.key(k, g))
			}
			continue
		}
		k := slices.IndexFunc(x.aggs, func(g blockColumn) bool { return g.agg.Col == col })
		for _, g := range x.order[x.at : x.at+n] {
			v, err := x.result(k, g)
			if err != nil {
				return nil, err
			}
			c.Vals = append(c.Vals, v)
		}
	}
	x.at += n
	return &x.out, nil
}

// result returns aggregate k of a group.
func (x *blockGroups) result(k int, g int32) (graph.Value, error) {
	switch a := &x.aggs[k]; {
	case a.prop < 0:
		return graph.IntValue(x.groups.rows[g]), nil
	case a.agg.Func == "count":
		return graph.IntValue(x.groups.sums[k].of[g].n), nil
	default:
		return a.aggColumn.result(int(g))
	}
}

// group fills x.groups, and reports whether it could.
func (x *blockGroups) group(ctx context.Context) (bool, error) {
	req, ok := x.request()
	if !ok || x.r.Frame != nil || x.r.Env.Partial {
		return false, nil
	}
	blocks, ok, err := x.r.Blocks(ctx, req)
	if !ok || err != nil {
		return false, err
	}
	x.release()
	x.groups = newGroupBlocks(x, x.r, true)
	if ok, err = x.groups.parallel(ctx, req, blocks); err == nil && !ok {
		x.groups.release()
		x.groups = newGroupBlocks(x, x.r, true)
		err = x.r.ReadBlocks(ctx, req, 0, blocks, x.groups)
	}
	if err == nil {
		err = x.groups.flush()
	}
	if err != nil {
		if e, ok := errors.AsType[*graph.Error](err); errors.Is(err, errManyGroups) || ok && e.Kind == graph.KindBudget {
			err = nil // the input spills
		}
		return false, err
	}
	x.order = x.order[:0]
	for g := range x.groups.first {
		x.order = append(x.order, int32(g))
	}
	slices.SortFunc(x.order, func(a, b int32) int { return cmp.Compare(x.groups.first[a], x.groups.first[b]) })
	return true, nil
}

// request returns the request, or false if the names or the parameters do not allow it.
func (x *blockGroups) request() (_ *shard.ReadBlocks, ok bool) {
	r, n := x.r, x.node
	req := &shard.ReadBlocks{}
	if n.Labels != nil {
		if req.Label, ok = r.Graph.Label(n.Labels.Name); !ok {
			return nil, false
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
	x.keys = x.keys[:0]
	for _, k := range n.Keys {
		at := place(k.Expr.(*plan.Prop).Key)
		if at < 0 {
			return nil, false
		}
		x.keys = append(x.keys, at)
	}
	for i := range x.aggs {
		g := &x.aggs[i]
		g.prop = -1
		if n.CountsRows(&g.agg) {
			continue
		}
		key, _ := n.Prop(&g.agg)
		if g.prop = place(key); g.prop < 0 {
			return nil, false
		}
	}
	ranges, ok := adjacency.NewRanges(r, n.Where)
	if ok {
		req.Where, ok = ranges.Where(r, req.Where)
	}
	return req, ok
}

// groupBlocks are the groups of some blocks.
type groupBlocks struct {
	x     *blockGroups
	r     *runtime.Run
	acct  runtime.Account
	whole bool // it takes all kinds of values, which workers do not

	values  []*GroupTable // by key: a value's number is its code
	pairs   []pairTable   // [k] numbers the pairs of the number of keys 0 … k and the code of key k+1
	keys    [][]int32     // by key and group: the code
	first   []uint64      // by group: the block and the place of its first vertex
	rows    []int64       // by group
	sums    []intSums     // by aggregate
	sized   int           // groups that are accounted for
	visited int

	codes    [][]int32 // by key and row of a piece
	combined []int32
	numbers  []int32 // by code of a block: the code of all blocks; -1: not known
	unknown  []uint16
	vals     [][]graph.Value
	found    []int32
	batch    runtime.Batch
}

// intSums are the Ints of an aggregate, by group, that its accumulators do not have yet.
type intSums struct {
	of   []intSum
	most uint64 // bounds the magnitude of each sum
}

// intSum is how many values a group has, and their sum, or the extreme.
type intSum struct{ n, x int64 }

func newGroupBlocks(x *blockGroups, r *runtime.Run, whole bool) *groupBlocks {
	n := len(x.keys)
	b := &groupBlocks{
		x: x, r: r, acct: runtime.Account{Run: r, Name: "BlockAggregate"}, whole: whole,
		pairs: make([]pairTable, n-1), keys: make([][]int32, n), codes: make([][]int32, n), sums: make([]intSums, len(x.aggs)),
		vals: make([][]graph.Value, 1),
	}
	for range n {
		b.values = append(b.values, NewGroupTable(r, "BlockAggregate", 1))
	}
	return b
}

func (b *groupBlocks) release() {
	b.acct.Release()
	for _, t := range b.values {
		t.Acct.Release()
	}
}

// key returns key k of a group.
func (b *groupBlocks) key(k int, g int32) graph.Value { return b.values[k].keys[0].at(b.keys[k][g]) }

// parallel groups the blocks on workers. It reports false if no processor is free, or not all values are Ints: then their order
// counts.
func (b *groupBlocks) parallel(ctx context.Context, req *shard.ReadBlocks, blocks int) (bool, error) {
	var own []*groupBlocks
	pool := exchange.NewPool(b.r, func() {})
	ok, err := pool.Parts(ctx, blocks*unitsPerBlock, func(_ int, r *runtime.Run) func(lo, hi int) error {
		w := newGroupBlocks(b.x, r, false)
		own = append(own, w)
		return func(lo, hi int) error {
			return r.ReadBlocks(ctx, req, (lo+unitsPerBlock-1)/unitsPerBlock, (hi+unitsPerBlock-1)/unitsPerBlock, w)
		}
	})
	for _, w := range own {
		if ok && err == nil {
			err = b.merge(w)
		}
		w.release()
	}
	if errors.Is(err, errOtherKinds) {
		return false, nil
	}
	return ok, err
}

// Cells implements shard.CellSink.
func (b *groupBlocks) Cells(ctx context.Context, block int, places []uint32, props []graph.Cells) error {
	if err := b.r.CheckCancel(ctx); err != nil {
		return err
	}
	for k, p := range b.x.keys {
		if err := b.encode(k, places, &props[p]); err != nil {
			return err
		}
	}
	groups, err := b.combine(len(places), func(i int) uint64 { return uint64(block)<<32 | uint64(places[i]) })
	if err != nil {
		return err
	}
	if b.visited += len(places); b.visited >= minGrouped && len(b.first)*verticesPerGroup > b.visited || len(b.first) > maxBlockGroups {
		return errManyGroups
	}
	for _, g := range groups {
		b.rows[g]++
	}
	for k := range b.x.aggs {
		if err := b.add(k, groups, places, props); err != nil {
			return err
		}
	}
	return nil
}

// allNull reports whether all values at some places are null.
func allNull(places []uint32, c *graph.Cells) bool {
	return !slices.ContainsFunc(places, func(i uint32) bool { return !c.Value(i).IsNull() })
}

// encode sets b.codes[k] to the codes of the values at some places.
func (b *groupBlocks) encode(k int, places []uint32, c *graph.Cells) error {
	codes := slices.Grow(b.codes[k][:0], len(places))[:len(places)]
	b.codes[k] = codes
	b.vals[0] = b.vals[0][:0]
	if c.Codes == nil {
		for _, i := range places {
			b.vals[0] = append(b.vals[0], c.Value(i))
		}
		return b.number(k, codes)
	}
	b.numbers, b.unknown = b.numbers[:0], b.unknown[:0]
	for range c.Dict {
		b.numbers = append(b.numbers, -1)
	}
	for _, i := range places {
		if code := c.Codes[i]; b.numbers[code] < 0 {
			b.numbers[code] = 0
			b.unknown = append(b.unknown, code)
			b.vals[0] = append(b.vals[0], c.Dict[code])
		}
	}
	b.found = slices.Grow(b.found[:0], len(b.unknown))[:len(b.unknown)]
	if err := b.number(k, b.found); err != nil {
		return err
	}
	for i, code := range b.unknown {
		b.numbers[code] = b.found[i]
	}
	for j, i := range places {
		codes[j] = b.numbers[c.Codes[i]]
	}
	return nil
}

// number sets dst to the codes of b.vals among the values of key k.
func (b *groupBlocks) number(k int, dst []int32) error {
	b.batch.N = len(dst)
	return b.values[k].Numbers(&b.batch, b.vals, runtime.AllRows(len(dst)), dst)
}

// combine returns the groups of n rows whose keys have codes, and adds new ones. first is where a row comes from.
func (b *groupBlocks) combine(n int, first func(i int) uint64) ([]int32, error) {
	groups := b.codes[0]
	for k := range b.pairs {
		b.combined = slices.Grow(b.combined[:0], n)[:n]
		b.pairs[k].number(groups, b.codes[k+1], b.combined)
		groups = b.combined
	}
	for i, g := range groups {
		if int(g) < len(b.first) {
			continue
		}
		b.first, b.rows = append(b.first, first(i)), append(b.rows, 0)
		for k := range b.keys {
			b.keys[k] = append(b.keys[k], b.codes[k][i])
		}
	}
	added := len(b.first) - b.sized
	if added == 0 {
		return groups, nil
	}
	b.sized = len(b.first)
	for k := range b.sums {
		s := &b.sums[k]
		s.of = slices.Grow(s.of, added)[:b.sized]
		if b.whole {
			b.x.aggs[k].grow(b.sized)
		}
	}
	return groups, b.acct.Grow(added * (1 + len(b.keys) + len(b.sums)) * accumulatorSize)
}

// add adds the values at some places, whose groups are given, to aggregate k.
func (b *groupBlocks) add(k int, groups []int32, places []uint32, props []graph.Cells) error {
	a, s := &b.x.aggs[k], &b.sums[k]
	if a.prop < 0 {
		return nil
	}
	c := &props[a.prop]
	if a.agg.Func == "count" {
		s.count(groups, places, c)
		return nil
	}
	if c.Ints() {
		ok := true
		switch a.agg.Func {
		case "min":
			s.extremes(groups, places, c, -1)
		case "max":
			s.extremes(groups, places, c, 1)
		default:
			if ok = s.room(c.Most, len(places)); !ok && b.whole {
				if err := b.flushOne(k); err != nil {
					return err
				}
				ok = s.room(c.Most, len(places))
			}
			if ok {
				s.add(groups, places, c)
			}
		}
		if ok {
			return nil
		}
	}
	if !b.whole {
		if allNull(places, c) {
			return nil
		}
		return errOtherKinds
	}
	if err := b.flushOne(k); err != nil {
		return err
	}
	b.vals[0] = b.vals[0][:0]
	for _, i := range places {
		b.vals[0] = append(b.vals[0], c.Value(i))
	}
	a.aggColumn.cols[0] = b.vals[0]
	return a.take(len(places), runtime.AllRows(len(places)), groups, nil)
}

// room reports whether n more Ints of a magnitude fit the sums.
func (s *intSums) room(magnitude uint64, n int) bool {
	const most = 1<<63 - 1
	if magnitude > most/uint64(n) || s.most > most-magnitude*uint64(n) {
		return false
	}
	s.most += magnitude * uint64(n)
	return true
}

func (s *intSums) count(groups []int32, places []uint32, c *graph.Cells) {
	for j, i := range places {
		if c.Ints() && c.Has(i) || !c.Ints() && !c.Value(i).IsNull() {
			s.of[groups[j]].n++
		}
	}
}

func (s *intSums) add(groups []int32, places []uint32, c *graph.Cells) {
	if c.Present != nil || c.Narrow == nil {
		for j, i := range places {
			if c.Has(i) {
				of := &s.of[groups[j]]
				of.n++
				of.x += c.Int(i)
			}
		}
		return
	}
	for j, i := range places {
		of := &s.of[groups[j]]
		of.n++
		of.x += c.Base + int64(c.Narrow[i])
	}
}

// extremes keeps the least values for sign -1, the greatest for 1.
func (s *intSums) extremes(groups []int32, places []uint32, c *graph.Cells, sign int) {
	for j, i := range places {
		if !c.Has(i) {
			continue
		}
		of, x := &s.of[groups[j]], c.Int(i)
		if of.n == 0 || cmp.Compare(x, of.x) == sign {
			of.x = x
		}
		of.n++
	}
}

// merge adds the groups of a worker.
func (b *groupBlocks) merge(w *groupBlocks) error {
	n := len(w.first)
	for k := range b.keys {
		b.vals[0] = w.values[k].keys[0].appendTo(b.vals[0][:0], 0, w.values[k].len())
		b.found = slices.Grow(b.found[:0], len(b.vals[0]))[:len(b.vals[0])]
		if err := b.number(k, b.found); err != nil {
			return err
		}
		b.codes[k] = b.codes[k][:0]
		for _, code := range w.keys[k] {
			b.codes[k] = append(b.codes[k], b.found[code])
		}
	}
	groups, err := b.combine(n, func(i int) uint64 { return w.first[i] })
	if err != nil {
		return err
	}
	for i, g := range groups {
		b.rows[g] += w.rows[i]
		b.first[g] = min(b.first[g], w.first[i])
	}
	for k := range b.sums {
		s, from := &b.sums[k], &w.sums[k]
		if !s.room(from.most, 1) {
			if err := b.flushOne(k); err != nil {
				return err
			}
			s.room(from.most, 1)
		}
		for i, g := range groups {
			of, x := &s.of[g], from.of[i]
			switch f := b.x.aggs[k].agg.Func; {
			case x.n == 0:
				continue
			case f != "min" && f != "max":
				of.x += x.x
			case of.n == 0 || f == "min" && x.x < of.x || f == "max" && x.x > of.x:
				of.x = x.x
			}
			of.n += x.n
		}
	}
	return nil
}

// flush passes all Ints on to the accumulators.
func (b *groupBlocks) flush() error {
	for k := range b.sums {
		if err := b.flushOne(k); err != nil {
			return err
		}
	}
	return nil
}

// flushOne passes the Ints of aggregate k on to its accumulators. As in a block with a summary, sums and means are of few values: the
// sum, and as many zeros as make up their number.
func (b *groupBlocks) flushOne(k int) error {
	a, s := &b.x.aggs[k], &b.sums[k]
	if a.prop < 0 || a.agg.Func == "count" {
		return nil
	}
	sums := a.agg.Func == "sum" || a.agg.Func == "avg"
	var vals, times, zeros []graph.Value
	var groups, more []int32
	for g := range s.of {
		of := &s.of[g]
		if of.n == 0 {
			continue
		}
		vals, groups = append(vals, graph.IntValue(of.x)), append(groups, int32(g))
		if sums && of.n > 1 {
			zeros, times, more = append(zeros, graph.IntValue(0)), append(times, graph.IntValue(of.n-1)), append(more, int32(g))
		}
		*of = intSum{}
	}
	s.most = 0
	a.cols[0] = vals
	if err := a.take(len(vals), runtime.AllRows(len(vals)), groups, nil); err != nil {
		return err
	}
	a.cols[0] = zeros
	return a.take(len(zeros), runtime.AllRows(len(zeros)), more, times)
}
