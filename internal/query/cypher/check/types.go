package check

import "github.com/hopgate/hopgate/internal/query/fn"

// typ is a type, with the type of the elements if the value is a list.
type typ struct {
	kinds fn.Kinds
	elem  fn.Kinds
}

func of(kinds fn.Kinds) typ    { return typ{kinds, fn.Any} }
func listOf(elem fn.Kinds) typ { return typ{fn.List, elem} }

var (
	anything      = of(fn.Any)
	boolean       = of(fn.Boolean)
	aNode         = of(fn.Node)
	aRelationship = of(fn.Relationship)
	aPath         = of(fn.Path)
	relationships = listOf(fn.Relationship)
)

// or returns the type of a value of either type.
func (t typ) or(u typ) typ {
	switch {
	case t.kinds&fn.List == 0:
		t.elem = u.elem
	case u.kinds&fn.List != 0:
		t.elem |= u.elem
	}
	t.kinds |= u.kinds
	return t
}

// onlyFloat reports whether a value of type t is a float or null.
func (t typ) onlyFloat() bool { return t.kinds&^fn.Null == fn.Float }

// canBe reports whether a value of type t that is not null may be of type u. A value that is always null can be anything.
func (t typ) canBe(u typ) bool {
	both := t.kinds & u.kinds &^ fn.Null
	if both == fn.List {
		return t.elem&u.elem != 0
	}
	return both != 0 || t.kinds == fn.Null
}
