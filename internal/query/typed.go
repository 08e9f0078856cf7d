package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/shard"
)

// Typed is a request without a statement that builds its own plan. Package traverse implements it.
type Typed interface {
	// Key identifies the plan; it differs from any statement's text.
	Key() string
	// Bind creates the plan, which must not write.
	Bind(opts cypher.Options) (*plan.Query, error)
	// Params returns the parameters of the plan: the user's and the request's own.
	Params(params map[string]graph.Value) map[string]graph.Value
	// Text returns the request as lists show it.
	Text() string
}

// TypedRequest is a typed request to a graph.
type TypedRequest struct {
	Graph  string // "" is DefaultGraph
	At     string // a moment, as package asof reads it; "": the present
	Typed  Typed
	Params map[string]graph.Value
	Limits Limits
	Stale  time.Duration // by how much the snapshot may be out of date

	Condition *fresh.Condition // or nil
}

// Limits bound the cost of a request; 0 is the engine's limit, which none exceeds.
type Limits struct {
	Visits, Rows, Bytes int64
	// Units refuses a request whose estimated cost exceeds them, before it runs.
	Units   int64
	Timeout time.Duration
	// Partial returns the results found so far when a limit is reached, instead of an error. The search may use nine tenths of the
	// time.
	Partial bool
	// Page is the page of the answer to a statement that the request asks for; nil: all rows.
	Page *page.Page
}

// page returns the page that a request asks for, or nil.
func (l *Limits) page() *page.Page {
	if l == nil {
		return nil
	}
	return l.Page
}

// SetPage makes a request ask for a page, nil for the whole answer.
func (r *Request) SetPage(pg *page.Page) {
	if r.Limits == nil && pg != nil {
		r.Limits = new(Limits)
	}
	if r.Limits != nil {
		r.Limits.Page = pg
	}
}

// units returns the ceiling of the estimated cost.
func (l *Limits) units() int64 {
	if l == nil {
		return 0
	}
	return l.Units
}

// apply sets the limits, if any, of a run that starts now.
func (l *Limits) apply(env *exec.Env, e *Engine) {
	if l == nil {
		return
	}
	timeout := e.timeout(cmp.Or(l.Timeout, e.Bounds.get().Timeout))
	lower := func(limit *int64, asked int64) {
		if asked > 0 && (*limit == 0 || asked < *limit) {
			*limit = asked
		}
	}
	lower(&env.Budget.Edges, l.Visits)
	lower(&env.Budget.Rows, l.Rows)
	lower(&env.Budget.Bytes, l.Bytes)
	if env.Partial = l.Partial; l.Partial && timeout > 0 {
		env.Until = time.Now().Add(timeout / 10 * 9)
	}
}

// Traverse runs a typed request. Its result is like that of a statement.
func (e *Engine) Traverse(ctx context.Context, req TypedRequest) (*Result, error) {
	var limits *Limits
	if own := req.Limits; own != (Limits{}) {
		limits = &own
	}
	ctx, err := asof.With(ctx, "at", req.At)
	if err != nil {
		return nil, err
	}
	return e.Query(ctx, Request{
		Statement: req.Typed.Text(), Graph: req.Graph, Params: req.Typed.Params(req.Params), Timeout: req.Limits.Timeout,
		ReadOnly: true, Stale: req.Stale, Condition: req.Condition, typed: req.Typed, Limits: limits,
	})
}

// compileTyped returns the plan of a typed request.
func (e *preparer) compileTyped(t Typed) func(*steps.Counter) (*plan.Query, cypher.Command, error) {
	return func(count *steps.Counter) (*plan.Query, cypher.Command, error) {
		q, err := t.Bind(cypher.Options{Procedures: e.procs.Signature, Steps: count})
		if err != nil {
			return nil, nil, err
		}
		// Positions refer to generated texts, as do notifications about cartesian products of its starts.
		var named []plan.Mention
		for _, m := range q.Mentions {
			count.Add(1 + len(named)/16)
			if m.Pos = (graph.Pos{}); !slices.Contains(named, m) {
				named = append(named, m)
			}
		}
		q.Mentions, q.Notifications = named, nil
		return q, nil, nil
	}
}

// prepareRequest returns the prepared form of a request.
func (e *preparer) prepareRequest(ctx context.Context, g shard.Graph, req *Request) (*prepared, error) {
	if req.typed != nil {
		if err := req.Limits.page().RefuseTyped(); err != nil {
			return nil, err
		}
		key := e.key(g, wholeText, req.typed.Key())
		return e.prepareBy(ctx, key, e.plans.get(key), source{}, e.compileTyped(req.typed))
	}
	if pg := req.Limits.page(); pg != nil {
		key := e.key(g, wholeText, pg.Key()+req.Statement)
		return e.prepareBy(ctx, key, e.plans.get(key), source{text: req.Statement}, func(count *steps.Counter) (*plan.Query, cypher.Command, error) {
			opts := cypher.Options{Procedures: e.procs.Signature, ProcedureNames: e.procs.Names, Steps: count}
			q, command, err := cypher.Compile(req.Statement, opts)
			if err != nil {
				return nil, nil, err
			}
			return q, nil, pg.Statement(q, command, g.Indexes())
		})
	}
	return e.prepareWith(ctx, g, req.Statement, req.Params)
}
