package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/charge"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/lazy"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/shard"
)

// Running is a running statement, or an explicit transaction.
type Running struct {
	ID        uint64
	Graph     string
	Statement string         // "" between the statements of an explicit transaction
	Start     time.Time      // of the statement, or of the explicit transaction
	Caller    access.Subject // zero without authentication

	session   *Session      // of the request, or nil
	grant     *access.Grant // nil: without authentication; guarded by registry.mu in an explicit transaction's own entry
	action    string        // the name in the audit log; "": not logged
	stale     time.Duration // by how much the snapshot that it reads may be out of date
	kind      watch.Kind
	permitted atomic.Uint32    // the role that it needs; None: it is not known yet
	readOnly  bool             // it must not change anything
	system    bool             // runs on the system rather than a graph
	quiet     bool             // not counted, limited or logged
	relieved  bool             // ended to free memory; guarded by registry.mu
	exclusive bool             // its transaction keeps others from committing
	idle      bool             // an explicit transaction's own entry
	trace     *watch.Trace     // nil unless requested
	labels    *context.Context // profiler labels of its goroutine, or nil
	cpu       admission.Ticket
	held      exec.Held                      // memory of the operators
	visits    atomic.Int64                   // see cost.Cost
	sent      int64                          // bytes of the result; only the goroutine that sends it uses it
	estimate  float64                        // of its units, at least 1; negative: the caller may not know it; 0: there is none
	most      int64                          // units that its client lets it be expected to take; 0: no limit
	pools     atomic.Pointer[[]*memory.Pool] // pools that count its memory besides Engine.pool
	rows      atomic.Int64
	at        snapshot.At                       // the snapshot that it reads, or has left
	stood     exec.Stood                        // what CALL {…} IN TRANSACTIONS has committed
	ctx       lazy.Context[runningKey, Running] // of a request outside explicit transactions
	cancel    context.CancelCauseFunc           // of the explicit transaction, or nil
	timer     context.CancelFunc                // or nil
	late      *time.Timer                       // applies Options.Timeout, or nil
	tx        *Running                          // of a statement in an explicit transaction: the transaction's own entry

	metadata atomic.Pointer[graph.Value] // of the transaction; nil: none

	used atomic.Pointer[string] // the other graph that USE names, or nil

	called atomic.Pointer[operation.Operation] // that runs, or nil
	quotas *quota.Accounts                     // that it is charged to, or nil
	raised atomic.Pointer[access.Grant]        // in place of grant while an operation runs, or nil

	prev, next *Running // list in the registry, guarded by its mu
	runs       *Running // of an explicit transaction's own entry: the statement listed instead, or nil
}

// setCaller sets the caller of a request and its connection.
func (q *Running) setCaller(ctx context.Context) {
	q.grant, q.session = access.Granted(ctx), sessionOf(ctx)
	q.Caller = access.Of(ctx)
}

// may returns an error unless the caller has a role in a graph.
func (q *Running) may(graphName string, need access.Role) error {
	return cmp.Or(q.raised.Load(), q.grant).Check(graphName, need)
}

// on returns the graph that the request runs on: the one that its statement names by USE, or the request's own.
func (q *Running) on() string {
	if used := q.used.Load(); used != nil {
		return *used
	}
	return q.Graph
}

// end ends the request, or its explicit transaction, with a cause.
func (q *Running) end(cause error) {
	if q.cancel != nil {
		q.cancel(cause)
		return
	}
	q.ctx.Cancel(cause)
}

// Rows returns the number of rows returned so far.
func (q *Running) Rows() int64 { return q.rows.Load() }

// Held returns the operator that allocated last, and the memory of all operators and of the open results of the transaction.
func (q *Running) Held() (operator string, bytes int64) {
	operator, bytes = q.held.Operator(), q.held.Bytes()
	if q.tx != nil {
		operator, bytes = cmp.Or(operator, q.tx.held.Operator()), bytes+q.tx.held.Bytes()
	}
	return operator, bytes
}

var errKilled = errors.New("killed")

// registry lists running requests, the oldest first.
type registry struct {
	mu           sync.Mutex
	last         uint64 // id
	first, final *Running
}

// start lists a request and returns its context.
func (r *registry) start(q *Running, ctx context.Context, at time.Time, timeout time.Duration, graphName, statement string) context.Context { //nolint:revive // What is started comes first.
	q.Graph, q.Statement, q.Start = graphName, statement, at
	q.setCaller(ctx)
	q.ctx.Context, q.ctx.Owner = ctx, q //nolint:fatcontext // The request's own, once.
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

// remove removes an entry.
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

// all returns the entries in the order of their ids. The caller holds r.mu.
func (r *registry) all() iter.Seq[*Running] {
	return func(yield func(*Running) bool) {
		for q := r.first; q != nil; q = q.next {
			if listed := cmp.Or(q.runs, q); !yield(listed) {
				return
			}
		}
	}
}

// endAll ends all requests on a graph that is being dropped, except for one.
func (r *registry) endAll(graphName string, but *Running) {
	dropped := graph.DroppedGraph(graphName)
	r.mu.Lock()
	defer r.mu.Unlock()
	for q := range r.all() {
		if q.on() == graphName && q != but {
			q.end(dropped)
		}
	}
}

// open lists an explicit transaction, which cancel ends.
func (r *registry) open(ctx context.Context, graphName string, cancel context.CancelCauseFunc) *Running {
	q := &Running{Graph: graphName, Start: time.Now(), cancel: cancel, idle: true}
	q.setCaller(ctx)
	q.permitted.Store(uint32(access.Reader))
	r.add(q)
	return q
}

// startIn lists a statement instead of its explicit transaction. Its context also ends with the transaction's.
func (r *registry) startIn(ctx context.Context, t *Transaction, timeout time.Duration, statement string) (context.Context, *Running) {
	tx := t.listing
	q := &Running{ID: tx.ID, Graph: tx.Graph, Statement: statement, Start: tx.Start, tx: tx}
	q.setCaller(ctx)
	q.Caller, q.session = tx.Caller, tx.session
	ctx, cancel := t.within(context.WithValue(ctx, runningKey{}, tx))
	q.cancel, q.timer = tx.cancel, cancel
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, timeout)
		q.timer = func() { stop(); cancel() }
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tx.runs, tx.grant = q, q.grant // the caller may have renewed its token
	return ctx, q
}

// end removes a request and ends its context.
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
	q.ctx.End()
}

// Running lists the running requests, the oldest first: all of them for an admin, the caller's own for others.
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

// Kill ends a running statement, or an explicit transaction and its statement, and reports whether there was one that the
// caller may end.
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
	e.opt.Audit.Record(ctx, "kill", q.on(), q.Statement, "ok")
	return true
}

// mayEnd reports whether the caller may see and end a request: an admin or its owner.
func (q *Running) mayEnd(ctx context.Context) bool {
	id := access.Caller(ctx)
	return id == nil || id.Subject() == q.Caller || id.In(q.on()) >= access.Admin
}

// allow returns why the caller may not run a statement, or nil, and sets its name in the audit log.
func (q *Running) allow(ctx context.Context, p *prepared) error {
	if p.writes() {
		switch p.command.(type) {
		case *cypher.CreateGraph, *cypher.AlterGraph, *cypher.DropGraph:
			q.action = "graphs"
		case *cypher.CreateIndex, *cypher.DropIndex:
			q.action = "schema"
		case *cypher.ChangeRules:
			q.action = "rules"
		case *cypher.CreateSnapshot, *cypher.DropSnapshot:
			q.action = "snapshots"
		}
		if q.action == "" {
			q.action = "write"
		}
	}
	need := p.needs()
	err := need.check(ctx, q.on())
	if err == nil {
		q.permitted.Store(uint32(need.role))
	}
	return err
}

// rights are what a caller needs for a statement or a transaction.
type rights struct {
	role  access.Role
	every bool // admin of all graphs
}

// needs returns the rights that a statement needs.
func (p *prepared) needs() rights {
	if !p.writes() {
		return rights{role: access.Reader}
	}
	switch p.command.(type) {
	case *cypher.CreateGraph, *cypher.AlterGraph, *cypher.DropGraph:
		return rights{role: access.Admin, every: true}
	case *cypher.ChangeRules, *cypher.CreateSnapshot, *cypher.DropSnapshot:
		return rights{role: access.Admin}
	}
	return rights{role: access.Writer}
}

// check returns an error unless the caller has the rights in a graph.
func (r rights) check(ctx context.Context, graphName string) error {
	if r.every {
		if err := access.CheckEvery(ctx, access.Admin); err != nil {
			return err
		}
	}
	return access.Check(ctx, graphName, r.role)
}

// record writes an ended request to the audit log if it has changed something or was denied.
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
		e.opt.Audit.Record(ctx, q.action, q.on(), q.Statement, outcome)
	}
}

// ended returns the error of a request whose context has ended: the context's cause, unless the request failed by itself.
func ended(ctx context.Context, err error) error {
	if kind := graph.AsError(err).Kind; kind != graph.KindDeadline && kind != graph.KindInternal {
		return err
	}
	if cause, ok := errors.AsType[*graph.Error](context.Cause(ctx)); ok {
		return cause
	}
	e := graph.DeadlineError(context.Cause(ctx))
	switch wait := graph.LockWaitEnded(e.Err); {
	case errors.Is(e.Err, errKilled) || errors.Is(e.Err, errRollback):
		e.Code, e.Detail = "Neo.ClientError.Transaction.Terminated", "Terminated"
	case graph.AsError(err).Code == wait.Code:
		return wait
	}
	return e
}

// watched sets the kind of a request that began at start, and has it traced if a watcher wants that.
func (e *Engine) watched(ctx context.Context, q *Running, kind watch.Kind, start time.Time) {
	if q.kind = kind; !q.quiet {
		q.trace = e.watch.Begin(ctx, start)
	}
}

// Watch returns the watchers of the engine's requests.
func (e *Engine) Watch() *watch.Watch { return &e.watch }

// SlowLog returns the slowest requests.
func (e *Engine) SlowLog() *watch.SlowLog { return &e.slow }

// enter returns a graph as known does, unless its quotas refuse the request. It is charged to those of the last graph that it has entered.
func (q *Running) enter(ctx context.Context, e *Engine, name string) (shard.Graph, error) {
	g, err := e.known(ctx, name)
	if err == nil {
		err = q.enterQuotas(ctx, e.Quotas, name, g)
	}
	return g, err
}

func (q *Running) enterQuotas(ctx context.Context, gate *charge.Gate, name string, g shard.Graph) error {
	return gate.Enter(ctx, g, &charge.Request{Graph: name, Caller: q.grant, Operation: q.called.Load(), Statement: q.Statement, Probe: q.quiet}, &q.quotas)
}

// finish counts an ended request, adds it to the slow log, and returns its error in the form that users see.
func (e *Engine) finish(ctx context.Context, q *Running, start time.Time, rows int64, p *prepared, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ended(ctx, err)
	}
	if s := q.stood; err != nil && s.Transactions > 0 {
		err = graph.StandError(err, fmt.Sprintf("transactions: %d, rows: %d", s.Transactions, s.Rows))
	}
	e.running.end(q)
	q.unlabel()
	if q.late != nil {
		q.late.Stop()
	}
	q.rows.Store(rows)
	now := time.Now()
	q.cpu.End(now, err)
	took := q.cost(now)
	q.quotas.Charge(took)
	q.cpu.Leave()
	elapsed := now.Sub(start)
	if q.quiet {
		return err
	}
	if s, ok := errors.AsType[*graph.Error](err); ok && q.kind == watch.StatementKind && q.called.Load() == nil && s.Phase == graph.PhaseCompile {
		err = parse.Located(s, q.Statement)
	}
	e.watch.End(ctx, watch.Ended{ID: q.ID, Kind: q.kind, Graph: q.on(), Statement: q.Statement, Start: start, Elapsed: elapsed, Rows: rows, Took: took}, q.trace, err)
	e.record(ctx, q, err)
	e.metrics.Observe(q.kind, elapsed, &took, err)
	if o := q.called.Load(); o != nil {
		e.Operations.Observe(q.on(), o.Name, elapsed, err)
	}
	var x *exec.Prepared
	if p != nil {
		x = p.exec
	}
	e.slow.Add(watch.Slow{Graph: q.on(), Statement: q.Statement, Start: q.Start, Elapsed: elapsed, Rows: rows, Err: err, Took: q.told(took)}, q.kind, x)
	return err
}

// Load counts the requests that run, wait and were refused.
func (e *Engine) Load() admission.Load {
	l := e.gate.Load()
	l.Refused[admission.RateLimit] = e.opt.Rates.Refused()
	return l
}

// admit admits a request that began at start; finish ends it. The limits of the request's graph apply only if its caller has the role that
// the request needs there: without it, the statement may still name another graph.
func (e *Engine) admit(ctx context.Context, q *Running, start time.Time, need access.Role) error {
	if q.quiet {
		return nil // the server's own probe checks that the server works, not that it has room
	}
	name := q.Graph
	if q.grant.Check(name, need) != nil {
		name = ""
	} else if err := access.EnterGraph(ctx, name); err != nil {
		return err
	}
	var own *access.Limits
	if id := access.Caller(ctx); id != nil {
		own = id.Limits
	}
	if err := q.cpu.Enter(ctx, e.gate, q.Caller, name, own, start); err != nil {
		return err
	}
	e.label(ctx, q)
	return nil
}
