package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// results are columns of every kind, with entities.
func results() *graph.Batch {
	ann := graph.VertexRecordValue(graph.MakeVertexID(1, 7), &graph.Record{
		Labels: []string{"A", "B"}, Keys: []string{"born", "tags"},
		Values: []graph.Value{graph.DateValue(7), graph.ListValue([]graph.Value{graph.StringValue("x")})},
	})
	knows := graph.EdgeRefValue(&graph.EdgeValue{
		Edge:   graph.Edge{ID: graph.MakeEdgeID(1, 2), Src: ann.Vertex(), Dst: ann.Vertex(), Type: 3},
		Record: &graph.Record{Type: "KNOWS", Keys: []string{"since"}, Values: []graph.Value{graph.FloatValue(1)}},
	})
	path := graph.PathValue(&graph.Path{Vertices: []graph.Value{ann, ann}, Edges: []graph.Value{knows}})
	return &graph.Batch{N: 2, Cols: []graph.Column{
		{Vals: []graph.Value{graph.IntValue(1), graph.IntValue(-1)}},
		{Vals: []graph.Value{graph.FloatValue(1), graph.FloatValue(0.5)}},
		{Vals: []graph.Value{graph.StringValue("ä"), graph.StringValue("")}},
		{Vals: []graph.Value{{}, graph.BytesValue([]byte{0, 1})}},
		{Vals: []graph.Value{ann, knows}},
		{Vals: []graph.Value{path, graph.MapValue([]graph.MapEntry{{Key: "k", Value: graph.ListValue([]graph.Value{ann, {}})}})}},
	}}
}

// Packed rows unpack to the same rows.
func TestRowsFromProto(t *testing.T) {
	want := results()
	have, err := RowsFromProto(RowsProto(want, 0, want.N))
	require.NoError(t, err)
	require.Equal(t, want.N, have.N)
	for c := range want.Cols {
		for i := range want.N {
			require.Equal(t, string(notation.TypedJSON.Append(nil, want.Cols[c].Value(i))), string(notation.TypedJSON.Append(nil, have.Cols[c].Value(i))))
		}
	}
}

// Rows from a server are either decoded or refused.
func FuzzRowsFromProto(f *testing.F) {
	good, err := proto.Marshal(RowsProto(results(), 0, 2))
	require.NoError(f, err)
	f.Add(good)
	for _, v := range []*pb.Value{{Kind: &pb.Value_Vertex{Vertex: &pb.Vertex{ElementId: "x"}}}, {Kind: &pb.Value_Path{}}} {
		b, err := proto.Marshal(&pb.RowBatch{Rows: 1, Columns: []*pb.Column{{Data: &pb.Column_Values{Values: &pb.ListValue{Values: []*pb.Value{v}}}}}})
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in pb.RowBatch
		if proto.Unmarshal(raw, &in) != nil {
			return
		}
		b, err := RowsFromProto(&in)
		if err != nil {
			return
		}
		for c := range b.Cols {
			for i := range b.N {
				notation.PlainJSON.Append(nil, b.Cols[c].Value(i))
			}
		}
	})
}
