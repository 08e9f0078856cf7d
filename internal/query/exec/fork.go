package exec

import (
	"context"
	"runtime"

	"github.com/hopgate/hopgate/internal/query/fn"
)

// beside gives the turns of goroutines that compute for the run, or none if that is not worth its while now.
func (r *run) beside() []Helper {
	env := &r.env
	if env.Turn == nil || env.Profile || env.Partial || env.Fn.Rand != nil || r.p.query.Writes {
		return nil
	}
	return env.Turn.Beside(runtime.GOMAXPROCS(0))
}

// yielding is the turn of one of a crew, which keeps it while others may wait for what it computes.
type yielding struct{}

func (yielding) Pause(context.Context) error {
	runtime.Gosched()
	return nil
}

func (yielding) Beside(int) []Helper { return nil }

// fork makes own a part of the run that a goroutine beside it does, with a CPU slot of its own. It has no transaction yet.
func (r *run) fork(own *run, turn Turn, fn *fn.Context) {
	own.init(r.p, r.g)
	own.env = Env{Params: r.env.Params, Fn: fn, Budget: r.env.Budget, Turn: turn, Pools: r.env.Pools, Committed: r.env.Committed}
	own.forked = true
	own.current = r.p.root.id
}

// join adds what a part of the run has done.
func (r *run) join(own *run) {
	for i := range own.stats {
		r.stats[i].Rows += own.stats[i].Rows
		r.stats[i].Batches += own.stats[i].Batches
	}
	for i, n := range own.tally.n {
		r.tally.n[i] += n
	}
	clear(own.stats)
	own.tally.n = [numRequests]uint32{}
}
