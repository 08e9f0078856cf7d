package arrowstream

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// Value returns an element of an array that a client has sent, without references to the array's memory, and counts its own. The library checks the parts
// of an array only as they are read, and panics.
func Value(a arrow.Array, row int, charge *memory.Charge) (v graph.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = graph.Value{}, fmt.Errorf("invalid Arrow data: %v", p)
		}
	}()
	return value(a, row, 0, charge)
}

func value(a arrow.Array, row, depth int, charge *memory.Charge) (graph.Value, error) {
	if depth > wire.MaxDepth {
		return graph.Value{}, fmt.Errorf("nested deeper than %d", wire.MaxDepth)
	}
	if a.IsNull(row) {
		return graph.Value{}, nil
	}
	switch a := a.(type) {
	case *array.Null:
		return graph.Value{}, nil
	case *array.Boolean:
		return graph.BoolValue(a.Value(row)), nil
	case *array.Int8:
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Int16:
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Int32:
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Int64:
		return graph.IntValue(a.Value(row)), nil
	case *array.Uint8:
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Uint16:
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Uint32:
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Uint64:
		if a.Value(row) > math.MaxInt64 {
			return graph.Value{}, fmt.Errorf("%d is out of the range of integers", a.Value(row))
		}
		return graph.IntValue(int64(a.Value(row))), nil
	case *array.Float16:
		return graph.FloatValue(float64(a.Value(row).Float32())), nil
	case *array.Float32:
		return graph.FloatValue(float64(a.Value(row))), nil
	case *array.Float64:
		return graph.FloatValue(a.Value(row)), nil
	case *array.String:
		return text(a.Value(row), charge)
	case *array.LargeString:
		return text(a.Value(row), charge)
	case *array.StringView:
		return text(a.Value(row), charge)
	case *array.Binary:
		return blob(a.Value(row), charge)
	case *array.LargeBinary:
		return blob(a.Value(row), charge)
	case *array.BinaryView:
		return blob(a.Value(row), charge)
	case *array.FixedSizeBinary:
		return blob(a.Value(row), charge)
	case *array.Date32:
		return graph.DateValue(temporal.Date(a.Value(row))), nil
	case *array.Date64:
		return graph.DateValue(temporal.Date(int64(a.Value(row)) / 86_400_000)), nil
	case *array.Time32:
		return clock(int64(a.Value(row)), a.DataType().(*arrow.Time32Type).Unit)
	case *array.Time64:
		return clock(int64(a.Value(row)), a.DataType().(*arrow.Time64Type).Unit)
	case *array.Timestamp:
		return instant(int64(a.Value(row)), a.DataType().(*arrow.TimestampType))
	case *array.Duration:
		sec, nanos := wholeSeconds(int64(a.Value(row)), a.DataType().(*arrow.DurationType).Unit)
		return graph.DurationValue(temporal.Duration{Seconds: sec, Nanos: int32(nanos)}), nil
	case *array.Dictionary:
		return value(a.Dictionary(), a.GetValueIndex(row), depth+1, charge)
	case *array.Struct:
		return structValue(a, row, depth+1, charge)
	case array.ExtensionArray:
		return value(a.Storage(), row, depth+1, charge)
	case array.ListLike:
		return listValue(a, row, depth+1, charge)
	}
	return graph.Value{}, fmt.Errorf("the Arrow type %s cannot be a parameter", a.DataType())
}

func text(s string, charge *memory.Charge) (graph.Value, error) {
	if err := charge.Add(len(s)); err != nil {
		return graph.Value{}, err
	}
	return graph.StringValue(strings.Clone(s)), nil
}

func blob(b []byte, charge *memory.Charge) (graph.Value, error) {
	if err := charge.Add(len(b)); err != nil {
		return graph.Value{}, err
	}
	return graph.BytesValue(bytes.Clone(b)), nil
}

func clock(n int64, unit arrow.TimeUnit) (graph.Value, error) {
	if n < 0 || n >= int64(24*time.Hour/unit.Multiplier()) {
		return graph.Value{}, fmt.Errorf("%d%s is not a time of day", n, unit)
	}
	return graph.LocalTimeValue(temporal.LocalTime(n * int64(unit.Multiplier()))), nil
}

// wholeSeconds divides a time in units into whole seconds and nanoseconds from 0.
func wholeSeconds(n int64, unit arrow.TimeUnit) (sec, nanos int64) {
	perSecond := int64(time.Second / unit.Multiplier())
	if sec, nanos = n/perSecond, n%perSecond; nanos < 0 {
		sec, nanos = sec-1, nanos+perSecond
	}
	return sec, nanos * int64(unit.Multiplier())
}

func instant(n int64, typ *arrow.TimestampType) (graph.Value, error) {
	sec, nanos := wholeSeconds(n, typ.Unit)
	zone, err := zoneOf(typ)
	if err != nil {
		return graph.Value{}, err
	}
	t, err := temporal.FromEpoch(sec, nanos, zone)
	switch {
	case err != nil:
		return graph.Value{}, err
	case typ.TimeZone == "":
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: t.Sec, Nano: t.Nano}), nil
	}
	return graph.DateTimeValue(t), nil
}

func zoneOf(typ *arrow.TimestampType) (temporal.Zone, error) {
	switch name := typ.TimeZone; {
	case name == "" || strings.EqualFold(name, "UTC"):
		return temporal.UTC, nil
	case name[0] != '+' && name[0] != '-':
		return temporal.ParseZone(name)
	}
	location, err := typ.GetZone()
	if err != nil {
		return temporal.UTC, err
	}
	_, offset := time.Time{}.In(location).Zone()
	return temporal.Zone{Offset: int32(offset)}, nil
}

func listValue(a array.ListLike, row, depth int, charge *memory.Charge) (graph.Value, error) {
	from, to := a.ValueOffsets(row)
	items := a.ListValues()
	if m, ok := a.(*array.Map); ok {
		return graph.Value{}, fmt.Errorf("the Arrow type %s cannot be a parameter; use a struct for a map", m.DataType())
	}
	if from < 0 || to < from || to > int64(items.Len()) {
		return graph.Value{}, fmt.Errorf("invalid Arrow data: a list from %d to %d of %d elements", from, to, items.Len())
	}
	if err := charge.Add(int(to-from) * int(unsafe.Sizeof(graph.Value{}))); err != nil {
		return graph.Value{}, err
	}
	list := make([]graph.Value, 0, to-from)
	for i := from; i < to; i++ {
		v, err := value(items, int(i), depth, charge)
		if err != nil {
			return v, err
		}
		list = append(list, v)
	}
	return graph.ListValue(list), nil
}

func structValue(a *array.Struct, row, depth int, charge *memory.Charge) (graph.Value, error) {
	fields := a.DataType().(*arrow.StructType).Fields()
	if err := charge.Add(len(fields) * int(unsafe.Sizeof(graph.MapEntry{}))); err != nil {
		return graph.Value{}, err
	}
	entries := make([]graph.MapEntry, len(fields))
	for i, f := range fields {
		v, err := value(a.Field(i), row, depth, charge)
		if err != nil {
			return v, err
		}
		entries[i] = graph.MapEntry{Key: f.Name, Value: v}
	}
	return graph.MapValue(entries), nil
}
