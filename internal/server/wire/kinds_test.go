package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// everyKind has a value of each kind.
var everyKind = func() (vs [graph.KindCount]graph.Value) {
	x, _ := graph.VectorOf(graph.Float32, []graph.Value{graph.FloatValue(0.1), graph.IntValue(-2)})
	node := graph.VertexRecordValue(graph.MakeVertexID(0, 5), &graph.Record{Labels: []string{"A"}, Keys: []string{"v"}, Values: []graph.Value{graph.VectorValue(x)}})
	edge := graph.EdgeRefValue(&graph.EdgeValue{Edge: graph.Edge{ID: 1, Src: 5, Dst: 5}, Record: &graph.Record{Type: "R"}})
	for _, v := range []graph.Value{
		{},
		graph.BoolValue(true), graph.IntValue(1 << 60), graph.FloatValue(0.5), graph.StringValue("é"), graph.DateValue(7), graph.LocalTimeValue(8),
		graph.TimeValue(temporal.Time{Local: 9, Offset: 3600}), graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 1, Nano: 2}),
		graph.DateTimeValue(temporal.DateTime{Sec: 1, Nano: 2, Offset: 3600}), graph.DurationValue(temporal.Duration{Months: 1, Days: 2, Seconds: 3, Nanos: 4}),
		graph.PointValue(graph.Point{CRS: graph.Cartesian, X: 1, Y: 2}), graph.BytesValue([]byte{1, 2}), graph.VectorValue(x), node, edge,
		graph.PathValue(&graph.Path{Vertices: []graph.Value{node}}), graph.ListValue([]graph.Value{graph.IntValue(1), graph.VectorValue(x)}),
		graph.MapValue([]graph.MapEntry{{Key: "k", Value: graph.VectorValue(x)}}),
	} {
		vs[v.Kind()] = v
	}
	return vs
}()

// TestEveryKind encodes a value of each kind in every form, and decodes it where the kind can be a parameter or a property.
func TestEveryKind(t *testing.T) {
	for k, v := range everyKind {
		k := graph.ValueKind(k)
		require.Equal(t, k, v.Kind(), "the test lacks a value of this kind")
		require.NotEmpty(t, notation.Append(nil, v), k)
		require.True(t, fn.Equivalent(v, v.Clone()), k)
		require.Equal(t, fn.Hash(v), fn.Hash(v.Clone()), k)
		require.Zero(t, fn.Order(v, v.Clone()), k)
		entity := k == graph.VertexKind || k == graph.EdgeKind || k == graph.PathKind

		require.True(t, json.Valid(notation.PlainJSON.Append(nil, v)), k)
		typed := notation.TypedJSON.Append(nil, v)
		require.True(t, json.Valid(typed), k)
		for _, f := range []packstream.Form{{}, {ElementIDs: true, UTC: true}, {ElementIDs: true, UTC: true, Vectors: true}} {
			d := packstream.NewDecoder(f, f.Append(nil, v))
			back, err := d.Value()
			require.NoError(t, err, k)
			require.Zero(t, d.Left(), k)
			if !entity && f.Vectors {
				require.Nil(t, d.TakeFlaw(), k)
				require.True(t, fn.Equivalent(v, back), k)
			}
		}
		if !entity {
			raw, err := DecodeParams([]byte(`{"p":`+string(typed)+`}`), true, nil)
			require.NoError(t, err, k)
			require.True(t, fn.Equivalent(v, raw["p"]), k)
			back, err := FromProto(ToProto(v), 0, nil)
			require.NoError(t, err, k)
			require.True(t, fn.Equivalent(v, back), k)
		}
		cell, ok := keys.AppendCell(nil, v)
		require.Equal(t, !entity && k != graph.Map, ok, k)
		require.Equal(t, ok, keys.Storable(v), k)
		if ok {
			back, _, _, rest, err := keys.Cell(cell)
			require.NoError(t, err, k)
			require.Empty(t, rest, k)
			require.True(t, fn.Equivalent(v, back), k)
			rest, err = keys.SkipCell(cell)
			require.NoError(t, err, k)
			require.Empty(t, rest, k)
			a, _ := keys.AppendOrdered(nil, v)
			b, _ := keys.AppendOrdered(nil, back)
			require.Equal(t, a, b, k)
			require.NotEmpty(t, a, k)
		}
	}
}
