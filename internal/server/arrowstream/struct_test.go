package arrowstream_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
)

// Columns give back the values that the writer writes as structs, with nulls, and in lists.
func TestReadStructs(t *testing.T) {
	zone, err := temporal.ParseZone("Europe/Stockholm")
	require.NoError(t, err)
	point := func(crs graph.CRS, c ...float64) graph.Value {
		p, err := graph.MakePoint(crs, c...)
		require.NoError(t, err)
		return graph.PointValue(p)
	}
	at := time.Unix(1e9, 7)
	var columns [][]graph.Value
	for _, c := range [][]graph.Value{
		{point(graph.Cartesian, 1, -2.5), point(graph.WGS843D, 12.5, 55, 1e21)},
		{graph.TimeValue(temporal.Time{Local: 5e9, Offset: -5400}), graph.TimeValue(temporal.Time{Offset: 3661})},
		{graph.DurationValue(temporal.Duration{Months: -1, Days: 2, Seconds: -3, Nanos: 999_999_999}), graph.DurationValue(temporal.Duration{})},
		{
			graph.DateTimeValue(temporal.FromTime(at, zone)), graph.DateTimeValue(temporal.FromTime(at, temporal.Zone{Offset: 3661})),
			graph.DateTimeValue(temporal.FromTime(at, temporal.UTC)),
		},
	} {
		columns = append(columns, append(c, graph.Value{})[:3], []graph.Value{graph.ListValue(c), graph.ListValue(nil), {}})
	}
	stream, err := write(columns, 3, unbounded)
	require.NoError(t, err)
	r, err := ipc.NewReader(bytes.NewReader(stream))
	require.NoError(t, err)
	require.True(t, r.Next())
	for i, want := range columns {
		require.Contains(t, r.Schema().Field(i).Type.String(), "struct<")
		got, err := arrowstream.Column(r.RecordBatch().Column(i), nil)
		require.NoError(t, err)
		require.Equal(t, described(want), described(got))
	}
}

func described(values []graph.Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(notation.Describe(v) + "\n")
	}
	return b.String()
}

// Structs with these fields that hold no such value are errors with the row; others are maps.
func TestReadStructsRefused(t *testing.T) {
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	whole, float, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	for _, c := range []struct {
		typ  arrow.DataType
		json string
		want string
	}{
		{arrow.StructOf(field("srid", whole), field("x", float), field("y", float), field("z", float)), `[null, {"srid": 4326, "x": 1}]`, "row 1: a point of wgs-84 has 2 coordinates, not 1"},
		{arrow.StructOf(field("srid", whole), field("x", float), field("y", float), field("z", float)), `[{"srid": -1, "x": 1, "y": 2}]`, "row 0: a point has a number"},
		{arrow.StructOf(field("time", arrow.FixedWidthTypes.Time64ns), field("offset", whole)), `[{"time": "10:00:00", "offset": 99999}]`, "an offset of up to 64800 seconds"},
		{arrow.StructOf(field("instant", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}), field("zone", text)), `[{"instant": "2020-01-01T00:00:00Z", "zone": "Mars/Olympus"}]`, "Mars/Olympus"},
		{arrow.StructOf(field("months", whole), field("days", whole), field("seconds", whole), field("nanoseconds", whole)), `[{"months": 0, "days": 0, "seconds": 0, "nanoseconds": -1}]`, "nanoseconds, not -1"},
	} {
		_, err := arrowstream.Column(must(t, c.typ, c.json), nil)
		require.ErrorContains(t, err, c.want)
	}
	got, err := arrowstream.Column(must(t, arrow.StructOf(field("x", whole)), `[{"x": 1}]`), nil)
	require.NoError(t, err)
	require.Equal(t, "Map {x: 1}\n", described(got))
}
