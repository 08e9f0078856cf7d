package query

import (
	"context"
	"math"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// cost returns what the request has taken by now. It is complete once the request computes no more.
func (q *Running) cost(now time.Time) cost.Cost {
	c := cost.Cost{Visits: q.visits.Load(), Rows: q.rows.Load(), Bytes: q.sent}
	c.CPU, c.Queue = q.cpu.Spent(now)
	return c
}

// start returns when the request began.
func (r *Result) start() time.Time { return admission.Time(r.began) }

// told returns what an answer tells.
func (q *Running) told(took cost.Cost) cost.Told {
	t := cost.Told{Cost: took, Estimate: -1}
	if q.estimate > 0 {
		t.Estimate = q.estimate
	}
	return t
}

// Cost returns what the request has taken so far, beside what was estimated.
func (r *Result) Cost() cost.Told { return r.q.told(r.q.cost(time.Now())) }

// precise is the estimate in units from which on a request without a ceiling looks at the degree of the vertex that it begins at, which takes
// some 3 µs. Reading as much takes a hundred times longer.
const precise = 4096

// price adds the estimate of a plan that is about to run in a transaction to the request's, and refuses a request whose estimate exceeds its
// ceiling. A plan that runs within another one is added once it is about to run, for each of its runs.
func (q *Running) price(ctx context.Context, x *exec.Prepared, g shard.Graph, tx shard.Tx, params map[string]graph.Value) error {
	units := float64(x.Query.Cost.Units())
	ceiling, setting := q.cpu.Ceiling(q.most, "maxCost")
	hidden := restricted.Whole(g) != g
	if hidden && q.most > 0 {
		return graph.RequestError(graph.KindInvalid, "NoEstimate", "maxCost: access rules hide a part of the graph from the caller, who gets no estimates")
	}
	if x.Query.Start != nil && (ceiling > 0 || units >= precise && tx.Features().Wire == nil) {
		var err error
		if units, err = x.EstimateFor(ctx, g, tx, params); err != nil {
			return err
		}
	}
	units = math.Abs(q.estimate) + max(1, units)
	if q.estimate = units; hidden {
		q.estimate = -units // it tells of hidden elements
	}
	if ceiling > 0 && units > float64(ceiling) {
		return graph.CostTooHigh(setting, ceiling, q.estimate)
	}
	return nil
}

// priceIn is price for a plan within the statement that runs in the request or its explicit transaction.
func (q *Running) priceIn(ctx context.Context, x *exec.Prepared, g shard.Graph, tx shard.Tx, params map[string]graph.Value) error {
	if q.runs != nil {
		q = q.runs
	}
	return q.price(ctx, x, g, tx, params)
}

// Sent says that the caller of Next sends so many bytes of the result.
func (r *Result) Sent(bytes int) { r.q.sent += int64(bytes) }
