package runtime

import (
	"context"
	"runtime"

	"github.com/hopgate/hopgate/internal/query/fn"
)

// Helpers returns the CPU slots of goroutines that may compute for the run: none if no processor is free or the run must stay
// on one goroutine.
func (r *Run) Helpers() []Helper {
	env := &r.Env
	if env.Slot == nil || env.Profile || env.Partial || env.Fn.Rand != nil || r.Program.Query.Writes {
		return nil
	}
	return env.Slot.Helpers(runtime.GOMAXPROCS(0))
}

// Yielding is the CPU slot of a worker that keeps its processor while other workers may wait for its results.
type Yielding struct{}

// Yield implements Slot.
func (Yielding) Yield(context.Context) error {
	runtime.Gosched()
	return nil
}

// Helpers implements Slot: a worker has no helpers.
func (Yielding) Helpers(int) []Helper { return nil }

// Fork sets own to the part of the run that one worker executes with its own CPU slot. It has no transaction yet.
func (r *Run) Fork(own *Run, slot Slot, fn *fn.Context) {
	own.Init(r.Program, r.Graph)
	own.Env = Env{Params: r.Env.Params, Fn: fn, Budget: r.Env.Budget, Slot: slot, Pools: r.Env.Pools, Committed: r.Env.Committed}
	own.forked = true
	own.Current = r.Program.Root.ID
}

// Join adds the counters of a fork to the run.
func (r *Run) Join(own *Run) {
	for i := range own.Stats {
		r.Stats[i].Rows += own.Stats[i].Rows
		r.Stats[i].Batches += own.Stats[i].Batches
	}
	for i, n := range own.Tally.n {
		r.Tally.n[i] += n
	}
	r.Tally.visits += own.Tally.visits
	clear(own.Stats)
	own.Tally.n, own.Tally.visits = [NumRequests]uint32{}, 0
}
