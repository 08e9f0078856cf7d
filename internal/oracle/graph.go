package oracle

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Graph is one graph. It implements shard.Graph.
type Graph struct {
	catalog
	state  atomic.Pointer[state]
	writer chan struct{} // holds a token during a write
}

// NewGraph returns an empty graph whose ids are distributed over the given number of shards.
func NewGraph(shards int) *Graph {
	g := &Graph{writer: make(chan struct{}, 1)}
	g.catalog.sets = [][]graph.LabelID{{}} // graph.NoLabels
	g.state.Store(newState(shards))
	return g
}

func (g *Graph) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return graph.DeadlineError(err)
	}
	select {
	case g.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	}
}

func (g *Graph) unlock() { <-g.writer }

// Begin opens a transaction.
func (g *Graph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	if mode == shard.Read {
		return &Tx{g: g, state: g.state.Load()}, nil
	}
	if err := g.lock(ctx); err != nil {
		return nil, err
	}
	state := g.state.Load()
	t := &Tx{g: g, state: state.clone(), write: true}
	t.state.counts.Store(state.counts.Load())
	return t, nil
}

// BeginStale implements shard.Graph.
func (g *Graph) BeginStale(ctx context.Context, _ time.Duration) (shard.Tx, error) {
	return g.Begin(ctx, shard.Read)
}

// LoadState returns the progress of a load stream.
func (g *Graph) LoadState(_ context.Context, name string) (uint64, []byte, error) {
	st := g.state.Load().streams[name]
	return st.seq, st.mark, nil
}
