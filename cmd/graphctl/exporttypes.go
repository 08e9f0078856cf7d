package main

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// exportType is the type of a property: a scalar, or, with listType added, a list of it.
type exportType uint8

const (
	typeInt exportType = iota
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
	typeAny // of elements that are not of one type: integers, floats, booleans and strings

	listType exportType = 16
)

// exportTypeNames are the names that neo4j-admin's headers and mappings have for the types.
var exportTypeNames = [...]string{
	"long", "double", "boolean", "string", "date", "localtime", "time", "localdatetime", "datetime", "duration", "point", "bytes", "any",
}

func (t exportType) isList() bool        { return t&listType != 0 }
func (t exportType) element() exportType { return t &^ listType }

func (t exportType) String() string {
	name := exportTypeNames[t.element()]
	if t.isList() {
		name += "[]"
	}
	return name
}

var temporalExportTypes = map[pb.TemporalType]exportType{
	pb.TemporalType_TEMPORAL_TYPE_DATE: typeDate, pb.TemporalType_TEMPORAL_TYPE_LOCAL_TIME: typeLocalTime,
	pb.TemporalType_TEMPORAL_TYPE_TIME: typeTime, pb.TemporalType_TEMPORAL_TYPE_LOCAL_DATE_TIME: typeLocalDateTime,
	pb.TemporalType_TEMPORAL_TYPE_DATE_TIME: typeDateTime, pb.TemporalType_TEMPORAL_TYPE_DURATION: typeDuration,
}

// scalarType gives the type of a value that is no list.
func scalarType(v *pb.Value) (t exportType, ok bool) {
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
	case *pb.Value_Temporal:
		t, ok = temporalExportTypes[k.Temporal.GetType()]
		return t, ok
	}
	return 0, false
}

// elementType gives the type that all elements of a list have. There must be some.
func elementType(l []*pb.Value) (exportType, error) {
	first, mixed := exportType(0), false
	for i, e := range l {
		t, ok := scalarType(e)
		if !ok {
			return 0, errors.New("it is a list that holds a list or null, which no format of load can say")
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
			return 0, fmt.Errorf("it is a list of different types with %s among them, which no format of load can say", exportTypeNames[t])
		}
	}
	return typeAny, nil
}

// exportShape is what is known of the vertices with some labels, or of the edges of a type.
type exportShape struct {
	labels []string
	typ    string // of edges
	names  []string
	props  map[string]*exportProp
	files  map[string]*exportFile // by the types of the properties that have several; one if there are none
	key    []byte
}

// exportProp is a property of a shape.
type exportProp struct {
	types uint32 // a bit for each type that its values have
	bare  bool   // there are empty lists, whose type nothing tells
	// plain says of which types of lists some values cannot be told by joining their elements with semicolons.
	tricky uint32
}

// note takes a value in.
func (p *exportProp) note(v *pb.Value) error {
	l := v.GetList()
	if l == nil {
		t, ok := scalarType(v)
		if !ok {
			return errors.New("it is no value that can be exported")
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
	if e == typeAny || e == typePoint || e == typeString && !joinable(l.GetValues()) { // the text of a point has a semicolon
		p.tricky |= 1 << t
	}
	return nil
}

// joinable reports whether strings can be told apart when they are joined.
func joinable(l []*pb.Value) bool {
	if len(l) == 1 && l[0].GetString_() == "" {
		return false
	}
	return !slices.ContainsFunc(l, func(v *pb.Value) bool { return strings.ContainsAny(v.GetString_(), ";\n\r") })
}

const allLists = uint32(1<<16-1) << listType

// settle gives empty lists a type.
func (p *exportProp) settle() {
	if !p.bare {
		return
	}
	if p.types&allLists == 0 {
		p.types |= 1 << (typeString | listType)
	}
	p.tricky |= 1 << p.listType()
}

// listType is the type that empty lists are given, least the least of all types.
func (p *exportProp) listType() exportType {
	return exportType(bits.TrailingZeros32(p.types & allLists))
}
func (p *exportProp) least() exportType { return exportType(bits.TrailingZeros32(p.types)) }
func (p *exportProp) several() bool     { return bits.OnesCount32(p.types) > 1 }

// typeOf gives the type under which a value stands; absent values have the least.
func (p *exportProp) typeOf(v *pb.Value) exportType {
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

// exportColumn is a property of a file.
type exportColumn struct {
	name   string
	typ    exportType
	tricky bool // see exportProp
}

// columns gives the columns of the file for a record with these properties, and the file's key among those of the shape.
func (s *exportShape) columns(props []*pb.Value) []exportColumn {
	out := make([]exportColumn, len(s.names))
	for i, name := range s.names {
		p := s.props[name]
		t := p.typeOf(props[i])
		out[i] = exportColumn{name, t, p.tricky>>t&1 != 0}
	}
	return out
}

// fileKey tells the files of a shape apart: by the types of the properties that have several.
func (s *exportShape) fileKey(props []*pb.Value) []byte {
	s.key = s.key[:0]
	for i, name := range s.names {
		if p := s.props[name]; p.several() {
			s.key = append(s.key, byte(p.typeOf(props[i])))
		}
	}
	return s.key
}

// settle ends the first pass.
func (s *exportShape) settle() {
	for name, p := range s.props {
		s.names = append(s.names, name)
		p.settle()
	}
	slices.Sort(s.names)
}
