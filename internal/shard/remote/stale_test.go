package remote_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestStaleReads reads what was the present state within a time: without a call to the leader, so without what others have committed
// since, and while no process leads.
func TestStaleReads(t *testing.T) {
	c := newReplicated(t, 3, 1)
	mine, others := newPairs(t, c.gateway()), newPairs(t, c.gateway())
	// edges counts the edges that a transaction sees, and then finds out whether it reads the present.
	edges := func(ctx context.Context, begin func(ctx context.Context) (shard.Tx, error)) (n int, err error) {
		tx, err := begin(ctx)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback()
		n, err = countEdges(ctx, tx, others)
		if err == nil {
			err = tx.Features().Validator.Check(ctx)
		}
		return n, err
	}
	stale := func(within time.Duration) func(ctx context.Context) (shard.Tx, error) {
		return func(ctx context.Context) (shard.Tx, error) { return mine.g.BeginStale(ctx, within) }
	}
	fresh := func(ctx context.Context) (shard.Tx, error) { return mine.g.Begin(ctx, shard.Read) }
	sees := func(want int, begin func(ctx context.Context) (shard.Tx, error)) {
		t.Helper()
		n := 0
		until(t, func() (err error) {
			n, err = edges(t.Context(), begin)
			return err
		})
		require.Equal(t, want, n)
	}

	others.write()
	sees(2, stale(time.Minute)) // there was no snapshot
	others.write()
	sees(2, stale(time.Minute))
	sees(4, stale(time.Nanosecond))
	sees(4, stale(time.Minute))
	others.write()
	sees(6, fresh)
	sees(6, stale(time.Minute))

	require.Eventually(t, func() bool { // each replica has what is read below
		for _, p := range c.processes {
			if p.Local().Replicas()[0].Applied < c.processes[c.leader(0)].Local().Replicas()[0].Applied {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
	leader := c.leader(0)
	c.kill(leader)
	c.kill((leader + 1) % 3)
	sees(6, stale(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := edges(ctx, stale(time.Nanosecond))
	require.Contains(t, []graph.Kind{graph.KindDeadline, graph.KindUnavailable}, graph.AsError(err).Kind)
	sees(6, stale(time.Minute))
}

// countEdges counts the edges of the pairs that were acknowledged which a transaction sees.
func countEdges(ctx context.Context, tx shard.Tx, p *pairs) (n int, err error) {
	var res shard.Neighbours
	for _, ends := range p.vertices {
		for _, v := range ends {
			if err := tx.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{v}, Types: []graph.TypeID{p.typ}}, &res); err != nil {
				return 0, err
			}
			n += len(res.Targets)
		}
	}
	return n, nil
}
