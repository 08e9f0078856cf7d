package query

import (
	"context"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/procedure"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// explain turns the result into that of an EXPLAIN: the columns of the statement, its plan, and no rows.
func (r *Result) explain(ctx context.Context, params map[string]graph.Value) (err error) {
	if c := r.p.command; c != nil {
		r.Columns = []string{}
		r.plan = &explain.Node{Operator: cypher.Operator(c), Args: cypher.HeadOf(c).Text, Estimate: -1}
		return nil
	}
	if cols := r.p.exec.Columns(); cols != nil {
		r.Columns = cols
	} else {
		r.Columns = []string{}
	}
	indexes := r.g.Indexes()
	r.plan = explain.Tree(r.p.exec, nil, func(c *plan.CallProc) string {
		args := make([]graph.Value, len(c.Args))
		for i, x := range c.Args {
			switch x := x.(type) {
			case *plan.Const:
				args[i] = x.Value
			case *plan.Param:
				args[i] = params[x.Name]
			}
		}
		return procedure.VectorSearch(c.Proc, args, indexes)
	})
	if roles := restricted.Roles(r.g); roles != nil {
		r.plan.Args = strings.TrimSpace(r.plan.Args + " (rules of " + strings.Join(roles, ", ") + ")")
	}
	past, err := asof.Explain(ctx, r.g)
	if err != nil {
		return err
	}
	r.plan.Args = strings.TrimSpace(r.plan.Args + past)
	if r.txn != nil {
		if done := r.txn.Counters(); done.ContainsUpdates() {
			r.plan.Quote = &explain.Quote{Reason: "the transaction has changed the graph"}
			return nil
		}
	}
	r.plan.Quote, err = explain.Bound(ctx, r.g, r.p.exec.Query, params, countFor(ctx))
	return err
}
