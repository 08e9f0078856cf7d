package bind

import "github.com/hopgate/hopgate/internal/graph"

// fieldKind is a kind of member of a row's object.
type fieldKind uint8

// The kinds of members.
const (
	FieldValue  fieldKind = iota // a column; null is left out
	FieldJSON                    // a column whose text is JSON
	FieldRecord                  // all properties of a vertex or an edge, as members of this object
	FieldObject                  // an object, absent where the column is null
	FieldRow                     // the one row of a list as an object, absent where the list is empty
	FieldList                    // a list of rows, absent where it is empty
	FieldText                    // a value of the request
	FieldHidden                  // the result of a hidden query
	FieldPage                    // the total and the info of a nested array
	FieldSlot                    // a value of an earlier result
)

// Field is one member of a row's object.
type Field struct {
	Kind   fieldKind
	Lit    []byte // "key":
	Col    int
	Ord    int
	Slot   string
	Fields []Field
	Elem   *Element
	Page   *Paging
	Except map[string]bool // of fieldRecord
	JSON   map[string]bool
}

// Element describes an element of a list.
type Element struct {
	Value  bool    // the value of column col, left out where it is null
	JSON   bool    // the text of it is JSON
	Path   *Walked // a path
	Col    int
	Fields []Field // of an object
	Object int     // the column that must not be null, or -1
	Row    bool    // column object is a list whose one row is the element
}

// Walked says how the vertices and edges of a path are written.
type Walked struct {
	Tables map[string]*PathTable // by label or type
}

// PathTable is how a vertex or an edge of a path is written.
type PathTable struct {
	Lit   []byte
	Names []string // the properties, or nil for all
	Lits  [][]byte
}

// None reports whether a row yields no element.
func (e *Element) None(row []graph.Value) bool {
	if e.Value {
		return e.Col < 0 || row[e.Col].IsNull()
	}
	return e.Object >= 0 && (row[e.Object].IsNull() || e.Row && len(row[e.Object].List()) == 0)
}
