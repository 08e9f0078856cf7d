package adjacency

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// multiplicityCount sums the products of its rows' path multiplicities. It computes the multiplicity of a vertex once, from those of
// its neighbours: counting by messages along a tree (Yannakakis 1981, in the form that FAQ, Khamis et al. 2016, uses for
// counts).
//
// BenchmarkCountFold against BenchmarkCountMultiplicity, and BenchmarkRewrites in bench/traversal, compare it with an aggregate
// over rows with path multiplicities.
type multiplicityCount struct {
	runtime.Input
	frame   *runtime.Frame
	factors []*multiplicities
	times   []int // positions of Times
	at      int   // position of the count in out, or -1
	sums    []int64
	product []int64
	done    bool
	out     runtime.Batch
}

// MultiplicityCount compiles a MultiplicityCount.
func MultiplicityCount(c *compile.Compiler, n *plan.MultiplicityCount, need plan.ColSet) *runtime.Stage {
	below := plan.NewColSet()
	for _, w := range n.Multiplicities {
		below.Add(w.Col)
	}
	below.Add(n.Times...)
	in := c.Compile(n.Input, below)
	for _, w := range n.Multiplicities {
		c.Bound(in, w.Col)
	}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(nil, need, n.Out)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &multiplicityCount{Input: runtime.Input{In: exchange.Coalesce(r, kids[0], len(in.Cols))}, frame: r.Frame, at: s.Pos(n.Out), times: in.Positions(n.Times)}
		c := newSharing(r)
		for _, w := range n.Multiplicities {
			x.factors = append(x.factors, c.newMultiplicities(r, in.Pos(w.Col), w.Branches))
		}
		return x
	}
	return s
}

func (x *multiplicityCount) Open(ctx context.Context) error {
	x.done = false
	for _, w := range x.factors {
		w.open()
	}
	return x.Input.Open(ctx)
}

func (x *multiplicityCount) Close() {
	for _, w := range x.factors {
		w.release()
	}
	x.Input.Close()
}

func (x *multiplicityCount) Next(ctx context.Context) (*runtime.Batch, error) {
	if x.done || x.frame.Rows() == 0 {
		return nil, nil
	}
	x.done = true
	x.sums = append(x.sums[:0], make([]int64, x.frame.Rows())...)
	for {
		b, err := x.In.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		if err := x.add(ctx, b); err != nil {
			return nil, err
		}
	}
	x.out.Reset(len(x.out.Cols))
	if x.at >= 0 {
		x.out.Reset(1)
		for _, n := range x.sums {
			x.out.Cols[0].Vals = append(x.out.Cols[0].Vals, graph.IntValue(n))
		}
	}
	x.out.N = len(x.sums)
	if x.frame != nil {
		x.out.Row = runtime.AllRows(len(x.sums))
	}
	return &x.out, nil
}

// add adds the products of a batch.
func (x *multiplicityCount) add(ctx context.Context, b *runtime.Batch) error {
	x.product = x.product[:0]
	for range b.N {
		x.product = append(x.product, 1)
	}
	for _, at := range x.times {
		for i, v := range b.Cols[at].Vals {
			n, err := times(x.product[i], v.Int())
			if err != nil {
				return err
			}
			x.product[i] = n
		}
	}
	for _, w := range x.factors {
		if err := w.multiplyRows(ctx, b, x.product); err != nil {
			return err
		}
	}
	for i, n := range x.product {
		sum := &x.sums[b.RowOf(i)]
		if n > math.MaxInt64-*sum {
			return CountOverflow()
		}
		*sum += n
	}
	return nil
}

// CountOverflow is the error for a count beyond 64 bits.
func CountOverflow() error {
	return graph.RuntimeError("ArithmeticError", "IntegerOverflow", "the count overflows an Integer")
}

// multiplicityPage is the number of multiplicities in a page. Pages keep the memory small for few vertices, whatever their ids.
const multiplicityPage = 512

// multiplicities memoises the path multiplicity of vertices: the product over the branches of the sum over the neighbours.
type multiplicities struct {
	pos      int // of the root, in the input
	sharing  *sharedMultiplicities
	of       *multiplicities // in a worker: the run's multiplicities, which all workers share
	branches []*branchMultiplicity
	known    [][]*[multiplicityPage]int64 // pages by shard and local id: the multiplicity plus one, 0: unknown, or unlearnt
	acct     runtime.Account
	f        runtime.Frontier
	missing  []graph.VertexID // to compute, without repeats
	ids      []graph.VertexID // the vertices of rows
	rows     runtime.Sel
	part     []int64
	workers  []*multiplicities // by worker
}

type branchMultiplicity struct {
	reader   *Reader
	optional bool
	below    *multiplicities
	degrees  []int
}

// newMultiplicities creates the memo of some branches.
func (c *sharedMultiplicities) newMultiplicities(r *runtime.Run, pos int, branches []plan.Branch) *multiplicities {
	w := &multiplicities{pos: pos, sharing: c, acct: runtime.Account{Run: r, Name: "MultiplicityCount"}}
	for _, b := range branches {
		bw := &branchMultiplicity{reader: NewReader(r, b.Types, b.Dir, b.Labels), optional: b.Optional}
		if len(b.Branches) > 0 {
			bw.below = c.newMultiplicities(r, 0, b.Branches)
		}
		w.branches = append(w.branches, bw)
	}
	return w
}

// open clears the memo if the statement may have changed the graph since it was filled: it outlives the rows of a subplan.
func (w *multiplicities) open() {
	if w.acct.Run.Program.Query.Writes {
		w.release()
	}
}

func (w *multiplicities) release() {
	w.acct.Release()
	w.known, w.workers = nil, nil
	for _, b := range w.branches {
		if b.below != nil {
			b.below.release()
		}
	}
}

// slot returns the cell of a vertex.
func (w *multiplicities) slot(v graph.VertexID) (*int64, error) {
	shard, page, at := v.Shard(), v.Local()/multiplicityPage, v.Local()%multiplicityPage
	if shard < len(w.known) && page < uint64(len(w.known[shard])) {
		if p := w.known[shard][page]; p != nil {
			return &p[at], nil
		}
	}
	p, err := w.pageSlow(shard, page)
	if err != nil {
		return nil, err
	}
	return &p[at], nil
}

// pageSlow creates a page, or finds the page that the workers share.
func (w *multiplicities) pageSlow(shard int, page uint64) (*[multiplicityPage]int64, error) {
	if w.of == nil {
		return w.page(shard, page, &w.acct)
	}
	w.sharing.mu.Lock()
	defer w.sharing.mu.Unlock()
	p, err := w.of.page(shard, page, &w.of.acct)
	if err != nil {
		return nil, err
	}
	if err := w.extend(shard, page, &w.of.acct); err != nil {
		return nil, err
	}
	w.known[shard][page] = p
	return p, nil
}

// page returns a page.
func (w *multiplicities) page(shard int, page uint64, acct *runtime.Account) (*[multiplicityPage]int64, error) {
	if err := w.extend(shard, page, acct); err != nil {
		return nil, err
	}
	at := &w.known[shard][page]
	if *at == nil {
		if err := acct.Grow(8 * multiplicityPage); err != nil {
			return nil, err
		}
		*at = new([multiplicityPage]int64)
	}
	return *at, nil
}

// extend makes room for a page.
func (w *multiplicities) extend(shard int, page uint64, acct *runtime.Account) error {
	for shard >= len(w.known) {
		w.known = append(w.known, nil)
	}
	if k := w.known[shard]; page >= uint64(len(k)) {
		grown := make([]*[multiplicityPage]int64, max(page+1, 2*uint64(len(k))))
		copy(grown, k)
		if err := acct.Grow(8 * (len(grown) - len(k))); err != nil {
			return err
		}
		w.known[shard] = grown
	}
	return nil
}

// lookup returns the multiplicity of a vertex, or a negative number while another worker computes it.
func (w *multiplicities) lookup(v graph.VertexID) int64 {
	local := v.Local()
	return atomic.LoadInt64(&w.known[v.Shard()][local/multiplicityPage][local%multiplicityPage]) - 1
}

// multiplyRows multiplies into[i] by the multiplicity of the vertex of row i, 0 for null.
func (w *multiplicities) multiplyRows(ctx context.Context, b *runtime.Batch, into []int64) error {
	if ids := b.Cols[w.pos].IDs; ids != nil {
		return w.multiply(ctx, ids, into)
	}
	w.ids, w.rows = w.ids[:0], w.rows[:0]
	for i, v := range b.Cols[w.pos].Vals {
		switch v.Kind() {
		case graph.VertexKind:
			w.ids, w.rows = append(w.ids, v.Vertex()), append(w.rows, int32(i))
		case graph.Null:
			into[i] = 0
		default:
			return NotVertex(v)
		}
	}
	if err := w.computeMissing(ctx, w.ids); err != nil {
		return err
	}
	for j, i := range w.rows {
		n, err := times(into[i], w.lookup(w.ids[j]))
		if err != nil {
			return err
		}
		into[i] = n
	}
	return nil
}

// multiply multiplies into[i] by the multiplicity of ids[i].
func (w *multiplicities) multiply(ctx context.Context, ids []graph.VertexID, into []int64) error {
	if err := w.computeMissing(ctx, ids); err != nil {
		return err
	}
	for i, v := range ids {
		n, err := times(into[i], w.lookup(v))
		if err != nil {
			return err
		}
		into[i] = n
	}
	return nil
}

func times(a, b int64) (int64, error) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64-1 {
		return 0, CountOverflow()
	}
	return int64(lo), nil
}

// computing marks a multiplicity that a worker is computing.
const computing = -1

// collectMissing collects those of ids whose multiplicity is unknown and not being computed.
func (w *multiplicities) collectMissing(ids []graph.VertexID) error {
	w.missing = w.missing[:0]
	for _, v := range ids {
		at, err := w.slot(v)
		if err != nil {
			return err
		}
		if w.of == nil {
			if *at != 0 {
				continue
			}
			*at = computing
		} else if atomic.LoadInt64(at) != 0 || !atomic.CompareAndSwapInt64(at, 0, computing) {
			continue
		}
		w.missing = append(w.missing, v)
	}
	return nil
}

// computeMissing computes the unknown multiplicities of ids. Other workers may still be computing some of them.
func (w *multiplicities) computeMissing(ctx context.Context, ids []graph.VertexID) error {
	if err := w.collectMissing(ids); err != nil || len(w.missing) == 0 {
		return err
	}
	unknown := w.missing
	w.f.SortOnly(unknown)
	w.part = w.part[:0]
	for range unknown {
		w.part = append(w.part, 1)
	}
	shared, err := w.computeParallel(ctx, unknown, w.part)
	if err == nil && !shared {
		err = w.compute(ctx, unknown, w.part)
	}
	if err != nil {
		return err
	}
	for i, v := range unknown {
		local := v.Local()
		at := &w.known[v.Shard()][local/multiplicityPage][local%multiplicityPage]
		if w.of == nil {
			*at = w.part[i] + 1
		} else {
			atomic.StoreInt64(at, w.part[i]+1)
		}
	}
	if w.of != nil {
		w.sharing.broadcast()
	}
	return nil
}

// compute multiplies into[i] by the multiplicity of ids[i]; ids are sorted without repeats.
func (w *multiplicities) compute(ctx context.Context, ids []graph.VertexID, into []int64) error {
	for _, b := range w.branches {
		if err := b.multiply(ctx, ids, into); err != nil {
			return err
		}
	}
	return nil
}

// multiply multiplies into[i] by the number of ways to expand the branch from ids[i]; ids are sorted without repeats.
func (b *branchMultiplicity) multiply(ctx context.Context, ids []graph.VertexID, into []int64) error {
	if b.below == nil && b.reader.impliesLabels() { // the degree suffices
		return b.multiplyDegrees(ctx, ids, into)
	}
	for len(ids) > 0 {
		if err := b.reader.Run.CheckCancel(ctx); err != nil {
			return err
		}
		if err := b.reader.Read(ctx, ids, MaxEdges); err != nil {
			return err
		}
		res := &b.reader.Answer
		if b.below != nil {
			if err := b.below.computeMissing(ctx, res.Targets); err != nil {
				return err
			}
		}
		for i := range res.Done {
			sum := int64(res.Offsets[i+1] - res.Offsets[i])
			if b.below != nil {
				sum = 0
				for _, v := range res.Targets[res.Offsets[i]:res.Offsets[i+1]] {
					n := b.below.lookup(v)
					if n < 0 {
						var err error
						if n, err = b.below.await(v); err != nil {
							return err
						}
					}
					if n > math.MaxInt64-sum {
						return CountOverflow()
					}
					sum += n
				}
			}
			if err := b.into(&into[i], sum); err != nil {
				return err
			}
		}
		ids, into = ids[res.Done:], into[res.Done:]
	}
	return nil
}

func (b *branchMultiplicity) into(at *int64, sum int64) (err error) {
	if b.optional {
		sum = max(1, sum)
	}
	*at, err = times(*at, sum)
	return err
}

func (b *branchMultiplicity) multiplyDegrees(ctx context.Context, ids []graph.VertexID, into []int64) error {
	for len(b.degrees) < len(ids) {
		b.degrees = append(b.degrees, 0)
	}
	d := b.degrees[:len(ids)]
	types, ok := b.reader.Types.Resolve()
	if ok {
		if err := b.reader.Run.Tx.Degrees(ctx, ids, types, b.reader.Dir, d); err != nil {
			return err
		}
	} else {
		clear(d)
	}
	for i, n := range d {
		if err := b.into(&into[i], int64(n)); err != nil {
			return err
		}
	}
	return nil
}
