package query

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Typed is a request that is no statement: it makes its plan itself. Package traverse has them.
type Typed interface {
	// Key is what the plan depends on; it is no statement's text.
	Key() string
	// Bind creates the plan, which must not write.
	Bind(opts cypher.Options) (*plan.Query, error)
	// Params returns the parameters of the plan: the user's and the request's own.
	Params(params map[string]graph.Value) map[string]graph.Value
	// Text is how the request stands in lists.
	Text() string
}

// TypedRequest is a typed request to a graph.
type TypedRequest struct {
	Graph  string // "" is DefaultGraph
	Typed  Typed
	Params map[string]graph.Value
	Limits Limits
}

// Limits bound what a request may cost; 0 is the engine's limit, and none passes the engine's.
type Limits struct {
	Visits, Rows, Bytes int64
	Timeout             time.Duration
	// Partial makes the answer what was found when a limit is reached, instead of an error. Of the time, nine tenths
	// are for finding.
	Partial bool
}

// apply sets the limits of a run that begins now.
func (l *Limits) apply(env *exec.Env, timeout time.Duration) {
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

// Traverse runs a typed request. Its result is that of a statement.
func (e *Engine) Traverse(ctx context.Context, req TypedRequest) (*Result, error) {
	return e.Query(ctx, Request{
		Statement: req.Typed.Text(), Graph: req.Graph, Params: req.Typed.Params(req.Params), Timeout: req.Limits.Timeout,
		ReadOnly: true, typed: req.Typed, limits: req.Limits,
	})
}

// compileTyped returns the plan of a typed request, which does not come from a text.
func (e *Engine) compileTyped(t Typed) func() (*plan.Query, cypher.Command, error) {
	return func() (*plan.Query, cypher.Command, error) {
		q, err := t.Bind(cypher.Options{Procedures: e.procs.Signature})
		if err != nil {
			return nil, nil, err
		}
		// The places are in texts that the request is made into, and so are combinations of its starts.
		var named []plan.Mention
		for _, m := range q.Mentions {
			if m.Pos = (graph.Pos{}); !slices.Contains(named, m) {
				named = append(named, m)
			}
		}
		q.Mentions, q.Notifications = named, nil
		return q, nil, nil
	}
}

// prepareRequest returns the prepared form of a request.
func (e *Engine) prepareRequest(ctx context.Context, g shard.Graph, req *Request) (*prepared, error) {
	if req.typed != nil {
		key := e.key(g, wholeText, req.typed.Key())
		return e.prepareBy(ctx, key, e.plans.get(key), source{}, e.compileTyped(req.typed))
	}
	return e.prepareWith(ctx, g, req.Statement, req.Params)
}
