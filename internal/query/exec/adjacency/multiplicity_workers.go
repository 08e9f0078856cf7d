package adjacency

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// sharedMultiplicities lets the workers of a long-running run compute path multiplicities. Each worker has its own multiplicities but shares
// the memo: the first worker that meets a vertex computes its multiplicity and the others wait for it, so nothing is computed
// twice. Deadlock-free: a worker that waits for a vertex of one level of a branch holds no unfinished work at or below this
// level.
type sharedMultiplicities struct {
	pool *exchange.Pool

	mu       sync.Mutex // pages of multiplicities and their accounts
	computed sync.Cond  // signals multiplicities that workers wait for
	waiting  atomic.Int32
}

func newSharing(r *runtime.Run) *sharedMultiplicities {
	c := &sharedMultiplicities{}
	c.computed.L = &c.mu
	c.pool = exchange.NewPool(r, c.broadcast)
	return c
}

// computeParallel computes on the worker pool; ok is false if no processor is free or the work is too small.
func (w *multiplicities) computeParallel(ctx context.Context, ids []graph.VertexID, into []int64) (ok bool, err error) {
	if w.of != nil || len(ids) < w.minParallel() {
		return false, nil
	}
	return w.sharing.pool.Parts(ctx, len(ids), func(i int, own *runtime.Run) func(lo, hi int) error {
		if i == len(w.workers) {
			w.workers = append(w.workers, w.fork(own))
		}
		worker := w.workers[i]
		return func(lo, hi int) error { return worker.compute(ctx, ids[lo:hi], into[lo:hi]) }
	})
}

// minParallel is the number of vertices from which on the worker pool computes them.
func (w *multiplicities) minParallel() int {
	n := 8 * w.acct.Run.BatchSize()
	for _, b := range w.branches {
		if b.below != nil {
			return n / 4
		}
	}
	return n
}

// fork creates the multiplicities of a worker with its own run.
func (w *multiplicities) fork(own *runtime.Run) *multiplicities {
	h := &multiplicities{sharing: w.sharing, of: w, acct: runtime.Account{Run: own, Name: w.acct.Name}}
	for _, b := range w.branches {
		bw := &branchMultiplicity{reader: b.reader.fork(own), optional: b.optional}
		if b.below != nil {
			bw.below = b.below.fork(own)
		}
		h.branches = append(h.branches, bw)
	}
	return h
}

// fork creates the same reader for a worker with its own run.
func (h *Reader) fork(own *runtime.Run) *Reader {
	var labels *plan.LabelExpr
	if h.Labels != nil {
		labels = h.Labels.Expr
	}
	return NewReader(own, h.Types.Names, h.Dir, labels)
}

// await returns the multiplicity of a vertex that another worker computes.
func (w *multiplicities) await(v graph.VertexID) (int64, error) {
	c := w.sharing
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if n := w.lookup(v); n >= 0 {
			return n, nil
		}
		if c.pool.Failed() {
			return 0, exchange.ErrFailed
		}
		c.computed.Wait()
	}
}

// broadcast wakes the workers that wait for a multiplicity.
func (c *sharedMultiplicities) broadcast() {
	if c.waiting.Load() > 0 {
		c.mu.Lock()
		c.computed.Broadcast()
		c.mu.Unlock()
	}
}
