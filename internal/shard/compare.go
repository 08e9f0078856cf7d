package shard

import (
	"context"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// Comparer is a Tx that compares vectors where they are kept, packed.
type Comparer interface {
	// Compare sets scores[i] to the similarity of a probe and property prop of vertex ids[i], or to NaN if that is no vector of the probe's
	// dimensions that the similarity takes. ids come in any order and may repeat; sorted ids are fastest. It returns the bytes of the
	// vectors that it compared.
	Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error)
}

// CompareLists compares a probe with properties that have been read, as Comparer says, and returns the bytes of their coordinates.
func CompareLists(probe *vector.Probe, values []graph.Value, scores []float64) (bytes int) {
	for i := range values {
		scores[i] = math.NaN()
		if values[i].Kind() != graph.List || len(values[i].List()) != probe.Dimensions() {
			continue
		}
		if score, ok := probe.Score(values[i].List()); ok {
			scores[i] = score
		}
		bytes += 8 * probe.Dimensions()
	}
	return bytes
}
