package adjacency

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// workerPool computes path multiplicities on several goroutines for a long-running run while processors are free; the run waits
// for them. Each worker has multiplicities of its own but shares what is known: the first worker to meet a vertex learns its
// multiplicity, and the others wait for it, so nothing is computed twice. Deadlock-free: a worker that waits for a vertex of one
// level of a branch holds no unfinished work at or below this level.
type workerPool struct {
	r      *runtime.Run
	failed atomic.Bool

	mu      sync.Mutex // pages of multiplicities and their accounts
	learnt  sync.Cond  // signals multiplicities that workers wait for
	waiting atomic.Int32
}

func newWorkerPool(r *runtime.Run) *workerPool {
	c := &workerPool{r: r}
	c.learnt.L = &c.mu
	return c
}

const (
	// mostPart and leastPart bound how many vertices a worker computes before it checks whether another request wants its CPU slot.
	// In a larger part each vertex costs less, as the vertices lie closer together.
	mostPart, leastPart = 2048, 32
	// partsEach is the number of parts for each worker, as some take longer.
	partsEach = 4
)

// errOther says that another worker has failed.
var errOther = errors.New("another goroutine failed")

// share is compute by the worker pool; ok is false if no worker is free, or too little work for one.
func (w *multiplicities) share(ctx context.Context, ids []graph.VertexID, into []int64) (ok bool, err error) {
	c := w.pool
	if w.of != nil || len(ids) < w.leastShared() {
		return false, nil
	}
	helpers := c.r.Helpers()
	if helpers == nil {
		return false, nil
	}
	part := min(max(len(ids)/(partsEach*len(helpers)), leastPart), mostPart)
	var next atomic.Int64
	var all sync.WaitGroup
	errs, panics := make([]error, len(helpers)), make([]any, len(helpers))
	for i, h := range helpers {
		worker := w.worker(i)
		all.Go(func() {
			defer h.End()
			defer func() {
				if panics[i] = recover(); panics[i] != nil || errs[i] != nil {
					c.fail()
				}
			}()
			for errs[i] == nil && !c.failed.Load() && !h.Wanted() {
				end := int(next.Add(int64(part)))
				lo, hi := end-part, min(end, len(ids))
				if lo >= hi {
					return
				}
				if errs[i] = worker.compute(ctx, ids[lo:hi], into[lo:hi]); errs[i] == nil {
					errs[i] = h.Yield(ctx)
				}
			}
		})
	}
	all.Wait()
	for _, worker := range w.workers[:len(helpers)] {
		own := worker.acct.Run
		if err := c.r.Visit(int(own.Edges)); err != nil {
			return false, err
		}
		c.r.Join(own)
		own.Edges = 0
	}
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	for _, err = range errs {
		if err != nil && !errors.Is(err, errOther) {
			return false, err
		}
	}
	return true, nil
}

// leastShared is the number of vertices from which on the worker pool computes them.
func (w *multiplicities) leastShared() int {
	n := 8 * w.pool.r.BatchSize()
	for _, b := range w.branches {
		if b.below != nil {
			return n / 4
		}
	}
	return n
}

// worker gives the multiplicities of worker i.
func (w *multiplicities) worker(i int) *multiplicities {
	r := w.acct.Run
	if i == len(w.workers) {
		own := new(runtime.Run)
		r.Fork(own, runtime.Yielding{}, r.Env.Fn)
		own.Env.Pools = nil // the run accounts for what the workers hold
		w.workers = append(w.workers, w.lend(own))
	}
	w.workers[i].acct.Run.SetTx(r.Tally.Tx)
	return w.workers[i]
}

// lend makes multiplicities for a worker with a run of its own.
func (w *multiplicities) lend(own *runtime.Run) *multiplicities {
	h := &multiplicities{pool: w.pool, of: w, acct: runtime.Account{Run: own, Name: w.acct.Name}}
	for _, b := range w.branches {
		bw := &branchMultiplicity{reader: b.reader.lend(own), optional: b.optional}
		if b.below != nil {
			bw.below = b.below.lend(own)
		}
		h.branches = append(h.branches, bw)
	}
	return h
}

// lend makes the same reader for a worker with a run of its own.
func (h *Reader) lend(own *runtime.Run) *Reader {
	var labels *plan.LabelExpr
	if h.Labels != nil {
		labels = h.Labels.Expr
	}
	return NewReader(own, h.Types.Names, h.Dir, labels)
}

// await gives the multiplicity of a vertex that another worker learns.
func (w *multiplicities) await(v graph.VertexID) (int64, error) {
	c := w.pool
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if n := w.learned(v); n >= 0 {
			return n, nil
		}
		if c.failed.Load() {
			return 0, errOther
		}
		c.learnt.Wait()
	}
}

// announce wakes the workers that wait for a multiplicity.
func (c *workerPool) announce() {
	if c.waiting.Load() > 0 {
		c.mu.Lock()
		c.learnt.Broadcast()
		c.mu.Unlock()
	}
}

// fail ends all waiting.
func (c *workerPool) fail() {
	c.failed.Store(true)
	c.announce()
}
