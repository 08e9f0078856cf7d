package plan

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// Without a histogram, or with one that lags behind, a list may have all edges of its type.
func TestQuoteOfLists(t *testing.T) {
	q := &Query{}
	a, b := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
	ix := graph.Index{Label: "A", Props: []string{"k"}, Unique: true}
	counts := &graph.Counts{Vertices: 100, Edges: 40, ByLabel: map[string]uint64{"A": 100}, ByType: map[string]uint64{"T": 40}}
	s := NewStatistics(q, counts, nil, nil)
	one := &Seek{Input: &Unit{}, Out: a, Index: ix, Keys: []Expr{&Const{graph.IntValue(1)}}}
	hop := func(input Node, dir graph.Direction) Node {
		return &Expand{Input: input, From: a, To: b, Types: []string{"T"}, Dir: dir}
	}
	for _, c := range []struct {
		degrees []uint64
		plan    Node
		visits  int64
	}{
		{nil, hop(one, graph.Out), 1 + 40},
		{[]uint64{3, 5}, hop(one, graph.Out), 1 + 40}, // 18 edges at most
		{[]uint64{3, 5, 4}, hop(one, graph.Out), 1 + 7},
		{[]uint64{3, 5, 4, 0}, hop(one, graph.Out), 1 + 7},
		{[]uint64{3, 5, 4}, hop(one, graph.Both), 1 + 7 + 40},
		{[]uint64{0, 0, 0, 0, 0, 1}, hop(one, graph.Out), 1 + 40},
		{[]uint64{3, 5, 4}, hop(&Scan{Input: &Unit{}, Out: a}, graph.Out), 100 + 100},
	} {
		counts.Degrees = map[graph.TypeDir][]uint64{{Type: "T", Dir: graph.Out}: c.degrees}
		visits, why := s.Quote(c.plan, nil)
		require.Empty(t, why)
		require.Equal(t, c.visits, visits, Format(&Query{Root: c.plan, Cols: q.Cols}))
	}
	require.EqualValues(t, math.MaxInt64, times(1<<40, 1<<40))
	require.EqualValues(t, math.MaxInt64, times(1<<32, 1<<31))
	require.EqualValues(t, math.MaxInt64, plus(math.MaxInt64, 1))
}
