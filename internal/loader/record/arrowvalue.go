package record

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// valuesOf is an array of values of a type.
type valuesOf[T any] interface{ Value(i int) T }

// each writes the values of an array by form.
func each[T any](form func(dst []byte, v T) []byte) arrowForm {
	return func(dst []byte, a arrow.Array, i int) []byte { return form(dst, a.(valuesOf[T]).Value(i)) }
}

func whole[T int8 | int16 | int32 | int64]() arrowForm {
	return each(func(dst []byte, v T) []byte { return strconv.AppendInt(dst, int64(v), 10) })
}

func unsigned[T uint8 | uint16 | uint32 | uint64]() arrowForm {
	return each(func(dst []byte, v T) []byte { return appendUint(dst, uint64(v)) })
}

// arrowFormOf chooses how the values of a leaf column become JSON.
func arrowFormOf(f arrow.Field, binary bool) (arrowForm, error) {
	switch t := f.Type.(type) {
	case *arrow.NullType:
		return func(dst []byte, _ arrow.Array, _ int) []byte { return append(dst, "null"...) }, nil
	case *arrow.BooleanType:
		return each(strconv.AppendBool), nil
	case *arrow.Int8Type:
		return whole[int8](), nil
	case *arrow.Int16Type:
		return whole[int16](), nil
	case *arrow.Int32Type:
		return whole[int32](), nil
	case *arrow.Int64Type:
		return whole[int64](), nil
	case *arrow.Uint8Type:
		return unsigned[uint8](), nil
	case *arrow.Uint16Type:
		return unsigned[uint16](), nil
	case *arrow.Uint32Type:
		return unsigned[uint32](), nil
	case *arrow.Uint64Type:
		return unsigned[uint64](), nil
	case *arrow.Float16Type:
		return func(dst []byte, a arrow.Array, i int) []byte {
			return appendFloat(dst, float64(a.(*array.Float16).Value(i).Float32()), 32)
		}, nil
	case *arrow.Float32Type:
		return each(func(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32) }), nil
	case *arrow.Float64Type:
		return each(func(dst []byte, v float64) []byte { return appendFloat(dst, v, 64) }), nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		if binary {
			return each(func(dst []byte, v string) []byte { return appendBase64(dst, []byte(v)) }), nil
		}
		return each(func(dst []byte, v string) []byte { return appendJSONText(dst, []byte(v)) }), nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return each(arrowBytesForm(f, binary)), nil
	case arrow.DecimalType:
		return decimalForm(t), nil
	}
	if form := arrowTimeForm(f.Type); form != nil {
		return form, nil
	}
	return nil, fmt.Errorf("the Arrow type %s is not supported", f.Type)
}

// arrowBytesForm writes bytes, which may be text unless they are used as bytes.
func arrowBytesForm(f arrow.Field, binary bool) func(dst, v []byte) []byte {
	name, _ := f.Metadata.GetValue(ipc.ExtensionTypeKeyName)
	switch t, fixed := f.Type.(*arrow.FixedSizeBinaryType); {
	case binary:
		return appendBase64
	case fixed && t.ByteWidth == 16 && name == "arrow.uuid":
		return appendUUID
	}
	return appendJSONText
}

func decimalForm(t arrow.DecimalType) arrowForm {
	scale := int(t.GetScale())
	return func(dst []byte, a arrow.Array, i int) []byte {
		var n *big.Int
		switch a := a.(type) {
		case *array.Decimal32:
			n = big.NewInt(int64(a.Value(i)))
		case *array.Decimal64:
			n = big.NewInt(int64(a.Value(i)))
		case *array.Decimal128:
			n = a.Value(i).BigInt()
		case *array.Decimal256:
			n = a.Value(i).BigInt()
		}
		return appendDecimal(dst, n, scale)
	}
}

// arrowTimeForm writes dates, times and durations, or is nil.
func arrowTimeForm(t arrow.DataType) arrowForm {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return each(func(dst []byte, v arrow.Date32) []byte { return appendTime(dst, int64(v)*86400, 0, time.DateOnly) })
	case *arrow.Date64Type:
		return each(func(dst []byte, v arrow.Date64) []byte {
			return appendTime(dst, int64(v)/1000, int64(v)%1000*int64(time.Millisecond), time.DateOnly)
		})
	case *arrow.Time32Type:
		return each(func(dst []byte, v arrow.Time32) []byte { return appendClock(dst, int64(v), t.Unit) })
	case *arrow.Time64Type:
		return each(func(dst []byte, v arrow.Time64) []byte { return appendClock(dst, int64(v), t.Unit) })
	case *arrow.TimestampType:
		return timestampForm(t)
	case *arrow.DurationType:
		return each(func(dst []byte, v arrow.Duration) []byte {
			per := int64(time.Second / t.Unit.Multiplier())
			return appendDuration(dst, 0, 0, int64(v)/per, int64(v)%per*int64(t.Unit.Multiplier()))
		})
	case *arrow.MonthIntervalType:
		return each(func(dst []byte, v arrow.MonthInterval) []byte { return appendDuration(dst, int64(v), 0, 0, 0) })
	case *arrow.DayTimeIntervalType:
		return each(func(dst []byte, v arrow.DayTimeInterval) []byte {
			ms := int64(v.Milliseconds)
			return appendDuration(dst, 0, int64(v.Days), ms/1000, ms%1000*int64(time.Millisecond))
		})
	case *arrow.MonthDayNanoIntervalType:
		return each(func(dst []byte, v arrow.MonthDayNanoInterval) []byte {
			return appendDuration(dst, int64(v.Months), int64(v.Days), v.Nanoseconds/1e9, v.Nanoseconds%1e9)
		})
	}
	return nil
}

// appendClock appends a time of day.
func appendClock(dst []byte, v int64, unit arrow.TimeUnit) []byte {
	return appendTime(dst, 0, v*int64(unit.Multiplier()), "15:04:05.999999999")
}

// timestampForm writes instants in their zone, and times without one.
func timestampForm(t *arrow.TimestampType) arrowForm {
	zone, form, suffix := time.UTC, localForm, ""
	if t.TimeZone != "" {
		form += "Z07:00"
		if z, err := t.GetZone(); err == nil {
			zone = z
		}
		if zone != time.UTC && strings.Contains(zone.String(), "/") {
			suffix = "[" + zone.String() + "]"
		}
	}
	per := int64(time.Second / t.Unit.Multiplier())
	return each(func(dst []byte, v arrow.Timestamp) []byte {
		at := time.Unix(int64(v)/per, int64(v)%per*int64(t.Unit.Multiplier())).In(zone)
		return appendQuoted(dst, at.Format(form)+suffix)
	})
}

// appendDuration appends a duration. The parts of the last two have one sign.
func appendDuration(dst []byte, months, days, seconds, nanos int64) []byte {
	sign := ""
	if seconds < 0 || nanos < 0 {
		sign, seconds, nanos = "-", -seconds, -nanos
	}
	return fmt.Appendf(dst, `"P%dM%dDT%s%d.%09dS"`, months, days, sign, seconds, nanos)
}
