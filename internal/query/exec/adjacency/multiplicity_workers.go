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

// workerPool is the goroutines that compute weights of vertices for a run that takes long, while processors are free and the run
// waits for them. Each has weighers of its own, but what is known of a vertex they share: the first to meet it learns its
// weight, and whoever else needs it waits. So nothing is computed twice. Nobody waits for ever: whoever waits for a weight of one
// level of a branch has nothing left to learn of that level or those below.
type workerPool struct {
	r      *runtime.Run
	failed atomic.Bool

	mu      sync.Mutex // pages of weights and what they take
	told    sync.Cond  // of weights that some wait for
	waiting atomic.Int32
}

func newWorkerPool(r *runtime.Run) *workerPool {
	c := &workerPool{r: r}
	c.told.L = &c.mu
	return c
}

const (
	// mostPart and leastPart are how many vertices one of a crew weighs before it looks whether others want its processor. Of
	// more at once each costs less, as they lie closer together.
	mostPart, leastPart = 2048, 32
	// partsEach is how many parts there are for each of a crew, as some take longer.
	partsEach = 4
)

// errOther says that another one of the crew has failed.
var errOther = errors.New("another goroutine failed")

// share is weigh by the crew; ok is false if it is not worth its while now.
func (w *weigher) share(ctx context.Context, ids []graph.VertexID, into []int64) (ok bool, err error) {
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
		hand := w.worker(i)
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
				if errs[i] = hand.weigh(ctx, ids[lo:hi], into[lo:hi]); errs[i] == nil {
					errs[i] = h.Pause(ctx)
				}
			}
		})
	}
	all.Wait()
	for _, hand := range w.workers[:len(helpers)] {
		own := hand.acct.Run
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

// leastShared is how many vertices are worth the crew's while.
func (w *weigher) leastShared() int {
	n := 8 * w.pool.r.BatchSize()
	for _, b := range w.branches {
		if b.below != nil {
			return n / 4
		}
	}
	return n
}

// worker gives the weigher of one of the crew.
func (w *weigher) worker(i int) *weigher {
	r := w.acct.Run
	if i == len(w.workers) {
		own := new(runtime.Run)
		r.Fork(own, runtime.Yielding{}, r.Env.Fn)
		own.Env.Pools = nil // what the weighers hold is accounted for by the run
		w.workers = append(w.workers, w.lend(own))
	}
	w.workers[i].acct.Run.SetTx(r.Tally.Tx)
	return w.workers[i]
}

// lend makes a weigher for another goroutine, of which a run is.
func (w *weigher) lend(own *runtime.Run) *weigher {
	h := &weigher{pool: w.pool, of: w, acct: runtime.Account{Run: own, Name: w.acct.Name}}
	for _, b := range w.branches {
		bw := &branchWeigher{hop: b.hop.lend(own), optional: b.optional}
		if b.below != nil {
			bw.below = b.below.lend(own)
		}
		h.branches = append(h.branches, bw)
	}
	return h
}

// lend makes the same hop for another goroutine, of which a run is.
func (h *Reader) lend(own *runtime.Run) *Reader {
	var labels *plan.LabelExpr
	if h.Labels != nil {
		labels = h.Labels.Expr
	}
	return NewReader(own, h.Types.Names, h.Dir, labels)
}

// await gives the weight of a vertex that another of the crew learns.
func (w *weigher) await(v graph.VertexID) (int64, error) {
	c := w.pool
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if n := w.weight(v); n >= 0 {
			return n, nil
		}
		if c.failed.Load() {
			return 0, errOther
		}
		c.told.Wait()
	}
}

// tell wakes those who wait for weights.
func (c *workerPool) tell() {
	if c.waiting.Load() > 0 {
		c.mu.Lock()
		c.told.Broadcast()
		c.mu.Unlock()
	}
}

// fail makes nobody wait any more.
func (c *workerPool) fail() {
	c.failed.Store(true)
	c.tell()
}
