package keys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// A cell is one stored property value: a byte that names its kind, which is graph.ValueKind's number or KindRef, and
// the value. docs/format.md lists the forms.

// KindRef is the kind byte of a cell whose value is large and is in the values instance.
const KindRef byte = 0x40

// maxDepth bounds how deep lists may be nested.
const maxDepth = 64

// ErrCell reports that bytes are not a cell.
var ErrCell = errors.New("malformed value")

// Ref is the place of a large value: its id, with the number of its shard in the high 16 bits, and the size of its cell
// in bytes.
type Ref struct {
	ID   uint64
	Size uint64
}

// AppendCell appends a value. ok is false, and dst as it was, for a value that cannot be stored: a map, a vertex, an
// edge, a path, or a list that holds one or is nested more than 64 deep.
func AppendCell(dst []byte, v graph.Value) (cell []byte, ok bool) {
	cell, ok = appendCell(dst, v, 0)
	if !ok {
		return dst, false
	}
	return cell, true
}

func appendCell(dst []byte, v graph.Value, depth int) ([]byte, bool) {
	dst = append(dst, byte(v.Kind()))
	switch v.Kind() {
	case graph.Null:
	case graph.Bool:
		b := byte(0)
		if v.Bool() {
			b = 1
		}
		dst = append(dst, b)
	case graph.Int:
		dst = binary.AppendVarint(dst, v.Int())
	case graph.Float:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case graph.String:
		dst = appendString(dst, v.Str())
	case graph.Date:
		dst = binary.AppendVarint(dst, int64(v.Date()))
	case graph.LocalTime:
		dst = binary.AppendVarint(dst, int64(v.LocalTime()))
	case graph.Time:
		t := v.Time()
		dst = binary.AppendVarint(binary.AppendVarint(dst, int64(t.Local)), int64(t.Offset))
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		dst = binary.AppendVarint(binary.AppendVarint(dst, t.Sec), int64(t.Nano))
	case graph.DateTime:
		t := v.DateTime()
		dst = binary.AppendVarint(binary.AppendVarint(dst, t.Sec), int64(t.Nano))
		dst = appendString(binary.AppendVarint(dst, int64(t.Offset)), t.ZoneName())
	case graph.Duration:
		d := v.Duration()
		dst = binary.AppendVarint(binary.AppendVarint(dst, d.Months), d.Days)
		dst = binary.AppendVarint(binary.AppendVarint(dst, d.Seconds), int64(d.Nanos))
	case graph.PointKind:
		p := v.Point()
		dst = binary.AppendUvarint(dst, uint64(p.CRS))
		for _, c := range p.Coordinates() {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c))
		}
	case graph.Bytes:
		dst = append(binary.AppendUvarint(dst, uint64(len(v.Bytes()))), v.Bytes()...)
	case graph.VectorKind:
		x := v.Vector()
		dst = binary.AppendUvarint(append(dst, byte(x.Type)), uint64(x.Dimensions()))
		dst = append(dst, x.Data...)
	case graph.List:
		if depth == maxDepth {
			return dst, false
		}
		l := v.List()
		dst = binary.AppendUvarint(dst, uint64(len(l)))
		for _, e := range l {
			var ok bool
			if dst, ok = appendCell(dst, e, depth+1); !ok {
				return dst, false
			}
		}
	default:
		return dst, false
	}
	return dst, true
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendRef appends the cell of a large value.
func AppendRef(dst []byte, r Ref) []byte {
	dst = append(dst, KindRef)
	return binary.AppendUvarint(binary.AppendUvarint(dst, r.ID), r.Size)
}

// Identical reports whether values are of the same type and stored alike: 1 and 1.0 are not, NaN is NaN.
func Identical(a, b graph.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case graph.Null:
		return true
	case graph.Int:
		return a.Int() == b.Int()
	case graph.String:
		return a.Str() == b.Str()
	}
	x, _ := AppendCell(nil, a)
	y, _ := AppendCell(nil, b)
	return bytes.Equal(x, y)
}

// Storable reports whether a value can be a property.
func Storable(v graph.Value) bool { return storable(v, 0) }

func storable(v graph.Value, depth int) bool {
	switch v.Kind() {
	case graph.Map, graph.VertexKind, graph.EdgeKind, graph.PathKind:
		return false
	case graph.List:
		if depth == maxDepth {
			return false
		}
		for _, e := range v.List() {
			if !storable(e, depth+1) {
				return false
			}
		}
	}
	return true
}

// Cell decodes the cell at the start of b and returns the rest. A string shares b's memory. If the cell is a reference, isRef is
// true and v null.
func Cell(b []byte) (v graph.Value, ref Ref, isRef bool, rest []byte, err error) {
	if len(b) > 0 && b[0] == KindRef {
		ref.ID, b, err = uvarint(b[1:])
		if err == nil {
			ref.Size, b, err = uvarint(b)
		}
		return v, ref, err == nil, b, err
	}
	v, rest, err = cell(b, 0)
	return v, ref, false, rest, err
}

func cell(b []byte, depth int) (v graph.Value, rest []byte, err error) {
	if len(b) == 0 {
		return v, nil, ErrCell
	}
	kind := graph.ValueKind(b[0])
	b = b[1:]
	switch kind {
	case graph.Null:
		return v, b, nil
	case graph.Bool:
		if len(b) == 0 || b[0] > 1 {
			return v, nil, ErrCell
		}
		return graph.BoolValue(b[0] == 1), b[1:], nil
	case graph.Int:
		i, b, err := varint(b)
		return graph.IntValue(i), b, err
	case graph.Float:
		if len(b) < 8 {
			return v, nil, ErrCell
		}
		return graph.FloatValue(math.Float64frombits(binary.LittleEndian.Uint64(b))), b[8:], nil
	case graph.String:
		s, b, err := text(b)
		return graph.StringValue(s), b, err
	case graph.Date:
		i, b, err := varint(b)
		return graph.DateValue(temporal.Date(i)), b, err
	case graph.LocalTime:
		i, b, err := varint(b)
		return graph.LocalTimeValue(temporal.LocalTime(i)), b, err
	case graph.List:
		return listCell(b, depth)
	case graph.PointKind:
		return pointCell(b)
	case graph.Bytes:
		n, b, err := uvarint(b)
		if err != nil || n > uint64(len(b)) {
			return v, nil, ErrCell
		}
		return graph.BytesValue(b[:n:n]), b[n:], nil
	case graph.VectorKind:
		x, b, err := vectorCell(b)
		if err != nil || !x.Canonical() {
			return v, nil, ErrCell
		}
		return graph.VectorValue(x), b, nil
	}
	return temporalCell(kind, b)
}

func pointCell(b []byte) (v graph.Value, rest []byte, err error) {
	n, b, err := uvarint(b)
	crs := graph.CRS(n)
	if err != nil || uint64(crs) != n || !crs.Valid() || len(b) < 8*crs.Dimensions() {
		return v, nil, ErrCell
	}
	var c [3]float64
	for i := range crs.Dimensions() {
		c[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	p, err := graph.MakePoint(crs, c[:crs.Dimensions()]...)
	if err != nil {
		return v, nil, ErrCell
	}
	return graph.PointValue(p), b, nil
}

// vectorCell decodes a vector without a look at its coordinates, which share b's memory.
func vectorCell(b []byte) (x graph.Vector, rest []byte, err error) {
	if len(b) == 0 || !graph.CoordinateType(b[0]).Valid() {
		return x, nil, ErrCell
	}
	x.Type = graph.CoordinateType(b[0])
	n, b, err := uvarint(b[1:])
	if err != nil || n == 0 || n > graph.MaxDimensions || n*uint64(x.Type.Size()) > uint64(len(b)) {
		return x, nil, ErrCell
	}
	size := int(n) * x.Type.Size()
	x.Data = b[:size:size]
	return x, b[size:], nil
}

func listCell(b []byte, depth int) (v graph.Value, rest []byte, err error) {
	n, b, err := uvarint(b)
	if err != nil || n > uint64(len(b)) || depth == maxDepth {
		return v, nil, ErrCell
	}
	l := make([]graph.Value, n)
	for i := range l {
		if l[i], b, err = cell(b, depth+1); err != nil {
			return v, nil, err
		}
	}
	return graph.ListValue(l), b, nil
}

// AppendVector appends the numbers of the cell of a vector or a list to dst, packed as vector.Pack packs them. dimensions is how many there are; ok is
// false, and dst as it was, if the cell cannot be packed.
func AppendVector(dst []float32, cell []byte) (packed []float32, dimensions int, ok bool) {
	if len(cell) > 0 && cell[0] == byte(graph.VectorKind) {
		x, _, err := vectorCell(cell[1:])
		if err != nil {
			return dst, 0, false
		}
		at := len(dst)
		dst, most := x.AppendFloat32(slices.Grow(dst, vector.Stride(x.Dimensions())))
		dst, ok = vector.Fill(dst, at, most)
		return dst, x.Dimensions(), ok
	}
	if len(cell) == 0 || cell[0] != byte(graph.List) {
		return dst, 0, false
	}
	n, b, err := uvarint(cell[1:])
	if err != nil || n > uint64(len(b)) {
		return dst, 0, false
	}
	at, most := len(dst), 0.0
	dst = slices.Grow(dst, vector.Stride(int(n)))
	for range n {
		var x float64
		switch {
		case len(b) >= 9 && b[0] == byte(graph.Float):
			x, b = math.Float64frombits(binary.LittleEndian.Uint64(b[1:])), b[9:]
		case len(b) > 0 && b[0] == byte(graph.Int):
			var i int64
			if i, b, err = varint(b[1:]); err != nil {
				return dst[:at], 0, false
			}
			x = float64(i)
		default:
			return dst[:at], 0, false
		}
		most = max(most, math.Abs(x))
		dst = append(dst, float32(x))
	}
	if dst, ok = vector.Fill(dst, at, most); !ok {
		return dst, 0, false
	}
	return dst, int(n), true
}

func temporalCell(kind graph.ValueKind, b []byte) (v graph.Value, rest []byte, err error) {
	var n [4]int64
	fields := 0
	switch kind {
	case graph.Time, graph.LocalDateTime:
		fields = 2
	case graph.DateTime:
		fields = 3
	case graph.Duration:
		fields = 4
	default:
		return v, nil, ErrCell
	}
	for i := range fields {
		if n[i], b, err = varint(b); err != nil {
			return v, nil, err
		}
	}
	if last := n[fields-1]; last != int64(int32(last)) || kind == graph.DateTime && n[1] != int64(int32(n[1])) {
		return v, nil, ErrCell
	}
	switch kind {
	case graph.Time:
		return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(n[0]), Offset: int32(n[1])}), b, nil
	case graph.LocalDateTime:
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: n[0], Nano: int32(n[1])}), b, nil
	case graph.Duration:
		return graph.DurationValue(temporal.Duration{Months: n[0], Days: n[1], Seconds: n[2], Nanos: int32(n[3])}), b, nil
	}
	name, b, err := text(b)
	if err != nil {
		return v, nil, err
	}
	t := temporal.DateTime{Sec: n[0], Nano: int32(n[1]), Offset: int32(n[2])}
	if name != "" {
		if t.Zone, err = zone(name); err != nil {
			return v, nil, ErrCell
		}
	}
	return graph.DateTimeValue(t), b, nil
}

// SkipCell returns what follows the cell at the head of b.
func SkipCell(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, ErrCell
	}
	kind := b[0]
	b = b[1:]
	numbers := 0
	switch kind {
	case byte(graph.Null):
		return b, nil
	case byte(graph.Bool):
		return cut(b, 1)
	case byte(graph.Float):
		return cut(b, 8)
	case byte(graph.String), byte(graph.Bytes):
		_, b, err = text(b)
		return b, err
	case byte(graph.PointKind):
		n, b, err := uvarint(b)
		if err != nil || n > math.MaxUint16 || !graph.CRS(n).Valid() {
			return nil, ErrCell
		}
		return cut(b, 8*graph.CRS(n).Dimensions())
	case byte(graph.VectorKind):
		_, b, err = vectorCell(b)
		return b, err
	case byte(graph.List):
		n, b, err := uvarint(b)
		for ; err == nil && n > 0; n-- {
			b, err = SkipCell(b)
		}
		return b, err
	case byte(graph.Int), byte(graph.Date), byte(graph.LocalTime):
		numbers = 1
	case byte(graph.Time), byte(graph.LocalDateTime), KindRef:
		numbers = 2
	case byte(graph.DateTime):
		numbers = 3
	case byte(graph.Duration):
		numbers = 4
	default:
		return nil, ErrCell
	}
	for ; numbers > 0; numbers-- {
		if _, b, err = uvarint(b); err != nil {
			return nil, err
		}
	}
	if kind == byte(graph.DateTime) {
		_, b, err = text(b)
	}
	return b, err
}

func cut(b []byte, n int) ([]byte, error) {
	if len(b) < n {
		return nil, ErrCell
	}
	return b[n:], nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], nil
	}
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, ErrCell
	}
	return n, b[size:], nil
}

func varint(b []byte) (int64, []byte, error) {
	n, size := binary.Varint(b)
	if size <= 0 {
		return 0, nil, ErrCell
	}
	return n, b[size:], nil
}

func text(b []byte) (string, []byte, error) {
	n, b, err := uvarint(b)
	if err != nil || n > uint64(len(b)) {
		return "", nil, ErrCell
	}
	return unsafe.String(unsafe.SliceData(b), int(n)), b[n:], nil
}

var zones sync.Map // string → *time.Location

func zone(name string) (*time.Location, error) {
	if l, ok := zones.Load(name); ok {
		return l.(*time.Location), nil
	}
	name = strings.Clone(name) // the location keeps it, and it points into bytes that are used again
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	zones.Store(name, l)
	return l, nil
}
