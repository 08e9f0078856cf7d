package fetch

import "github.com/hopgate/hopgate/internal/graph"

// fieldKind is a kind of member of a row's object.
type fieldKind uint8

const (
	fieldValue  fieldKind = iota // a column; null is left out
	fieldJSON                    // a column whose text is JSON
	fieldRecord                  // all properties of a vertex or an edge, as members of this object
	fieldObject                  // an object, absent where the column is null
	fieldRow                     // the one row of a list as an object, absent where the list is empty
	fieldList                    // a list of rows, absent where it is empty
	fieldText                    // a value of the request
	fieldHidden                  // the result of a hidden query
	fieldPage                    // the total and the info of a nested array
	fieldSlot                    // a value of an earlier result
)

// field is one member of a row's object.
type field struct {
	kind   fieldKind
	lit    []byte // "key":
	col    int
	ord    int
	slot   string
	fields []field
	elem   *element
	page   *paging
	except map[string]bool // of fieldRecord
	json   map[string]bool
}

// element describes an element of a list.
type element struct {
	value  bool    // the value of column col, left out where it is null
	json   bool    // the text of it is JSON
	path   *walked // a path
	col    int
	fields []field // of an object
	object int     // the column that must not be null, or -1
	row    bool    // column object is a list whose one row is the element
}

// walked says how the vertices and edges of a path are written.
type walked struct {
	tables map[string]*pathTable // by label or type
}

// pathTable is how a vertex or an edge of a path is written.
type pathTable struct {
	lit   []byte
	names []string // the properties, or nil for all
	lits  [][]byte
}

// none reports whether a row yields no element.
func (e *element) none(row []graph.Value) bool {
	if e.value {
		return e.col < 0 || row[e.col].IsNull()
	}
	return e.object >= 0 && (row[e.object].IsNull() || e.row && len(row[e.object].List()) == 0)
}
