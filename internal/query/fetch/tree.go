package fetch

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/steps"
)

// Request is a parsed request: the members of each object in order, classified and checked as far as possible without a graph. It is
// immutable, except for its counter of steps, and may run any number of times.
type Request struct {
	Method string // get, head, gets, heads, post, put, delete
	doc    *document
	root   *object
	writes []*write // for post, put and delete
	format bool
	limits Limits
	rights rights
	steps  *steps.Counter
}

// memberKind is the kind of a member of an object.
type memberKind uint8

const (
	memberPlain  memberKind = iota // a value that is returned as it is
	memberRef                      // "name@": "path"
	memberTable                    // "User": {…}
	memberArray                    // "User[]": {…}
	memberObject                   // "name": {…}
	memberSub                      // "name@": {"from": …}
)

// member is one member of an object or an array.
type member struct {
	kind   memberKind
	key    string // without @ for a reference or a subquery
	n      *node
	path   string // of a reference
	table  *table
	array  *array // of an array or a subquery
	object *object
}

// object is a plain object: the root, or one nested in it.
type object struct {
	members []*member
}

// array is "key[]": {…}, or a subquery, which has the same words.
type array struct {
	n       *node
	key     string
	target  []string // the selection from its items: a table, or a table and a column; nil for whole items
	count   *node    // nil for the default
	page    *node
	query   int // 0 rows, 1 the total, 2 both
	joins   []*join
	hop     *hop
	must    bool
	members []*member
	// of a subquery
	sub   bool
	from  string
	quant string // "", ALL or ANY
}

// main is the table that decides the items, or nil.
func (a *array) main() *table {
	for _, m := range a.members {
		if m.kind == memberTable && !a.hop.isEdge(m.table) && (a.from == "" || a.from == m.key) {
			return m.table
		}
	}
	return nil
}

// find returns the table with the key.
func (a *array) find(key string) *table {
	for _, m := range a.members {
		if m.kind == memberTable && m.key == key {
			return m.table
		}
	}
	return nil
}

// table is "Label": {…} or "Label:alias": {…}.
type table struct {
	n        *node
	key      string
	label    string
	conds    []*cond
	combine  *combination // over conds; nil: all of them
	distinct bool
	columns  []*column // nil and hasColumn: none
	has      bool      // @column is present
	except   []string  // columns that are left out
	group    []expr
	having   []*havingTest
	havings  *combination // over having
	order    []orderKey
	near     *near             // @near, or nil
	search   *textSearch       // @search, or nil
	casts    map[string]string // type by key
	keys     map[string]expr   // @key
	json     map[string]bool
	drop     bool
	role     *node // @role, or nil
	explain  bool
	try      bool
	from     *array // @from@
	hop      *hop
	must     bool
	custom   []*node   // words that are not ours, returned as they are
	members  []*member // children
}

// cond is a condition.
type cond struct {
	n   *node
	key string // without @
	condKey
	path string // of a reference
	sub  *array // a subquery
	isIt bool   // of @null: the property is null
}

// column is a part of @column.
type column struct {
	expr expr
	name string // in the answer
	bare bool   // an expression without an alias: name is its text
}

// orderKey is a part of @order.
type orderKey struct {
	expr expr
	desc bool
}

// havingTest is a part of @having.
type havingTest struct {
	key  string
	expr expr
}

// combination is a tree of AND, OR and NOT over the keys of conditions.
type combination struct {
	op   byte // 'k' for a key, else & | !
	key  string
	args []*combination
}

// join is a part of "join".
type join struct {
	kind  string // < > & | ! ^ ( ) @
	key   string // of the table in the array
	on    string // the key of the join condition, or "" for all that refer to a table beside it
	extra *node  // more conditions, or nil
}

// hop is how an array or an object walks instead of scanning.
type hop struct {
	n      *node
	steps  []step
	start  *node // keys
	ref    string
	min    int
	max    int
	walk   bool
	end    *node
	endRef string
	find   string // "", shortest or all
}

// step is one hop: the types and the direction.
type step struct {
	dir   string // ">", "<" or "<>"
	types []string
}

// isEdge reports whether a table represents edges of the hop.
func (h *hop) isEdge(t *table) bool {
	if h == nil {
		return false
	}
	for _, s := range h.steps {
		if slices.Contains(s.types, t.label) {
			return true
		}
	}
	return false
}

// write is one object of post, put or delete.
type write struct {
	n    *node
	key  string
	list bool    // "Label[]": [{…}, …]
	objs []*node // the objects
}
