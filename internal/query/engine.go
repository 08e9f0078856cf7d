package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/charge"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fetchplan"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/notice"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/procedure"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// DefaultGraph is the graph of requests that do not name one.
const DefaultGraph = "default"

// Options are the engine's settings.
type Options struct {
	// Timeout ends a request that sets no timeout of its own; default 0, none. It does not apply to commands for graphs and
	// indexes, to CALL {…} IN TRANSACTIONS, or to statements of explicit transactions.
	Timeout time.Duration
	// MaxTimeout bounds the timeout that a request sets; default 0, none.
	MaxTimeout time.Duration
	// QueryBytes bounds the memory of one statement's operators; default 0, no limit.
	QueryBytes int64
	// PoolBytes bounds the memory of all statements' operators together; beyond it, the largest statement is ended. Default 0,
	// no limit.
	PoolBytes int64
	// Past, if not nil, takes the memory of what it keeps from the same, and gives that up before a statement is ended.
	Past *past.Store
	// Spill is the disk space for rows of sorts and aggregations that exceed their memory; default nil, they fail.
	Spill *exec.Spill
	// MaxRows and MaxVisits bound the rows of a result and the edges that a statement visits; default 0, no limit.
	MaxRows, MaxVisits int64
	// PlanCacheSize is the capacity of the plan cache; default 1,024.
	PlanCacheSize int
	// SlowLogSize is the capacity of the slow log; default 128.
	SlowLogSize int
	// FetchRules restrict JSON-array fetches; default nil, no restriction.
	FetchRules *syntax.Rules
	// FetchCaller identifies the caller of a fetch for FetchRules; nil identifies no caller.
	FetchCaller func(ctx context.Context, graphName string) syntax.Caller
	// Open opens the files and URLs that statements may read, as exec.Env says; default nil, none.
	Open func(ctx context.Context, name string) (r io.ReadCloser, shown string, err error)
	// Neo4jVersion is the version reported to clients of Neo4j; default Neo4jVersion.
	Neo4jVersion string
	// Authenticates says that callers must authenticate.
	Authenticates bool
	// Audit logs changes and denied requests with their callers; default nil, no log.
	Audit *access.Audit
	// Admission bounds how many requests run at one time; default no limit.
	Admission admission.Limits
	// Rates counts the requests that a rate limit refused; default nil.
	Rates *access.Rates
	// ResponseCache bounds the memory of a cache of answers; default 0, there is none.
	ResponseCache int64
	// Fetch bounds JSON-array fetches.
	Fetch syntax.Limits
	// Typed decodes the body of a traversal's route, for trusted operations; typedParams says that each parameter has its type.
	Typed func(route string, body []byte, typedParams bool, charge *memory.Charge) (TypedRequest, error)
}

// EnsureDefaults sets options that are zero to their defaults.
func (o *Options) EnsureDefaults() {
	if o.PlanCacheSize <= 0 {
		o.PlanCacheSize = 1024
	}
	if o.SlowLogSize <= 0 {
		o.SlowLogSize = 128
	}
	if o.Neo4jVersion == "" {
		o.Neo4jVersion = Neo4jVersion
	}
	o.Fetch.EnsureDefaults()
}

// Validate returns all faults of the options, joined.
func (o *Options) Validate() error {
	var errs []error
	if o.Timeout < 0 || o.MaxTimeout < 0 {
		errs = append(errs, errors.New("query: the timeouts must not be negative"))
	}
	if o.QueryBytes < 0 || o.PoolBytes < 0 || o.MaxRows < 0 || o.MaxVisits < 0 {
		errs = append(errs, errors.New("query: the limits of memory, rows and visits must not be negative"))
	}
	if a := o.Admission; min(a.Running, a.Queue) < 0 || a.Wait < 0 {
		errs = append(errs, errors.New("query: the limits of requests that run and wait must not be negative"))
	}
	return errors.Join(errs...)
}

// Engine runs requests over the graphs of a store. It is safe for concurrent use.
type Engine struct {
	preparer
	opt      Options
	fetches  fetchplan.Cache
	running  registry
	answers  *fresh.Answers[fresh.Answer]
	sessions procedure.Connections
	gate     *admission.Gate
	hotspots shard.Hotspots // of explicit transactions
	tokens   snapshot.Tokens
	numbers  numbers

	labelled atomic.Int32 // number of profiles being taken

	slow   watch.SlowLog
	totals exec.Totals
	watch  watch.Watch

	// Reused counts what is not computed twice.
	Reused *fresh.Counts
	// Operations lists and changes the trusted operations of the graphs, and counts their calls.
	Operations *trusted.Manager
	// Quotas counts what callers take.
	Quotas *charge.Gate
	// Bounds are the limits of requests, which may change.
	Bounds *LiveBounds
	pool   *memory.Pool // nil: no limit

	allPools []*memory.Pool // of requests without other pools
}

// New creates an engine.
func New(store shard.Store, opt Options) *Engine {
	opt.EnsureDefaults()
	e := &Engine{opt: opt}
	e.preparer = preparer{store: store, plans: newPlanCache(opt.PlanCacheSize), texts: newPlanCache(opt.PlanCacheSize)}
	e.fetches.Size = opt.PlanCacheSize
	e.answers = fresh.NewAnswers[fresh.Answer](opt.ResponseCache)
	e.Reused = &e.answers.Counts
	e.procs = procedure.New(host{e})
	e.Operations = trusted.NewManager(planner{e})
	e.Quotas = charge.NewGate(store)
	e.slow.Resize(opt.SlowLogSize)
	e.gate = admission.New(opt.Admission, e.relievePool)
	e.Bounds = newLiveBounds(&opt, e.gate)
	if opt.PoolBytes > 0 {
		e.pool = &memory.Pool{Limit: opt.PoolBytes, Relieve: e.relievePool}
		e.allPools = []*memory.Pool{e.pool}
	}
	if opt.Past != nil {
		opt.Past.Share(e.pool)
	}
	return e
}

// Charge returns what counts the memory of a request's values while they are decoded, until the context ends.
func (e *Engine) Charge(ctx context.Context) *memory.Charge {
	return memory.NewCharge(ctx, e.pool, e.opt.QueryBytes)
}

// Request is one statement.
type Request struct {
	Statement string
	Params    map[string]graph.Value
	Graph     string        // "" is DefaultGraph
	Stale     time.Duration // by how much the snapshot that is read may be out of date; a statement that writes fails
	Unsafe    error         // the error for a statement that writes; nil: it may write
	Timeout   time.Duration // 0: the engine's
	MaxRows   int64         // truncates the result; 0: no limit
	Metadata  graph.Value   // metadata of the statement's own transaction: a map, or null
	ReadOnly  bool          // a statement that writes fails
	Buffer    bool          // in an explicit transaction: buffer all rows before the first is returned
	probe     bool          // sent by the server itself, not counted

	Operation *trusted.Call // runs instead of Statement, if set

	Condition *fresh.Condition // of a read, or nil
	Limits    *Limits          // of the request; nil: none of its own

	typed Typed // runs instead of Statement, if set
}

// Query runs a statement. A reading statement computes its rows as the caller pulls them; a writing one has committed when Query
// returns. The caller closes the result.
func (e *Engine) Query(ctx context.Context, req Request) (res *Result, err error) {
	start := time.Now()
	if req.Operation != nil {
		req.Statement = req.Operation.Text()
	}
	r := &struct { // everything that a request allocates, at once; TestRequestSize
		q   Running
		res Result
	}{}
	q := &r.q
	ctx = e.running.start(q, ctx, start, e.timeout(req.Timeout), e.graphName(req.Graph), req.Statement)
	q.system = e.isSystem(req.Graph)
	q.quiet = req.probe
	q.setMetadata(req.Metadata)
	q.stale = req.Stale
	kind := watch.StatementKind
	if req.typed != nil {
		kind = watch.TraversalKind
	}
	e.watched(ctx, q, kind, start)
	ctx = e.watch.WithParameters(ctx, req.Params)
	done := false
	defer func() {
		if !done { // a panic unwinds to the server
			err = graph.InternalError("query", nil)
		}
		if err != nil {
			e.answers.Leave(&r.res.place)
			err = e.finish(ctx, q, start, 0, nil, err)
		}
	}()
	r.res = Result{e: e, ctx: ctx, q: q, began: admission.Instant(start), req: req}
	err = e.query(&r.res)
	done = true
	if err != nil {
		return nil, err
	}
	return &r.res, nil
}

// query does the work of Query for a registered request.
func (e *Engine) query(res *Result) error {
	if err := e.admit(res.ctx, res.q, res.start(), access.Reader); err != nil {
		return err
	}
	return e.start(res)
}

// start prepares and starts a request, and repeats that if its snapshot is lost.
func (e *Engine) start(res *Result) error {
	for {
		err := e.startOnce(res)
		if err == nil || !res.rerun(err) {
			return err
		}
	}
}

func (e *Engine) startOnce(res *Result) error {
	if err := bindCall(e, res); err != nil {
		return err
	}
	ctx, q, req := res.ctx, res.q, &res.req
	q.trace.Enter("plan")
	if len(req.Statement) > admission.LargeText {
		if err := q.cpu.BecomeLongRunning(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return graph.DeadlineError(context.Cause(ctx))
		}
	}
	first, err := e.firstGraph(ctx, q, req)
	if err != nil {
		return err
	}
	g, err := q.enter(ctx, e, first)
	if err != nil {
		return err
	}
	p, err := e.prepareRequest(ctx, g, req)
	if err != nil {
		return err
	}
	name := p.graph()
	if name != "" {
		name = e.graphName(name)
	}
	other := name != "" && name != q.Graph
	if !other {
		name = q.Graph
	}
	if other {
		q.used.Store(new(name)) // a copy: other requests need none on the heap
		if err := q.may(name, access.Reader); err != nil {
			return err
		}
	}
	if other {
		if err := q.cpu.MoveToGraph(ctx, name); err != nil {
			return err
		}
	}
	asks := p.command != nil || p.prefix == "EXPLAIN" // no transaction checks whether the cached graph is current
	if asks {
		g, err = e.current(ctx, name)
	} else if other {
		g, err = q.enter(ctx, e, name)
	}
	if err == nil && (asks || other) {
		p, err = e.prepareRequest(ctx, g, req)
	}
	if err != nil {
		return err
	}
	if err := p.check(req.Params, req.ReadOnly, req.Unsafe); err != nil {
		return err
	}
	q.readOnly = req.ReadOnly
	if req.Stale > 0 && p.writes() {
		return graph.StaleWrite("a statement that writes")
	}
	if q.system {
		if err := p.checkSystem(); err != nil {
			return err
		}
	}
	if err := q.allow(ctx, p); err != nil {
		return err
	}
	if p.command == nil && !p.own {
		e.limit(q, res.start(), req.Timeout)
	}
	res.g, res.p = g, p
	params := p.bind(req.Params)
	if pg := req.Limits.page(); pg != nil {
		r := page.Request{Text: "statement " + req.Statement, Params: req.Params}
		if ctx, err = pg.Begin(ctx, &e.tokens, g, name, r, req.MaxRows); err != nil {
			return p.placed(pg.Failed(err))
		}
		if params, err = pg.Params(p.exec.Columns()); err != nil {
			return err
		}
		maps.Copy(params, req.Params)
	}
	if ctx, err = asof.Query(ctx, p.query(), params); err != nil {
		return p.placed(err)
	}
	switch {
	case p.prefix == "EXPLAIN":
		err = res.explain(ctx, params)
	case p.command != nil:
		q.trace.Enter("execute")
		err = commands{e}.command(ctx, g, p, params, res)
	default:
		err = e.run(ctx, g, p, params, res)
	}
	if err != nil {
		return p.placed(req.Limits.page().Failed(err))
	}
	res.keep()
	return nil
}

// firstGraph returns the graph whose catalog a statement is planned with at first: the request's own or, if its caller has no right to read
// that, the one that the statement names by USE. A caller who may read neither does not learn whether they exist.
func (e *Engine) firstGraph(ctx context.Context, q *Running, req *Request) (string, error) {
	denied := q.may(q.Graph, access.Reader)
	if denied == nil || req.typed != nil {
		return q.Graph, denied
	}
	parsed, command, err := cypher.Compile(req.Statement, cypher.Options{Procedures: e.procs.Signature, ProcedureNames: e.procs.Names, Steps: countFor(ctx)})
	if err != nil {
		return "", err
	}
	name := ""
	if command != nil {
		name = cypher.HeadOf(command).Graph
	} else {
		name = parsed.Graph
	}
	if name == "" {
		return "", denied
	}
	name = e.graphName(name)
	q.used.Store(&name)
	return name, q.may(name, access.Reader)
}

// timeout returns the timeout of a request; 0 is none.
func (e *Engine) timeout(asked time.Duration) time.Duration {
	if most := e.Bounds.get().MaxTimeout; most > 0 && asked > most {
		return most
	}
	return asked
}

// limit applies Options.Timeout, counted from start, to a request that sets no timeout.
func (e *Engine) limit(q *Running, start time.Time, asked time.Duration) {
	most := e.Bounds.get().Timeout
	if most == 0 || asked > 0 || q.quiet || q.late != nil {
		return
	}
	q.late = time.AfterFunc(time.Until(start.Add(most)), func() {
		late := graph.DeadlineError(nil)
		late.Msg = fmt.Sprintf("the request took longer than %v, the limit query-timeout for those that ask for no other time", most)
		q.end(late)
	})
}

// known returns a graph, as the caller sees it, from the store's cache; the transaction that follows checks whether it is current.
func (e *Engine) known(ctx context.Context, name string) (shard.Graph, error) {
	if k := e.store.Features().Cached; k != nil {
		if g := k.Known(name); g != nil {
			return restricted.For(ctx, g), nil
		}
	}
	return e.current(ctx, name)
}

// current returns a graph as it is now and as the caller sees it.
func (e *Engine) current(ctx context.Context, name string) (shard.Graph, error) {
	g, err := e.store.Graph(name)
	if err != nil {
		return nil, err
	}
	return restricted.For(ctx, g), nil
}

// StoreFeatures returns those of the store.
func (e *Engine) StoreFeatures() shard.StoreFeatures { return e.store.Features() }

// beginOn opens a transaction of a graph. One that reads may be out of date by stale.
func beginOn(ctx context.Context, g shard.Graph, mode shard.Mode, stale time.Duration) (shard.Tx, error) {
	if mode == shard.Read && stale > 0 {
		return past.Checked(ctx)(g.BeginStale(ctx, stale))
	}
	return past.Checked(ctx)(g.Begin(ctx, mode))
}

// checked waits until a transaction is known to read the current snapshot, or returns why it does not.
func checked(ctx context.Context, tx shard.Tx) error {
	if c := tx.Features().Validator; c != nil {
		return c.Check(ctx)
	}
	return nil
}

// run starts a plan; a writing one runs to its end and commits. After a conflict, it runs again while no other transaction can
// commit.
func (e *Engine) run(ctx context.Context, g shard.Graph, p *prepared, params map[string]graph.Value, res *Result) error {
	mode := shard.Read
	if p.writes() {
		mode = shard.Write
	}
	if p.merges {
		mode = shard.WriteExclusive // or two concurrent ones create the same twice
	}
	if p.own {
		res.q.trace.Enter("execute")
		return e.runOwn(ctx, g, p, params, res)
	}
	err := e.attempt(ctx, g, mode, p, params, res)
	if mode != shard.Write || err == nil || graph.AsError(err).Kind != graph.KindConflict {
		return err
	}
	e.metrics.Conflicts.Add(1)
	e.metrics.Retries.Add(1)
	res.reset()
	return e.attempt(ctx, g, shard.WriteExclusive, p, params, res)
}

// errStalePlan says that a plan was made for another catalog than that of the transaction that has begun.
var errStalePlan = graph.Unavailable("DatabaseError", shard.SnapshotGone, "the schema changed while the statement was planned; run it again", nil)

// attempt runs a plan in its own transaction.
func (e *Engine) attempt(ctx context.Context, g shard.Graph, mode shard.Mode, p *prepared, params map[string]graph.Value, res *Result) error {
	trace := res.q.trace
	if err := res.q.cpu.BeginPlan(ctx, p.exec); err != nil {
		return err
	}
	res.q.exclusive = mode == shard.WriteExclusive
	if mode == shard.WriteExclusive {
		res.q.cpu.Suspend() // others wait for its end, so it gives up its slot
	}
	trace.Enter("begin")
	tx, err := beginOn(ctx, g, mode, res.req.Stale)
	if err != nil {
		return err
	}
	res.q.cpu.Compute()
	res.checked, res.q.at = false, snapshot.Of(tx)
	if err := res.req.Limits.page().Reads(tx); err != nil {
		tx.Rollback()
		return err
	}
	if p.version != g.Version() && !res.rare.over() {
		tx.Rollback()
		return errStalePlan
	}
	trace.Enter("execute")
	res.Columns = res.req.Limits.page().Columns(p.exec.Columns())
	if res.Columns == nil {
		res.Columns = []string{}
	}
	res.q.estimate, res.q.most = 0, res.req.Limits.units() // there is none of a run that was lost
	if err := res.q.price(ctx, p.exec, g, tx, params); err != nil {
		tx.Rollback()
		return err
	}
	var flight *fresh.Flight[fresh.Answer]
	if mode == shard.Read {
		var done bool
		if flight, done, err = reuse(ctx, e, g, tx, p, params, res); err != nil {
			tx.Rollback()
		}
		if done || err != nil {
			return err
		}
		defer func() {
			if flight != nil {
				flight.Fail()
			}
		}()
	} else {
		defer tx.Rollback() // also after a panic: others may wait for its end
	}
	env := e.env(res.q, params, p.prefix == "PROFILE")
	env.Committed = mode == shard.Read
	var schema *schemaChange
	if p.calls {
		schema = new(schemaChange)
		env.Statement = e.statement(res.q, g, schema, res, func(ctx context.Context, text string, params map[string]graph.Value) (*prepared, error) {
			in, err := e.prepareWith(ctx, g, text, params)
			if err == nil && in.version != p.version {
				err = graph.ConflictError("the schema changed while the statement ran", nil)
			}
			return in, err
		})
	}
	if mode == shard.WriteExclusive {
		env.Slot = nil
	}
	res.req.Limits.apply(&env, e)
	rows := &res.run
	if err := p.exec.RunInto(ctx, rows, g, tx, &env); err != nil {
		if lost := checked(ctx, tx); lost != nil {
			err = lost
		}
		tx.Rollback()
		return err
	}
	if mode == shard.Read {
		res.tx, res.rows = tx, rows
		computes := flight
		flight = nil
		if err := res.share(ctx, computes); err != nil {
			rows.Close()
			tx.Rollback()
			res.tx, res.rows, res.batches = nil, nil, nil
			return err
		}
		trace.Stream()
		return nil
	}
	defer rows.Close()
	err = res.buffer(ctx, rows)
	trace.Executed(p.exec, rows)
	if err != nil {
		return err
	}
	res.counters = rows.Counters()
	if p.prefix == "PROFILE" {
		res.plan = explain.Tree(p.exec, rows.Stats(), nil)
	}
	rows.Close()
	trace.Enter("commit")
	res.q.cpu.Suspend()
	if denied := res.q.allow(ctx, p); denied != nil { // since the statement began
		err = denied
	} else if schema == nil || schema.commands == nil {
		err = res.q.commit(ctx, tx)
	} else if res.counters.ContainsUpdates() {
		err = graph.ForbiddenInTransaction(changesBoth)
	} else {
		tx.Rollback() // it has only read, and a drop waits for readers
		err = schema.run(ctx, e, g, res.q)
	}
	trace.Enter("encode")
	return err
}

func (e *Engine) env(q *Running, params map[string]graph.Value, profile bool) exec.Env {
	var labels context.Context
	if q.labels != nil {
		labels = *q.labels
	}
	bounds := e.Bounds.get()
	return exec.Env{
		Params: params, Procs: e.procs, Open: e.opt.Open, Profile: profile || q.trace != nil, Held: &q.held, Slot: &q.cpu, Labels: labels, Totals: &e.totals, Visits: &q.visits, Pools: e.pools(q), Spill: e.opt.Spill,
		Budget: exec.Budget{Bytes: e.opt.QueryBytes, Rows: bounds.MaxRows, Edges: bounds.MaxVisits},
	}
}

// pools returns the pools that a request's operators publish their memory to.
func (e *Engine) pools(q *Running) []*memory.Pool {
	all := q.cpu.Pools(slices.Clip(e.allPools))
	if len(all) > len(e.allPools) {
		shared := all // escapes to the heap, unlike all
		q.pools.Store(&shared)
	}
	return all
}

// prepared is a compiled statement: a plan or a command.
type prepared struct {
	exec    *exec.Prepared
	command cypher.Command
	prefix  string
	params  []string
	hops    []string // the parameters that bound the lengths of patterns
	merges  bool
	calls   bool   // calls procedures that may run statements
	own     bool   // commits by itself: CALL {…} IN TRANSACTIONS
	version uint64 // of the catalog
	size    uint64 // vertices and edges of the graph when it was planned
	from    source // the source that it was planned for
	asked   source // the source that it runs for, if literals are lifted
	lifted  string // in preparer.texts: the text without its lifted literals
	notices notice.Notices
	reads   *fresh.Reads // nil: the answer depends on more than the graph
}

// graph is the graph that the statement names by USE, or "".
func (p *prepared) graph() string {
	if p.command != nil {
		return cypher.HeadOf(p.command).Graph
	}
	return p.exec.Query.Graph
}

// query returns the plan, nil for a command.
func (p *prepared) query() *plan.Query {
	if p.exec == nil {
		return nil
	}
	return p.exec.Query
}

// writes reports whether running the statement changes anything.
func (p *prepared) writes() bool {
	return p.prefix != "EXPLAIN" && (p.command != nil || p.exec.Query.Writes)
}

// kind is the type of the statement, whether it runs or is only explained, in Neo4j's words: r, w, rw or s.
func (p *prepared) kind() string {
	switch {
	case p.command != nil:
		return "s"
	case !p.exec.Query.Writes:
		return "r"
	case len(p.exec.Columns()) == 0:
		return "w"
	}
	return "rw"
}

// check returns why a statement may not run with these parameters in this access mode; unsafe is why it must not write.
func (p *prepared) check(params map[string]graph.Value, readOnly bool, unsafe error) error {
	if err := p.checkParams(params); err != nil {
		return err
	}
	if readOnly && p.writes() {
		return graph.WriteInReadMode()
	}
	if p.writes() {
		return unsafe
	}
	return nil
}

// checkParams reports missing parameters.
func (p *prepared) checkParams(params map[string]graph.Value) error {
	if p.prefix == "EXPLAIN" {
		return nil
	}
	var missing []string
	for _, name := range p.params {
		if _, ok := params[name]; !ok {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	return graph.MissingParameters(missing...)
}

// prepareBy returns a prepared statement: from the cache, if it has key and the graph has not changed much since, or from
// compile. A nil key bypasses the cache.
func (e *preparer) prepareBy(
	ctx context.Context, key planKey, cached *prepared, from source, compile func(*steps.Counter) (*plan.Query, cypher.Command, error),
) (_ *prepared, err error) {
	defer steps.Catch(&err)
	g := key.g
	if cached != nil && cached.version == g.Version() {
		if cached.command != nil {
			return cached, nil
		}
		if fetchplan.SameSize(g.Size(), cached.size) {
			if len(cached.hops) == 0 {
				e.metrics.PlanHits.Add(1) // otherwise there may be a plan for the values of its parameters
			}
			return cached, nil
		}
	}
	e.metrics.PlanMisses.Add(1)
	p := &prepared{version: g.Version(), from: from}
	count := countFor(ctx)
	q, command, err := compile(count)
	if err != nil {
		return nil, err
	}
	if command != nil {
		p.command, p.prefix, p.notices = command, cypher.HeadOf(command).Prefix, notice.Always(cypher.Notifications(command))
		e.plans.put(key, p)
		return p, nil
	}
	p.params = slices.DeleteFunc(plan.Params(q), func(name string) bool {
		return page.IsParam(name) || from.literals != nil && cypher.IsLiteralName(name)
	})
	p.hops = plan.HopParams(q)
	p.reads = fresh.Of(q)
	p.prefix = q.Prefix
	p.own, p.calls = q.OwnTransactions(), q.Calls
	p.merges = q.Merges() && p.prefix != "EXPLAIN"
	if p.exec, p.size, err = e.compile(ctx, count, g, q); err != nil {
		return nil, err
	}
	p.notices = notice.Of(q, g, from.text != "") // a typed request has no text
	e.plans.put(key, p)
	return p, nil
}

// compile optimizes and compiles a logical plan with the current statistics.
func (e *preparer) compile(ctx context.Context, count *steps.Counter, g shard.Graph, q *plan.Query) (*exec.Prepared, uint64, error) {
	stale := time.Duration(0)
	if q := transactionOf(ctx); q != nil {
		stale = q.stale
	}
	tx, err := beginOn(ctx, g, shard.Read, stale)
	if err != nil {
		return nil, 0, err
	}
	defer tx.Rollback()
	c := tx.Statistics()
	optimize.Plan(q, optimize.Env{Counts: c, Indexes: g.Indexes(), Features: g.Features(), Rules: tx.Features().Rules, Steps: count})
	x, err := e.compileEstimated(g, q, count)
	return x, c.Vertices + c.Edges, err
}

// compileEstimated compiles an optimized plan and marks it as long-running if the estimates say so. No caller sees those of hidden elements.
func (e *preparer) compileEstimated(g shard.Graph, q *plan.Query, count *steps.Counter) (*exec.Prepared, error) {
	x, err := exec.Compile(q, exec.Options{Steps: count, BatchSize: e.store.Features().Rows})
	if err != nil {
		return nil, err
	}
	for _, rows := range q.Estimates {
		if rows >= admission.LongRunningRows {
			x.SetLongRunning(true)
			break
		}
	}
	if restricted.Whole(g) != g {
		q.Estimates = nil
	}
	return x, nil
}
