package fn

import (
	"math/bits"
	"strings"
)

// Kinds is a set of kinds of values: the possible kinds of an expression's value, derived from its text.
type Kinds uint32

// The kinds.
const (
	Null Kinds = 1 << iota
	Boolean
	Integer
	Float
	String
	List
	Map
	Node
	Relationship
	Path
	Point
	Date
	Time
	LocalTime
	DateTime
	LocalDateTime
	Duration
	Vector
	kinds = iota
)

// Sets of kinds that belong together.
const (
	Any      Kinds = 1<<kinds - 1
	Number         = Integer | Float
	Temporal       = Date | Time | LocalTime | DateTime | LocalDateTime | Duration
)

var kindNames = [kinds]string{
	"Null", "Boolean", "Integer", "Float", "String", "List", "Map", "Node", "Relationship", "Path", "Point", "Date", "Time",
	"LocalTime", "DateTime", "LocalDateTime", "Duration", "Vector",
}

// String names the kinds of the set; Null only if it is the only one.
func (t Kinds) String() string {
	switch t {
	case Any, Any &^ Null:
		return "Any"
	case Null:
	default:
		t &^= Null
	}
	var names []string
	for rest := t; rest != 0; rest &= rest - 1 {
		names = append(names, kindNames[bits.TrailingZeros32(uint32(rest))])
	}
	return strings.Join(names, " or ")
}
