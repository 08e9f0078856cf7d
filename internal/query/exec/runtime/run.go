package runtime

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Run is one execution of a Prepared. Its operators share it; one goroutine uses it.
type Run struct {
	Program  *Program
	Graph    shard.Graph
	Tx       shard.Tx
	Env      Env
	Counters Counters
	Stats    []Stat
	// meters and kids are memory for as many operators as there are stages.
	meters []meter
	kids   []Operator
	// prefetches are, by stage, those that operators have accepted; nil if none has.
	prefetches []*Prefetch
	// Params are the evaluators of parameters, values what else holds values of the run, of operators that later runs may use.
	Params []parameter
	Values []forgetter
	Splice Splice
	// forked says that the run is a part of another one, on a goroutine of its own.
	forked bool
	// Frame is, while operators are built, the frame of the subplan that they are part of; nil at the top level.
	Frame   *Frame
	Deleted Deleted
	// Err is the first error that building operators or evaluators met.
	Err error
	// Transactions counts those that the run has begun by itself; after are those that read what they have left.
	Transactions int
	After        []shard.Tx
	labels       *labelling // nil unless a profile is taken
	// Closers are the subplans of expressions, which no operator closes.
	Closers []interface{ Close() }
	// bytes is what all operators hold, pooled what of it env.Pools know, edges what expansions have visited.
	bytes, pooled, Edges int64
	// BitmapFrom is the number of vertices from which on a frontier is walked as a bitmap; 0: not known yet.
	BitmapFrom int
	// Current is the stage that time since mark is charged to; see enter.
	Current int
	Mark    time.Time
	reads   *graph.Reads // what the shards count, or nil
	settled [3]int64     // the part of it that stages have been charged with
	metered []shard.Metered
	// wire is what goes to other processes, or nil, settledWire the part of it that stages have been charged with.
	wire        *graph.Wire
	settledWire [3]int64
	wired       []shard.Wired
	// HopCounts are those of a traversal, truncated the reason why the result is not whole.
	HopCounts []HopCount
	Truncated string
	Tally     tallyTx // counts what the shards are asked for
}

// BatchSize is the number of rows that an operator aims at.
func (r *Run) BatchSize() int { return r.Program.BatchSize }

// Fail keeps the first error of building.
func (r *Run) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Visit counts edges that an operator has seen and fails when the budget is spent.
func (r *Run) Visit(n int) error {
	r.Edges += int64(n)
	if r.Env.Budget.Edges > 0 && r.Edges > r.Env.Budget.Edges {
		return graph.BudgetError("the statement visited more than %d edges, the budget of max-visits", r.Env.Budget.Edges)
	}
	return nil
}

// CheckCancel yields the CPU slot if other runs wait for it, and fails if the context has ended.
func (r *Run) CheckCancel(ctx context.Context) error {
	if r.Env.Slot != nil {
		if err := r.Env.Slot.Yield(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return graph.DeadlineError(context.Cause(ctx))
	}
	return nil
}

// SetTx makes the operators use another transaction.
func (r *Run) SetTx(tx shard.Tx) {
	r.Tally.Tx = tx
	r.Tx = &r.Tally
	if r.Env.Profile {
		r.Tally.r = r
		if m, ok := tx.(shard.Metered); ok {
			r.meter(m)
		}
		if w, ok := tx.(shard.Wired); ok {
			r.count(w)
		}
	}
}

// count has a transaction count what it asks other processes.
func (r *Run) count(w shard.Wired) {
	if r.wire == nil {
		r.wire = new(graph.Wire)
		for i := range r.Stats {
			r.Stats[i].Wired = true
		}
	}
	w.Wire(r.wire)
	r.wired = append(r.wired, w)
}

// meter has a transaction count its reads.
func (r *Run) meter(m shard.Metered) {
	if r.reads == nil {
		r.reads = new(graph.Reads)
		for i := range r.Stats {
			r.Stats[i].Metered = true
		}
	}
	m.Meter(r.reads)
	r.metered = append(r.metered, m)
}

// End closes what no operator closes, and takes what the run holds out of the pools.
func (r *Run) End() {
	for _, m := range r.metered {
		m.Meter(nil)
	}
	for _, w := range r.wired {
		w.Wire(nil)
	}
	for _, c := range r.Closers {
		c.Close()
	}
	for _, tx := range r.After {
		tx.Rollback()
	}
	r.publishPools(-r.pooled)
}

// Drop lets go of the operators and what they hold.
func (r *Run) Drop() {
	r.meters, r.kids, r.prefetches, r.Params, r.Values, r.Closers = nil, nil, nil, nil, nil, nil
}
