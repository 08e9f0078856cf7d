package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMark marks lists of local ids, dense and scattered ones, and compares the result with sets that take in one
// vertex after the other.
func TestMark(t *testing.T) {
	const room = 1 << 12
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var marked, added VertexSet
		b := marked.Grow(0, room)
		for range 5 {
			ids := make([]uint32, rng.IntN(200))
			within := 1 + rng.Uint32N(room)
			for i := range ids {
				ids[i] = rng.Uint32N(within)
			}
			if seed%2 == 0 {
				slices.Sort(ids)
			}
			n := 0
			for _, id := range ids {
				if added.Add(MakeVertexID(0, uint64(id))) {
					n++
				}
			}
			require.Equal(t, n, b.Mark(ids), "seed %d", seed)
			require.Equal(t, added.AppendTo(nil), marked.AppendTo(nil), "seed %d", seed)
		}
	}
}

// TestRemoveAll removes lists of vertices, some beyond the set's capacity, and compares the rest with removal one by one.
func TestRemoveAll(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		some := func() []VertexID {
			vs := make([]VertexID, rng.IntN(100))
			for i := range vs {
				vs[i] = MakeVertexID(rng.IntN(4), rng.Uint64N(1+rng.Uint64N(1000)))
			}
			return vs
		}
		var all, each VertexSet
		in, out := some(), some()
		out = append(out, in[:len(in)/2]...)
		all.AddAll(in)
		each.AddAll(in)
		all.RemoveAll(out)
		for _, v := range out {
			each.Remove(v)
		}
		require.Equal(t, each.AppendTo(nil), all.AppendTo(nil), "seed %d", seed)
		all.RemoveAll(in)
		require.Zero(t, all.Len(), "seed %d", seed)
	}
}
