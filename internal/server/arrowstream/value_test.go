package arrowstream_test

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
)

// Every type of Arrow that openCypher has values for becomes such a value.
func TestValue(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	for _, c := range []struct {
		typ  arrow.DataType
		json string // the elements
		want string
	}{
		{arrow.Null, `[null]`, "null"},
		{arrow.FixedWidthTypes.Boolean, `[true, null, false]`, "Boolean true null Boolean false"},
		{arrow.PrimitiveTypes.Int8, `[-128]`, "Integer -128"},
		{arrow.PrimitiveTypes.Int16, `[-32768]`, "Integer -32768"},
		{arrow.PrimitiveTypes.Int32, `[7, null]`, "Integer 7 null"},
		{arrow.PrimitiveTypes.Int64, `[-9223372036854775808]`, "Integer -9223372036854775808"},
		{arrow.PrimitiveTypes.Uint8, `[255]`, "Integer 255"},
		{arrow.PrimitiveTypes.Uint16, `[65535]`, "Integer 65535"},
		{arrow.PrimitiveTypes.Uint32, `[4294967295]`, "Integer 4294967295"},
		{arrow.PrimitiveTypes.Uint64, `[9223372036854775807]`, "Integer 9223372036854775807"},
		{arrow.FixedWidthTypes.Float16, `[1.5]`, "Float 1.5"},
		{arrow.PrimitiveTypes.Float32, `[0.25]`, "Float 0.25"},
		{arrow.PrimitiveTypes.Float64, `[-0.5]`, "Float -0.5"},
		{arrow.BinaryTypes.String, `["", "ä"]`, "String '' String 'ä'"},
		{arrow.BinaryTypes.LargeString, `["x"]`, "String 'x'"},
		{arrow.BinaryTypes.StringView, `["a text longer than a view"]`, "String 'a text longer than a view'"},
		{arrow.FixedWidthTypes.Date32, `["2026-01-02"]`, "Date '2026-01-02'"},
		{arrow.FixedWidthTypes.Date64, `["1969-12-31"]`, "Date '1969-12-31'"},
		{arrow.FixedWidthTypes.Time32s, `["03:04:05"]`, "LocalTime '03:04:05'"},
		{arrow.FixedWidthTypes.Time64ns, `["03:04:05.000000006"]`, "LocalTime '03:04:05.000000006'"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, `["1969-12-31T23:59:59.5"]`, "LocalDateTime '1969-12-31T23:59:59.5'"},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, `["2026-01-02T03:04:05Z"]`, "DateTime '2026-01-02T03:04:05Z'"},
		{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "-05:30"}, `["2026-01-02T03:04:05Z"]`, "DateTime '2026-01-01T21:34:05-05:30'"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"}, `["2026-07-02T03:04:05Z"]`, "DateTime '2026-07-02T05:04:05+02:00[Europe/Berlin]'"},
		{arrow.FixedWidthTypes.Duration_s, `["90s"]`, "Duration 'PT1M30S'"},
		{arrow.FixedWidthTypes.Duration_ms, `["-1500ms"]`, "Duration 'PT-1.5S'"},
		{list, `[[1, null], [], null]`, "List [1, null] List [] null"},
		{arrow.LargeListOf(arrow.BinaryTypes.String), `[["x"]]`, "List ['x']"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int8), `[[1, 2], [3, 4]]`, "List [1, 2] List [3, 4]"},
		{arrow.StructOf(arrow.Field{Name: "b", Type: list, Nullable: true}, arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}), `[{"b": [1], "a": null}]`, "Map {b: [1], a: null}"},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.json))
		require.NoError(t, err, c.typ)
		var have []string
		for i := range a.Len() {
			v, err := arrowstream.Value(a, i, nil)
			require.NoError(t, err, c.typ)
			have = append(have, notation.Describe(v))
		}
		require.Equal(t, c.want, strings.Join(have, " "), c.typ)
	}

	text := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		must(t, arrow.PrimitiveTypes.Int8, `[1, 0]`), must(t, arrow.BinaryTypes.String, `["x", "y"]`))
	v, err := arrowstream.Value(text, 0, nil)
	require.NoError(t, err)
	require.Equal(t, "y", v.Str())

	bytes := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	bytes.Append([]byte{0, 255})
	bytes.Append(nil)
	a := bytes.NewArray()
	for i, want := range []string{"\x00\xff", ""} {
		v, err = arrowstream.Value(a, i, nil)
		require.NoError(t, err)
		require.Equal(t, graph.Bytes, v.Kind())
		require.Equal(t, want, string(v.Bytes()))
	}

	large := array.NewUint64Builder(memory.DefaultAllocator)
	large.Append(math.MaxUint64)
	_, err = arrowstream.Value(large.NewArray(), 0, nil)
	require.ErrorContains(t, err, "out of the range of integers")
	for _, typ := range []arrow.DataType{
		&arrow.Decimal128Type{Precision: 5, Scale: 1}, arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
	} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		b.AppendEmptyValue()
		_, err := arrowstream.Value(b.NewArray(), 0, nil)
		require.ErrorContains(t, err, "cannot be a parameter", typ)
	}
}

func must(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
	require.NoError(t, err)
	return a
}
