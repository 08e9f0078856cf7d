package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// Tables that follow each other in the same memory, large and small ones, number their own groups.
func TestGroupTablesShareMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 40 {
		table := newGroupTable(&run{}, "Distinct", 1+rng.IntN(3))
		table.reset()
		for range 2 {
			known := map[int64]int32{}
			most := []int64{10, 1000, 100000}[rng.IntN(3)]
			for range 1 + rng.IntN(20) {
				b := &batch{Batch: graph.Batch{N: 500}}
				cols, group := make([][]graph.Value, len(table.keys)), make([]int32, b.N)
				for range b.N {
					for k := range cols {
						cols[k] = append(cols[k], graph.IntValue(rng.Int64N(most)))
					}
				}
				for k := range cols {
					copy(cols[k], cols[0]) // so that one number stands for the key
				}
				require.NoError(t, table.numbers(b, cols, allRows(b.N), group))
				for i, v := range cols[0] {
					if _, ok := known[v.Int()]; !ok {
						known[v.Int()] = int32(len(known))
					}
					require.Equal(t, known[v.Int()], group[i])
				}
			}
			require.Equal(t, len(known), table.len())
			table.reset()
			require.Zero(t, table.len())
		}
		table.release()
	}
}
