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
			return v, unknown(err)
		}
	}
	if o.Write || o.Kind() != operation.Statement {
		err := graph.RequestError(graph.KindInvalid, "NoFunction", "the operation %s is no function: a function is a statement that reads", name)
		err.Code = "Neo.ClientError.Operation.NoFunction"
		return v, err
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
	return h.e.function(ctx, c, o, p, p.bind(params))
}

// unknown makes a function that is no operation a fault of the request, which is there.
func unknown(err error) error {
	e := *graph.AsError(err)
	if e.Kind == graph.KindNotFound {
		e.Kind = graph.KindInvalid
	}
	return &e
}

// function runs the plan of an operation and returns its rows as a value: of a single column, or a map of several, each with its records;
// and a list of those unless the operation gives one row at most.
func (e *preparer) function(ctx context.Context, c *exec.Call, o *operation.Operation, p *prepared, params map[string]graph.Value) (v graph.Value, err error) {
	env := c.Run.Env
	env.Params, env.Statement, env.Profile, env.Partial = params, nil, false, false
	rows, err := p.exec.Run(ctx, c.Graph, c.Tx, env)
	if err != nil {
		return v, err
	}
	defer rows.Close()
	columns := p.exec.Columns()
	var list []graph.Value
	for {
		b, err := rows.Next(ctx)
		if err != nil {
			return v, err
		}
		if b == nil {
			break
		}
		for i := range b.N {
			if len(columns) == 1 {
				list = append(list, b.Cols[0].Value(i).Clone())
				continue
			}
			entries := make([]graph.MapEntry, len(columns))
			for k, name := range columns {
				entries[k] = graph.MapEntry{Key: name, Value: b.Cols[k].Value(i).Clone()}
			}
			list = append(list, graph.MapValue(entries))
		}
		if err := rows.HoldBytes(len(list) * len(columns) * 64); err != nil {
			return v, err
		}
	}
	switch {
	case !o.Single:
		return graph.ListValue(list), nil
	case len(list) == 1:
		return list[0], nil
	}
	return v, nil
}
