package exec

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Call is one call of a procedure.
type Call struct {
	Graph shard.Graph
	Tx    shard.Tx
	Args  []graph.Value
	// Statement runs a statement as a part of the calling one, in its transaction, and gives its rows; nil if the transaction only
	// reads.
	Statement func(ctx context.Context, text string, params map[string]graph.Value) ([][]graph.Value, error)
}

// run is one execution of a Prepared. Its operators share it; one goroutine uses it.
type run struct {
	p        *program
	g        shard.Graph
	tx       shard.Tx
	env      Env
	counters Counters
	stats    []Stat
	// meters and kids are memory for as many operators as there are stages.
	meters []meter
	kids   []operator
	// params are the evaluators of parameters, values what else holds values of the run, of operators that later runs may use.
	params []parameter
	values []forgetter
	splice splice
	// forked says that the run is a part of another one, on a goroutine of its own.
	forked bool
	// frame is, while operators are built, the frame of the subplan that they are part of; nil at the top level.
	frame   *frame
	deleted deleted
	// err is the first error that building operators or evaluators met.
	err error
	// transactions counts those that the run has begun by itself; after are those that read what they have left.
	transactions int
	after        []shard.Tx
	labels       *labelling // nil unless a profile is taken
	// closers are the subplans of expressions, which no operator closes.
	closers []interface{ close() }
	// bytes is what all operators hold, pooled what of it env.Pools know, edges what expansions have visited.
	bytes, pooled, edges int64
	// fewest is the number of vertices from which on a frontier is walked as a bitmap; 0: not known yet.
	fewest int
	// current is the stage that time since mark is charged to; see enter.
	current int
	mark    time.Time
	reads   *graph.Reads // what the shards count, or nil
	settled [3]int64     // the part of it that stages have been charged with
	metered []shard.Metered
	// wire is what goes to other processes, or nil, settledWire the part of it that stages have been charged with.
	wire        *graph.Wire
	settledWire [3]int64
	wired       []shard.Wired
	// hopCounts are those of a traversal, truncated the reason why the result is not whole.
	hopCounts []HopCount
	truncated string
	tally     tallyTx // counts what the shards are asked for
}

// batchSize is the number of rows that an operator aims at.
func (r *run) batchSize() int { return r.p.batchSize }

// fail keeps the first error of building.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// visit counts edges that an operator has seen and fails when the budget is spent.
func (r *run) visit(n int) error {
	r.edges += int64(n)
	if r.env.Budget.Edges > 0 && r.edges > r.env.Budget.Edges {
		return graph.BudgetError("the statement visited more than %d edges, the budget of max-visits", r.env.Budget.Edges)
	}
	return nil
}

// alive lets others compute if it is their turn, and tells whether the run may go on.
func (r *run) alive(ctx context.Context) error {
	if r.env.Turn != nil {
		if err := r.env.Turn.Pause(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return graph.DeadlineError(context.Cause(ctx))
	}
	return nil
}

// setTx makes the operators use another transaction.
func (r *run) setTx(tx shard.Tx) {
	r.tally.Tx = tx
	r.tx = &r.tally
	if r.env.Profile {
		r.tally.r = r
		if m, ok := tx.(shard.Metered); ok {
			r.meter(m)
		}
		if w, ok := tx.(shard.Wired); ok {
			r.count(w)
		}
	}
}

// count has a transaction count what it asks other processes.
func (r *run) count(w shard.Wired) {
	if r.wire == nil {
		r.wire = new(graph.Wire)
		for i := range r.stats {
			r.stats[i].Wired = true
		}
	}
	w.Wire(r.wire)
	r.wired = append(r.wired, w)
}

// meter has a transaction count its reads.
func (r *run) meter(m shard.Metered) {
	if r.reads == nil {
		r.reads = new(graph.Reads)
		for i := range r.stats {
			r.stats[i].Metered = true
		}
	}
	m.Meter(r.reads)
	r.metered = append(r.metered, m)
}

// end closes what no operator closes, and takes what the run holds out of the pools.
func (r *run) end() {
	for _, m := range r.metered {
		m.Meter(nil)
	}
	for _, w := range r.wired {
		w.Wire(nil)
	}
	for _, c := range r.closers {
		c.close()
	}
	for _, tx := range r.after {
		tx.Rollback()
	}
	r.tellPools(-r.pooled)
}

// drop lets go of the operators and what they hold.
func (r *run) drop() {
	r.meters, r.kids, r.params, r.values, r.closers = nil, nil, nil, nil, nil
}
