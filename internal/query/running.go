package query

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Running is a statement that runs, or an explicit transaction.
type Running struct {
	ID        uint64
	Graph     string
	Statement string    // "" between the statements of an explicit transaction
	Start     time.Time // of the statement, or of the explicit transaction
	Caller    string    // who asks, "" where nobody is asked who they are
	Session   Session   // that it comes from

	action   string // what the audit log calls it; "" if it is not to be there
	system   bool   // it asks the system rather than a graph
	quiet    bool   // neither counted, bounded nor kept in the slow log
	kind     Kind
	trace    *trace          // nil unless somebody asks for it
	admitted bool            // it is to leave the gate
	place    place           // that it then returns
	labels   context.Context // of its goroutine while it is profiled, or nil
	cpu      cpuSlot
	held     exec.Held                    // by the operators
	pools    atomic.Pointer[[]*exec.Pool] // that are told of it beside Engine.pool
	relieved bool                         // it was ended to get memory back; registry.mu holds it
	rows     atomic.Int64
	ctx      lazyContext             // of a request that is in no explicit transaction
	cancel   context.CancelCauseFunc // of the explicit transaction, or nil
	timer    context.CancelFunc      // or nil
	late     *time.Timer             // that ends it by Options.Timeout, or nil
	tx       *Running                // of a statement in an explicit transaction: the transaction's own entry
	idle     bool                    // an explicit transaction's own entry

	metadata atomic.Pointer[graph.Value] // of the transaction; nil: none

	used string // the other graph that USE names, or ""; registry.mu holds it

	prev, next *Running // in the registry, whose mu holds them
	runs       *Running // of an explicit transaction's own entry: the statement that is listed in its place, or nil
}

// end ends the request, or the explicit transaction that it is or is in, and says why.
func (q *Running) end(cause error) {
	if q.cancel != nil {
		q.cancel(cause)
		return
	}
	q.ctx.cancel(cause)
}

// Rows is the number of rows given so far.
func (q *Running) Rows() int64 { return q.rows.Load() }

// Held is the operator that took memory last, and the bytes that all operators, and the open results of the transaction, hold.
func (q *Running) Held() (operator string, bytes int64) {
	operator, bytes = q.held.Operator(), q.held.Bytes()
	if q.tx != nil {
		operator, bytes = cmp.Or(operator, q.tx.held.Operator()), bytes+q.tx.held.Bytes()
	}
	return operator, bytes
}

var errKilled = errors.New("killed")

// registry lists what runs, the oldest first.
type registry struct {
	mu           sync.Mutex
	last         uint64 // id
	first, final *Running
}

// start lists a request and returns its context.
func (r *registry) start(q *Running, ctx context.Context, at time.Time, timeout time.Duration, graphName, statement string) context.Context { //nolint:revive // What is started comes first.
	q.Graph, q.Statement, q.Start, q.Caller = graphName, statement, at, access.Name(ctx)
	q.Session = sessionOf(ctx)
	q.ctx.Context, q.ctx.owner = ctx, q //nolint:fatcontext // The request's own, once.
	ctx = &q.ctx
	if timeout > 0 {
		ctx, q.timer = context.WithTimeout(ctx, timeout)
	}
	r.add(q)
	return ctx
}

func (r *registry) add(q *Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	q.ID = r.last
	if q.prev = r.final; q.prev != nil {
		q.prev.next = q
	} else {
		r.first = q
	}
	r.final = q
}

// remove takes an entry off the list.
func (r *registry) remove(q *Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.prev == nil && r.first != q {
		return
	}
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		r.first = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		r.final = q.prev
	}
	q.prev, q.next = nil, nil
}

// all returns what is listed, in the order of the ids. r.mu is held meanwhile.
func (r *registry) all() iter.Seq[*Running] {
	return func(yield func(*Running) bool) {
		for q := r.first; q != nil; q = q.next {
			if listed := cmp.Or(q.runs, q); !yield(listed) {
				return
			}
		}
	}
}

// use notes the graph that a listed request names by USE.
func (r *registry) use(q *Running, graphName string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.used = graphName
}

// endAll ends what is listed for a graph that is to be dropped, except for one request.
func (r *registry) endAll(graphName string, but *Running) {
	dropped := graph.GraphDropped(graphName)
	r.mu.Lock()
	defer r.mu.Unlock()
	for q := range r.all() {
		if cmp.Or(q.used, q.Graph) == graphName && q != but {
			q.end(dropped)
		}
	}
}

// open lists an explicit transaction, which cancel ends.
func (r *registry) open(ctx context.Context, graphName string, cancel context.CancelCauseFunc) *Running {
	q := &Running{Graph: graphName, Start: time.Now(), Caller: access.Name(ctx), Session: sessionOf(ctx), cancel: cancel, idle: true}
	r.add(q)
	return q
}

// startIn lists a statement instead of its explicit transaction. Its context ends with the transaction's too.
func (r *registry) startIn(ctx context.Context, t *Transaction, timeout time.Duration, statement string) (context.Context, *Running) {
	tx := t.listing
	q := &Running{ID: tx.ID, Graph: tx.Graph, Statement: statement, Start: tx.Start, Caller: tx.Caller, Session: tx.Session, tx: tx}
	ctx, cancel := t.within(context.WithValue(ctx, runningKey{}, tx))
	q.cancel, q.timer = tx.cancel, cancel
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, timeout)
		q.timer = func() { stop(); cancel() }
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tx.runs = q
	return ctx, q
}

// end takes a request off the list and ends its context.
func (r *registry) end(q *Running) {
	if tx := q.tx; tx != nil {
		r.mu.Lock()
		if tx.runs == q {
			tx.runs = nil
		}
		r.mu.Unlock()
		q.timer()
		return
	}
	r.remove(q)
	if q.timer != nil {
		q.timer()
	}
	q.ctx.end()
}

// Running lists what runs, the oldest first: all of it for an admin, what is the caller's own for others.
func (e *Engine) Running(ctx context.Context) []*Running {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	var qs []*Running
	for q := range e.running.all() {
		if q.mayEnd(ctx) {
			qs = append(qs, q)
		}
	}
	return qs
}

// Kill ends a running statement, or an explicit transaction with all it runs, and reports whether there was one that
// the caller may end.
func (e *Engine) Kill(ctx context.Context, id uint64) bool {
	var q *Running
	e.running.mu.Lock()
	for one := range e.running.all() {
		if one.ID == id {
			q = one
			break
		}
	}
	e.running.mu.Unlock()
	if q == nil || !q.mayEnd(ctx) {
		return false
	}
	q.end(errKilled)
	e.opt.Audit.Record(ctx, "kill", q.Graph, q.Statement, "ok")
	return true
}

// mayEnd reports whether the caller may see and end a request: an admin, or whose it is.
func (q *Running) mayEnd(ctx context.Context) bool {
	id := access.Caller(ctx)
	return id == nil || id.Name == q.Caller || id.In(q.Graph) >= access.Admin
}

// allow says why the caller may not run a statement, or nil, and what the audit log is to call it.
func (q *Running) allow(ctx context.Context, p *prepared) error {
	name := q.Graph
	if q.used != "" {
		name = q.used
	}
	switch p.command.(type) {
	case *cypher.CreateGraph, *cypher.DropGraph:
		q.action = "graphs"
		return access.CheckEvery(ctx, access.Admin)
	case *cypher.CreateIndex, *cypher.DropIndex:
		q.action = "schema"
	}
	if !p.writes() {
		return access.Check(ctx, name, access.Reader)
	}
	if q.action == "" {
		q.action = "write"
	}
	return access.Check(ctx, name, access.Writer)
}

// record puts a request that is over into the audit log, if it belongs there: it has changed something, or was denied.
func (e *Engine) record(ctx context.Context, q *Running, err error) {
	outcome := "ok"
	if err != nil {
		failure := graph.AsError(err)
		outcome = failure.Code
		if failure.Kind == graph.KindDenied && q.action == "" {
			q.action = "read"
		}
	}
	if q.action != "" {
		e.opt.Audit.Record(ctx, q.action, q.Graph, q.Statement, outcome)
	}
}

// ended returns the error of a request whose context has ended: the context's, unless the request failed by its own fault.
func ended(ctx context.Context, err error) error {
	if kind := graph.AsError(err).Kind; kind != graph.KindDeadline && kind != graph.KindInternal {
		return err
	}
	if cause, ok := errors.AsType[*graph.Error](context.Cause(ctx)); ok {
		return cause
	}
	e := graph.DeadlineError(context.Cause(ctx))
	if errors.Is(e.Err, errKilled) || errors.Is(e.Err, errRollback) {
		e.Code, e.Detail = "Neo.ClientError.Transaction.Terminated", "Terminated"
	}
	return e
}

// finish counts a request that is over, keeps it if it was slow, and returns its error in the form that users see.
func (e *Engine) finish(ctx context.Context, q *Running, start time.Time, rows int64, p *prepared, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ended(ctx, err)
	}
	e.running.end(q)
	q.unlabel()
	if q.late != nil {
		q.late.Stop()
	}
	now := time.Now()
	q.cpu.end(now, err)
	if q.admitted {
		e.gate.leave(q)
	}
	elapsed := now.Sub(start)
	if q.quiet {
		return err
	}
	e.watch.end(ctx, q, start, elapsed, rows, err)
	e.record(ctx, q, err)
	e.metrics.observe(elapsed, rows, err)
	e.slow.add(Slow{Graph: q.Graph, Statement: q.Statement, Start: q.Start, Elapsed: elapsed, Rows: rows, Err: err}, q.kind, p)
	return err
}
