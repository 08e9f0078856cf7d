package explain

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// Quote is an upper bound of what a statement would read.
type Quote struct {
	Visits int64  // as cost.Cost counts them
	Reason string // why there is no bound; "": there is one
}

// Bound quotes a plan by the counters of a graph.
func Bound(ctx context.Context, g shard.Graph, q *plan.Query, params map[string]graph.Value, count *steps.Counter) (_ *Quote, err error) {
	defer steps.Catch(&err)
	if restricted.Whole(g) != g {
		return &Quote{Reason: "access rules hide a part of the graph"}, nil
	}
	tx, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	b := &Quote{}
	b.Visits, b.Reason = plan.NewStatistics(q, tx.Statistics(), g.Indexes(), count).Quote(q.Root, params)
	return b, nil
}
