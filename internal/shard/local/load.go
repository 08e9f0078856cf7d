package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/shard"
)

// Load implements shard.Graph.
func (g *Graph) Load(context.Context, *shard.Load) error { return misuse("bulk loads are not served") }

// LoadState implements shard.Graph.
func (g *Graph) LoadState(context.Context, string) (seq uint64, mark []byte, err error) {
	return 0, nil, misuse("bulk loads are not served")
}
