package graph

import (
	"math"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// ValueKind is the type of a Value. The numbers are stored; they are only ever appended.
type ValueKind uint8

// The kinds of values. Vertex, Edge and Path are never stored as properties, nor are maps.
const (
	Null ValueKind = iota
	Bool
	Int
	Float
	String
	List
	Map
	Date
	LocalTime
	Time
	LocalDateTime
	DateTime
	Duration
	VertexKind
	EdgeKind
	PathKind
	PointKind
	Bytes
)

var kindNames = [...]string{
	"Null", "Boolean", "Integer", "Float", "String", "List", "Map", "Date", "LocalTime", "Time", "LocalDateTime",
	"DateTime", "Duration", "Node", "Relationship", "Path", "Point", "ByteArray",
}

// String gives the kind's openCypher name.
func (k ValueKind) String() string { return kindNames[k] }

// Value is any openCypher value in 24 bytes. The zero Value is null.
//
//	kind            num                     ptr
//	Bool            0 or 1                  -
//	Int             the integer             -
//	Float           its IEEE 754 bits       -
//	String          length in bytes         first byte
//	List            length                  first Value
//	Map             number of entries       first MapEntry
//	temporal kinds  -                       the struct of package temporal (Date: num holds the day number)
//	VertexKind      VertexID                *Record, nil until materialised
//	EdgeKind        -                       *EdgeValue
//	PathKind        -                       *Path
//	PointKind       -                       *Point
//	Bytes           length                  first byte
//
// Strings and lists are never changed once they are in a Value. A Value read from a shard may point into memory that
// lives as long as the transaction it was read in; Clone copies what must live longer.
type Value struct {
	ptr  unsafe.Pointer
	num  uint64
	kind ValueKind
}

// MapEntry is one entry of a map value; keys are unique and keep the order in which they were written.
type MapEntry struct {
	Key   string
	Value Value
}

// Record is all that there is to know of a vertex or an edge, for the answer.
type Record struct {
	Labels []string // of a vertex
	Type   string   // of an edge
	Keys   []string // property keys, sorted
	Values []Value  // beside Keys
}

// EdgeValue is an edge in a row, with its record once the answer needs it.
type EdgeValue struct {
	Edge
	Record *Record
}

// Path is a walk: len(Vertices) == len(Edges)+1, and Edges[i] joins Vertices[i] and Vertices[i+1] in either direction.
type Path struct {
	Vertices []Value // of VertexKind
	Edges    []Value // of EdgeKind
}

// Kind is the value's type.
func (v Value) Kind() ValueKind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == Null }

// IsNumber reports whether the value is an Int or a Float.
func (v Value) IsNumber() bool { return v.kind == Int || v.kind == Float }

// BoolValue makes a Bool.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// IntValue makes an Int.
func IntValue(i int64) Value { return Value{kind: Int, num: uint64(i)} }

// FloatValue makes a Float.
func FloatValue(f float64) Value { return Value{kind: Float, num: math.Float64bits(f)} }

// StringValue makes a String that shares s.
func StringValue(s string) Value {
	return Value{kind: String, num: uint64(len(s)), ptr: unsafe.Pointer(unsafe.StringData(s))}
}

// ListValue makes a List that owns l from now on.
func ListValue(l []Value) Value {
	return Value{kind: List, num: uint64(len(l)), ptr: unsafe.Pointer(unsafe.SliceData(l))}
}

// MapValue makes a Map that owns m from now on.
func MapValue(m []MapEntry) Value {
	return Value{kind: Map, num: uint64(len(m)), ptr: unsafe.Pointer(unsafe.SliceData(m))}
}

// DateValue makes a Date.
func DateValue(d temporal.Date) Value { return Value{kind: Date, num: uint64(int64(d))} }

// LocalTimeValue makes a LocalTime.
func LocalTimeValue(t temporal.LocalTime) Value { return Value{kind: LocalTime, num: uint64(int64(t))} }

// TimeValue makes a Time.
func TimeValue(t temporal.Time) Value { return Value{kind: Time, ptr: unsafe.Pointer(&t)} }

// LocalDateTimeValue makes a LocalDateTime.
func LocalDateTimeValue(t temporal.LocalDateTime) Value {
	return Value{kind: LocalDateTime, ptr: unsafe.Pointer(&t)}
}

// DateTimeValue makes a DateTime.
func DateTimeValue(t temporal.DateTime) Value { return Value{kind: DateTime, ptr: unsafe.Pointer(&t)} }

// DurationValue makes a Duration.
func DurationValue(d temporal.Duration) Value { return Value{kind: Duration, ptr: unsafe.Pointer(&d)} }

// VertexValue makes a vertex that is not materialised.
func VertexValue(id VertexID) Value { return Value{kind: VertexKind, num: uint64(id)} }

// VertexRecordValue makes a materialised vertex.
func VertexRecordValue(id VertexID, r *Record) Value {
	return Value{kind: VertexKind, num: uint64(id), ptr: unsafe.Pointer(r)}
}

// EdgeRefValue makes an edge that shares e, which is not changed from now on but for its Record.
func EdgeRefValue(e *EdgeValue) Value {
	return Value{kind: EdgeKind, num: uint64(e.ID), ptr: unsafe.Pointer(e)}
}

// firstVirtual is the first of the ids, of vertices and of edges alike, that no store gives out.
const firstVirtual = ^uint64(0) - 1<<20

// VirtualVertex makes the i-th of the vertices that are in no store and are no more than their record.
func VirtualVertex(i int, r *Record) Value {
	return VertexRecordValue(VertexID(firstVirtual)+VertexID(i), r)
}

// VirtualEdge makes the i-th of the edges that are in no store, between two vertices.
func VirtualEdge(i int, src, dst VertexID, r *Record) Value {
	return EdgeRefValue(&EdgeValue{Edge: Edge{ID: EdgeID(firstVirtual) + EdgeID(i), Src: src, Dst: dst}, Record: r})
}

// Virtual reports whether v is a vertex or an edge that is in no store.
func (v Value) Virtual() bool {
	switch v.kind {
	case VertexKind:
		return v.num >= firstVirtual && v.Record() != nil
	case EdgeKind:
		return uint64(v.Edge().ID) >= firstVirtual && v.Edge().Record != nil
	}
	return false
}

// PathValue makes a path that owns p from now on.
func PathValue(p *Path) Value { return Value{kind: PathKind, ptr: unsafe.Pointer(p)} }

// The accessors below may be called only on a value of their kind.

// Bool gives a Bool's truth.
func (v Value) Bool() bool { return v.num != 0 }

// Int gives an Int's number.
func (v Value) Int() int64 { return int64(v.num) }

// Float gives a Float's number.
func (v Value) Float() float64 { return math.Float64frombits(v.num) }

// Number gives an Int or a Float as a float64.
func (v Value) Number() float64 {
	if v.kind == Int {
		return float64(int64(v.num))
	}
	return math.Float64frombits(v.num)
}

// Str gives a String's text.
func (v Value) Str() string { return unsafe.String((*byte)(v.ptr), int(v.num)) }

// List gives a List's elements; they must not be changed.
func (v Value) List() []Value { return unsafe.Slice((*Value)(v.ptr), int(v.num)) }

// Map gives a Map's entries; they must not be changed.
func (v Value) Map() []MapEntry { return unsafe.Slice((*MapEntry)(v.ptr), int(v.num)) }

// Get looks a key up in a Map; a missing key gives null.
func (v Value) Get(key string) Value {
	for _, e := range v.Map() {
		if e.Key == key {
			return e.Value
		}
	}
	return Value{}
}

// Date gives a Date's day.
func (v Value) Date() temporal.Date { return temporal.Date(int64(v.num)) }

// LocalTime gives a LocalTime.
func (v Value) LocalTime() temporal.LocalTime { return temporal.LocalTime(int64(v.num)) }

// Time gives a Time.
func (v Value) Time() temporal.Time { return *(*temporal.Time)(v.ptr) }

// LocalDateTime gives a LocalDateTime.
func (v Value) LocalDateTime() temporal.LocalDateTime { return *(*temporal.LocalDateTime)(v.ptr) }

// DateTime gives a DateTime.
func (v Value) DateTime() temporal.DateTime { return *(*temporal.DateTime)(v.ptr) }

// Duration gives a Duration.
func (v Value) Duration() temporal.Duration { return *(*temporal.Duration)(v.ptr) }

// Vertex gives a vertex's id.
func (v Value) Vertex() VertexID { return VertexID(v.num) }

// Record gives a materialised vertex's record, or nil.
func (v Value) Record() *Record { return (*Record)(v.ptr) }

// Edge gives an edge.
func (v Value) Edge() *EdgeValue { return (*EdgeValue)(v.ptr) }

// EdgeID gives an edge's id.
func (v Value) EdgeID() EdgeID { return EdgeID(v.num) }

// Path gives a path.
func (v Value) Path() *Path { return (*Path)(v.ptr) }

// Clone gives a value that shares no memory with v's strings and lists.
func (v Value) Clone() Value {
	switch v.kind {
	case String:
		b := append([]byte(nil), v.Str()...)
		return StringValue(unsafe.String(unsafe.SliceData(b), len(b)))
	case Bytes:
		return BytesValue(append([]byte(nil), v.Bytes()...))
	case List:
		l := make([]Value, v.num)
		for i, e := range v.List() {
			l[i] = e.Clone()
		}
		return ListValue(l)
	case Map:
		m := make([]MapEntry, v.num)
		for i, e := range v.Map() {
			m[i] = MapEntry{Key: e.Key, Value: e.Value.Clone()}
		}
		return MapValue(m)
	}
	return v
}

// AppendTemporal writes a temporal value or a point as openCypher's toString does, without quotes.
func AppendTemporal(dst []byte, v Value) []byte {
	switch v.Kind() {
	case Date:
		return v.Date().Append(dst)
	case LocalTime:
		return v.LocalTime().Append(dst)
	case Time:
		return v.Time().Append(dst)
	case LocalDateTime:
		return v.LocalDateTime().Append(dst)
	case DateTime:
		return v.DateTime().Append(dst)
	case Duration:
		return v.Duration().Append(dst)
	case PointKind:
		return v.Point().Append(dst)
	}
	return dst
}
