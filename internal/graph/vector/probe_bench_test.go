package vector_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// BenchmarkScore compares a vector with another one; bytes count the other's coordinates, 8 each.
func BenchmarkScore(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, by := range []graph.Similarity{graph.Cosine, graph.Euclidean} {
		for _, n := range []int{384, 1536} {
			b.Run(fmt.Sprintf("%s/%d", by, n), func(b *testing.B) {
				var p vector.Probe
				p.Set(by, graph.ListValue(randomVector(rng, n)))
				other := randomVector(rng, n)
				b.SetBytes(int64(8 * n))
				for b.Loop() {
					p.Score(graph.ListValue(other))
				}
			})
		}
	}
}
