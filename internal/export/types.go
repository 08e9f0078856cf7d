package export

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// valueType is the type of a property: a scalar type, or a list of it if listType is added.
type valueType uint8

const (
	typeInt valueType = iota
	typeFloat
	typeBool
	typeString
	typeDate
	typeLocalTime
	typeTime
	typeLocalDateTime
	typeDateTime
	typeDuration
	typePoint
	typeBytes
	typeAny    // of elements with different types: integers, floats, booleans and strings
	typeVector // of the first coordinate type; the others follow

	listType valueType = 32
)

// typeNames are the names of the types in neo4j-admin headers and mappings.
var typeNames = [...]string{
	"long", "double", "boolean", "string", "date", "localtime", "time", "localdatetime", "datetime", "duration", "point", "bytes", "any",
	"vector<integer8>", "vector<integer16>", "vector<integer32>", "vector<integer>", "vector<float32>", "vector<float>",
}

func (t valueType) isList() bool       { return t&listType != 0 }
func (t valueType) element() valueType { return t &^ listType }

func (t valueType) String() string {
	name := typeNames[t.element()]
	if t.isList() {
		name += "[]"
	}
	return name
}

var temporalTypes = map[pb.TemporalType]valueType{
	pb.TemporalType_TEMPORAL_TYPE_DATE: typeDate, pb.TemporalType_TEMPORAL_TYPE_LOCAL_TIME: typeLocalTime,
	pb.TemporalType_TEMPORAL_TYPE_TIME: typeTime, pb.TemporalType_TEMPORAL_TYPE_LOCAL_DATE_TIME: typeLocalDateTime,
	pb.TemporalType_TEMPORAL_TYPE_DATE_TIME: typeDateTime, pb.TemporalType_TEMPORAL_TYPE_DURATION: typeDuration,
}

// scalarType returns the type of a value other than a list.
func scalarType(v *pb.Value) (t valueType, ok bool) {
	switch k := v.GetKind().(type) {
	case *pb.Value_Integer:
		return typeInt, true
	case *pb.Value_Float:
		return typeFloat, true
	case *pb.Value_Boolean:
		return typeBool, true
	case *pb.Value_String_:
		return typeString, true
	case *pb.Value_Point:
		return typePoint, true
	case *pb.Value_Bytes:
		return typeBytes, true
	case *pb.Value_Vector:
		return typeVector + valueType(k.Vector.GetType()-pb.CoordinateType_COORDINATE_TYPE_INTEGER8), k.Vector.GetType() > 0 && k.Vector.GetType() <= pb.CoordinateType_COORDINATE_TYPE_FLOAT64
	case *pb.Value_Temporal:
		t, ok = temporalTypes[k.Temporal.GetType()]
		return t, ok
	}
	return 0, false
}

// elementType returns the common type of the elements of a non-empty list.
func elementType(l []*pb.Value) (valueType, error) {
	first, mixed := valueType(0), false
	for i, e := range l {
		t, ok := scalarType(e)
		if !ok {
			return 0, errors.New("it is a list that contains a list or null, which no format of load can represent")
		}
		if i == 0 {
			first = t
		}
		mixed = mixed || t != first
	}
	if !mixed {
		return first, nil
	}
	for _, e := range l {
		t, _ := scalarType(e)
		if f := e.GetFloat(); t > typeString || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, fmt.Errorf("it is a list of different types with %s among them, which no format of load can represent", typeNames[t])
		}
	}
	return typeAny, nil
}

// shape describes the vertices with a set of labels, or the edges of a type.
type shape struct {
	labels []string
	typ    string // of edges
	names  []string
	props  map[string]*prop
	files  map[string]*file // by the types of the properties that have several; one file if no property has several
	key    []byte
}

// prop is a property of a shape.
type prop struct {
	types uint64 // a bit for each type of its values
	bare  bool   // some lists are empty, so their type is unknown
	// tricky has a bit for each list type with values that are ambiguous when joined by semicolons.
	tricky uint64
	// unbounded says that floats are among the values that JSON has no numbers for: NaN and the infinities.
	unbounded bool
}

// note records the type of a value.
func (p *prop) note(v *pb.Value) error {
	l := v.GetList()
	p.unbounded = p.unbounded || isUnbounded(v) || slices.ContainsFunc(l.GetValues(), isUnbounded)
	if l == nil {
		t, ok := scalarType(v)
		if !ok {
			return errors.New("values of its type cannot be exported")
		}
		p.types |= 1 << t
		return nil
	}
	if len(l.GetValues()) == 0 {
		p.bare = true
		return nil
	}
	e, err := elementType(l.GetValues())
	if err != nil {
		return err
	}
	t := e | listType
	p.types |= 1 << t
	if e == typeAny || e == typePoint || e == typeString && !joinable(l.GetValues()) { // the text of a point contains a semicolon
		p.tricky |= 1 << t
	}
	return nil
}

// isUnbounded reports whether a value is NaN or an infinity.
func isUnbounded(v *pb.Value) bool { return v.GetFloat()-v.GetFloat() != 0 }

// joinable reports whether joined strings can be split again.
func joinable(l []*pb.Value) bool {
	if len(l) == 1 && l[0].GetString_() == "" {
		return false
	}
	return !slices.ContainsFunc(l, func(v *pb.Value) bool { return strings.ContainsAny(v.GetString_(), ";\n\r") })
}

const allLists = uint64(1<<32-1) << listType

// settle chooses a type for empty lists.
func (p *prop) settle() {
	if !p.bare {
		return
	}
	if p.types&allLists == 0 {
		p.types |= 1 << (typeString | listType)
	}
	p.tricky |= 1 << p.listType()
}

// listType is the type of empty lists; least is the smallest type.
func (p *prop) listType() valueType {
	return valueType(bits.TrailingZeros64(p.types & allLists))
}
func (p *prop) least() valueType { return valueType(bits.TrailingZeros64(p.types)) }
func (p *prop) several() bool    { return bits.OnesCount64(p.types) > 1 }

// typeOf returns the type under which a value is exported; absent values have the least type.
func (p *prop) typeOf(v *pb.Value) valueType {
	if v == nil {
		return p.least()
	}
	l := v.GetList()
	if l == nil {
		t, _ := scalarType(v)
		return t
	}
	if len(l.GetValues()) == 0 {
		return p.listType()
	}
	t, _ := elementType(l.GetValues())
	return t | listType
}

// column is a property of a file.
type column struct {
	name   string
	typ    valueType
	tricky bool // see prop
}

// columns returns the columns of the file for a record with these properties, and the file's key within the shape.
func (s *shape) columns(props []*pb.Value) []column {
	out := make([]column, len(s.names))
	for i, name := range s.names {
		p := s.props[name]
		t := p.typeOf(props[i])
		out[i] = column{name, t, p.tricky>>t&1 != 0}
	}
	return out
}

// fileKey identifies a file of a shape by the types of the properties that have several.
func (s *shape) fileKey(props []*pb.Value) []byte {
	s.key = s.key[:0]
	for i, name := range s.names {
		if p := s.props[name]; p.several() {
			s.key = append(s.key, byte(p.typeOf(props[i])))
		}
	}
	return s.key
}

// settle ends the first pass.
func (s *shape) settle() {
	for name, p := range s.props {
		s.names = append(s.names, name)
		p.settle()
	}
	slices.Sort(s.names)
}
