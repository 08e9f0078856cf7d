package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/trusted"
)

// functionDepth is the key of how many functions of operations the context's statement runs in.
type functionDepth struct{}

// CallOperation implements procedure.Host: it runs an operation that is a statement and reads in the transaction of a call. A caller needs no
// other right than for the operation, and the access rules of its transaction hold.
func (h host) CallOperation(ctx context.Context, c *exec.Call, name string, args []graph.Value) (v graph.Value, err error) {
	q := transactionOf(ctx)
	if q == nil {
		return v, graph.InternalError("a function", nil)
	}
	depth, _ := ctx.Value(functionDepth{}).(int)
	if depth++; depth > maxNested {
		return v, graph.BudgetError("operations that call each other as functions are nested more than %d deep", maxNested)
	}
	graphName := q.on()
	if err := q.grant.Check(graphName, access.Operations); err != nil {
		return v, err
	}
	o, err := q.callable(c.Graph, graphName, &trusted.Call{Name: name})
	if err != nil { // the cached graph may be out of date
		now, stale := h.e.current(ctx, graphName)
		if stale != nil {
			return v, stale
		}
		if o, err = q.callable(now, graphName, &trusted.Call{Name: name}); err != nil {
			return v, trusted.Unknown(err)
		}
	}
	if o.Write || o.Kind() != operation.Statement {
		return v, trusted.NoFunction(name)
	}
	params, err := trusted.Positional(o, args)
	if err == nil {
		params, err = o.Bind(params)
	}
	if err != nil {
		return v, err
	}
	ctx = context.WithValue(ctx, functionDepth{}, depth)
	p, err := h.e.prepareWith(ctx, c.Graph, o.Statement, params)
	if err != nil {
		return v, err
	}
	if err := h.e.mayNest(q, nil, p, &exec.Inner{Text: o.Statement, Params: params}); err != nil {
		return v, err
	}
	bound := p.bind(params)
	if err := q.priceIn(ctx, p.exec, c.Graph, c.Tx, bound); err != nil {
		return v, err
	}
	env := c.Run.Env
	env.Params, env.Statement, env.Profile, env.Partial = bound, nil, false, false
	rows, err := p.exec.Run(ctx, c.Graph, c.Tx, env)
	if err != nil {
		return v, err
	}
	defer rows.Close()
	return trusted.Result(ctx, rows, p.exec.Columns(), o.Single)
}
