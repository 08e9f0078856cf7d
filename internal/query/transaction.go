package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// TxOptions are the settings of an explicit transaction.
type TxOptions struct {
	Graph    string        // "" is DefaultGraph
	ReadOnly bool          // a statement that writes fails
	Stale    time.Duration // by how much the snapshot may be out of date; 0 unless ReadOnly
	Timeout  time.Duration // of the whole transaction; 0: none
	Idle     time.Duration // without a statement; 0: none
	Metadata graph.Value   // the client's metadata: a map, or null
	// Ended is called once after the transaction has ended for whatever reason. It must not call the transaction.
	Ended func()
}

// Transaction is an explicit transaction: statements over one snapshot of a graph that see earlier writes and commit together.
// Commands for the schema and the graphs run at the commit and exclude changes of data. It is safe for concurrent use but runs
// one statement at a time: a concurrent one fails. A failed statement rolls it back, as do its timeouts and Kill.
type Transaction struct {
	e       *Engine
	g       shard.Graph
	opt     TxOptions
	indexes []graph.Index // of the snapshot, those of what access rules hide among them

	// calls is the role in which it runs operations, and no other statements, since the caller has no role that reads; None otherwise.
	calls access.Role

	ctx     context.Context // ends when the transaction must end: killed, timed out, rolled back
	cancel  context.CancelCauseFunc
	stop    func() bool // stops watching ctx
	timer   context.CancelFunc
	listing *Running // the entry of SHOW TRANSACTIONS between statements

	mu       sync.Mutex
	tx       shard.Tx
	busy     bool
	over     error // why it has ended; nil while it is open
	idle     *time.Timer
	expires  time.Time
	counters exec.Counters
	ran      bool         // a statement has begun; of the one that has acquired the transaction, as schema
	schema   schemaChange // of the statement that has acquired the transaction
	needs    rights       // of the statements so far; of the statement that has acquired the transaction
	begins   uint64       // the hash of the first statement, as Engine.hotspots has it
	turns    []shard.Key  // that it has waited for before its first statement
}

var (
	errIdle = errors.New("no statement came within its time")
	// ErrTxTime ends a transaction that has timed out.
	ErrTxTime   = errors.New("its time is over")
	errRollback = errors.New("rolled back")
)

// Begin opens an explicit transaction. ctx only bounds the wait for its beginning.
func (e *Engine) Begin(ctx context.Context, opt TxOptions) (*Transaction, error) {
	system := e.isSystem(opt.Graph)
	opt.Graph = e.graphName(opt.Graph)
	calls := access.None
	if err := access.Check(ctx, opt.Graph, access.Reader); err != nil {
		calls = access.Writer
		if opt.ReadOnly {
			calls = access.Reader
		}
		if access.Check(ctx, opt.Graph, access.Operations) != nil {
			e.opt.Audit.Record(ctx, "read", opt.Graph, "BEGIN", graph.AsError(err).Code)
			return nil, err
		}
		if ctx, _, err = access.Raise(ctx, opt.Graph, calls); err != nil {
			return nil, err
		}
	}
	mode := shard.WriteInTurn
	if opt.ReadOnly {
		mode = shard.Read
	}
	if opt.Stale > 0 && !opt.ReadOnly {
		return nil, graph.StaleWrite("a transaction that may write")
	}
	g, tx, err := e.begin(ctx, opt.Graph, mode, opt.Stale)
	if err != nil {
		if ctx.Err() != nil {
			err = ended(ctx, err)
		}
		return nil, err
	}
	t := &Transaction{e: e, g: g, opt: opt, calls: calls, indexes: restricted.Whole(g).Indexes(), timer: func() {}, tx: tx}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if opt.Timeout = e.timeout(opt.Timeout); opt.Timeout > 0 {
		t.ctx, t.timer = context.WithTimeoutCause(t.ctx, opt.Timeout, ErrTxTime)
	}
	t.listing = e.running.open(ctx, opt.Graph, t.cancel)
	if calls != access.None {
		t.listing.permitted.Store(uint32(access.Operations))
	}
	t.listing.setMetadata(opt.Metadata)
	t.listing.at = snapshot.Of(tx)
	t.listing.system, t.listing.stale = system, opt.Stale
	e.metrics.TxBegun.Add(1)
	t.stop = context.AfterFunc(t.ctx, t.abandon)
	if opt.Idle > 0 {
		t.mu.Lock()
		t.suspend()
		t.mu.Unlock()
	}
	return t, nil
}

// begin opens a transaction that is known to read the current snapshot, or one that is out of date by stale at most.
func (e *Engine) begin(ctx context.Context, name string, mode shard.Mode, stale time.Duration) (shard.Graph, shard.Tx, error) {
	var again shard.Reruns
	for {
		g, err := e.known(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		tx, err := certain(ctx, g, mode, stale)
		if !shard.Retriable(err) || !again.Next(ctx) {
			return g, tx, err
		}
	}
}

// certain opens a transaction of a graph and confirms that it reads the current snapshot, or one that is out of date by stale at most.
func certain(ctx context.Context, g shard.Graph, mode shard.Mode, stale time.Duration) (shard.Tx, error) {
	var again shard.Reruns
	for {
		tx, err := beginOn(ctx, g, mode, stale)
		if err != nil {
			return nil, err
		}
		if err = checked(ctx, tx); err == nil {
			return tx, nil
		}
		tx.Rollback()
		if !shard.Retriable(err) || !again.Next(ctx) {
			return nil, err
		}
	}
}

// Expires returns when an idle transaction is rolled back; zero if never.
func (t *Transaction) Expires() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expires
}

// Counters returns the changes of the statements so far.
func (t *Transaction) Counters() exec.Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counters
}

// Run runs a statement. One that writes, or whose request says Buffer, has ended when Run returns. The caller pulls the rows of
// others, which end with the last row, an error, or Close. Run ignores the request's graph.
func (t *Transaction) Run(ctx context.Context, req Request) (res *Result, err error) {
	if err := t.acquire(); err != nil {
		return nil, err
	}
	start := time.Now()
	if req.Operation != nil {
		req.Statement = req.Operation.Text()
	}
	ctx, q := t.e.running.startIn(ctx, t, t.e.timeout(req.Timeout), req.Statement)
	ctx = shard.WithWait(ctx, q.cpu.StepAside)
	t.e.watched(ctx, q, watch.StatementKind, start)
	ctx = t.e.watch.WithParameters(ctx, req.Params)
	done := false
	defer func() {
		if !done { // a panic is propagating to the server
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
	if err := t.e.admit(ctx, q, start, access.Reader); err != nil {
		return nil, err
	}
	ctx, err := t.bind(ctx, q, &req)
	if err != nil {
		return nil, err
	}
	if err := q.enterQuotas(ctx, t.e.Quotas, t.opt.Graph, t.g); err != nil {
		return nil, err
	}
	q.trace.Enter("plan")
	p, err := t.prepareRequest(ctx, &req)
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
	need := p.needs()
	if t.calls != access.None {
		need = rights{role: access.Operations}
	}
	t.needs = rights{max(t.needs.role, need.role), t.needs.every || need.every}
	req.Params = p.bind(req.Params)
	if name := p.graph(); name != "" && t.e.graphName(name) != t.opt.Graph {
		return nil, graph.ForbiddenInTransaction("a statement on another graph")
	}
	if p.own && p.prefix != "EXPLAIN" {
		return nil, graph.ImplicitTransactionOnly()
	}
	if err := cmp.Or(asof.Refuse(p.query()), req.Limits.page().Refuse()); err != nil {
		return nil, err
	}
	res := &Result{e: t.e, ctx: ctx, q: q, began: admission.Instant(start), req: Request{MaxRows: req.MaxRows}, p: p, txn: t, Columns: []string{}, g: t.g}
	first := !t.ran
	t.ran = true
	switch {
	case p.prefix == "EXPLAIN":
		if err := res.explain(ctx, req.Params); err != nil {
			return nil, err
		}
		res.leave(nil)
		return res, nil
	case p.command != nil:
		if done := t.Counters(); done.ContainsUpdates() {
			return nil, graph.ForbiddenInTransaction("a command after a change of data")
		}
		if err := t.schema.add(t.e, t.g, p, req.Params, res); err != nil {
			return nil, err
		}
		res.leave(nil)
		return res, nil
	case p.writes() && t.schema.commands != nil && !p.calls:
		return nil, graph.ForbiddenInTransaction("a change of data after a command")
	}
	if err := q.cpu.BeginPlan(ctx, p.exec); err != nil {
		return nil, err
	}
	q.trace.Enter("execute")
	if first && !t.opt.ReadOnly {
		if err := t.takeTurns(ctx, req); err != nil {
			return nil, err
		}
	}
	for {
		err := t.execute(ctx, q, req, p, res)
		if err == nil {
			return res, nil
		}
		// The first statement may read a newer snapshot: the client has seen nothing of the old one.
		if !first || p.calls || !p.writes() || graph.AsError(err).Kind != graph.KindConflict {
			return nil, err
		}
		if err := t.renew(ctx, err); err != nil {
			return nil, err
		}
		t.e.metrics.Conflicts.Add(1)
		t.e.metrics.Retries.Add(1)
		res.reset()
	}
}

// bind puts the statement of an operation in place of its call. The caller keeps its role, unless that only lets it call operations.
func (t *Transaction) bind(ctx context.Context, q *Running, req *Request) (context.Context, error) {
	if err := bindIn(ctx, t.e, q, t.g, t.opt.Graph, req); err != nil || t.calls == access.None {
		return ctx, err
	}
	if req.Operation == nil {
		return ctx, q.grant.Check(t.opt.Graph, access.Reader)
	}
	ctx, grant, err := access.Raise(access.WithGrant(ctx, q.grant), t.opt.Graph, t.calls)
	if err == nil {
		q.raised.Store(grant)
	}
	return ctx, err
}

// takeTurns waits, before the first statement reads, for the transaction's turn where those that began like it have met conflicts. Then it
// sees what they have changed.
func (t *Transaction) takeTurns(ctx context.Context, req Request) error {
	t.begins = fn.Hash(graph.ListValue([]graph.Value{graph.StringValue(t.opt.Graph), graph.StringValue(req.Statement)}))
	for name, v := range req.Params {
		t.begins += fn.Hash(graph.ListValue([]graph.Value{graph.StringValue(name), v}))
	}
	t.turns = t.e.hotspots.Keys(t.begins)
	for range 3 { // others change the same without turns; their conflicts show later
		h := t.tx.Features().Turns
		if h == nil || t.turns == nil {
			return nil
		}
		err := h.TakeTurns(ctx, t.turns)
		if err == nil || graph.AsError(err).Kind != graph.KindConflict {
			return err
		}
		if err := t.renew(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// renew moves the transaction, whose only statement has met a conflict in its changes or has not begun, to the current snapshot. It keeps
// its turns, so each time it waits for fewer others.
func (t *Transaction) renew(ctx context.Context, conflict error) error {
	heir, err := certain(ctx, t.g, shard.WriteInTurn, 0)
	if err != nil {
		return err
	}
	h := heir.Features().Turns
	if h != nil {
		err = h.Inherit(ctx, t.tx)
	}
	if h == nil || err != nil {
		heir.Rollback()
		return cmp.Or(err, conflict)
	}
	t.tx.Rollback()
	t.tx, t.indexes = heir, restricted.Whole(t.g).Indexes()
	return nil
}

// execute runs a plan in the transaction. If it writes, it has ended then.
func (t *Transaction) execute(ctx context.Context, q *Running, req Request, p *prepared, res *Result) error {
	env := t.e.env(q, req.Params, p.prefix == "PROFILE")
	env.Budget.Retained = t.listing.held.Bytes()
	if p.calls {
		env.Statement = t.e.statement(q, t.g, &t.schema, res, t.prepare)
	}
	req.Limits.apply(&env, t.e)
	q.most = req.Limits.units()
	if err := q.price(ctx, p.exec, t.g, t.tx, req.Params); err != nil {
		return err
	}
	rows, err := p.exec.Run(ctx, t.g, t.tx, env)
	if err != nil {
		return p.placed(err)
	}
	res.rows = rows
	q.trace.Stream()
	if cols := p.exec.Columns(); cols != nil {
		res.Columns = cols
	}
	if p.writes() || req.Buffer {
		began := q.trace.Began()
		err := res.buffer(ctx, rows)
		q.trace.Pull(began)
		if err == nil && p.writes() {
			err = t.tx.CheckUnique(ctx)
		}
		if err == nil && t.schema.commands != nil && t.changes(rows) {
			err = graph.ForbiddenInTransaction(changesBoth)
		}
		if err != nil {
			rows.Close()
			return p.placed(err)
		}
		res.leave(nil)
	}
	return nil
}

// prepareRequest returns the prepared form of a request. A traversal is only planned for the indexes that there are.
func (t *Transaction) prepareRequest(ctx context.Context, req *Request) (*prepared, error) {
	if req.typed == nil {
		return t.prepare(ctx, req.Statement, req.Params)
	}
	p, err := t.e.prepareRequest(ctx, t.g, req)
	if err == nil && !t.indexed() {
		err = graph.ConflictError("the indexes have changed since the transaction began", nil)
	}
	return p, err
}

// indexed reports whether the indexes are those of the snapshot.
func (t *Transaction) indexed() bool {
	return slices.EqualFunc(restricted.Whole(t.g).Indexes(), t.indexes, sameIndex)
}

func sameIndex(a, b graph.Index) bool { return a.ID == b.ID && a.Online == b.Online }

// prepare returns the prepared form of a statement. If the indexes have changed since the snapshot, the plan only uses those
// that exist in both: a new index has no entries in the snapshot, and a dropped one has none at all.
func (t *Transaction) prepare(ctx context.Context, text string, params map[string]graph.Value) (_ *prepared, err error) {
	defer steps.Catch(&err)
	p, err := t.e.prepareWith(ctx, t.g, text, params)
	if err != nil || p.command != nil {
		return p, err
	}
	if t.indexed() {
		return p, nil
	}
	both := slices.DeleteFunc(slices.Clone(t.g.Indexes()), func(ix graph.Index) bool {
		return !slices.ContainsFunc(t.indexes, func(old graph.Index) bool { return sameIndex(ix, old) })
	})
	count := countFor(ctx)
	q, _, err := cypher.Compile(text, cypher.Options{Procedures: t.e.procs.Signature, ProcedureNames: t.e.procs.Names, Steps: count})
	if err != nil {
		return nil, err
	}
	own := *p
	own.asked = source{} // the text is planned unchanged
	optimize.Plan(q, optimize.Env{Counts: t.tx.Statistics(), Indexes: both, Features: t.g.Features(), Steps: count})
	own.exec, err = t.e.compileEstimated(t.g, q, count)
	return &own, err
}

// Touch postpones the timeout of an idle transaction.
func (t *Transaction) Touch() error {
	err := t.acquire()
	if err == nil {
		t.release(nil)
	}
	return err
}

// Commit makes the writes of all statements durable and visible, and ends the transaction. After an error nothing has changed,
// unless it says what stands of several commands.
// A conflict with another transaction is graph.KindConflict; the client may retry.
func (t *Transaction) Commit(ctx context.Context) error {
	if err := t.acquire(); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // a panic is propagating to the server
			t.end(errors.New("internal server error during its commit"))
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

// changes reports whether the transaction, or the statement at hand, has changed data.
func (t *Transaction) changes(rows *exec.Rows) bool {
	before, now := t.Counters(), rows.Counters()
	return before.ContainsUpdates() || now.ContainsUpdates()
}

// commit commits the data or runs the commands. The caller may have lost its rights since it sent them.
func (t *Transaction) commit(ctx context.Context) error {
	if err := t.needs.check(ctx, t.opt.Graph); err != nil {
		t.e.opt.Audit.Record(ctx, "write", t.opt.Graph, "COMMIT", graph.AsError(err).Code)
		return err
	}
	if t.schema.commands == nil {
		return t.listing.commit(ctx, t.tx)
	}
	t.tx.Rollback() // it has only read, and a drop waits for readers
	return t.schema.run(ctx, t.e, t.g, t.listing)
}

// Rollback ends the transaction without its writes. It ends a running statement first.
func (t *Transaction) Rollback() {
	t.stop() // so that it does not run concurrently
	t.cancel(errRollback)
	t.abandon()
}

// acquire takes the transaction for one statement or its commit.
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

// release returns the transaction after a statement; a failed one has rolled it back.
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

// suspend sets the timer that ends an idle transaction. The caller holds t.mu.
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

// expire ends a transaction that has been idle for too long.
func (t *Transaction) expire() {
	t.mu.Lock()
	idle := !t.busy && !time.Now().Before(t.expires)
	t.busy = t.busy || idle
	t.mu.Unlock()
	if idle {
		t.end(errIdle)
	}
}

// abandon rolls back a transaction whose context has ended, or leaves that to the running statement, whose context has ended
// too.
func (t *Transaction) abandon() {
	t.mu.Lock()
	busy := t.busy
	t.busy = true // no statement may begin any more
	t.mu.Unlock()
	if !busy {
		t.end(context.Cause(t.ctx))
	}
}

// end rolls back unless the transaction has been committed, and releases everything. The caller has acquired t.
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
	if h := t.tx.Features().Turns; h != nil && t.begins != 0 {
		t.e.hotspots.Ended(t.begins, t.turns, h.Changes(), graph.AsError(why).Kind == graph.KindConflict)
	}
	t.tx.Rollback()
	t.e.running.remove(t.listing)
	t.e.metrics.TxEnded.Add(1)
	t.timer()
	t.cancel(nil)
	if t.opt.Ended != nil {
		t.opt.Ended()
	}
}

// within returns a context that ends with ctx or with the transaction's own, with the cause of the latter.
func (t *Transaction) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

func txOver(why error) error {
	if e, ok := errors.AsType[*graph.Error](why); ok && (e.Kind == graph.KindUnauthenticated || e.Kind == graph.KindDenied) {
		return e
	}
	return graph.TransactionNotFound(" any more: " + why.Error())
}
