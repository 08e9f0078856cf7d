package graph

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// CoordinateType is the type of the coordinates of a Vector. The numbers are stored.
type CoordinateType uint8

// The coordinate types.
const (
	Integer8 CoordinateType = iota + 1
	Integer16
	Integer32
	Integer64
	Float32
	Float64
)

var coordinateTypes = [...]struct {
	name string
	size int
}{
	Integer8: {"INTEGER8", 1}, Integer16: {"INTEGER16", 2}, Integer32: {"INTEGER32", 4}, Integer64: {"INTEGER", 8},
	Float32: {"FLOAT32", 4}, Float64: {"FLOAT", 8},
}

// coordinateSynonyms are the other names that Cypher 25 has for coordinate types.
var coordinateSynonyms = map[string]CoordinateType{
	"INT8": Integer8, "INT16": Integer16, "INT32": Integer32, "INT": Integer64, "INT64": Integer64, "INTEGER64": Integer64,
	"SIGNED INTEGER": Integer64, "FLOAT64": Float64,
}

// ParseCoordinateType finds a type by one of its names in any case, with one space between words.
func ParseCoordinateType(name string) (CoordinateType, bool) {
	name = strings.ToUpper(name)
	for t := Integer8; t <= Float64; t++ {
		if t.String() == name {
			return t, true
		}
	}
	t, ok := coordinateSynonyms[name]
	return t, ok
}

// String returns the type's name in Cypher, for example FLOAT32.
func (t CoordinateType) String() string { return coordinateTypes[t].name }

// Valid reports whether the type exists.
func (t CoordinateType) Valid() bool { return Integer8 <= t && t <= Float64 }

// Size returns the bytes that a coordinate takes.
func (t CoordinateType) Size() int { return coordinateTypes[t].size }

// Vector is from 1 to MaxDimensions finite numbers of one type. Its zero coordinates are positive, so vectors of one type are equal exactly
// if their bytes are.
type Vector struct {
	Type CoordinateType
	Data []byte // the coordinates, in little-endian order
}

// NewVector checks that data is a vector, and takes ownership of it.
func NewVector(t CoordinateType, data []byte) (Vector, error) {
	if err := CheckDimensions(len(data)/t.Size(), len(data)%t.Size() == 0); err != nil {
		return Vector{}, err
	}
	v := Vector{t, data}
	switch t {
	case Float32:
		for i := 0; i < len(data); i += 4 {
			switch b := binary.LittleEndian.Uint32(data[i:]); {
			case b>>23&0xff == 0xff:
				return Vector{}, notFinite(i / 4)
			case b == 1<<31:
				data[i+3] = 0
			}
		}
	case Float64:
		for i := 0; i < len(data); i += 8 {
			switch b := binary.LittleEndian.Uint64(data[i:]); {
			case b>>52&0x7ff == 0x7ff:
				return Vector{}, notFinite(i / 8)
			case b == 1<<63:
				data[i+7] = 0
			}
		}
	}
	return v, nil
}

// Canonical reports whether the vector is as NewVector returns it, without changing it.
func (v Vector) Canonical() bool {
	n := len(v.Data)
	if !v.Type.Valid() || n == 0 || n%v.Type.Size() != 0 || v.Dimensions() > MaxDimensions {
		return false
	}
	switch v.Type {
	case Float32:
		for i := 0; i < n; i += 4 {
			if b := binary.LittleEndian.Uint32(v.Data[i:]); b>>23&0xff == 0xff || b == 1<<31 {
				return false
			}
		}
	case Float64:
		for i := 0; i < n; i += 8 {
			if b := binary.LittleEndian.Uint64(v.Data[i:]); b>>52&0x7ff == 0x7ff || b == 1<<63 {
				return false
			}
		}
	}
	return true
}

// CheckDimensions returns an error unless a vector can have n coordinates, all of them whole.
func CheckDimensions(n int, whole bool) error {
	switch {
	case !whole:
		return errors.New("the last coordinate of a vector is cut off")
	case n < 1 || n > MaxDimensions:
		return fmt.Errorf("a vector has from 1 to %d dimensions, not %d", MaxDimensions, n)
	}
	return nil
}

func notFinite(i int) error {
	return fmt.Errorf("the coordinates of a vector are finite numbers, and that at %d is not", i)
}

// VectorOf converts numbers to a vector. Floats lose their fractions in a vector of integers, and numbers their precision in one of
// floats. It fails for values that are no numbers or that the type cannot hold.
func VectorOf(t CoordinateType, numbers []Value) (Vector, error) {
	if err := CheckDimensions(len(numbers), true); err != nil {
		return Vector{}, err
	}
	data := make([]byte, 0, len(numbers)*t.Size())
	for i := range numbers {
		var ok bool
		if data, ok = t.appendNumber(data, numbers[i]); !ok {
			return Vector{}, fmt.Errorf("the coordinate at %d is not a number that %s can hold", i, t)
		}
	}
	return Vector{t, data}, nil
}

func (t CoordinateType) appendNumber(dst []byte, v Value) ([]byte, bool) {
	if !v.IsNumber() {
		return dst, false
	}
	switch t {
	case Float32:
		f := v.Number()
		if !(math.Abs(f) <= math.MaxFloat32) {
			return dst, false
		}
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f)+0)), true // + 0 converts -0 to 0
	case Float64:
		f := v.Number()
		if !(math.Abs(f) <= math.MaxFloat64) {
			return dst, false
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f+0)), true
	}
	n := int64(0)
	if v.kind == Int {
		n = v.Int()
	} else if f := v.Float(); f >= -1<<63 && f < 1<<63 {
		n = int64(f)
	} else {
		return dst, false
	}
	if least := int64(-1) << (8*t.Size() - 1); n < least || n > ^least {
		return dst, false
	}
	switch t {
	case Integer8:
		return append(dst, byte(n)), true
	case Integer16:
		return binary.LittleEndian.AppendUint16(dst, uint16(n)), true
	case Integer32:
		return binary.LittleEndian.AppendUint32(dst, uint32(n)), true
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(n)), true
}

// Dimensions returns the number of coordinates.
func (v Vector) Dimensions() int { return len(v.Data) / v.Type.Size() }

// At returns coordinate i, an Int or a Float.
func (v Vector) At(i int) Value {
	switch v.Type {
	case Integer8:
		return IntValue(int64(int8(v.Data[i])))
	case Integer16:
		return IntValue(int64(int16(binary.LittleEndian.Uint16(v.Data[2*i:]))))
	case Integer32:
		return IntValue(int64(int32(binary.LittleEndian.Uint32(v.Data[4*i:]))))
	case Integer64:
		return IntValue(int64(binary.LittleEndian.Uint64(v.Data[8*i:])))
	case Float32:
		return FloatValue(float64(math.Float32frombits(binary.LittleEndian.Uint32(v.Data[4*i:]))))
	}
	return FloatValue(math.Float64frombits(binary.LittleEndian.Uint64(v.Data[8*i:])))
}

// List returns the coordinates.
func (v Vector) List() []Value {
	l := make([]Value, v.Dimensions())
	for i := range l {
		l[i] = v.At(i)
	}
	return l
}

// AppendFloat32 appends the coordinates to dst, rounded to 32-bit floats. most is the greatest absolute value before it is rounded.
func (v Vector) AppendFloat32(dst []float32) (floats []float32, most float64) {
	at := len(dst)
	if v.Type == Float32 {
		n := v.Dimensions()
		dst = slices.Grow(dst, n)[:at+n]
		into := dst[at:]
		if littleEndian {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(into))), 4*n), v.Data)
		} else {
			for i := range into {
				into[i] = math.Float32frombits(binary.LittleEndian.Uint32(v.Data[4*i:]))
			}
		}
		greatest := float32(0)
		for _, c := range into {
			greatest = max(greatest, c, -c)
		}
		return dst, float64(greatest)
	}
	for i := range v.Dimensions() {
		x := v.At(i).Number()
		most = max(most, math.Abs(x))
		dst = append(dst, float32(x))
	}
	return dst, most
}

// AppendFloat64 appends the coordinates to dst.
func (v Vector) AppendFloat64(dst []float64) []float64 {
	switch v.Type {
	case Float32:
		for i := 0; i+4 <= len(v.Data); i += 4 {
			dst = append(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v.Data[i:]))))
		}
	case Float64:
		for i := 0; i+8 <= len(v.Data); i += 8 {
			dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(v.Data[i:])))
		}
	default:
		for i := range v.Dimensions() {
			dst = append(dst, float64(v.At(i).Int()))
		}
	}
	return dst
}

// littleEndian reports whether numbers in memory have the order of Vector.Data.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Compare orders vectors by dimension, then by coordinate type, then by coordinate.
func (v Vector) Compare(o Vector) int {
	if c := cmp.Or(cmp.Compare(v.Dimensions(), o.Dimensions()), cmp.Compare(v.Type, o.Type)); c != 0 || bytes.Equal(v.Data, o.Data) {
		return c
	}
	for i := range v.Dimensions() {
		a, b := v.At(i), o.At(i)
		if a.kind == Int {
			if c := cmp.Compare(a.Int(), b.Int()); c != 0 {
				return c
			}
		} else if c := cmp.Compare(a.Float(), b.Float()); c != 0 {
			return c
		}
	}
	return 0
}

// AppendType appends the vector's type in Cypher: VECTOR<FLOAT32 NOT NULL>(3).
func (v Vector) AppendType(dst []byte) []byte {
	dst = append(append(append(dst, "VECTOR<"...), v.Type.String()...), " NOT NULL>("...)
	return append(strconv.AppendInt(dst, int64(v.Dimensions()), 10), ')')
}

// AppendJSON appends the coordinates as an array of JSON, floats with the fewest digits that denote them in their type.
func (v Vector) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range v.Dimensions() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.appendNumber(dst, i)
	}
	return append(dst, ']')
}

func (v Vector) appendNumber(dst []byte, i int) []byte {
	c := v.At(i)
	if c.kind == Int {
		return strconv.AppendInt(dst, c.Int(), 10)
	}
	form := byte('f')
	if a := math.Abs(c.Float()); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, c.Float(), form, -1, 8*v.Type.Size())
	if form == 'f' && bytes.IndexByte(dst[n:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// Append appends the vector as Neo4j's drivers show it: vector([1.0, 2.0], 2, FLOAT32 NOT NULL).
func (v Vector) Append(dst []byte) []byte {
	dst = append(dst, "vector(["...)
	for i := range v.Dimensions() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = v.appendNumber(dst, i)
	}
	dst = strconv.AppendInt(append(dst, "], "...), int64(v.Dimensions()), 10)
	return append(append(append(dst, ", "...), v.Type.String()...), " NOT NULL)"...)
}

// VectorValue returns a Vector that shares v's coordinates.
func VectorValue(v Vector) Value {
	return Value{kind: VectorKind, num: uint64(v.Type)<<32 | uint64(len(v.Data)), ptr: unsafe.Pointer(unsafe.SliceData(v.Data))}
}

// Vector returns a Vector, whose coordinates callers must not modify.
func (v Value) Vector() Vector {
	return Vector{CoordinateType(v.num >> 32), unsafe.Slice((*byte)(v.ptr), int(uint32(v.num)))}
}
