package check

import (
	"math/bits"
	"strings"
)

// Type is a set of kinds of values: what is known of an expression from the text alone.
type Type uint32

// The kinds.
const (
	Null Type = 1 << iota
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
	kinds = iota
)

// Sets of kinds that belong together.
const (
	Any      Type = 1<<kinds - 1
	Number        = Integer | Float
	Temporal      = Date | Time | LocalTime | DateTime | LocalDateTime | Duration
)

var kindNames = [kinds]string{
	"Null", "Boolean", "Integer", "Float", "String", "List", "Map", "Node", "Relationship", "Path", "Point", "Date", "Time",
	"LocalTime", "DateTime", "LocalDateTime", "Duration",
}

// String names the kinds of the set; Null only if it is the only one.
func (t Type) String() string {
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

// typ is a type with what the elements are if the value is a list.
type typ struct {
	kinds Type
	elem  Type
}

func of(kinds Type) typ    { return typ{kinds, Any} }
func listOf(elem Type) typ { return typ{List, elem} }

var (
	anything      = of(Any)
	boolean       = of(Boolean)
	aNode         = of(Node)
	aRelationship = of(Relationship)
	aPath         = of(Path)
	relationships = listOf(Relationship)
)

// or is the type of a value of either type.
func (t typ) or(u typ) typ {
	switch {
	case t.kinds&List == 0:
		t.elem = u.elem
	case u.kinds&List != 0:
		t.elem |= u.elem
	}
	t.kinds |= u.kinds
	return t
}

// canBe says whether a value of type t that is not null may be one of type u. What is only ever null can be anything.
func (t typ) canBe(u typ) bool {
	both := t.kinds & u.kinds &^ Null
	if both == List {
		return t.elem&u.elem != 0
	}
	return both != 0 || t.kinds == Null
}
