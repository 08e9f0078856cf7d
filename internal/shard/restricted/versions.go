package restricted

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/shard"
)

// versions is shard.Versioned under a policy: what the caller may see depends on label sets and on the properties that conditions read, too. Those
// of edges are part of the edges.
type versions struct {
	r  *reader
	of shard.Versioned
}

// Version implements shard.Versioned.
func (v *versions) Version(ctx context.Context, parts *shard.Parts) (shard.Version, bool, error) {
	all := *parts
	all.Any |= shard.AnyLabel
	all.Props = append(slices.Clip(all.Props), v.r.bound.Load().VertexProps...)
	return v.of.Version(ctx, &all)
}
