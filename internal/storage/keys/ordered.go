package keys

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// The tags of ordered values, in openCypher's order of types. They are stored. tagEnd ends a list and is the least.
const (
	tagEnd           byte = 0x01
	tagList          byte = 0x10
	tagVector        byte = 0x14
	tagBytes         byte = 0x16
	tagPoint         byte = 0x17
	tagDateTime      byte = 0x18
	tagLocalDateTime byte = 0x19
	tagDate          byte = 0x1a
	tagTime          byte = 0x1b
	tagLocalTime     byte = 0x1c
	tagDuration      byte = 0x1d
	tagString        byte = 0x20
	tagBool          byte = 0x28
	tagNumber        byte = 0x30
	tagNull          byte = 0x40
)

// MaxOrdered is the greatest size of one ordered value that an index takes, in bytes.
const MaxOrdered = 8 << 10

// AppendOrdered appends a value so that bytes.Compare of two encodings is openCypher's order of the values, and the
// encodings are equal exactly if the values are: 1 and 1.0 are one key, so are 0.0 and -0.0, and NaN is one key above
// all numbers. No encoding is a prefix of another, so that tuples compare by their members. ok is false for a value
// that cannot be stored.
func AppendOrdered(dst []byte, v graph.Value) (key []byte, ok bool) {
	switch v.Kind() {
	case graph.Int:
		return appendInt(append(dst, tagNumber), v.Int()), true
	case graph.Float:
		return appendFloat(append(dst, tagNumber), v.Float()), true
	case graph.String:
		return appendText(append(dst, tagString), v.Str()), true
	case graph.Bool:
		b := byte(0)
		if v.Bool() {
			b = 1
		}
		return append(dst, tagBool, b), true
	case graph.Null:
		return append(dst, tagNull), true
	case graph.Date:
		return appendSigned(append(dst, tagDate), int64(v.Date())), true
	case graph.LocalTime:
		return appendSigned(append(dst, tagLocalTime), int64(v.LocalTime())), true
	case graph.Time:
		t := v.Time()
		dst = appendSigned(append(dst, tagTime), int64(t.Local)-int64(t.Offset)*1_000_000_000)
		return appendSigned32(dst, t.Offset), true
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		return appendSigned32(appendSigned(append(dst, tagLocalDateTime), t.Sec), t.Nano), true
	case graph.DateTime:
		t := v.DateTime()
		dst = appendSigned32(appendSigned(append(dst, tagDateTime), t.Sec), t.Nano)
		return appendText(appendSigned32(dst, t.Offset), t.ZoneName()), true
	case graph.Duration:
		return appendDuration(append(dst, tagDuration), v.Duration()), true
	case graph.PointKind:
		p := v.Point()
		dst = binary.BigEndian.AppendUint16(append(dst, tagPoint), uint16(p.CRS))
		for _, c := range p.Coordinates() {
			dst = appendFloatBits(dst, c)
		}
		return dst, true
	case graph.Bytes:
		return appendText(append(dst, tagBytes), unsafe.String(unsafe.SliceData(v.Bytes()), len(v.Bytes()))), true
	case graph.VectorKind:
		return appendVector(append(dst, tagVector), v.Vector()), true
	case graph.List:
		dst = append(dst, tagList)
		for _, e := range v.List() {
			if dst, ok = AppendOrdered(dst, e); !ok {
				return dst, false
			}
		}
		return append(dst, tagEnd), true
	}
	return dst, false
}

// HasNaN reports whether the value is NaN or a list that holds one: it equals nothing, not even itself.
func HasNaN(v graph.Value) bool {
	switch v.Kind() {
	case graph.Float:
		return math.IsNaN(v.Float())
	case graph.List:
		if slices.ContainsFunc(v.List(), HasNaN) {
			return true
		}
	}
	return false
}

// TypeBounds returns the tag of values of v's type and the first key that is above them: NaN for numbers,
// which no comparison finds.
func TypeBounds(v graph.Value) (lower, upper []byte) {
	key, ok := AppendOrdered(nil, v)
	if !ok {
		return nil, nil
	}
	if key[0] == tagNumber {
		return key[:1:1], appendFloat([]byte{tagNumber}, math.NaN())
	}
	return key[:1:1], []byte{key[0] + 1}
}

// AppendTextPrefix appends the part of a string's encoding that the encodings of all strings that begin with s share.
func AppendTextPrefix(dst []byte, s string) []byte {
	dst = appendText(append(dst, tagString), s)
	return dst[:len(dst)-2]
}

// appendInt appends an integer as the greatest float64 not above it and the remainder, which is 0 up to 2^53 and less than 2^10
// beyond.
func appendInt(dst []byte, i int64) []byte {
	f := float64(i)
	if f >= 1<<63 || int64(f) > i {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return appendRest(appendFloatBits(dst, f), uint64(i-int64(f)))
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case f == 0:
		f = 0 // and not -0
	case f != f:
		return append(dst, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0)
	}
	return appendRest(appendFloatBits(dst, f), 0)
}

// appendVector appends the dimension, the coordinate type and the coordinates, each in the bytes of its type.
func appendVector(dst []byte, v graph.Vector) []byte {
	dst = append(binary.BigEndian.AppendUint16(dst, uint16(v.Dimensions())), byte(v.Type))
	size := v.Type.Size()
	for at := 0; at < len(v.Data); at += size {
		c := v.Data[at : at+size]
		flip := byte(0x80) // of the sign, so that negative numbers go first
		rest := byte(0)
		if (v.Type == graph.Float32 || v.Type == graph.Float64) && c[size-1]&0x80 != 0 {
			flip, rest = 0xff, 0xff // a greater magnitude is a lesser number
		}
		dst = append(dst, c[size-1]^flip)
		for i := size - 2; i >= 0; i-- {
			dst = append(dst, c[i]^rest)
		}
	}
	return dst
}

func appendFloatBits(dst []byte, f float64) []byte {
	b := math.Float64bits(f)
	if b>>63 != 0 {
		b = ^b
	} else {
		b |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

// appendRest appends 0 in one byte and a greater rest, below 1,024, in two.
func appendRest(dst []byte, r uint64) []byte {
	if r == 0 {
		return append(dst, 0)
	}
	return append(dst, byte(r>>8)+1, byte(r))
}

func appendSigned(dst []byte, i int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(i)^1<<63)
}

func appendSigned32(dst []byte, i int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(i)^1<<31)
}

// appendText appends a string with 0 written as 0 0xff and 0 1 at its end.
func appendText(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 1)
}

const (
	nanosPerMonth = 2_629_746 * 1_000_000_000 // a twelfth of 365.2425 days
	nanosPerDay   = 86_400 * 1_000_000_000
)

// appendDuration appends the average length in nanoseconds, 128 bits, and then the components that distinguish equal lengths.
func appendDuration(dst []byte, d temporal.Duration) []byte {
	var hi, lo uint64
	for _, p := range [...]struct{ n, unit int64 }{
		{d.Months, nanosPerMonth}, {d.Days, nanosPerDay}, {d.Seconds, 1_000_000_000}, {int64(d.Nanos), 1},
	} {
		h, l := bits.Mul64(uint64(p.n), uint64(p.unit))
		if p.n < 0 {
			h -= uint64(p.unit)
		}
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	dst = binary.BigEndian.AppendUint64(dst, hi^1<<63)
	dst = binary.BigEndian.AppendUint64(dst, lo)
	return appendSigned(appendSigned(dst, d.Months), d.Days)
}
