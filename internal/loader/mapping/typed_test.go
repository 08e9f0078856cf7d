package mapping

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// anyOf converts the JSON of a cell to a property of type any.
func anyOf(t *testing.T, text string) (graph.Value, bool) {
	keys := keysOf("p")
	l := record.NewLines(keys, record.Dialect{JSON: true})
	l.Reset([]byte(`{"p":` + text + "}\n"))
	cells, fault, ok := l.Next()
	require.True(t, ok && fault == nil, text)
	return (&Options{}).conv(Type{}).Value(cells[0], &Scratch{})
}

// Values of all types keep their type through lossless JSON.
func TestTyped(t *testing.T) {
	zone, err := temporal.ParseZone("Europe/Stockholm")
	require.NoError(t, err)
	point := func(crs graph.CRS, c ...float64) graph.Value {
		p, err := graph.MakePoint(crs, c...)
		require.NoError(t, err)
		return graph.PointValue(p)
	}
	date := graph.DateValue(temporal.MakeDate(-1, 2, 3))
	values := []graph.Value{
		graph.BoolValue(true), graph.IntValue(math.MinInt64), graph.FloatValue(1), graph.FloatValue(math.Copysign(0, -1)), graph.FloatValue(5e-324),
		graph.FloatValue(math.Inf(-1)), graph.StringValue(`{"$type":"Date"}`), graph.StringValue(""), graph.StringValue("1"),
		graph.BytesValue([]byte{0, 255}), graph.BytesValue([]byte{}), date, graph.LocalTimeValue(1), graph.TimeValue(temporal.Time{Local: 5e9, Offset: -5400}),
		graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: -1, Nano: 1}), graph.DateTimeValue(temporal.FromTime(time.Unix(0, 7), temporal.Zone{Offset: 3600})),
		graph.DateTimeValue(temporal.FromTime(time.Unix(1e9, 0), zone)), graph.DurationValue(temporal.Duration{Months: -1, Days: 2, Seconds: -3, Nanos: 999_999_999}),
		point(graph.WGS84, 12.5, 55), point(graph.Cartesian3D, 1, -2, 3e300),
		graph.ListValue(nil), graph.ListValue([]graph.Value{graph.IntValue(1), graph.FloatValue(2), graph.StringValue("x"), date, point(graph.Cartesian, 1, 2)}),
	}
	for _, c := range []graph.CoordinateType{graph.Integer8, graph.Integer16, graph.Integer32, graph.Integer64, graph.Float32, graph.Float64} {
		v, err := graph.VectorOf(c, []graph.Value{graph.IntValue(1), graph.IntValue(-2)})
		require.NoError(t, err)
		values = append(values, graph.VectorValue(v))
	}
	for _, v := range values {
		text := string(notation.LosslessJSON.Append(nil, v))
		got, ok := anyOf(t, text)
		require.True(t, ok, text)
		require.Equal(t, v.Kind(), got.Kind(), text)
		require.Equal(t, text, string(notation.LosslessJSON.Append(nil, got)))
	}
	got, ok := anyOf(t, string(notation.LosslessJSON.Append(nil, graph.FloatValue(math.NaN()))))
	require.True(t, ok && math.IsNaN(got.Float()))
}

// A rule that names a type reads the text of a typed value by its own type.
func TestTypedByRule(t *testing.T) {
	point, err := graph.MakePoint(graph.Cartesian, 1, 2)
	require.NoError(t, err)
	for _, c := range []struct {
		kind graph.ValueKind
		text string
		want graph.Value // or null if it is refused
	}{
		{graph.Date, `{"$type":"Date","_value":"2020-02-29"}`, graph.DateValue(18321)},
		{graph.String, `{"$type":"Date","_value":"2020-02-29"}`, graph.StringValue("2020-02-29")},
		{graph.Float, `{"$type":"Float","_value":"-Infinity"}`, graph.FloatValue(math.Inf(-1))},
		{graph.PointKind, `{"$type":"Point","_value":"SRID=7203;POINT (1 2)"}`, graph.PointValue(point)},
		{graph.PointKind, `{"x": 1, "y": 2}`, graph.PointValue(point)},
		{graph.Int, `{"$type":"Date","_value":"2020-02-29"}`, graph.Value{}},
		{graph.String, `{"$type":"Map","_value":{}}`, graph.Value{}},
		{graph.String, `{"a":1}`, graph.Value{}},
	} {
		keys := keysOf("p")
		l := record.NewLines(keys, record.Dialect{JSON: true})
		l.Reset([]byte(`{"p":` + c.text + "}\n"))
		cells, fault, ok := l.Next()
		require.True(t, ok && fault == nil, c.text)
		got, ok := (&Options{}).conv(Type{Kind: c.kind}).Value(cells[0], &Scratch{})
		require.Equal(t, !c.want.IsNull(), ok, c.text)
		if ok {
			require.Equal(t, notation.Describe(c.want), notation.Describe(got))
		}
	}
}

// Objects that are no typed values, lists within lists and nulls in lists are no properties.
func TestUntyped(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"$type":"Date"}`, `{"$type":"Date","_value":null}`, `{"$type":"Date","_value":"2020-13-01"}`, `{"$type":1,"_value":"x"}`,
		`{"$type":"Map","_value":{}}`, `{"$type":"List","_value":[]}`, `{"$type":"Date","_value":["2020-01-01"]}`, `{"$type":"Vector","_value":[1]}`,
		`{"$type":"Vector","_value":{"coordinatesType":"FLOAT99","coordinates":[1]}}`, `{"$type":"Vector","_value":{"coordinatesType":"INTEGER8","coordinates":[1000]}}`,
		`{"$type":"Vector","_value":{"coordinatesType":"FLOAT","coordinates":[]}}`, `[[1]]`, `[null]`, `[{"a":1}]`, `[{"$type":"Vector","_value":{"coordinatesType":"FLOAT","coordinates":[1]}}]`,
	} {
		_, ok := anyOf(t, text)
		require.False(t, ok, text)
	}
}
