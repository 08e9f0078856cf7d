package runtime

import (
	"context"
	"runtime"

	"github.com/hopgate/hopgate/internal/query/fn"
)

// Helpers gives the turns of goroutines that compute for the run, or none if that is not worth its while now.
func (r *Run) Helpers() []Helper {
	env := &r.Env
	if env.Turn == nil || env.Profile || env.Partial || env.Fn.Rand != nil || r.Program.Query.Writes {
		return nil
	}
	return env.Turn.Beside(runtime.GOMAXPROCS(0))
}

// Yielding is the turn of one of a crew, which keeps it while others may wait for what it computes.
type Yielding struct{}

// Pause implements Turn.
func (Yielding) Pause(context.Context) error {
	runtime.Gosched()
	return nil
}

// Beside implements Turn: no goroutine works beside another one.
func (Yielding) Beside(int) []Helper { return nil }

// Fork makes own a part of the run that a goroutine beside it does, with a CPU slot of its own. It has no transaction yet.
func (r *Run) Fork(own *Run, turn Turn, fn *fn.Context) {
	own.Init(r.Program, r.Graph)
	own.Env = Env{Params: r.Env.Params, Fn: fn, Budget: r.Env.Budget, Turn: turn, Pools: r.Env.Pools, Committed: r.Env.Committed}
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
