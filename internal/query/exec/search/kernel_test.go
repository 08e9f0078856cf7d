package search

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// A search begins with empty memory, however the one before it has left its own.
func TestMemoryIsEmptyForEachSearch(t *testing.T) {
	r := &runtime.Run{}
	k := newKernel(r, "Test", &adjacency.Reader{})
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		k.begin()
		require.Zero(t, k.set.Len()+k.now.Len()+k.next.Len()+len(k.list)+len(k.ids)+len(k.parent)+len(k.begins)+len(k.meets), "seed %d", seed)
		require.Zero(t, len(k.tree.vertex)+len(k.tree.dist)+len(k.tree.cost)+len(k.tree.head)+len(k.tree.links)+len(k.tree.edges), "seed %d", seed)
		within := 1 + rng.Uint64N(100_000)
		some := func() []graph.VertexID {
			vs := make([]graph.VertexID, rng.IntN(100))
			for i := range vs {
				vs[i] = graph.MakeVertexID(rng.IntN(3), rng.Uint64N(within))
			}
			return vs
		}
		known := map[graph.VertexID]bool{}
		for _, v := range some() {
			require.Equal(t, !known[v], k.add(v))
			known[v] = true
		}
		vs := some()
		k.addAll(vs)
		for _, v := range vs {
			known[v] = true
		}
		require.Len(t, k.list, len(known))
		if rng.IntN(2) == 0 {
			list := k.drain(k.ids)
			require.Len(t, list, len(known))
			require.Zero(t, k.set.Len()+len(k.list))
			k.ids = list
		}
		for _, v := range some() {
			_, ok := k.tree.table.get(v)
			at, added := k.tree.add(v)
			require.Equal(t, ok, !added)
			require.Equal(t, v, k.tree.vertex[at])
		}
		switch rng.IntN(3) {
		case 0:
			k.stepFrom(some())
			k.next.AddAll(some())
		case 1:
			k.hidden = true
			k.set.AddAll(some())
		}
		require.NoError(t, k.account())
		if rng.IntN(2) == 0 {
			k.release()
			require.Zero(t, k.acct.Held)
		}
	}
}
