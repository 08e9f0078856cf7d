package exec

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// Rows is the result of a run. One goroutine uses it.
type Rows struct {
	p      *Prepared
	x      *execution
	r      *runtime.Run // of x; after Close, if the operators are kept for another run, a copy that holds only the counters
	opened bool
	failed bool
	count  int64
	kept   runtime.Account // the batches that the caller keeps
}

// Run starts an execution within a transaction, which the caller ends after closing the result. Nothing is read or written
// before the first Next.
func (p *Prepared) Run(ctx context.Context, g shard.Graph, tx shard.Tx, env runtime.Env) (*Rows, error) {
	rs := new(Rows)
	if err := p.RunInto(ctx, rs, g, tx, &env); err != nil {
		return nil, err
	}
	return rs, nil
}

// RunInto is Run into a result that the caller has allocated. It copies env.
func (p *Prepared) RunInto(ctx context.Context, rs *Rows, g shard.Graph, tx shard.Tx, env *runtime.Env) error {
	x, err := p.execution(ctx, g, tx, env)
	if err != nil {
		return err
	}
	*rs = Rows{p: p, x: x, r: &x.run}
	return nil
}

// Next returns the next batch, with one column for each result column of the plan, or nil at the end. Vertices and edges
// have their records. The batch is valid until the next call, or Close.
func (rs *Rows) Next(ctx context.Context) (*graph.Batch, error) {
	failed := rs.failed
	rs.failed = true // in case of a panic
	b, err := rs.next(ctx)
	rs.r.PublishVisits()
	rs.failed = failed || err != nil
	return b, err
}

func (rs *Rows) next(ctx context.Context) (*graph.Batch, error) {
	if rs.r.Env.Profile {
		rs.r.Mark = time.Now() // the caller's time belongs to no operator
		defer rs.r.Enter(rs.r.Current)()
	}
	x := rs.x
	if !rs.opened {
		rs.opened = true
		if err := x.root.Open(ctx); err != nil {
			return nil, err
		}
	}
	b, err := x.root.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	rs.count += int64(b.N)
	x.out.View(b, rs.p.out)
	if limit := rs.r.Env.Budget.Rows; limit > 0 && rs.count > limit {
		err := graph.BudgetError("the result has more than %d rows, the budget of max-rows", limit)
		if !rs.r.Truncate(err) {
			return nil, err
		}
		left := b.N - int(rs.count-limit)
		if left <= 0 {
			return nil, nil
		}
		var first runtime.Batch
		first.Slice(b, 0, left)
		x.out.View(&first, rs.p.out)
	}
	if err := x.recorder.Materialise(ctx, rs.r, &x.out.Batch); err != nil {
		return nil, err
	}
	return &x.out.Batch, nil
}

// Hold accounts for a batch of Next that the caller keeps until Close.
func (rs *Rows) Hold(b *graph.Batch) error {
	size := 0
	for i := range b.Cols {
		for j := range b.N {
			size += memory.ValueSize(b.Cols[i].Value(j))
		}
	}
	return rs.account().Grow(size)
}

// HoldBytes accounts for all that the caller of Next holds in a form of its own, until Close.
func (rs *Rows) HoldBytes(n int) error { return rs.account().GrowTo(n) }

func (rs *Rows) account() *runtime.Account {
	if rs.kept.Run == nil {
		rs.kept = runtime.Account{Run: rs.r, Name: "Result"}
	}
	return &rs.kept
}

// Kept returns the memory of the batches of Hold for a caller that keeps them beyond Close. It is not charged yet.
func (rs *Rows) Kept() runtime.Retained {
	return runtime.Retained{Bytes: rs.kept.Held, Pools: rs.r.Env.Pools}
}

// Close releases the run's memory; it does not end the transaction. The batches of Next are invalid afterwards, and Next must
// not be called.
func (rs *Rows) Close() {
	if rs.x == nil {
		return
	}
	x := rs.x
	rs.x = nil
	x.root.Close()
	rs.r.PublishVisits() // of forks that end with their operators
	rs.r.End()
	if h := rs.r.Env.Held; h != nil {
		h.Clear() // the name lies in the operators' memory, and the list of running requests may keep h
	}
	rs.r.AddTotals()
	if p := rs.p; p.keeps(&rs.r.Env) && !rs.failed && rs.r.Truncated == "" {
		rs.r = &p.nothing
		x.end()
		return
	}
	// A caller that only reads the counters keeps no rows alive.
	x.root, x.out, x.recorder = nil, runtime.Batch{}, expr.Recorder{}
	rs.r.Drop()
}

// Counters returns the changes of the run so far.
func (rs *Rows) Counters() runtime.Counters { return rs.r.Counters }

// Stats returns the work of the operators so far, by the ids of Prepared.Explain.
func (rs *Rows) Stats() []runtime.Stat { return rs.r.Stats }

// Columns returns the names of the result columns.
func (p *Prepared) Columns() []string { return p.Query.Names }

// Truncated returns the reason why the result is incomplete, or "".
func (rs *Rows) Truncated() string { return rs.r.Truncated }

// Hops returns the work of the hops of a traversal.
func (rs *Rows) Hops() []runtime.HopCount { return rs.r.HopCounts }
