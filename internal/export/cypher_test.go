package export

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// Expressions that Neo4j 5 reads as the value: no plus sign in an exponent, no \u after a backslash, one line.
func TestCypherValues(t *testing.T) {
	temporal := func(t pb.TemporalType, text string) *pb.Value {
		return &pb.Value{Kind: &pb.Value_Temporal{Temporal: &pb.TemporalValue{Type: t, Text: text}}}
	}
	for _, c := range []struct {
		v    *pb.Value
		want string
	}{
		{intOf(math.MinInt64), "-9223372036854775808"},
		{floatOf(1), "1.0"},
		{floatOf(1e300), "1e300"},
		{floatOf(math.Copysign(0, -1)), "-0.0"},
		{floatOf(math.NaN()), "0.0/0.0"},
		{textOf("it's\n\\n \\u0041 \x00\x7f é"), `'it\'s\n\\n \\' + 'u0041 \u0000` + "\x7f é'"},
		{listOf(textOf("a"), intOf(1)), "['a', 1]"},
		{temporal(pb.TemporalType_TEMPORAL_TYPE_DATE_TIME, "2020-01-01T00:00Z"), "datetime('2020-01-01T00:00Z')"},
		{&pb.Value{Kind: &pb.Value_Point{Point: &pb.Point{Srid: 4979, X: 1, Y: -2.5, Z: 3}}}, "point({srid: 4979, x: 1.0, y: -2.5, z: 3.0})"},
		{&pb.Value{Kind: &pb.Value_Vector{Vector: &pb.Vector{Type: pb.CoordinateType_COORDINATE_TYPE_INTEGER8, Coordinates: []byte{1, 255}}}}, "vector([1,-1], 2, INTEGER8)"},
	} {
		require.Equal(t, c.want, string(appendCypher(nil, c.v)))
	}
	err := refuseCypher(&file{shape: &shape{}, columns: []column{{name: "b", typ: typeBytes | listType}}})
	require.ErrorContains(t, err, `the property "b" holds bytes`)
}
