package query

import (
	"context"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fetch/verify"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/shard"
)

// bindFetch puts the fetch of a trusted operation in place of a request that calls one, and returns the role that it needs.
func bindFetch(ctx context.Context, e *Engine, q *Running, req *FetchRequest) (context.Context, access.Role, error) {
	c := *req.Operation
	c.Given = req.Params
	var o *operation.Operation
	var params map[string]graph.Value
	ctx, err := findOperation(ctx, e, q, func(g shard.Graph) (_ *operation.Operation, err error) {
		o, params, err = bind(q, g, q.Graph, &c)
		return o, err
	})
	need := access.Reader
	switch {
	case err != nil:
	case o.Kind() != operation.Fetch || req.Method != "" && req.Method != o.Route:
		err = trusted.NoFetch(o, req.Method)
	case o.Write && req.ReadOnly:
		err = graph.WriteInReadMode()
	case o.Write:
		need, err = access.Writer, req.Unsafe
	}
	if err == nil {
		req.Method = o.Route
		req.Body, err = o.Body(params)
	}
	return ctx, need, err
}

// fetchError returns an error of a fetch as the other requests have it.
func fetchError(err error) error {
	f, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err
	}
	out := outcome(err, nil)
	if out.Err == nil || errors.As(f.Err, new(*graph.Error)) {
		return out
	}
	named := graph.RequestError(out.Kind, "Failed", "fetch: %v", f)
	named.Err = f
	return named
}

// parseFetch parses a fetch that runs as a part of something else. The caller releases the charge.
func parseFetch(ctx context.Context, e *Engine, method string, body []byte, charge func(bytes int) error) (*syntax.Request, error) {
	return syntax.Parse(method, body, e.opt.Fetch, charge, countFor(ctx))
}

// planFetch plans a fetch as it stands, without its rules.
func planFetch(ctx context.Context, e *Engine, g shard.Graph, method string, body []byte) (out trusted.Plan, err error) {
	defer steps.Catch(&err)
	charge := e.Charge(ctx)
	defer charge.Release()
	r, err := parseFetch(ctx, e, method, body, charge.Add)
	if err != nil {
		return out, err
	}
	if out.Write = fetchWrites(method); out.Write {
		return out, fetch.Check(r, g)
	}
	queries, err := fetch.Plans(r, g)
	if err != nil {
		return out, err
	}
	tx, err := beginOn(ctx, g, shard.Read, 0)
	if err != nil {
		return out, err
	}
	defer tx.Rollback()
	for _, q := range queries {
		optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: g.Indexes(), Features: g.Features(), Rules: tx.Features().Rules, Steps: r.Steps})
		for _, ix := range q.Seeks() {
			if !slices.ContainsFunc(out.Seeks, func(o graph.Index) bool { return o.ID == ix.ID }) {
				out.Seeks = append(out.Seeks, ix)
			}
		}
		out.Named = append(out.Named, q.NamedIndexes()...)
	}
	return out, nil
}

// Fetch implements procedure.Host: it runs a fetch that reads in the transaction of a statement, and returns its answer without the code.
func (h host) Fetch(ctx context.Context, c *exec.Call, method, body string) (graph.Value, error) {
	q := transactionOf(ctx)
	if q == nil {
		return graph.Value{}, graph.InternalError("a fetch", errors.New("there is no statement"))
	}
	if fetchWrites(method) {
		return graph.Value{}, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "db.fetch.run reads: the method %s writes", method)
	}
	v, err := innerFetch(ctx, h.e, q, c, method, []byte(body))
	return v, fetchError(err)
}

func innerFetch(ctx context.Context, e *Engine, q *Running, c *exec.Call, method string, body []byte) (v graph.Value, err error) {
	charge := e.Charge(ctx)
	defer charge.Release()
	parse := func(body []byte) (*syntax.Request, error) { return parseFetch(ctx, e, method, body, charge.Add) }
	r, err := parse(body)
	if err != nil {
		return v, err
	}
	r, lookups, err := verify.Apply(verify.Of(c.Graph.Definitions()), r, parse)
	if err != nil {
		return v, err
	}
	e.restrict(ctx, r, q.on())
	run := &fetchRun{e: e, g: c.Graph, tx: c.Tx, q: q, inner: &c.Run.Env}
	run.programs = e.fetches.Of(c.Graph, c.Tx.Counts())
	if err := run.look(ctx, lookups, charge.Add); err != nil {
		return v, err
	}
	return fetch.Value(ctx, r, run, run.programs.Cache, charge.Add)
}

// look looks up in the transaction what rules of requests ask for, without the access rules of fetches.
func (r *fetchRun) look(ctx context.Context, lookups []verify.Lookup, charge func(bytes int) error) error {
	for i := range lookups {
		l := &lookups[i]
		head, err := parseFetch(ctx, r.e, "head", l.Body(fetch.Key(r.g, l.Label)), charge)
		if err != nil {
			return err
		}
		count, err := fetch.Count(ctx, head, r, r.programs.Cache)
		if err == nil {
			err = l.Holds(count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runInner runs a plan as a part of a statement.
func (r *fetchRun) runInner(ctx context.Context, x *exec.Prepared, params map[string]graph.Value, sink func(*graph.Batch) error) error {
	if err := r.q.priceIn(ctx, x, r.g, r.tx, params); err != nil {
		return err
	}
	env := *r.inner
	env.Params, env.Statement, env.Profile, env.Partial = params, nil, false, false
	rows, err := x.Run(ctx, r.g, r.tx, env)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := sink(b); err != nil {
			return err
		}
	}
}
