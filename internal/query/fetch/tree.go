package fetch

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
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

func (s step) direction() graph.Direction {
	switch s.dir {
	case "<":
		return graph.In
	case "<>":
		return graph.Both
	}
	return graph.Out
}

func (s step) has(typ string) bool {
	return slices.Contains(s.types, typ)
}

// grouped reports whether the rows of a table are groups.
func (t *table) grouped() bool {
	return len(t.group) > 0 || slices.ContainsFunc(t.columns, func(c *column) bool { return c.expr != nil && hasAggregate(c.expr) }) ||
		slices.ContainsFunc(t.having, func(h *havingTest) bool { return hasAggregate(h.expr) })
}

// ranked reports whether the rows come by a score.
func (t *table) ranked() bool { return t.near != nil || t.search != nil }

// shaped reports whether the rows of a table are groups or distinct rows, not the vertices.
func (t *table) shaped() bool {
	return t.distinct || t.havings != nil || t.grouped()
}

// derived returns a table of the rows of t, without its join conditions, as @from@ does.
func (t *table) derived(links []*cond) *table {
	inner := *t
	inner.conds = slices.DeleteFunc(slices.Clone(t.conds), func(c *cond) bool { return slices.Contains(links, c) })
	inner.members, inner.custom, inner.drop = nil, nil, false
	outer := &table{
		n: t.n, key: t.key, label: t.label, conds: links, casts: t.casts, json: t.json, drop: t.drop, role: t.role,
		custom: t.custom, members: t.members,
		from: &array{n: t.n, key: t.key, sub: true, members: []*member{{kind: memberTable, key: t.key, n: t.n, table: &inner}}},
	}
	star := slices.ContainsFunc(t.columns, func(c *column) bool { return c.expr == nil })
	if len(t.columns) == 0 || star {
		return outer
	}
	outer.has = true
	for _, c := range t.columns {
		name := c.answerName(t, false)
		outer.columns = append(outer.columns, &column{expr: &nameExpr{name: name}, name: name})
	}
	inner.columns = slices.Clone(t.columns)
	for _, c := range links { // the subquery returns the join columns, even if the request does not
		if !slices.ContainsFunc(inner.columns, func(o *column) bool { return o.name == c.name }) {
			inner.columns = append(inner.columns, &column{expr: &nameExpr{name: c.name}, name: c.name})
		}
	}
	return outer
}

// keepsKey checks that all conditions on the key hold as they stand: no word gives it another meaning or combines it with others.
func (t *table) keepsKey(key string) error {
	on := func(name string) bool {
		k, reason := parseCondKey(name)
		return reason == "" && k.name == key
	}
	if t.keys[key] != nil {
		return illegal(t.n.get("@key"), "%q says which to write, so it must be the property", key)
	}
	for name := range t.casts {
		if on(name) {
			return illegal(t.n.get("@cast"), "%q says which to write, so it takes no cast", name)
		}
	}
	var combined func(c *combination) bool
	combined = func(c *combination) bool {
		return c.op == 'k' && on(c.key) || slices.ContainsFunc(c.args, combined)
	}
	if t.combine == nil {
		return nil
	}
	for _, c := range t.combine.args { // all of them hold
		if c.op != 'k' && combined(c) {
			return illegal(t.n.get("@combine"), "%q says which to write, so it cannot be combined", key)
		}
	}
	return nil
}
