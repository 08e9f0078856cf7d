package exchange

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// Pool is the worker pool of a run: goroutines that compute for it while cores are free, each with a CPU slot and a fork
// of the run. Workers produce rows for an Exchange, or compute a list for an operator that waits for it.
type Pool struct {
	r      *runtime.Run
	forks  []*runtime.Run // by worker; reused by later goroutines
	done   sync.WaitGroup
	failed atomic.Bool
	wake   func() // wakes waiting workers after one has failed
}

// NewPool creates a pool for a run. wake wakes workers that wait for each other, so that they notice the failure of another.
func NewPool(r *runtime.Run, wake func()) *Pool { return &Pool{r: r, wake: wake} }

// ErrFailed is the error of a worker that stops because another one has failed.
var ErrFailed = errors.New("another goroutine failed")

// Failed reports whether a worker has failed.
func (p *Pool) Failed() bool { return p.failed.Load() }

// fork returns the run of worker i with context ctx and CPU slot slot.
func (p *Pool) fork(ctx context.Context, i int, slot runtime.Slot) *runtime.Run {
	if i == len(p.forks) {
		own, of := new(runtime.Run), p.r.Env.Fn
		p.r.Fork(own, slot, &fn.Context{Statement: of.Statement, Transaction: of.Transaction, Zone: of.Zone, MaxList: of.MaxList, Run: ctx})
		p.forks = append(p.forks, own)
	}
	p.forks[i].SetTx(p.r.Tally.Tx)
	return p.forks[i]
}

// start runs do on a worker with a CPU slot and then returns the slot.
func (p *Pool) start(slot runtime.Helper, do func()) {
	p.done.Go(func() {
		defer slot.Release()
		do()
	})
}

// join waits for all workers and adds their counters to the run.
func (p *Pool) join() {
	p.done.Wait()
	for _, own := range p.forks {
		p.r.Join(own)
	}
}

const (
	// maxPart and leastPart bound how many entries a worker computes before it checks whether another request wants its CPU
	// slot. Entries of larger parts cost less, because their vertices lie closer together.
	maxPart, minPart = 2048, 32
	// partsPerWorker is the number of parts for each worker, which balances parts of unequal cost.
	partsPerWorker = 4
)

// Parts computes entries 0 … n-1 of a list on workers while the run waits. worker returns the function that computes entries lo
// … hi-1 in a worker's run. A worker keeps its slot within a part, because others may wait for its results. No other request
// waits for the last worker's slot, so all entries are computed. ok is false if no processor is free.
func (p *Pool) Parts(ctx context.Context, n int, worker func(i int, own *runtime.Run) func(lo, hi int) error) (ok bool, err error) {
	slots := p.r.Helpers()
	if slots == nil {
		return false, nil
	}
	part := min(max(n/(partsPerWorker*len(slots)), minPart), maxPart)
	var next atomic.Int64
	errs, panics := make([]error, len(slots)), make([]any, len(slots))
	for i, slot := range slots {
		own := p.fork(ctx, i, runtime.Yielding{})
		own.Env.Pools = nil // the run accounts for the memory of its workers
		compute := worker(i, own)
		p.start(slot, func() {
			defer func() {
				if panics[i] = recover(); panics[i] != nil || errs[i] != nil {
					p.failed.Store(true)
					p.wake()
				}
			}()
			for errs[i] == nil && !p.Failed() && !slot.Contended() {
				end := int(next.Add(int64(part)))
				lo, hi := end-part, min(end, n)
				if lo >= hi {
					return
				}
				if errs[i] = compute(lo, hi); errs[i] == nil {
					errs[i] = slot.Yield(ctx)
				}
			}
		})
	}
	p.join()
	for _, v := range panics {
		if v != nil {
			panic(v)
		}
	}
	for _, own := range p.forks {
		if err := p.r.Visit(int(own.Edges)); err != nil {
			return false, err
		}
		own.Edges = 0
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrFailed) {
			return false, err
		}
	}
	return true, nil
}
