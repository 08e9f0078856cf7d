package exec

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Rows is the result of a run. One goroutine uses it.
type Rows struct {
	p      *Prepared
	x      *execution
	r      *run // of x; when the operators are kept for another run, one that says of this what Close leaves to say
	opened bool
	failed bool
	count  int64
	kept   account // what the caller of Next keeps
}

// Run begins an execution within a transaction, which the caller ends. The result is valid until then. Nothing is read
// or written before the first Next.
func (p *Prepared) Run(ctx context.Context, g shard.Graph, tx shard.Tx, env Env) (*Rows, error) {
	rs := new(Rows)
	if err := p.RunInto(ctx, rs, g, tx, &env); err != nil {
		return nil, err
	}
	return rs, nil
}

// RunInto is Run with the memory of the caller for the result. env is copied.
func (p *Prepared) RunInto(ctx context.Context, rs *Rows, g shard.Graph, tx shard.Tx, env *Env) error {
	x, err := p.execution(ctx, g, tx, env)
	if err != nil {
		return err
	}
	*rs = Rows{p: p, x: x, r: &x.run}
	return nil
}

// Next gives the next batch, with one column for each result column of the plan, or nil at the end. Vertices and edges
// have their records. The batch is valid until the next call, or Close.
func (rs *Rows) Next(ctx context.Context) (*graph.Batch, error) {
	failed := rs.failed
	rs.failed = true // should it panic
	b, err := rs.next(ctx)
	rs.failed = failed || err != nil
	return b, err
}

func (rs *Rows) next(ctx context.Context) (*graph.Batch, error) {
	if rs.r.env.Profile {
		rs.r.mark = time.Now() // what the caller did meanwhile is nobody's time
		defer rs.r.enter(rs.r.current)()
	}
	x := rs.x
	if !rs.opened {
		rs.opened = true
		if err := x.root.open(ctx); err != nil {
			return nil, err
		}
	}
	b, err := x.root.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	rs.count += int64(b.N)
	x.out.view(b, rs.p.out)
	if limit := rs.r.env.Budget.Rows; limit > 0 && rs.count > limit {
		err := graph.BudgetError("the result has more than %d rows, the budget of max-rows", limit)
		if !rs.r.truncate(err) {
			return nil, err
		}
		left := b.N - int(rs.count-limit)
		if left <= 0 {
			return nil, nil
		}
		var first batch
		first.slice(b, 0, left)
		x.out.view(&first, rs.p.out)
	}
	if err := x.recorder.materialise(ctx, rs.r, &x.out.Batch); err != nil {
		return nil, err
	}
	return &x.out.Batch, nil
}

// Hold accounts for a batch of Next that the caller keeps, until Close.
func (rs *Rows) Hold(b *graph.Batch) error {
	if rs.kept.r == nil {
		rs.kept = account{r: rs.r, name: "Result"}
	}
	size := 0
	for i := range b.Cols {
		for j := range b.N {
			size += valueSize(b.Cols[i].Value(j))
		}
	}
	return rs.kept.grow(size)
}

// Close gives back what the run holds; it does not end the transaction. What Next gave must not be used any more, nor
// Next be called.
func (rs *Rows) Close() {
	if rs.x == nil {
		return
	}
	x := rs.x
	rs.x = nil
	x.root.close()
	rs.r.end()
	if h := rs.r.env.Held; h != nil {
		h.clear() // the name lies in the memory of the operators, and a list of what runs may keep h
	}
	rs.r.total()
	if p := rs.p; p.keeps(&rs.r.env) && !rs.failed && rs.r.truncated == "" {
		rs.r = &p.nothing
		x.end()
		return
	}
	// A caller that still reads the counters keeps no rows.
	x.root, x.out, x.recorder = nil, batch{}, recorder{}
	rs.r.drop()
}

// Counters gives what the run has changed so far.
func (rs *Rows) Counters() Counters { return rs.r.counters }

// Stats gives what the operators did so far, by the ids of Prepared.Explain.
func (rs *Rows) Stats() []Stat { return rs.r.stats }

// Columns gives the names of the result columns.
func (p *Prepared) Columns() []string { return p.Query.Names }

// Truncated gives the reason why the rows are not all, or "".
func (rs *Rows) Truncated() string { return rs.r.truncated }

// Hops gives what the hops of a traversal did.
func (rs *Rows) Hops() []HopCount { return rs.r.hopCounts }
