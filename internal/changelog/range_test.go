package changelog

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// valueOf is the value of a property of a vertex that nobody has changed, null for some.
func valueOf(v graph.VertexID, p graph.PropID) graph.Value {
	return randomValue(rand.New(rand.NewPCG(uint64(v), uint64(p))), true)
}

// columnsOf are those of a range.
func columnsOf(of Range, props []graph.PropID) (cols [][]graph.Value, err error) {
	for _, p := range props {
		col := make([]graph.Value, of.N)
		for i := range col {
			col[i] = valueOf(of.First+graph.VertexID(i), p)
		}
		cols = append(cols, col)
	}
	return cols, nil
}

// A record with ranges names what it changes, and tells all once it is expanded, in any number of parts.
func TestRanges(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		var e Encoder
		var want []Change
		var ranges []Range
		var old []graph.VertexID
		for range r.IntN(40) {
			c := randomChange(r)
			e.Begin(c.Tx)
			if c.Op == Created && !c.IsEdge {
				of := Range{graph.VertexID(r.Uint64N(1 << 40)), 1 + r.IntN(1+r.IntN(1000))}
				ranges = append(ranges, of)
				e.AddRange(&c, of)
				for i := range of.N {
					made := copyOf(&c)
					made.Vertex = of.First + graph.VertexID(i)
					for _, ps := range [...][]graph.Property{made.After.Props, made.Keys} {
						for k := range ps {
							ps[k].Value = valueOf(made.Vertex, ps[k].ID)
						}
					}
					want = append(want, made)
				}
				continue
			}
			for range 1 + r.IntN(5) {
				require.NoError(t, e.Add(&c))
				want = append(want, c)
				if !c.IsEdge && (c.Op == Changed || c.Op == Deleted) {
					old = append(old, c.Vertex)
				}
			}
		}
		require.Equal(t, ranges, e.Ranges())
		var of [2][]graph.VertexID
		require.NoError(t, e.Old(func(v graph.VertexID) { of[0] = append(of[0], v) }))
		c := Commit{Number: 1}
		require.NoError(t, e.Records(5, []Origin{{User: "ann"}}, func(_ int, b []byte) error {
			c.Records = append(c.Records, b)
			return nil
		}))
		require.Equal(t, len(ranges) > 0, c.Ranged())
		if c.Ranged() {
			require.ErrorIs(t, c.Each(func(*Change) error { return nil }), ErrRecord)
		}
		require.NoError(t, c.Old(func(v graph.VertexID) { of[1] = append(of[1], v) }))
		require.Equal(t, [2][]graph.VertexID{old, old}, of)
		have, err := c.Ranges()
		require.NoError(t, err)
		require.Equal(t, ranges, have)
		back, err := ReadRanges(AppendRanges(nil, ranges))
		require.NoError(t, err)
		require.Equal(t, ranges, back)

		require.NoError(t, c.Expand(columnsOf))
		require.NoError(t, c.Open())
		require.Equal(t, []any{int64(5), []Origin{{User: "ann"}}}, []any{c.Time, c.Origins})
		require.False(t, c.Ranged())
		at := 0
		require.NoError(t, c.Each(func(c *Change) error {
			require.Equal(t, show(&want[at]), show(c))
			at++
			return nil
		}))
		require.Len(t, want, at)
	}
}
