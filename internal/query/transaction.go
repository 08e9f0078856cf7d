package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// TxOptions say what an explicit transaction is to be.
type TxOptions struct {
	Graph    string        // "" is DefaultGraph
	ReadOnly bool          // a statement that writes is an error
	Timeout  time.Duration // of the whole transaction; 0: none
	Idle     time.Duration // without a statement; 0: none
	Metadata graph.Value   // a map of what the client says of it, or null
	// Ended is called once, when the transaction is over, whatever ended it. It must not call the transaction.
	Ended func()
}

// Transaction is an explicit transaction: statements over one cut of a graph, which see the writes before them and are
// committed together. Commands for the schema and the graphs are carried out at the commit, and cannot stand beside changes of data.
// It is safe for concurrent use, but runs one statement at a time: a second one meanwhile is an
// error. A statement that fails rolls it back, and so do its timeouts and Kill.
type Transaction struct {
	e       *Engine
	g       shard.Graph
	opt     TxOptions
	indexes []graph.Index // of the time of the cut

	ctx     context.Context // ends when the transaction must end: killed, out of time, rolled back
	cancel  context.CancelCauseFunc
	stop    func() bool // stops watching ctx
	timer   context.CancelFunc
	listing *Running // the entry of SHOW TRANSACTIONS between statements

	mu       sync.Mutex
	tx       shard.Tx
	busy     bool
	over     error // why nothing more can be done; nil while it is open
	idle     *time.Timer
	expires  time.Time
	counters exec.Counters
	schema   schemaChange // of the one statement that has acquired the transaction
}

var (
	errIdle = errors.New("no statement came within its time")
	// ErrTxTime ends a transaction whose time is over.
	ErrTxTime   = errors.New("its time is over")
	errRollback = errors.New("rolled back")
)

// Begin opens an explicit transaction. ctx bounds the wait for its beginning alone.
func (e *Engine) Begin(ctx context.Context, opt TxOptions) (*Transaction, error) {
	system := e.isSystem(opt.Graph)
	opt.Graph = e.graphName(opt.Graph)
	if err := access.Check(ctx, opt.Graph, access.Reader); err != nil {
		return nil, err
	}
	mode := shard.Write
	if opt.ReadOnly {
		mode = shard.Read
	}
	g, tx, err := e.begin(ctx, opt.Graph, mode)
	if err != nil {
		if ctx.Err() != nil {
			err = ended(ctx, err)
		}
		return nil, err
	}
	t := &Transaction{e: e, g: g, opt: opt, indexes: g.Indexes(), timer: func() {}, tx: tx}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if opt.Timeout = e.timeout(opt.Timeout); opt.Timeout > 0 {
		t.ctx, t.timer = context.WithTimeoutCause(t.ctx, opt.Timeout, ErrTxTime)
	}
	t.listing = e.running.open(ctx, opt.Graph, t.cancel)
	t.listing.setMetadata(opt.Metadata)
	t.listing.system = system
	e.metrics.TxBegun.Add(1)
	t.stop = context.AfterFunc(t.ctx, t.abandon)
	if opt.Idle > 0 {
		t.mu.Lock()
		t.suspend()
		t.mu.Unlock()
	}
	return t, nil
}

// begin begins a transaction that is known to read the present.
func (e *Engine) begin(ctx context.Context, name string, mode shard.Mode) (shard.Graph, shard.Tx, error) {
	for reruns := 0; ; reruns++ {
		g, err := e.known(name)
		if err != nil {
			return nil, nil, err
		}
		tx, err := certain(ctx, g, mode)
		if !shard.Lost(err) || !backoff(ctx, reruns) {
			return g, tx, err
		}
	}
}

// certain begins a transaction of a graph that is known to read the present.
func certain(ctx context.Context, g shard.Graph, mode shard.Mode) (shard.Tx, error) {
	for reruns := 0; ; reruns++ {
		tx, err := g.Begin(ctx, mode)
		if err != nil {
			return nil, err
		}
		if err = checked(ctx, tx); err == nil {
			return tx, nil
		}
		tx.Rollback()
		if !shard.Lost(err) || !backoff(ctx, reruns) {
			return nil, err
		}
	}
}

// Expires is when the transaction is rolled back if nothing is asked of it; the zero time if never.
func (t *Transaction) Expires() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expires
}

// Counters are what the statements so far have changed.
func (t *Transaction) Counters() exec.Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counters
}

// Run runs a statement. One that writes, or whose request says Buffer, has ended when Run returns; the rows of another
// are pulled, and it ends with the last of them, a failure, or Close. The request's graph is not looked at.
func (t *Transaction) Run(ctx context.Context, req Request) (res *Result, err error) {
	if err := t.acquire(); err != nil {
		return nil, err
	}
	start := time.Now()
	ctx, q := t.e.running.startIn(ctx, t, t.e.timeout(req.Timeout), req.Statement)
	t.e.watch.begin(ctx, q, StatementKind, start)
	done := false
	defer func() {
		if !done { // a panic is on its way to the server
			err = graph.InternalError("query", nil)
		}
		if err != nil {
			err = t.e.finish(ctx, q, start, 0, nil, err)
			t.release(err)
		}
	}()
	res, err = t.run(ctx, q, start, req)
	done = true
	return res, err
}

func (t *Transaction) run(ctx context.Context, q *Running, start time.Time, req Request) (*Result, error) {
	if err := t.e.admit(ctx, q, start); err != nil {
		return nil, err
	}
	q.trace.enter("plan")
	p, err := t.prepare(ctx, req.Statement, req.Params)
	if err != nil {
		return nil, err
	}
	if err := p.check(req.Params, t.opt.ReadOnly || req.ReadOnly, req.Unsafe); err != nil {
		return nil, err
	}
	if t.listing.system {
		if err := p.checkSystem(); err != nil {
			return nil, err
		}
	}
	if err := q.allow(ctx, p); err != nil {
		return nil, err
	}
	req.Params = p.bind(req.Params)
	if name := p.graph(); name != "" && t.e.graphName(name) != t.opt.Graph {
		return nil, graph.ForbiddenInTransaction("a statement on another graph")
	}
	if p.own && p.prefix != "EXPLAIN" {
		return nil, graph.ImplicitTransactionOnly()
	}
	res := &Result{e: t.e, ctx: ctx, q: q, start: start, p: p, maxRows: req.MaxRows, txn: t, Columns: []string{}, g: t.g}
	switch {
	case p.command != nil:
		if done := t.Counters(); done.ContainsUpdates() {
			return nil, graph.ForbiddenInTransaction("a command after a change of data")
		}
		if err := t.schema.add(t.e, t.g, p, req.Params, res); err != nil {
			return nil, err
		}
		res.leave(nil)
		return res, nil
	case p.prefix == "EXPLAIN":
		res.explain()
		res.leave(nil)
		return res, nil
	case p.writes() && t.schema.commands != nil:
		return nil, graph.ForbiddenInTransaction("a change of data after a command")
	}
	if err := q.cpu.beginPlan(ctx, p.exec); err != nil {
		return nil, err
	}
	q.trace.enter("execute")
	env := t.e.env(q, req.Params, p.prefix == "PROFILE")
	env.Budget.Retained = t.listing.held.Bytes()
	if p.calls {
		env.Statement = t.e.statement(q, t.g, t.prepare)
	}
	rows, err := p.exec.Run(ctx, t.g, t.tx, env)
	if err != nil {
		return nil, p.placed(err)
	}
	res.rows = rows
	q.trace.stream()
	if cols := p.exec.Columns(); cols != nil {
		res.Columns = cols
	}
	if p.writes() || req.Buffer {
		began := q.trace.began()
		err := res.buffer(ctx, rows)
		q.trace.pull(began)
		if err != nil {
			rows.Close()
			return nil, p.placed(err)
		}
		res.leave(nil)
	}
	return res, nil
}

// prepare returns the prepared form of a statement. Where the indexes are no longer those of the cut, the plan uses those
// alone that both have: an index that was made since has no entries at the cut, and one that was dropped has none at all.
func (t *Transaction) prepare(ctx context.Context, text string, params map[string]graph.Value) (*prepared, error) {
	p, err := t.e.prepareWith(ctx, t.g, text, params)
	if err != nil || p.command != nil {
		return p, err
	}
	now := t.g.Indexes()
	same := func(a, b graph.Index) bool { return a.ID == b.ID && a.Online == b.Online }
	if slices.EqualFunc(now, t.indexes, same) {
		return p, nil
	}
	both := slices.DeleteFunc(slices.Clone(now), func(ix graph.Index) bool {
		return !slices.ContainsFunc(t.indexes, func(old graph.Index) bool { return same(ix, old) })
	})
	q, _, err := cypher.Compile(text, cypher.Options{Procedures: t.e.procs.Signature, ProcedureNames: t.e.procs.Names, Alive: aliveBy(ctx)})
	if err != nil {
		return nil, err
	}
	own := *p
	own.asked = source{} // the text is planned as it stands
	plan.Optimize(q, plan.Env{Counts: t.tx.Statistics(), Indexes: both, Ended: func() bool { return ctx.Err() != nil }})
	if ctx.Err() != nil {
		return nil, graph.DeadlineError(context.Cause(ctx))
	}
	own.exec, err = t.e.compileEstimated(q)
	return &own, err
}

// Touch puts off the end of an idle transaction.
func (t *Transaction) Touch() error {
	err := t.acquire()
	if err == nil {
		t.release(nil)
	}
	return err
}

// Commit makes the writes of all statements durable and visible, and ends the transaction. After an error nothing has
// changed; a conflict with another transaction is graph.KindConflict, and the transaction may be tried again.
func (t *Transaction) Commit(ctx context.Context) error {
	if err := t.acquire(); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // a panic is on its way to the server
			t.end(errors.New("its commit met a fault of the server"))
		}
	}()
	ctx, cancel := t.within(ctx)
	defer cancel()
	err := t.commit(ctx)
	done = true
	if err == nil {
		t.e.metrics.TxCommitted.Add(1)
		t.end(errors.New("committed"))
		return nil
	}
	if ctx.Err() != nil {
		err = ended(ctx, err)
	}
	if graph.AsError(err).Kind == graph.KindConflict {
		t.e.metrics.Conflicts.Add(1)
	}
	t.end(fmt.Errorf("its commit failed: %w", err))
	return err
}

// commit commits the data or carries the commands out.
func (t *Transaction) commit(ctx context.Context) error {
	if t.schema.commands == nil {
		return t.tx.Commit(ctx)
	}
	t.tx.Rollback() // it has read alone, and what is dropped waits for its readers
	return t.schema.run(ctx, t.e, t.g, t.listing)
}

// Rollback ends the transaction without its writes. A statement that runs is ended; the rollback follows it.
func (t *Transaction) Rollback() {
	t.stop() // rather than have it done behind the caller's back
	t.cancel(errRollback)
	t.abandon()
}

// acquire takes the transaction for one statement, or for its commit.
func (t *Transaction) acquire() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over != nil:
		return txOver(t.over)
	case t.ctx.Err() != nil: // about to be rolled back
		return txOver(context.Cause(t.ctx))
	case t.busy:
		return graph.ConcurrentAccess()
	}
	t.busy = true
	if t.idle != nil {
		t.idle.Stop()
	}
	return nil
}

// release returns the transaction after a statement, which rolled it back if it failed.
func (t *Transaction) release(err error) {
	if err != nil {
		t.end(fmt.Errorf("a statement failed: %w", err))
		return
	}
	t.mu.Lock()
	t.busy = false
	t.suspend()
	t.mu.Unlock()
	if t.ctx.Err() != nil {
		t.abandon()
	}
}

// suspend sets the timer that ends an idle transaction. t.mu is held.
func (t *Transaction) suspend() {
	if t.opt.Idle <= 0 || t.over != nil {
		return
	}
	t.expires = time.Now().Add(t.opt.Idle)
	if end, ok := t.ctx.Deadline(); ok && end.Before(t.expires) {
		t.expires = end
	}
	if t.idle == nil {
		t.idle = time.AfterFunc(t.opt.Idle, t.expire)
		return
	}
	t.idle.Reset(t.opt.Idle)
}

// expire ends a transaction that has been idle for its time.
func (t *Transaction) expire() {
	t.mu.Lock()
	idle := !t.busy && !time.Now().Before(t.expires)
	t.busy = t.busy || idle
	t.mu.Unlock()
	if idle {
		t.end(errIdle)
	}
}

// abandon rolls back a transaction whose context has ended; if a statement runs, that is left to the statement, whose
// context has ended too.
func (t *Transaction) abandon() {
	t.mu.Lock()
	busy := t.busy
	t.busy = true // nobody may begin anything any more
	t.mu.Unlock()
	if !busy {
		t.end(context.Cause(t.ctx))
	}
}

// end rolls back, unless the transaction has been committed, and gives everything up. The caller has acquired t.
func (t *Transaction) end(why error) {
	t.mu.Lock()
	if t.over != nil {
		t.mu.Unlock()
		return
	}
	t.over = why
	if t.idle != nil {
		t.idle.Stop()
	}
	t.mu.Unlock()
	t.stop()
	t.tx.Rollback()
	t.e.running.remove(t.listing)
	t.e.metrics.TxEnded.Add(1)
	t.timer()
	t.cancel(nil)
	if t.opt.Ended != nil {
		t.opt.Ended()
	}
}

// within returns a context that ends with ctx or with the transaction's own, and with the cause of that.
func (t *Transaction) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

func txOver(why error) error { return graph.TransactionNotFound(" any more: " + why.Error()) }
