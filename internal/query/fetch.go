package query

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fetch/verify"
	"github.com/hopgate/hopgate/internal/query/fetchplan"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/shard"
)

// maxFetchText is how many bytes of a fetch the list of running requests and the slow log show.
const maxFetchText = 4 << 10

// FetchRequest is one JSON-array fetch.
type FetchRequest struct {
	Graph   string        // "" is DefaultGraph
	Method  string        // get, head, gets, heads, post, put or delete
	Body    []byte        // a JSON object
	Timeout time.Duration // 0: the engine's
	Stale   time.Duration // by how much the snapshot that is read may be out of date; a method that writes fails
	// Units refuses plans whose estimated cost, with those of the plans before them, exceeds them; 0: no limit.
	Units int64
	// Took, if not nil, is set to what the request took once it has ended.
	Took *cost.Told
	// Snapshot, if not nil, is set to the token of the snapshot that was read or left; see Result.Snapshot.
	Snapshot *string
	// Operation, if set, is the fetch that runs, with Params or what it decodes, in place of Body; Method is its own or "".
	Operation *trusted.Call
	Params    map[string]graph.Value
	ReadOnly  bool  // an operation that writes fails
	Unsafe    error // the error for an operation that writes; nil: it may write
	// Condition, if not nil, gives the answer to a reading request a weak tag, or says that the client has it: then nothing is written.
	Condition *fresh.Condition
	// Page, if not nil, is the page of the one array of a reading request that is asked for.
	Page *page.Page
	// Items, if not nil, takes the items of the one array of a reading request, and sends the answer if nothing fails before.
	Items Items
}

// Items collects the items of an array.
type Items interface {
	// Begin discards all items: the request starts, or starts again.
	Begin()
	// Add takes an item as JSON and keeps no reference to it.
	Add(item []byte) error
	// Held is how many bytes the items take. They count to the request's memory.
	Held() int
	// Send sends the items, and returns how many bytes that took. It calls hold with the bytes that it holds, including Held. began reports
	// whether the client has got some.
	Send(hold func(bytes int) error) (sent int, began bool, err error)
}

// Fetch runs a JSON-array fetch and writes its answer to w. code is the answer's code. A request that fails before anything is
// written is answered as well: its own structure and the error. err is set only if half of the answer was written, or writing
// failed. Reading methods see one snapshot of the graph; writing methods are one transaction, committed before anything is
// written. A call of an operation that is refused before its fetch begins is not answered: code is 0, and err says why.
func (e *Engine) Fetch(ctx context.Context, req FetchRequest, w io.Writer) (code int, err error) {
	start := time.Now()
	q := &Running{}
	ctx = e.running.start(q, ctx, start, e.timeout(req.Timeout), e.graphName(req.Graph), req.text())
	e.watched(ctx, q, watch.FetchKind, start)
	out := &watchedWriter{w: w, q: q}
	res := fetch.Result{}
	done, refused := false, false
	defer func() {
		switch {
		case !done: // a panic is propagating to the server
			err = graph.InternalError("fetch", nil)
		case err != nil:
			err = outcome(err, out.err)
		}
		if err = e.finish(ctx, q, start, int64(res.Rows), nil, err); err != nil {
			req.Condition.Reset() // an error has no tag
		}
		if req.Took != nil {
			*req.Took = q.told(q.cost(time.Now()))
		}
		if done && err != nil && !refused && !res.Began && out.err == nil {
			failure := syntax.AsError(err)
			code = failure.Code
			_, err = w.Write(fetch.Failure(req.Body, failure, time.Since(start)))
		}
	}()
	need := e.fetchRole(ctx, q, req.Method)
	err = e.admit(ctx, q, start, need)
	if err == nil && req.Operation != nil {
		ctx, need, err = bindFetch(ctx, e, q, &req)
	}
	if refused = err != nil && req.Operation != nil; refused {
		done = true
		return 0, err
	}
	if err == nil {
		res, err = e.fetch(ctx, q, req, need, out)
	}
	var again shard.Reruns
	for shard.Retriable(err) && !out.began && again.Next(ctx) {
		e.metrics.Retries.Add(1)
		res, err = e.fetch(ctx, q, req, need, out)
	}
	done = true
	return syntax.CodeOK, err
}

// text returns the request as lists show it.
func (r *FetchRequest) text() string {
	if r.Operation != nil {
		return r.Operation.Text()
	}
	body := r.Body[:min(len(r.Body), maxFetchText)]
	return r.Method + " " + strings.ToValidUTF8(string(body), "")
}

// fetch runs a request over one transaction. An error beside a result that has not begun has not been written yet.
func (e *Engine) fetch(ctx context.Context, q *Running, req FetchRequest, need access.Role, w *watchedWriter) (res fetch.Result, err error) {
	e.limit(q, q.Start, req.Timeout)
	q.trace.Enter("plan")
	charge, limits := e.Charge(ctx), e.opt.Fetch
	defer charge.Release()
	parse := func(body []byte) (*syntax.Request, error) {
		return syntax.Parse(req.Method, body, limits, charge.Add, countFor(ctx))
	}
	r, err := parse(req.Body)
	if err != nil {
		return res, err
	}
	mode := shard.Read
	if fetchWrites(req.Method) {
		if req.Stale > 0 {
			return res, graph.StaleWrite("a fetch that writes")
		}
		mode = shard.WriteExclusive
		q.action = "write"
	}
	if err := q.may(q.Graph, need); err != nil {
		return res, err
	}
	q.permitted.Store(uint32(need))
	g, err := q.enter(ctx, e, q.Graph)
	if err != nil {
		return res, err
	}
	q.trace.Enter("begin")
	if ctx, err = pageOf(ctx, e, q, g, &req); err != nil {
		return res, err
	}
	tx, err := beginOn(ctx, g, mode, req.Stale)
	if err != nil {
		return res, req.Page.Failed(err)
	}
	defer tx.Rollback()
	q.at = snapshot.Of(tx)
	if err := req.Page.Reads(tx); err != nil {
		return res, err
	}
	defer func() {
		if req.Snapshot != nil {
			*req.Snapshot = q.snapshot(e, g)
		}
	}()
	catalog := g.Version()
	r, lookups, err := verify.Apply(verify.Of(g.Definitions()), r, parse)
	if err != nil {
		return res, err
	}
	e.restrict(ctx, r, q.Graph)
	q.trace.Enter("execute")
	q.trace.Stream()
	run := &fetchRun{e: e, g: g, tx: tx, q: q, need: need, waitedFor: mode != shard.Read}
	q.most = req.Units
	run.programs = e.fetches.Of(g, tx.Counts())
	if err := run.look(ctx, lookups, charge.Add); err != nil {
		return res, err
	}
	run.page = req.Page // not of what was looked up
	run.condition(ctx, &req, r, catalog)
	if mode == shard.Read && req.Items != nil {
		return run.items(ctx, r, req.Items)
	}
	if mode == shard.Read {
		w.gate = func() error { return checked(ctx, tx) }
		res, err = fetch.Run(ctx, r, run, run.programs.Cache, w)
		if err != nil && !w.began {
			if lost := checked(ctx, tx); lost != nil {
				err = lost
			}
		}
		return res, err
	}
	// The answer must not be sent before the commit.
	var answer bytes.Buffer
	res, err = fetch.Run(ctx, r, run, run.programs.Cache, &answer)
	if err == nil {
		err = q.may(q.Graph, need)
	}
	if err == nil {
		q.trace.Enter("commit")
		err = q.commit(ctx, tx)
		q.trace.Enter("encode")
	}
	if err == nil {
		_, err = w.Write(answer.Bytes())
	}
	res.Began = err == nil
	return res, err
}

// pageOf begins the page that a fetch asks for, if it does, and returns the context to read it in.
func pageOf(ctx context.Context, e *Engine, q *Running, g shard.Graph, req *FetchRequest) (context.Context, error) {
	if req.Page == nil {
		return ctx, nil
	}
	if fetchWrites(req.Method) {
		return nil, req.Page.RefuseWrite()
	}
	ctx, err := req.Page.Begin(ctx, &e.tokens, g, q.on(), page.Request{Text: "fetch " + req.Method + " " + string(req.Body)}, 0)
	return ctx, req.Page.Failed(err)
}

// Page implements fetch.Paged.
func (r *fetchRun) Page() fetch.Pager {
	if r.page == nil {
		return nil
	}
	return r.page
}

func fetchWrites(method string) bool {
	return method == "post" || method == "put" || method == "delete"
}

// fetchRole returns the role that a fetch needs. A caller limited to fetches may do what the rules allow, including writes, and nothing without
// rules.
func (e *Engine) fetchRole(ctx context.Context, q *Running, method string) access.Role {
	switch {
	case e.opt.FetchRules != nil && access.OnlyFetches(ctx, q.Graph):
		return access.Fetcher
	case fetchWrites(method):
		return access.Writer
	}
	return access.Reader
}

// restrict applies the access rules, if there are any, to a request.
func (e *Engine) restrict(ctx context.Context, r *syntax.Request, graphName string) {
	var caller syntax.Caller
	if e.opt.FetchRules != nil && e.opt.FetchCaller != nil {
		caller = e.opt.FetchCaller(ctx, graphName)
	}
	r.Restrict(e.opt.FetchRules, caller)
}

// watchedWriter records whether the client has been written to and whether that failed, and suspends the request while it
// writes.
type watchedWriter struct {
	w     io.Writer
	q     *Running
	gate  func() error // called before the first write, or nil
	began bool
	err   error
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	if !w.began && w.gate != nil {
		if err := w.gate(); err != nil {
			return 0, err
		}
	}
	w.began = true
	w.q.cpu.BeforeWrite()
	n, err := w.w.Write(p)
	w.q.sent += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}

// kinds maps error codes to kinds.
var kinds = map[int]graph.Kind{
	syntax.CodeNoRight: graph.KindDenied, syntax.CodeNotFound: graph.KindNotFound, syntax.CodeTimeout: graph.KindDeadline,
	syntax.CodeConflict: graph.KindConflict, syntax.CodeBudget: graph.KindBudget, syntax.CodeCost: graph.KindCost, syntax.CodeBusy: graph.KindBusy,
	syntax.CodeInternal: graph.KindInternal, syntax.CodeUnavailable: graph.KindUnavailable, syntax.CodeUnknown: graph.KindUnknown,
}

// outcome converts the error of a fetch to the form in which it is counted, wrapping the fetch's own error. sent is the error
// of writing to the client, or nil.
func outcome(err, sent error) *graph.Error {
	if sent != nil {
		return graph.DeadlineError(sent)
	}
	var g *graph.Error
	var f *syntax.Error
	if errors.As(err, &g) || !errors.As(err, &f) {
		return graph.AsError(err)
	}
	kind, ok := kinds[f.Code]
	if !ok {
		kind = graph.KindInvalid
	}
	return graph.FetchError(kind, err)
}

// fetchRun runs the plans of one fetch over one transaction. It implements fetch.Runner,
// fetch.Explainer and fetch.Reuser.
type fetchRun struct {
	e        *Engine
	g        shard.Graph
	tx       shard.Tx
	q        *Running
	need     access.Role
	programs *fetchplan.Programs
	// waitedFor says that others wait for the end of the transaction.
	waitedFor bool
	page      *page.Page    // that the client asks for, or nil
	inner     *exec.Env     // of the statement that runs the fetch, or nil
	rows      *exec.Rows    // of the plan that runs
	kept      exec.Retained // the memory of items after it

	cond  *fresh.Condition // of a request that reads, or nil
	asked fresh.Request    // with it
}

// items runs a request that gives items.
func (r *fetchRun) items(ctx context.Context, req *syntax.Request, items Items) (fetch.Result, error) {
	items.Begin()
	res, err := fetch.Items(ctx, req, r, r.programs.Cache, func(item []byte) error {
		if err := items.Add(item); err != nil {
			return err
		}
		return r.rows.HoldBytes(items.Held())
	})
	if lost := checked(ctx, r.tx); lost != nil {
		return res, lost
	}
	if err != nil || res.Unmodified {
		return res, err
	}
	defer r.kept.Release()
	if err := r.hold(items.Held()); err != nil {
		return res, err
	}
	r.q.cpu.BeforeWrite()
	sent, began, err := items.Send(r.hold)
	r.q.sent, res.Began = r.q.sent+int64(sent), began
	return res, err
}

// hold charges the memory that the request holds after its plans have ended.
func (r *fetchRun) hold(bytes int) error {
	r.kept.Release()
	r.kept = exec.Retained{Bytes: int64(bytes), Pools: r.e.pools(r.q)}
	r.kept.Charge(&r.q.held)
	if limit := r.e.opt.QueryBytes; limit > 0 && int64(bytes) > limit {
		return graph.BudgetError("the answer needs more than %d bytes, the budget of query-memory", limit)
	}
	return nil
}

// passAfter is the number of rows from which a list is read as a scan, so that reading a whole table does not evict data that others
// read repeatedly.
const passAfter = 64 << 10

func (r *fetchRun) Catalog() graph.Catalog { return r.g }

func (r *fetchRun) Run(ctx context.Context, q *plan.Query, params map[string]graph.Value, sink func(*graph.Batch) error) error {
	x, err := r.prepare(ctx, q)
	if err != nil {
		return err
	}
	if r.inner != nil {
		return r.runInner(ctx, x, params, sink)
	}
	if err := r.q.cpu.Resume(ctx); err != nil {
		return err
	}
	env := r.e.env(r.q, params, false)
	if r.waitedFor {
		env.Slot = nil // so it never yields
	} else if err := r.q.cpu.BeginPlan(ctx, x); err != nil {
		return err
	}
	if err := r.q.price(ctx, x, r.g, r.tx, params); err != nil {
		return err
	}
	rows, err := x.Run(ctx, r.g, r.tx, env)
	if err != nil {
		return err
	}
	r.rows = rows
	defer func() {
		r.q.trace.Executed(x, rows)
		rows.Close()
	}()
	for n := 0; ; {
		if err := r.q.cpu.Resume(ctx); err != nil {
			return err
		}
		began := r.q.trace.Began()
		b, err := rows.Next(ctx)
		r.q.trace.Pull(began)
		if b == nil || err != nil {
			return err
		}
		if err := r.q.may(r.q.on(), r.need); err != nil {
			return err
		}
		if n += b.N; n > passAfter && n-b.N <= passAfter {
			if p := r.tx.Features().Passer; p != nil {
				p.Pass()
			}
		}
		r.q.rows.Add(int64(b.N))
		if err := sink(b); err != nil {
			return err
		}
	}
}

func (r *fetchRun) prepare(ctx context.Context, q *plan.Query) (*exec.Prepared, error) {
	return r.programs.Prepare(ctx, q, func() (_ *exec.Prepared, err error) {
		defer steps.Catch(&err)
		r.e.metrics.PlanMisses.Add(1)
		count := countFor(ctx)
		optimize.Plan(q, optimize.Env{Counts: r.tx.Statistics(), Indexes: r.g.Indexes(), Features: r.g.Features(), Rules: r.tx.Features().Rules, Steps: count})
		return r.e.compileEstimated(r.g, q, count)
	}, &r.e.metrics.PlanHits, func() error {
		r.e.fetches.Drop(r.g, r.programs)
		return errStalePlan
	})
}

// Explain returns the operators of a plan, one per line.
func (r *fetchRun) Explain(ctx context.Context, q *plan.Query) (string, error) {
	x, err := r.prepare(ctx, q)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var write func(n *explain.Node, indent string)
	write = func(n *explain.Node, indent string) {
		b.WriteString(indent + strings.TrimSpace(n.Operator+" "+n.Args) + "\n")
		for _, c := range n.Children {
			write(c, indent+"  ")
		}
	}
	write(explain.Tree(x, nil, nil), "")
	return b.String(), nil
}
