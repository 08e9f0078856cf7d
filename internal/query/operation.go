package query

import (
	"context"
	"errors"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/shard"
)

// called returns the call that a request is, or nil.
func called(req *Request) (*trusted.Call, error) {
	if req.Operation != nil || req.typed != nil {
		return req.Operation, nil
	}
	return trusted.Parse(req.Statement, req.Params)
}

// bindCall puts the statement of a trusted operation, and its parameters, in place of a request that calls one. A rerun finds the operation
// again, so that it runs as it is in the catalog of its transaction. The caller gets the role that the operation needs.
func bindCall(e *Engine, res *Result) error {
	c, err := called(&res.req)
	if c == nil || err != nil {
		return err
	}
	if res.req.Operation == nil || c.Given == nil {
		own := *c
		own.Given, c = res.req.Params, &own
		res.req.Operation = c
	}
	var o *operation.Operation
	var params map[string]graph.Value
	res.ctx, err = findOperation(res.ctx, e, res.q, func(g shard.Graph) (*operation.Operation, error) {
		o, params, err = bind(res.q, g, res.q.Graph, c)
		return o, err
	})
	if err != nil {
		return err
	}
	return putOperation(res.ctx, e, o, params, &res.req)
}

// findOperation binds an operation in the graph of a request, and gives the caller the role that the operation needs.
func findOperation(ctx context.Context, e *Engine, q *Running, bind func(shard.Graph) (*operation.Operation, error)) (context.Context, error) {
	ctx = access.WithGrant(ctx, q.grant)
	if err := q.grant.Check(q.Graph, access.Operations); err != nil {
		return ctx, err
	}
	g, err := e.known(ctx, q.Graph)
	if err != nil {
		return ctx, err
	}
	version := g.Definitions().Version() // g may learn of later ones
	o, err := bind(g)
	if err != nil { // the cached graph may be out of date
		now, stale := e.current(ctx, q.Graph)
		if stale != nil {
			return ctx, stale
		}
		if now.Definitions().Version() != version {
			o, err = bind(now)
		}
	}
	if err != nil {
		return ctx, err
	}
	need := access.Reader
	if o.Write {
		need = access.Writer
	}
	ctx, grant, err := access.Raise(ctx, q.Graph, need)
	if err == nil {
		q.raised.Store(grant)
	}
	return ctx, err
}

// putOperation puts an operation in place of a request that calls it.
func putOperation(ctx context.Context, e *Engine, o *operation.Operation, params map[string]graph.Value, req *Request) error {
	if o.Kind() == operation.Statement {
		req.Statement, req.Params = o.Statement, params
		return nil
	}
	body, err := o.Body(params)
	if err != nil {
		return err
	}
	if o.Kind() == operation.Fetch {
		if o.Write {
			return trusted.NoStatement(o)
		}
		req.Statement = "CALL db.fetch.run($method, $body) YIELD value RETURN value"
		req.Params = map[string]graph.Value{"method": graph.StringValue(o.Route), "body": graph.StringValue(string(body))}
		return nil
	}
	t, err := decodeTraversal(ctx, e, o, body)
	if err != nil {
		return err
	}
	req.typed, req.Params, req.ReadOnly = t.Typed, t.Typed.Params(t.Params), true
	if asked := req.Limits.units(); asked > 0 && (t.Limits.Units == 0 || asked < t.Limits.Units) {
		t.Limits.Units = asked
	}
	if req.Limits = nil; t.Limits != (Limits{}) {
		req.Limits = &t.Limits
	}
	return nil
}

// decodeTraversal decodes the body of an operation that is a traversal.
func decodeTraversal(ctx context.Context, e *Engine, o *operation.Operation, body []byte) (TypedRequest, error) {
	if e.opt.Typed == nil {
		return TypedRequest{}, graph.InternalError("a traversal", errors.New("the engine decodes no typed requests"))
	}
	charge := e.Charge(ctx)
	defer charge.Release()
	t, err := e.opt.Typed(o.Route, body, false, charge)
	if err == nil && t.Graph+t.At != "" {
		err = graph.RequestError(graph.KindInvalid, "InvalidOperation", "operation %s: it names a graph, or a moment; an operation runs on the present of its own graph", o.Name)
	}
	return t, err
}

// bindIn does the work of bindCall for a statement of an explicit transaction, whose caller keeps its role.
func bindIn(ctx context.Context, e *Engine, q *Running, g shard.Graph, name string, req *Request) error {
	c, err := called(req)
	if c == nil || err != nil {
		return err
	}
	own := *c
	own.Given, req.Operation = req.Params, &own
	o, params, err := bind(q, g, name, &own)
	if err != nil {
		return err
	}
	return putOperation(ctx, e, o, params, req)
}

// bind returns the operation of a call, and its parameters.
func bind(q *Running, g shard.Graph, name string, c *trusted.Call) (*operation.Operation, map[string]graph.Value, error) {
	o, err := q.callable(g, name, c)
	if err != nil {
		return nil, nil, err
	}
	q.called.Store(o)
	params := c.Given
	if c.Decode != nil {
		params, err = c.Decode(o)
	}
	if err == nil {
		params, err = o.Bind(params)
	}
	return o, params, err
}

// callable returns the operation of a call that the caller may make now.
func (q *Running) callable(g shard.Graph, name string, c *trusted.Call) (*operation.Operation, error) {
	o := c.Find(g)
	if o == nil {
		return nil, trusted.NotFound(name, c)
	}
	if err := q.mayCall(name, o); err != nil {
		return nil, err
	}
	if o.Disabled {
		err := graph.RequestError(graph.KindDenied, "OperationDisabled", "the operation %s is disabled", o.Name)
		err.Code = "Neo.ClientError.Operation.Disabled"
		return nil, err
	}
	return o, nil
}

// mayCall returns an error unless the caller may run an operation.
func (q *Running) mayCall(name string, o *operation.Operation) error {
	id, err := q.grant.Identity()
	if id == nil || err != nil || trusted.MayRun(id, name, o) {
		return err
	}
	return graph.Forbidden(graph.PhaseRuntime, "Forbidden", "%s lacks a role of the operation %s", id.Name, o.Name)
}

// planner implements trusted.Engine.
type planner struct{ e *Engine }

func (p planner) Name(graphName string) string { return p.e.graphName(graphName) }

func (p planner) Graphs() []string { return p.e.store.Graphs() }

func (p planner) Graph(ctx context.Context, name string) (shard.Graph, error) {
	return p.e.current(ctx, name)
}

func (p planner) Exclusive(ctx context.Context) bool {
	q := transactionOf(ctx)
	return q != nil && q.exclusive
}

func (p planner) Plan(ctx context.Context, g shard.Graph, o *operation.Operation) (out trusted.Plan, err error) {
	req := Request{Statement: o.Statement}
	if o.Kind() != operation.Statement {
		body, err := o.Body(o.Sample())
		if err != nil {
			return out, err
		}
		if o.Kind() == operation.Fetch {
			out, err = planFetch(ctx, p.e, g, o.Route, body)
			return out, fetchError(err)
		}
		t, err := decodeTraversal(ctx, p.e, o, body)
		if err != nil {
			return out, err
		}
		req.typed = t.Typed
	}
	x, err := p.e.prepareRequest(ctx, g, &req)
	if err != nil {
		return out, err
	}
	out = trusted.Plan{Command: x.command != nil || x.prefix != "", Graph: x.graph(), Write: x.writes()}
	if req.typed == nil {
		out.Params = x.params
	}
	if x.command == nil && req.typed == nil {
		kinds := map[string]fn.Kinds{}
		q, _, err := cypher.Compile(o.Statement, cypher.Options{
			Procedures: p.e.procs.Signature, ProcedureNames: p.e.procs.Names, Steps: countFor(ctx), Results: kinds,
		})
		if err != nil {
			return out, err
		}
		out.Single, out.Columns = q.Single(), trusted.Columns(q.Names, kinds)
	}
	if x.command == nil {
		out.Seeks, out.Named = x.exec.Query.Seeks(), x.exec.Query.NamedIndexes()
	}
	for _, n := range x.notifications(g) {
		if n.Category == "UNRECOGNIZED" {
			out.Unknown = n.Description
			break
		}
	}
	return out, nil
}
