package runtime

import (
	"context"
	"runtime"

	"github.com/hopgate/hopgate/internal/query/fn"
)

// Helpers gives the CPU slots of goroutines that may compute for the run, or none if no processor is free or the run must not use them.
func (r *Run) Helpers() []Helper {
	env := &r.Env
	if env.Slot == nil || env.Profile || env.Partial || env.Fn.Rand != nil || r.Program.Query.Writes {
		return nil
	}
	return env.Slot.Helpers(runtime.GOMAXPROCS(0))
}

// Yielding is the CPU slot of a worker that keeps it while other workers may wait for what it computes.
type Yielding struct{}

// Yield implements Slot.
func (Yielding) Yield(context.Context) error {
	runtime.Gosched()
	return nil
}

// Helpers implements Slot: no goroutine works beside another one.
func (Yielding) Helpers(int) []Helper { return nil }

// Fork makes own a part of the run that a goroutine beside it does, with a CPU slot of its own. It has no transaction yet.
func (r *Run) Fork(own *Run, slot Slot, fn *fn.Context) {
	own.Init(r.Program, r.Graph)
	own.Env = Env{Params: r.Env.Params, Fn: fn, Budget: r.Env.Budget, Slot: slot, Pools: r.Env.Pools, Committed: r.Env.Committed}
	own.forked = true
	own.Current = r.Program.Root.ID
}

// Join adds what a part of the run has done.
func (r *Run) Join(own *Run) {
	for i := range own.Stats {
		r.Stats[i].Rows += own.Stats[i].Rows
		r.Stats[i].Batches += own.Stats[i].Batches
	}
	for i, n := range own.Tally.n {
		r.Tally.n[i] += n
	}
	clear(own.Stats)
	own.Tally.n = [NumRequests]uint32{}
}
