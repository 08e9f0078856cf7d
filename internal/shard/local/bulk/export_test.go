package bulk

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Spread yields keys that no dense table holds.
const Spread = mix

// TakeEnds returns the ends that Resolve has found, all of them, and returns the rows back.
func TakeEnds(rows shard.SortedRows) (ends [2][]graph.VertexID, all bool) {
	r := rows.(*resolvedRows)
	ends, all = r.ends, len(r.missing) == 0
	resolvedPool.Put(r)
	return ends, all
}
