package fetchplan

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// A request that waits for another one to compile the same plan of a fetch stops waiting when it ends. If the other one ends first,
// its half-made plan is dropped.
func TestWaitForFetchPlan(t *testing.T) {
	var c Cache
	c.Size = 8
	var g shard.Graph
	programs := c.Of(g, &graph.Counts{})
	q := &plan.Query{Root: &plan.Unit{}}
	var hits atomic.Uint64
	gone := errors.New("begin again")
	drop := func() error { c.Drop(g, programs); return gone }

	first, endFirst := context.WithCancel(context.Background())
	defer endFirst()
	started, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := programs.Prepare(first, q, func() (*exec.Prepared, error) {
			close(started)
			<-first.Done()
			return nil, first.Err()
		}, &hits, drop)
		failed <- err
	}()
	<-started
	second, endSecond := context.WithCancel(context.Background())
	endSecond()
	_, err := programs.Prepare(second, q, nil, &hits, drop)
	require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind)
	require.Same(t, programs, c.Of(g, &graph.Counts{}))

	endFirst()
	require.ErrorIs(t, <-failed, context.Canceled)
	_, err = programs.Prepare(context.Background(), q, nil, &hits, drop)
	require.ErrorIs(t, err, gone)
	require.NotSame(t, programs, c.Of(g, &graph.Counts{}))
}
