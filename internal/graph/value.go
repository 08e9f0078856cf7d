package graph

import (
	"math"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// ValueKind is the type of a Value. The numbers are stored; new ones are only appended.
type ValueKind uint8

// Vertices, edges, paths and maps cannot be stored as properties.
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
	VectorKind

	// KindCount is the number of kinds.
	KindCount = iota
)

var kindNames = [...]string{
	"Null", "Boolean", "Integer", "Float", "String", "List", "Map", "Date", "LocalTime", "Time", "LocalDateTime",
	"DateTime", "Duration", "Node", "Relationship", "Path", "Point", "ByteArray", "Vector",
}

// String returns the kind's openCypher name.
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
//	VectorKind      type and size           first byte of the coordinates
//
// Strings and lists in a Value are immutable. A Value read from a shard may refer to memory that lives only as long as its transaction;
// Clone copies what must live longer.
type Value struct {
	ptr  unsafe.Pointer
	num  uint64
	kind ValueKind
}

// MapEntry is an entry of a map. Keys are unique and keep their order.
type MapEntry struct {
	Key   string
	Value Value
}

// Record holds the labels or type and the properties of a vertex or an edge, for results.
type Record struct {
	Labels []string // of a vertex
	Type   string   // of an edge
	Keys   []string // property keys, sorted
	Values []Value  // parallel to Keys
}

// EdgeValue is an edge in a row; its record is set once the result needs it.
type EdgeValue struct {
	Edge
	Record *Record
}

// Path is a walk: len(Vertices) == len(Edges)+1, and Edges[i] joins Vertices[i] and Vertices[i+1] in either direction.
type Path struct {
	Vertices []Value // of VertexKind
	Edges    []Value // of EdgeKind
}

// Kind returns the value's type.
func (v Value) Kind() ValueKind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == Null }

// IsNumber reports whether the value is an Int or a Float.
func (v Value) IsNumber() bool { return v.kind == Int || v.kind == Float }

// BoolValue returns a Bool.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// IntValue returns an Int.
func IntValue(i int64) Value { return Value{kind: Int, num: uint64(i)} }

// FloatValue returns a Float.
func FloatValue(f float64) Value { return Value{kind: Float, num: math.Float64bits(f)} }

// StringValue returns a String that shares s.
func StringValue(s string) Value {
	return Value{kind: String, num: uint64(len(s)), ptr: unsafe.Pointer(unsafe.StringData(s))}
}

// ListValue returns a List that takes ownership of l.
func ListValue(l []Value) Value {
	return Value{kind: List, num: uint64(len(l)), ptr: unsafe.Pointer(unsafe.SliceData(l))}
}

// MapValue returns a Map that takes ownership of m.
func MapValue(m []MapEntry) Value {
	return Value{kind: Map, num: uint64(len(m)), ptr: unsafe.Pointer(unsafe.SliceData(m))}
}

// DateValue returns a Date.
func DateValue(d temporal.Date) Value { return Value{kind: Date, num: uint64(int64(d))} }

// LocalTimeValue returns a LocalTime.
func LocalTimeValue(t temporal.LocalTime) Value { return Value{kind: LocalTime, num: uint64(int64(t))} }

// TimeValue returns a Time.
func TimeValue(t temporal.Time) Value { return Value{kind: Time, ptr: unsafe.Pointer(&t)} }

// LocalDateTimeValue returns a LocalDateTime.
func LocalDateTimeValue(t temporal.LocalDateTime) Value {
	return Value{kind: LocalDateTime, ptr: unsafe.Pointer(&t)}
}

// DateTimeValue returns a DateTime.
func DateTimeValue(t temporal.DateTime) Value { return Value{kind: DateTime, ptr: unsafe.Pointer(&t)} }

// DurationValue returns a Duration.
func DurationValue(d temporal.Duration) Value { return Value{kind: Duration, ptr: unsafe.Pointer(&d)} }

// VertexValue returns a vertex that is not materialised.
func VertexValue(id VertexID) Value { return Value{kind: VertexKind, num: uint64(id)} }

// VertexRecordValue returns a materialised vertex.
func VertexRecordValue(id VertexID, r *Record) Value {
	return Value{kind: VertexKind, num: uint64(id), ptr: unsafe.Pointer(r)}
}

// EdgeRefValue returns an edge that shares e, of which only Record may change afterwards.
func EdgeRefValue(e *EdgeValue) Value {
	return Value{kind: EdgeKind, num: uint64(e.ID), ptr: unsafe.Pointer(e)}
}

// firstVirtual is the first id, of vertices and edges, that no store assigns.
const firstVirtual = ^uint64(0) - 1<<20

// VirtualVertex returns the i-th vertex that exists in no store, only as its record.
func VirtualVertex(i int, r *Record) Value {
	return VertexRecordValue(VertexID(firstVirtual)+VertexID(i), r)
}

// VirtualEdge returns the i-th edge that exists in no store, between two vertices.
func VirtualEdge(i int, src, dst VertexID, r *Record) Value {
	return EdgeRefValue(&EdgeValue{Edge: Edge{ID: EdgeID(firstVirtual) + EdgeID(i), Src: src, Dst: dst}, Record: r})
}

// Virtual reports whether v is a vertex or an edge that exists in no store.
func (v Value) Virtual() bool {
	switch v.kind {
	case VertexKind:
		return v.num >= firstVirtual && v.Record() != nil
	case EdgeKind:
		return uint64(v.Edge().ID) >= firstVirtual && v.Edge().Record != nil
	}
	return false
}

// PathValue returns a path that takes ownership of p.
func PathValue(p *Path) Value { return Value{kind: PathKind, ptr: unsafe.Pointer(p)} }

// The accessors below require a value of their kind.

// Bool returns the value of a Bool.
func (v Value) Bool() bool { return v.num != 0 }

// Int returns the value of an Int.
func (v Value) Int() int64 { return int64(v.num) }

// Float returns the value of a Float.
func (v Value) Float() float64 { return math.Float64frombits(v.num) }

// Number returns an Int or a Float as a float64.
func (v Value) Number() float64 {
	if v.kind == Int {
		return float64(int64(v.num))
	}
	return math.Float64frombits(v.num)
}

// Whole returns an Int, or a Float that is a whole number, as an integer. Drivers whose language has one type of numbers send all of them
// as floats.
func (v Value) Whole() (n int64, ok bool) {
	switch v.kind {
	case Int:
		return v.Int(), true
	case Float:
		f := v.Float()
		return int64(f), f >= -1<<63 && f < 1<<63 && f == math.Trunc(f)
	}
	return 0, false
}

// Str returns the text of a String.
func (v Value) Str() string { return unsafe.String((*byte)(v.ptr), int(v.num)) }

// List returns a List's elements, which callers must not modify.
func (v Value) List() []Value { return unsafe.Slice((*Value)(v.ptr), int(v.num)) }

// Map returns a Map's entries, which callers must not modify.
func (v Value) Map() []MapEntry { return unsafe.Slice((*MapEntry)(v.ptr), int(v.num)) }

// Get returns the value of a key of a Map, or null if it is missing.
func (v Value) Get(key string) Value {
	for _, e := range v.Map() {
		if e.Key == key {
			return e.Value
		}
	}
	return Value{}
}

// Date returns a Date.
func (v Value) Date() temporal.Date { return temporal.Date(int64(v.num)) }

// LocalTime returns a LocalTime.
func (v Value) LocalTime() temporal.LocalTime { return temporal.LocalTime(int64(v.num)) }

// Time returns a Time.
func (v Value) Time() temporal.Time { return *(*temporal.Time)(v.ptr) }

// LocalDateTime returns a LocalDateTime.
func (v Value) LocalDateTime() temporal.LocalDateTime { return *(*temporal.LocalDateTime)(v.ptr) }

// DateTime returns a DateTime.
func (v Value) DateTime() temporal.DateTime { return *(*temporal.DateTime)(v.ptr) }

// Duration returns a Duration.
func (v Value) Duration() temporal.Duration { return *(*temporal.Duration)(v.ptr) }

// Vertex returns a vertex's id.
func (v Value) Vertex() VertexID { return VertexID(v.num) }

// Record returns a materialised vertex's record, or nil.
func (v Value) Record() *Record { return (*Record)(v.ptr) }

// Edge returns an edge.
func (v Value) Edge() *EdgeValue { return (*EdgeValue)(v.ptr) }

// EdgeID returns an edge's id.
func (v Value) EdgeID() EdgeID { return EdgeID(v.num) }

// Path returns a path.
func (v Value) Path() *Path { return (*Path)(v.ptr) }

// Clone returns a value that shares no memory with v's strings and lists.
func (v Value) Clone() Value {
	switch v.kind {
	case String:
		b := append([]byte(nil), v.Str()...)
		return StringValue(unsafe.String(unsafe.SliceData(b), len(b)))
	case Bytes:
		return BytesValue(append([]byte(nil), v.Bytes()...))
	case VectorKind:
		x := v.Vector()
		return VectorValue(Vector{x.Type, append([]byte(nil), x.Data...)})
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
