package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestAggregate encodes and decodes a request and its answer, and refuses others.
func TestAggregate(t *testing.T) {
	x := &shard.Aggregate{
		Label: 2, Sets: []graph.LabelSet{3, 5}, Props: []graph.PropID{7, 8}, Keys: []int{1, 0}, Members: true,
		Where: []shard.EdgeRange{{Prop: 9, In: graph.Interval{Lo: graph.IntValue(3), HiOpen: true}}},
		Aggs:  []shard.PartialAgg{{Func: shard.AggSum, Prop: 1}, {Func: shard.AggMin}},
	}
	req, err := EncodeAggregate(x)
	require.NoError(t, err)
	got, err := DecodeAggregate(req)
	require.NoError(t, err)
	require.Equal(t, x, got)

	g := &shard.Groups{
		First: []graph.VertexID{5, 1}, Rows: []int64{1 << 40, 0}, Counts: [][]int64{{1, 2}, {3, 4}},
		Keys:    [][]graph.Value{{graph.BoolValue(true), {}}, {graph.IntValue(1), graph.FloatValue(1)}},
		Values:  [][]graph.Value{{graph.IntValue(-4), graph.FloatValue(0.5)}, {{}, graph.DateValue(3)}},
		Members: []graph.VertexID{5, 6, 1}, MemberOf: []uint32{0, 0, 1},
	}
	var a pb.AggregateResponse
	require.NoError(t, EncodeGroups(g, &a))
	back := &shard.Groups{}
	require.NoError(t, DecodeGroups(&a, x, back))
	require.Equal(t, g, back)
	a.MemberOf = EncodeIDs([]uint32{0, 0, 2})
	require.ErrorIs(t, DecodeGroups(&a, x, back), ErrMalformed)
	a.Rows = nil
	require.ErrorIs(t, DecodeGroups(&a, x, back), ErrMalformed)

	for name, spoil := range map[string]func(r *pb.AggregateRequest){
		"a key without a property": func(r *pb.AggregateRequest) { r.Keys[0] = 2 },
		"an unknown function":      func(r *pb.AggregateRequest) { r.Functions[0] = uint32(shard.NumAggFuncs) },
		"a missing argument":       func(r *pb.AggregateRequest) { r.Arguments = r.GetArguments()[1:] },
		"both directions":          func(r *pb.AggregateRequest) { r.Dir = uint32(graph.Both) },
		"a row beyond the matrix":  func(r *pb.AggregateRequest) { r.Pairs = &pb.Pairs{Rows: 1, Width: 1, From: EncodeNumbers([]int32{1})} },
		"a large matrix":           func(r *pb.AggregateRequest) { r.Pairs = &pb.Pairs{Rows: mostCells, Width: 2} },
	} {
		r, err := EncodeAggregate(x)
		require.NoError(t, err)
		spoil(r)
		_, err = DecodeAggregate(r)
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	pairs, err := DecodeAggregate(&pb.AggregateRequest{
		Snapshot: &pb.Snapshot{Shard: 1}, Type: 4,
		Pairs: &pb.Pairs{Rows: 2, Width: 3, From: EncodeNumbers([]int32{1, -1, 0}), To: [][]byte{EncodeNumbers([]int32{-1}), EncodeNumbers([]int32{0, 1})}},
	})
	require.NoError(t, err)
	require.Equal(t, &shard.Pairs{From: [][]int32{nil, {1, -1, 0}}, To: [][]int32{{-1}, {0, 1}}, Rows: 2, Width: 3}, pairs.Pairs)
}
