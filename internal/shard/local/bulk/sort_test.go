package bulk

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

func TestSortedRecord(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		var records []sortedRecord
		var b []byte
		dir := graph.Direction(r.IntN(2))
		for range 1 + r.IntN(5) {
			x := sortedRecord{
				place: r.Uint32() >> r.IntN(32), other: graph.MakeVertexID(r.IntN(2)*r.IntN(1<<12), r.Uint64()>>r.IntN(64)),
				props: make([]byte, r.IntN(1+r.IntN(200))),
			}
			if dir == graph.In {
				x.id = graph.EdgeID(r.Uint64() >> r.IntN(64))
			} else {
				x.upsert = r.IntN(2) == 0
			}
			records = append(records, x)
			b = x.append(b, dir)
		}
		for _, want := range records {
			var got sortedRecord
			b = b[got.read(b, dir):]
			require.Equal(t, want, got)
		}
		require.Empty(t, b)
	}
}

// TestSortPlaced sorts records that are in order, whose low bits alone are, and that are not.
func TestSortPlaced(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 300 {
		shift := uint(r.IntN(30))
		width := shift + uint(1+r.IntN(20))
		from := make([]placed, r.IntN(300))
		for k := range from {
			from[k].key = r.Uint64N(1 << width)
		}
		low := func(p placed) uint64 { return p.key & (1<<shift - 1) }
		switch i % 3 {
		case 0:
			slices.SortFunc(from, func(x, y placed) int { return cmp.Compare(x.key, y.key) })
		case 1:
			slices.SortFunc(from, func(x, y placed) int { return cmp.Compare(low(x), low(y)) })
		}
		for k := range from {
			from[k].at = uint32(k)
		}
		want := slices.Clone(from)
		slices.SortStableFunc(want, func(x, y placed) int { return cmp.Compare(x.key, y.key) })
		sorted, other := sortPlaced(from, make([]placed, len(from)), shift)
		require.Equal(t, want, sorted)
		require.Len(t, other, len(from))
	}
}
