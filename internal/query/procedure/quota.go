package procedure

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/quota"
)

// addQuotas adds the procedures that list and change quotas. What they change, they change at once, whatever becomes of the transaction.
func (r *Registry) addQuotas() {
	r.addDefine("db.quotas.put(quota :: MAP) :: ()", "Add a quota, or replace that of its name: a map of name, for, each, measure, amount, window and mode.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			return nil, r.host.Operations().Define(ctx, r.host.Graph(ctx), func(*definition.Set) (definition.Change, error) {
				q, err := quota.FromMap(c.Args[0])
				if err != nil {
					return definition.Change{}, err
				}
				return quota.Put(q)
			})
		})
	r.addDefine("db.quotas.drop(name :: STRING) :: ()", "Drop a quota.", func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
		if c.Args[0].Kind() != graph.String {
			return nil, badArgument("db.quotas.drop", "name", "a String", c.Args[0])
		}
		return nil, r.host.Operations().Define(ctx, r.host.Graph(ctx), func(s *definition.Set) (definition.Change, error) {
			return quota.Drop(s, c.Args[0].Str())
		})
	})
	r.add("db.quotas.list() :: (name :: STRING, for :: STRING, each :: BOOLEAN, measure :: STRING, amount :: FLOAT, window :: STRING, mode :: STRING, "+
		"refused :: INTEGER, account :: STRING, used :: FLOAT, remaining :: FLOAT, reset :: INTEGER)",
		"List the quotas, each with its accounts: what they have used in the present window, what remains, and in how many seconds it begins again.",
		r.listQuotas)
}

func (r *Registry) listQuotas(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	name := r.host.Graph(ctx)
	if err := access.Check(ctx, name, access.Admin); err != nil {
		return nil, err
	}
	all, err := r.host.Quotas().List(ctx, name, c.Graph.Definitions())
	if err != nil {
		return nil, err
	}
	var rows [][]graph.Value
	for _, q := range all {
		of := []graph.Value{
			text(q.Name), text(q.For), graph.BoolValue(q.Each), text(string(q.Measure)), graph.FloatValue(q.Amount), text(string(q.Window)), text(string(q.Mode)),
			graph.IntValue(int64(q.Refused)),
		}
		if len(q.Uses) == 0 {
			rows = append(rows, append(of, graph.Value{}, graph.FloatValue(0), graph.FloatValue(q.Amount), graph.Value{}))
		}
		for _, u := range q.Uses {
			account := graph.Value{}
			if u.Account.Name != "" {
				account = text(u.Account.Name)
			}
			reset := int64((u.Reset + time.Second - 1) / time.Second)
			rows = append(rows, append(slices.Clip(of), account, graph.FloatValue(u.Used), graph.FloatValue(u.Left), graph.IntValue(reset)))
		}
	}
	return rows, nil
}
