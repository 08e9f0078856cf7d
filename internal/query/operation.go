package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
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
	ctx, q := access.WithGrant(res.ctx, res.q.grant), res.q
	if err := q.grant.Check(q.Graph, access.Operations); err != nil {
		return err
	}
	g, err := e.known(ctx, q.Graph)
	if err != nil {
		return err
	}
	version := g.Definitions().Version() // g may learn of later ones
	o, err := bind(q, g, q.Graph, &res.req)
	if err != nil { // the cached graph may be out of date
		now, stale := e.current(ctx, q.Graph)
		if stale != nil {
			return stale
		}
		if now.Definitions().Version() != version {
			o, err = bind(q, now, q.Graph, &res.req)
		}
	}
	if err != nil {
		return err
	}
	need := access.Reader
	if o.Write {
		need = access.Writer
	}
	ctx, grant, err := access.Raise(ctx, q.Graph, need)
	if err != nil {
		return err
	}
	q.raised.Store(grant)
	res.ctx = ctx
	return nil
}

// bindIn does the work of bindCall for a statement of an explicit transaction, whose caller keeps its role.
func bindIn(q *Running, g shard.Graph, name string, req *Request) error {
	c, err := called(req)
	if c == nil || err != nil {
		return err
	}
	own := *c
	own.Given, req.Operation = req.Params, &own
	_, err = bind(q, g, name, req)
	return err
}

// bind puts an operation in place of its call.
func bind(q *Running, g shard.Graph, name string, req *Request) (*operation.Operation, error) {
	c := req.Operation
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
	q.called.Store(o)
	params, err := c.Given, error(nil)
	if c.Decode != nil {
		params, err = c.Decode(o)
	}
	if err == nil {
		params, err = o.Bind(params)
	}
	if err != nil {
		return nil, err
	}
	req.Statement, req.Params = o.Statement, params
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

func (p planner) Plan(ctx context.Context, g shard.Graph, statement string) (out trusted.Plan, err error) {
	x, err := p.e.prepare(ctx, g, statement)
	if err != nil {
		return out, err
	}
	out = trusted.Plan{Command: x.command != nil || x.prefix != "", Graph: x.graph(), Params: x.params, Write: x.writes()}
	if x.command == nil {
		out.Seeks = x.exec.Query.Seeks()
	}
	for _, n := range x.notifications(g) {
		if n.Category == "UNRECOGNIZED" {
			out.Unknown = n.Description
			break
		}
	}
	return out, nil
}
