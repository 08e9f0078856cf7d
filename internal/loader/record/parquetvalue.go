package record

import (
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// chunkOf reads values of a type.
type chunkOf[T any] interface {
	ReadBatch(batch int64, values []T, defs, reps []int16) (levels int64, read int, err error)
}

// values makes c read values of a type and write them by form.
func values[T any](c *parquetColumn, form func(dst []byte, v T) []byte) {
	vs := make([]T, parquetLevels)
	c.read = func(r file.ColumnChunkReader) (int64, int, error) {
		return r.(chunkOf[T]).ReadBatch(parquetLevels, vs, c.defs, c.reps)
	}
	c.append = func(dst []byte, i int) []byte { return form(dst, vs[i]) }
}

// form chooses how the values of a column become JSON.
func (c *parquetColumn) form(n *schema.PrimitiveNode, binary bool) error {
	l := n.LogicalType()
	switch t := n.PhysicalType(); t {
	case parquet.Types.Boolean:
		values(c, strconv.AppendBool)
	case parquet.Types.Int32:
		f := int64Form(l)
		if i, ok := l.(schema.IntLogicalType); ok && !i.IsSigned() {
			values(c, func(dst []byte, v int32) []byte { return strconv.AppendUint(dst, uint64(uint32(v)), 10) })
			return nil
		}
		values(c, func(dst []byte, v int32) []byte { return f(dst, int64(v)) })
	case parquet.Types.Int64:
		values(c, int64Form(l))
	case parquet.Types.Int96:
		values(c, func(dst []byte, v parquet.Int96) []byte {
			// the nanoseconds of the day, then the Julian day
			day := int64(int32(binaryOrder.Uint32(v[8:]))) - 2_440_588
			return appendTime(dst, day*86400, int64(binaryOrder.Uint64(v[:])), localForm)
		})
	case parquet.Types.Float:
		values(c, func(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32) })
	case parquet.Types.Double:
		values(c, func(dst []byte, v float64) []byte { return appendFloat(dst, v, 64) })
	case parquet.Types.ByteArray:
		f := bytesForm(l, binary)
		values(c, func(dst []byte, v parquet.ByteArray) []byte { return f(dst, v) })
	case parquet.Types.FixedLenByteArray:
		f := bytesForm(l, binary)
		values(c, func(dst []byte, v parquet.FixedLenByteArray) []byte { return f(dst, v) })
	default:
		return fmt.Errorf("column %q has the type %v, which is not supported", c.path, t)
	}
	return nil
}

// unitOf returns a unit of time.
func unitOf(u schema.TimeUnitType) time.Duration {
	switch u {
	case schema.TimeUnitMillis:
		return time.Millisecond
	case schema.TimeUnitMicros:
		return time.Microsecond
	}
	return time.Nanosecond
}

// int64Form writes integers of a logical type.
func int64Form(l schema.LogicalType) func(dst []byte, v int64) []byte {
	switch l := l.(type) {
	case schema.DateLogicalType:
		return func(dst []byte, v int64) []byte { return appendTime(dst, v*86400, 0, time.DateOnly) }
	case schema.TimestampLogicalType:
		form, u := localForm, unitOf(l.TimeUnit())
		if l.IsAdjustedToUTC() {
			form += "Z"
		}
		per := int64(time.Second / u)
		return func(dst []byte, v int64) []byte { return appendTime(dst, v/per, v%per*int64(u), form) }
	case schema.TimeLogicalType:
		u := unitOf(l.TimeUnit())
		return func(dst []byte, v int64) []byte { return appendTime(dst, 0, v*int64(u), "15:04:05.999999999") }
	case schema.DecimalLogicalType:
		scale := int(l.Scale())
		return func(dst []byte, v int64) []byte { return appendDecimal(dst, big.NewInt(v), scale) }
	case schema.IntLogicalType:
		if !l.IsSigned() {
			return func(dst []byte, v int64) []byte { return appendUint(dst, uint64(v)) }
		}
	}
	return func(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }
}

// bytesForm writes bytes of a logical type. Those of none may be text, unless they are used as bytes.
func bytesForm(l schema.LogicalType, binary bool) func(dst, v []byte) []byte {
	if binary {
		return appendBase64
	}
	switch l := l.(type) {
	case schema.DecimalLogicalType:
		scale := int(l.Scale())
		return func(dst, v []byte) []byte {
			n := new(big.Int).SetBytes(v)
			if len(v) > 0 && v[0] >= 0x80 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			}
			return appendDecimal(dst, n, scale)
		}
	case schema.Float16LogicalType:
		return func(dst, v []byte) []byte {
			if len(v) != 2 {
				return appendJSONText(dst, v)
			}
			return appendFloat(dst, float64(float16.FromBits(binaryOrder.Uint16(v)).Float32()), 32)
		}
	case schema.IntervalLogicalType:
		return func(dst, v []byte) []byte {
			if len(v) != 12 {
				return appendJSONText(dst, v)
			}
			millis := binaryOrder.Uint32(v[8:])
			return fmt.Appendf(dst, `"P%dM%dDT%d.%03dS"`, binaryOrder.Uint32(v), binaryOrder.Uint32(v[4:]), millis/1000, millis%1000)
		}
	case schema.UUIDLogicalType:
		return func(dst, v []byte) []byte {
			if len(v) != 16 {
				return appendJSONText(dst, v)
			}
			return appendUUID(dst, v)
		}
	}
	return appendJSONText
}
