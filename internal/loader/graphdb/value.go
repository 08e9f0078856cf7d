package graphdb

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j/dbtype"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// value converts a value of the driver. What no property can hold becomes a map, which the load refuses as any other.
func value(v any) graph.Value {
	switch v := v.(type) {
	case nil:
		return graph.Value{}
	case bool:
		return graph.BoolValue(v)
	case int64:
		return graph.IntValue(v)
	case float64:
		if math.IsNaN(v) {
			v = math.NaN() // of all its bit patterns, one
		}
		return graph.FloatValue(v)
	case string:
		return graph.StringValue(v)
	case []byte:
		return graph.BytesValue(v)
	case []any:
		list := make([]graph.Value, len(v))
		for i, e := range v {
			list[i] = value(e)
		}
		return graph.ListValue(list)
	case map[string]any:
		return graph.MapValue(entries(v))
	case dbtype.Point2D:
		return point(v.SpatialRefId, v.X, v.Y)
	case dbtype.Point3D:
		return point(v.SpatialRefId, v.X, v.Y, v.Z)
	}
	if t, ok := temporalValue(v); ok {
		return t
	}
	return vectorValue(v)
}

// entries are the members of a map, in the order of their names.
func entries(m map[string]any) []graph.MapEntry {
	out := make([]graph.MapEntry, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, graph.MapEntry{Key: key, Value: value(m[key])})
	}
	return out
}

// unsupported stands for a value that Hopgate has no type for.
func unsupported(format string, args ...any) graph.Value {
	return graph.MapValue([]graph.MapEntry{{Key: "unsupported", Value: graph.StringValue(fmt.Sprintf(format, args...))}})
}

func point(srid uint32, coordinates ...float64) graph.Value {
	if srid > math.MaxUint16 {
		srid = 0
	}
	p, err := graph.MakePoint(graph.CRS(srid), coordinates...)
	if err != nil {
		return unsupported("%v", err)
	}
	return graph.PointValue(p)
}

// temporalValue converts dates, times and durations.
func temporalValue(v any) (graph.Value, bool) {
	switch v := v.(type) {
	case dbtype.Date:
		return graph.DateValue(temporal.Date(v.Time().Unix() / (24 * 3600))), true
	case dbtype.LocalTime:
		return graph.LocalTimeValue(clock(v.Time())), true
	case dbtype.Time:
		_, offset := v.Time().Zone()
		return graph.TimeValue(temporal.Time{Local: clock(v.Time()), Offset: int32(offset)}), true
	case dbtype.LocalDateTime:
		t := v.Time()
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: t.Unix(), Nano: int32(t.Nanosecond())}), true
	case time.Time:
		return dateTime(v), true
	case dbtype.Duration:
		const second = int64(time.Second)
		nanos := (int64(v.Nanos)%second + second) % second
		return graph.DurationValue(temporal.Duration{
			Months: v.Months, Days: v.Days, Seconds: v.Seconds + (int64(v.Nanos)-nanos)/second, Nanos: int32(nanos),
		}), true
	}
	return graph.Value{}, false
}

// clock returns the time of day.
func clock(t time.Time) temporal.LocalTime {
	return temporal.LocalTime(((t.Hour()*60+t.Minute())*60+t.Second())*int(time.Second) + t.Nanosecond())
}

// bareOffset is the name of the driver's zones without a name.
const bareOffset = "Offset"

func dateTime(t time.Time) graph.Value {
	zone := temporal.Zone{}
	if name := t.Location().String(); name == bareOffset {
		_, offset := t.Zone()
		zone.Offset = int32(offset)
	} else {
		var err error
		if zone, err = temporal.ParseZone(name); err != nil {
			return unsupported("%v", err)
		}
	}
	return graph.DateTimeValue(temporal.FromTime(t, zone))
}

// vectorValue converts vectors, and says of any other value that it has no counterpart.
func vectorValue(v any) graph.Value {
	switch v := v.(type) {
	case dbtype.Vector[int8]:
		return vector(graph.Integer8, v.Elems)
	case dbtype.Vector[int16]:
		return vector(graph.Integer16, v.Elems)
	case dbtype.Vector[int32]:
		return vector(graph.Integer32, v.Elems)
	case dbtype.Vector[int64]:
		return vector(graph.Integer64, v.Elems)
	case dbtype.Vector[float32]:
		return vector(graph.Float32, v.Elems)
	case dbtype.Vector[float64]:
		return vector(graph.Float64, v.Elems)
	case *dbtype.InvalidValue:
		return unsupported("%s: %v", v.Message, v.Err)
	case fmt.Stringer:
		return unsupported("%s", v)
	}
	return unsupported("%T", v)
}

func vector[T dbtype.VectorElement](t graph.CoordinateType, elements []T) graph.Value {
	list := make([]graph.Value, len(elements))
	for i, e := range elements {
		if t == graph.Float32 || t == graph.Float64 {
			list[i] = graph.FloatValue(float64(e))
		} else {
			list[i] = graph.IntValue(int64(e))
		}
	}
	v, err := graph.VectorOf(t, list)
	if err != nil {
		return unsupported("%v", err)
	}
	return graph.VectorValue(v)
}
