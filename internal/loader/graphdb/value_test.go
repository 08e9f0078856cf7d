package graphdb

import (
	"errors"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j/dbtype"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Values of the driver become values of a graph, with the zones and the precision that they have. What has no counterpart becomes a map.
func TestValue(t *testing.T) {
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	require.NoError(t, err)
	utc := func(year int, month time.Month, day, hour, minute, second, nano int) time.Time {
		return time.Date(year, month, day, hour, minute, second, nano, time.UTC)
	}
	zone := func(seconds int) *time.Location { return time.FixedZone(bareOffset, seconds) }
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{int64(-1), `-1`},
		{1.0, `1.0`},
		{[]byte{0, 255}, `{"$type":"Base64","_value":"AP8="}`},
		{[]any{int64(1), "x", dbtype.Date(utc(2020, 2, 29, 0, 0, 0, 0))}, `[1,"x",{"$type":"Date","_value":"2020-02-29"}]`},
		{map[string]any{"b": int64(1), "a": true}, `{"a":true,"b":1}`},
		{dbtype.Date(utc(1969, 12, 31, 0, 0, 0, 0)), `{"$type":"Date","_value":"1969-12-31"}`},
		{dbtype.LocalTime(time.Date(0, 0, 0, 23, 59, 59, 1, time.UTC)), `{"$type":"LocalTime","_value":"23:59:59.000000001"}`},
		{dbtype.Time(time.Date(0, 0, 0, 1, 2, 3, 0, zone(-5400))), `{"$type":"Time","_value":"01:02:03-01:30"}`},
		{dbtype.LocalDateTime(utc(1969, 12, 31, 23, 59, 59, 5)), `{"$type":"LocalDateTime","_value":"1969-12-31T23:59:59.000000005"}`},
		{time.Date(2020, 1, 1, 0, 0, 0, 7, zone(3600)), `{"$type":"OffsetDateTime","_value":"2020-01-01T00:00:00.000000007+01:00"}`},
		{time.Date(2020, 7, 1, 0, 0, 0, 0, stockholm), `{"$type":"ZonedDateTime","_value":"2020-07-01T00:00:00+02:00[Europe/Stockholm]"}`},
		{time.Date(2020, 7, 1, 0, 0, 0, 0, time.FixedZone("Mars/Olympus", 0)), `{"unsupported":"unknown time zone \"Mars/Olympus\""}`},
		{dbtype.Duration{Months: 1, Days: -2, Seconds: 3, Nanos: -500_000_000}, `{"$type":"Duration","_value":"P1M-2DT2.5S"}`},
		{dbtype.Point2D{X: 1, Y: 2, SpatialRefId: 7203}, `{"$type":"Point","_value":"SRID=7203;POINT (1.0 2.0)"}`},
		{dbtype.Point3D{X: 1, Y: 2, Z: 3, SpatialRefId: 4979}, `{"$type":"Point","_value":"SRID=4979;POINT Z (1.0 2.0 3.0)"}`},
		{dbtype.Vector[int8]{Elems: []int8{-1, 2}}, `{"$type":"Vector","_value":{"coordinatesType":"INTEGER8","coordinates":[-1,2]}}`},
		{dbtype.Vector[float32]{Elems: []float32{0.1}}, `{"$type":"Vector","_value":{"coordinatesType":"FLOAT32","coordinates":[0.1]}}`},
		{&dbtype.InvalidValue{Message: "point", Err: errors.New("bad")}, `{"unsupported":"point: bad"}`},
		{dbtype.Path{}, `{"unsupported":"dbtype.Path"}`},
	} {
		require.Equal(t, c.want, string(notation.LosslessJSON.Append(nil, value(c.v))), "%v", c.v)
	}
	require.Contains(t, string(notation.LosslessJSON.Append(nil, value(dbtype.Point2D{SpatialRefId: 1 << 20}))), "unsupported")
}
