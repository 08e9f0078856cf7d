package runtime

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Run is one execution of a Prepared. Its operators share it. Only one goroutine uses it.
type Run struct {
	Program  *Program
	Graph    shard.Graph
	Tx       shard.Tx
	Env      Env
	Counters Counters
	Stats    []Stat
	// meters and kids are memory for one operator of each stage.
	meters []meter
	kids   []Operator
	// prefetches holds the registered prefetches by stage; nil if there is none.
	prefetches []*Prefetch
	// Params are the evaluators of parameters in reusable operators, Values their other parts that hold values of the run.
	Params []parameter
	Values []forgetter
	Splice Splice
	// forked reports whether the run is a fork, on a worker's goroutine.
	forked bool
	// Frame is the frame of the subplan whose operators are being built; nil at the top level.
	Frame   *Frame
	Deleted Deleted
	// Err is the first error from building operators or evaluators.
	Err error
	// Transactions counts the transactions that the run began itself; After holds those that read their results.
	Transactions int
	After        []shard.Tx
	labels       *labelling // nil unless a profile is taken
	// Closers are the subplans of expressions, which no operator closes.
	Closers []interface{ Close() }
	// bytes is the memory of all operators, pooled the part counted in Env.Pools, Edges the edges that expansions have visited.
	bytes, pooled, Edges int64
	// BitmapFrom is the number of vertices from which on a frontier is stored as a bitmap; 0: not computed.
	BitmapFrom int
	// Current is the stage that time since Mark is charged to; see Enter.
	Current int
	Mark    time.Time
	io      *ioCounts // nil unless the run is profiled
	// HopCounts belong to a traversal; Truncated is the reason why a result is incomplete.
	HopCounts []HopCount
	Truncated string
	Tally     tallyTx // counts the requests to the shards
}

// BatchSize is the number of rows that an operator aims at.
func (r *Run) BatchSize() int { return r.Program.BatchSize }

// Fail records the first error of building.
func (r *Run) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Visit counts edges that an operator has visited. It fails when the budget is exhausted.
func (r *Run) Visit(n int) error {
	r.Edges += int64(n)
	if r.Env.Budget.Edges > 0 && r.Edges > r.Env.Budget.Edges {
		return graph.BudgetError("the statement visited more than %d edges, the budget of max-visits", r.Env.Budget.Edges)
	}
	return nil
}

// See counts vertices, edges or index entries that an operator has read other than by the requests of Tx.
func (r *Run) See(n int64) { r.Tally.visits += n }

// PublishVisits adds what the run and its forks have read since the last call to Env.Visits.
func (r *Run) PublishVisits() {
	if n := r.Tally.visits; n > 0 && r.Env.Visits != nil {
		r.Env.Visits.Add(n)
	}
	r.Tally.visits = 0
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

// SetTx switches the operators to another transaction.
func (r *Run) SetTx(tx shard.Tx) {
	r.Tally.Tx = tx
	r.Tx = &r.Tally
	if r.Env.Profile {
		r.Tally.r = r
		if r.io == nil {
			r.io = new(ioCounts)
		}
		r.io.count(tx, r.Stats)
	}
}

// End closes what no operator closes and removes the run's memory from the pools.
func (r *Run) End() {
	if r.io != nil {
		r.io.stop()
	}
	for _, c := range r.Closers {
		c.Close()
	}
	for _, tx := range r.After {
		tx.Rollback()
	}
	r.publishPools(-r.pooled)
}

// Drop releases the operators and their memory.
func (r *Run) Drop() {
	r.meters, r.kids, r.prefetches, r.Params, r.Values, r.Closers = nil, nil, nil, nil, nil, nil
}
