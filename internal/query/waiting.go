package query

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Wait says that no one pulls rows until the next call of Next. Until then, the request gives up its place in the gate, and its
// timeout does not run.
func (r *Result) Wait() {
	if r.closed || r.rare.waiting() {
		return
	}
	r.q.cpu.Written()
	r.q.cpu.Suspend()
	r.q.cpu.Leave()
	if r.rows == nil {
		return // the rows are complete
	}
	r.uncommon().waits = admission.Now()
	if r.q.late != nil {
		r.q.late.Stop()
	}
}

// resume takes a place again after Wait.
func (r *Result) resume() error {
	began := r.rare.waits
	r.rare.waits = 0
	if late := r.q.late; late != nil {
		r.rare.waited += time.Duration(admission.Now() - began)
		if most := r.e.Bounds.get().Timeout; most > 0 {
			late.Reset(time.Until(r.start().Add(most + r.rare.waited)))
		}
	}
	if r.q.quiet {
		return nil
	}
	return r.q.cpu.EnterAgain(r.ctx)
}

// Hold buffers the remaining rows of a statement in an explicit transaction, so that the transaction can run the next one:
// those of b, the last batch of Next or nil, from a row on, and all after it. All buffered results of a transaction and the
// operators of its statement share the memory of one statement. b is invalid afterwards.
func (r *Result) Hold(b *graph.Batch, from int) error {
	if b != nil {
		r.q.rows.Add(-int64(b.N - from))
	}
	t := r.txn
	if t == nil || r.rows == nil {
		r.putBack(b, from)
		return nil
	}
	if err := r.goOn(); err != nil {
		return r.Fail(err)
	}
	if b != nil {
		if err := r.take(r.rows, b, from); err != nil {
			return r.Fail(err)
		}
	}
	if err := r.buffer(r.ctx, r.rows); err != nil {
		return r.Fail(err)
	}
	r.leave(nil)
	if t.ctx.Err() != nil { // it was ended to free memory
		return r.Fail(context.Cause(t.ctx))
	}
	r.Wait()
	return nil
}

// putBack makes Next return the rows of b, which are in memory, from one on; b may be nil.
func (r *Result) putBack(b *graph.Batch, from int) {
	if b == nil || from == b.N {
		return
	}
	rest := &graph.Batch{N: b.N - from, Cols: make([]graph.Column, len(b.Cols))}
	for i := range b.Cols {
		rest.Cols[i].Vals = b.Cols[i].Vals[from:]
	}
	r.batches = slices.Insert(r.batches, 0, rest)
}

// Fail ends the result with an error, its own or that of a caller that cannot use its rows, and sets the error's position in
// the statement.
func (r *Result) Fail(err error) error {
	r.err = r.p.placed(err)
	if r.ctx.Err() != nil {
		r.err = ended(r.ctx, err)
	}
	r.leave(r.err)
	return r.err
}

// Done is closed when the result must end: killed, timed out, or abandoned by its caller.
func (r *Result) Done() <-chan struct{} { return r.ctx.Done() }

// Graph returns the graph that the statement runs on.
func (r *Result) Graph() string {
	if r.q.system || r.q.tx != nil && r.q.tx.system {
		return systemGraph
	}
	return r.q.on()
}

// Prefix is EXPLAIN, PROFILE or "".
func (r *Result) Prefix() string { return r.p.prefix }

// Writes reports whether the statement changes data, the schema or the graphs; an EXPLAIN does not.
func (r *Result) Writes() bool { return r.p.writes() }

// Done is closed when the transaction must end, or has ended.
func (t *Transaction) Done() <-chan struct{} { return t.ctx.Done() }

// Graph is the graph of the transaction.
func (t *Transaction) Graph() string {
	if t.listing.system {
		return systemGraph
	}
	return t.opt.Graph
}

// Err returns why the transaction must end, or nil.
func (t *Transaction) Err() error {
	if t.ctx.Err() == nil {
		return nil
	}
	return ended(t.ctx, graph.DeadlineError(nil))
}

// Changed reports whether statements have changed data, or commands are pending.
func (t *Transaction) Changed() bool {
	return t.Counters() != exec.Counters{} || t.schema.commands != nil
}
