package bulk

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// TestKeyTableSeal compares look-ups before and after sealing, with integers that are dense or sparse, and strings.
func TestKeyTableSeal(t *testing.T) {
	for seed, c := range []struct {
		least, span int64
		dense       bool
	}{{0, 300, true}, {-150, 300, true}, {-exact + 1, 300, true}, {7, 1 << 40, false}, {-exact + 1, 2 * exact, false}} {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		table := newKeyTable(true)
		var vals []graph.Value
		for i := range 400 {
			n := c.least + r.Int64N(c.span)
			v := graph.IntValue(n)
			if i%5 == 0 {
				v = graph.StringValue(strconv.FormatInt(n, 10))
			}
			vals = append(vals, v)
			if i%3 > 0 {
				key, _ := keys.AppendOrdered(nil, v)
				table.put(key, graph.VertexID(i))
			}
		}
		for _, d := range []int64{-1, 0, 1, c.span - 1, c.span, 3 * c.span} {
			vals = append(vals, graph.IntValue(c.least+d))
		}
		vals = append(vals, graph.IntValue(exact+1), graph.FloatValue(0.5))
		type told struct {
			id, found graph.VertexID
			ok        bool
		}
		look := func() (all []told) {
			var buf []byte
			for _, v := range vals {
				key, _ := keys.AppendOrdered(nil, v)
				x := told{id: table.get(v, &buf)}
				if x.found, x.ok = table.find(key); !x.ok {
					x.found = graph.NoVertex
				}
				all = append(all, x)
			}
			return all
		}
		before := look()
		table.seal()
		require.Equal(t, c.dense, table.dense != nil)
		require.Equal(t, before, look())
	}
}
