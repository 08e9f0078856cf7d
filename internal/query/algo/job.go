package algo

import (
	"context"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// job is one call of an algorithm: its arguments and its memory.
type job struct {
	config
	call  *runtime.Call
	run   *runtime.Run
	acct  runtime.Account
	pool  *exchange.Pool
	ids   []graph.VertexID // the vertices by their dense numbers, ascending
	index [][]uint32       // the numbers by shard and local id, plus 1; 0: not one of the vertices
}

// newJob begins a call.
func newJob(a *Algorithm, c *runtime.Call) (*job, error) {
	j := &job{call: c, run: c.Run, acct: runtime.Account{Run: c.Run, Name: a.Name}}
	j.pool = exchange.NewPool(c.Run, func() {})
	return j, j.config.read(a, c)
}

const (
	partSize    = 2048 // vertices between two checks for cancellation
	leastShared = 4 * partSize
	mostNumbers = 1 << 31 // of vertices
)

// each computes entries 0 … n-1 on all free cores. worker returns a function that computes entries lo … hi-1 on one goroutine;
// own is that goroutine's part of the run.
func (j *job) each(ctx context.Context, n int, worker func(own *runtime.Run) func(lo, hi int) error) error {
	return j.share(ctx, n, leastShared, worker)
}

// share is each that uses other cores from a number of entries on.
func (j *job) share(ctx context.Context, n, least int, worker func(own *runtime.Run) func(lo, hi int) error) error {
	if n >= least {
		if ok, err := j.pool.Parts(ctx, n, func(_ int, own *runtime.Run) func(lo, hi int) error { return worker(own) }); ok || err != nil {
			return err
		}
	}
	compute := worker(j.run)
	for lo := 0; lo < n; lo += partSize {
		if err := j.run.CheckCancel(ctx); err != nil {
			return err
		}
		if err := compute(lo, min(lo+partSize, n)); err != nil {
			return err
		}
	}
	return nil
}

// pure is each for functions that cannot fail and keep no state between parts.
func (j *job) pure(ctx context.Context, n int, compute func(lo, hi int)) error {
	return j.each(ctx, n, func(*runtime.Run) func(lo, hi int) error {
		return func(lo, hi int) error {
			compute(lo, hi)
			return nil
		}
	})
}

// sumBlock is how many entries of a sum are added before others.
const sumBlock = 256

// sum adds the results of compute for blocks of 0 … n-1. It adds them in order, so the sum does not depend on the number of
// cores.
func (j *job) sum(ctx context.Context, n int, compute func(lo, hi int) float64) (float64, error) {
	blocks := make([]float64, (n+sumBlock-1)/sumBlock)
	err := j.share(ctx, len(blocks), leastShared/sumBlock, func(*runtime.Run) func(from, to int) error {
		return func(from, to int) error {
			for b := from; b < to; b++ {
				blocks[b] = compute(b*sumBlock, min((b+1)*sumBlock, n))
			}
			return nil
		}
	})
	total := 0.0
	for _, x := range blocks {
		total += x
	}
	return total, err
}

// slice allocates memory for n entries that the call holds until its rows have been read.
func slice[T any](j *job, n int) ([]T, error) {
	var zero T
	if err := j.acct.Grow(n * int(sizeOf(zero))); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// release returns accounted bytes.
func (j *job) release(n int) { _ = j.acct.Grow(-n) } // less is never too much

// drop releases lists.
func (j *job) drop(l *lists) {
	j.release(l.held)
	*l = lists{}
}

// vertices finds the vertices and numbers them.
func (j *job) vertices(ctx context.Context) error {
	n := j.call.Tx.Counts().Vertices
	if len(j.labels) > 0 {
		n = 0
		for _, l := range j.labelNames {
			n += j.call.Tx.Counts().ByLabel[l]
		}
	}
	if n >= mostNumbers {
		return graph.BudgetError("%s: there are more than %d vertices", j.acct.Name, mostNumbers)
	}
	if err := j.acct.Grow(8 * int(n)); err != nil {
		return err
	}
	j.ids = make([]graph.VertexID, 0, n)
	labels := j.labels
	if len(labels) == 0 {
		labels = []graph.LabelID{0}
	}
	for _, l := range labels {
		if err := j.scan(ctx, l); err != nil {
			return err
		}
	}
	j.ids = sortedUnique(j.ids, len(labels) > 1)
	return j.number()
}

// scan appends the vertices of a label.
func (j *job) scan(ctx context.Context, label graph.LabelID) error {
	buf := make([]graph.VertexID, 0, 4*partSize)
	for from, done := graph.VertexID(0), false; !done; {
		if err := j.run.CheckCancel(ctx); err != nil {
			return err
		}
		var err error
		if buf, from, done, err = j.call.Tx.Scan(ctx, label, from, buf[:0]); err != nil {
			return err
		}
		j.ids = append(j.ids, buf...)
	}
	return nil
}

// number fills the index.
func (j *job) number() error {
	for i := 0; i < len(j.ids); {
		shard, k := j.ids[i].Shard(), i
		for k < len(j.ids) && j.ids[k].Shard() == shard {
			k++
		}
		table, err := slice[uint32](j, int(j.ids[k-1].Local())+1)
		if err != nil {
			return err
		}
		for ; i < k; i++ {
			table[j.ids[i].Local()] = uint32(i) + 1
		}
		for len(j.index) <= shard {
			j.index = append(j.index, nil)
		}
		j.index[shard] = table
	}
	return nil
}

// find returns a vertex's number.
func (j *job) find(v graph.VertexID) (uint32, bool) {
	shard, local := v.Shard(), v.Local()
	if shard >= len(j.index) || local >= uint64(len(j.index[shard])) {
		return 0, false
	}
	n := j.index[shard][local]
	return n - 1, n > 0
}

// lists are the neighbours of all vertices: those of v, by their numbers, are targets[offsets[v]:offsets[v+1]].
type lists struct {
	offsets []int64
	targets []uint32
	weights []float64 // beside targets, or nil
	held    int       // bytes that they count as
}

func (l *lists) of(v int) []uint32 { return l.targets[l.offsets[v]:l.offsets[v+1]] }

func (l *lists) weightsOf(v int) []float64 { return l.weights[l.offsets[v]:l.offsets[v+1]] }

// neighbours reads the lists of a direction, with the weights of the edges if they have any.
func (j *job) neighbours(ctx context.Context, dir graph.Direction) (*lists, error) {
	n := len(j.ids)
	l := &lists{}
	var err error
	if l.offsets, err = slice[int64](j, n+1); err != nil {
		return nil, err
	}
	err = j.each(ctx, n, func(own *runtime.Run) func(lo, hi int) error {
		var degrees []int
		return func(lo, hi int) error {
			degrees = append(degrees[:0], make([]int, hi-lo)...)
			if err := own.Tx.Degrees(ctx, j.ids[lo:hi], j.types, dir, degrees); err != nil {
				return err
			}
			for i, d := range degrees {
				l.offsets[lo+i+1] = int64(d)
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range n {
		l.offsets[i+1] += l.offsets[i]
	}
	if l.targets, err = slice[uint32](j, int(l.offsets[n])); err != nil {
		return nil, err
	}
	if j.weight != "" {
		if l.weights, err = slice[float64](j, len(l.targets)); err != nil {
			return nil, err
		}
	}
	l.held = 8*len(l.offsets) + 4*len(l.targets) + 8*len(l.weights)
	return l, j.fill(ctx, dir, l)
}

// fill reads the neighbours to their places, and closes the gaps that those leave which are not among the vertices.
func (j *job) fill(ctx context.Context, dir graph.Direction, l *lists) error {
	n := len(j.ids)
	used, err := slice[uint32](j, n)
	if err != nil {
		return err
	}
	var left atomic.Bool
	err = j.each(ctx, n, func(own *runtime.Run) func(lo, hi int) error {
		r := &reader{j: j, own: own, lists: l, used: used}
		r.req = r.request(dir)
		return func(lo, hi int) error {
			if err := r.read(ctx, lo, hi); err != nil {
				return err
			}
			if r.left {
				left.Store(true)
			}
			return nil
		}
	})
	if err == nil && left.Load() {
		l.close(used)
	}
	j.release(4 * n)
	return err
}

// close closes the gaps behind the used places.
func (l *lists) close(used []uint32) {
	to := int64(0)
	for v, n := range used {
		from := l.offsets[v]
		l.offsets[v] = to
		copy(l.targets[to:], l.targets[from:from+int64(n)])
		if l.weights != nil {
			copy(l.weights[to:], l.weights[from:from+int64(n)])
		}
		to += int64(n)
	}
	l.offsets[len(used)] = to
	l.targets = l.targets[:to]
	if l.weights != nil {
		l.weights = l.weights[:to]
	}
}
