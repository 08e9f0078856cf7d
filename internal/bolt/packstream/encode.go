package packstream

import (
	"encoding/binary"
	"math"
)

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, markNull) }

// AppendBool appends a boolean.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, markTrue)
	}
	return append(dst, markFalse)
}

// AppendInt appends an integer in its smallest form.
func AppendInt(dst []byte, i int64) []byte {
	switch {
	case i >= -16 && i <= math.MaxInt8:
		return append(dst, byte(i))
	case i >= math.MinInt8 && i < -16:
		return append(dst, int8Mark, byte(i))
	case i >= math.MinInt16 && i <= math.MaxInt16:
		return append(dst, int8Mark+1, byte(i>>8), byte(i))
	case i >= math.MinInt32 && i <= math.MaxInt32:
		return binary.BigEndian.AppendUint32(append(dst, int8Mark+2), uint32(i))
	}
	return binary.BigEndian.AppendUint64(append(dst, int8Mark+3), uint64(i))
}

// AppendFloat appends a float.
func AppendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, markFloat), math.Float64bits(f))
}

// AppendString appends a UTF-8 string.
func AppendString(dst []byte, s string) []byte {
	return append(appendHead(dst, tinyString, string8, len(s)), s...)
}

// AppendBytes appends a byte array.
func AppendBytes(dst, b []byte) []byte {
	return append(appendLength(dst, bytes8, len(b)), b...)
}

// AppendList appends the header of a list; n values follow.
func AppendList(dst []byte, n int) []byte { return appendHead(dst, tinyList, list8, n) }

// AppendMap appends the header of a map; n strings follow, each with a value.
func AppendMap(dst []byte, n int) []byte { return appendHead(dst, tinyMap, map8, n) }

// AppendStruct appends the header of a structure; the fields follow, at most 15.
func AppendStruct(dst []byte, tag byte, fields int) []byte {
	return append(dst, tinyStruct|byte(fields), tag)
}

func appendHead(dst []byte, tiny, mark byte, n int) []byte {
	if n < 16 {
		return append(dst, tiny|byte(n))
	}
	return appendLength(dst, mark, n)
}

func appendLength(dst []byte, mark byte, n int) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(dst, mark, byte(n))
	case n <= math.MaxUint16:
		return append(dst, mark+1, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, mark+2), uint32(n))
}
