package syntax

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Request is a parsed request: the members of each object in order, classified and checked as far as possible without a graph. It is
// immutable, except for its counter of steps, and may run any number of times.
type Request struct {
	Method string // get, head, gets, heads, post, put, delete
	Doc    *Document
	Root   *Object
	Writes []*Write // for post, put and delete
	Format bool
	Limits Limits
	Rights rights
	Steps  *steps.Counter
}

// MemberKind is the kind of a member of an object.
type MemberKind uint8

// The kinds of members.
const (
	MemberPlain  MemberKind = iota // a value that is returned as it is
	MemberRef                      // "name@": "path"
	MemberTable                    // "User": {…}
	MemberArray                    // "User[]": {…}
	MemberObject                   // "name": {…}
	MemberSub                      // "name@": {"from": …}
	MemberCall                     // "name()": "function(…)"
)

// Member is one member of an object or an array.
type Member struct {
	Kind   MemberKind
	Key    string // without @ for a reference or a subquery
	N      *Node
	Path   string // of a reference
	Table  *Table
	Array  *Array // of an array or a subquery
	Object *Object
	Call   *Function
}

// Object is a plain object: the root, or one nested in it.
type Object struct {
	Members []*Member
}

// Array is "key[]": {…}, or a subquery, which has the same words.
type Array struct {
	N       *Node
	Key     string
	Target  []string // the selection from its items: a table, or a table and a column; nil for whole items
	Count   *Node    // nil for the default
	Page    *Node
	Query   int // 0 rows, 1 the total, 2 both
	Joins   []*Join
	Hop     *Hop
	Must    bool
	Members []*Member
	// of a subquery
	sub   bool
	from  string
	Quant string // "", ALL or ANY
}

// Main is the table that decides the items, or nil.
func (a *Array) Main() *Table {
	for _, m := range a.Members {
		if m.Kind == MemberTable && !a.Hop.IsEdge(m.Table) && (a.from == "" || a.from == m.Key) {
			return m.Table
		}
	}
	return nil
}

// Find returns the table with the key.
func (a *Array) Find(key string) *Table {
	for _, m := range a.Members {
		if m.Kind == MemberTable && m.Key == key {
			return m.Table
		}
	}
	return nil
}

// Table is "Label": {…} or "Label:alias": {…}.
type Table struct {
	N        *Node
	Key      string
	Label    string
	Conds    []*Cond
	Combine  *Combination // over conds; nil: all of them
	Distinct bool
	Columns  []*column // nil and hasColumn: none
	Has      bool      // @column is present
	Except   []string  // columns that are left out
	Group    []Expr
	Having   []*havingTest
	Havings  *Combination // over having
	Order    []orderKey
	Near     *near             // @near, or nil
	Search   *TextSearch       // @search, or nil
	Casts    map[string]string // type by key
	Keys     map[string]Expr   // @key
	JSON     map[string]bool
	Drop     bool
	Role     *Node // @role, or nil
	Explain  bool
	Try      bool
	From     *Array // @from@
	Hop      *Hop
	Must     bool
	Custom   []*Node   // words that are not ours, returned as they are
	Members  []*Member // children
}

// Cond is a condition.
type Cond struct {
	N   *Node
	Key string // without @
	condKey
	Path string // of a reference
	Sub  *Array // a subquery
	IsIt bool   // of @null: the property is null
}

// column is a part of @column.
type column struct {
	Expr Expr
	Name string // in the answer
	bare bool   // an expression without an alias: name is its text
}

// orderKey is a part of @order.
type orderKey struct {
	Expr Expr
	Desc bool
}

// havingTest is a part of @having.
type havingTest struct {
	Key  string
	Expr Expr
}

// Combination is a tree of AND, OR and NOT over the keys of conditions.
type Combination struct {
	Op   byte // 'k' for a key, else & | !
	Key  string
	Args []*Combination
}

// Join is a part of "join".
type Join struct {
	Kind  string // < > & | ! ^ ( ) @
	Key   string // of the table in the array
	On    string // the key of the join condition, or "" for all that refer to a table beside it
	Extra *Node  // more conditions, or nil
}

// Hop is how an array or an object walks instead of scanning.
type Hop struct {
	N      *Node
	Steps  []Step
	Start  *Node // keys
	Ref    string
	Min    int
	Max    int
	Walk   bool
	End    *Node
	EndRef string
	Find   string // "", shortest or all
}

// Step is one hop: the types and the direction.
type Step struct {
	dir   string // ">", "<" or "<>"
	Types []string
}

// IsEdge reports whether a table represents edges of the hop.
func (h *Hop) IsEdge(t *Table) bool {
	if h == nil {
		return false
	}
	for _, s := range h.Steps {
		if slices.Contains(s.Types, t.Label) {
			return true
		}
	}
	return false
}

// Write is one object of post, put or delete.
type Write struct {
	N    *Node
	Key  string
	List bool    // "Label[]": [{…}, …]
	Objs []*Node // the objects
}

// Direction returns the direction of a step, seen from where it begins.
func (s Step) Direction() graph.Direction {
	switch s.dir {
	case "<":
		return graph.In
	case "<>":
		return graph.Both
	}
	return graph.Out
}

// Has reports whether a step names an edge type.
func (s Step) Has(typ string) bool {
	return slices.Contains(s.Types, typ)
}

// Grouped reports whether the rows of a table are groups.
func (t *Table) Grouped() bool {
	return len(t.Group) > 0 || slices.ContainsFunc(t.Columns, func(c *column) bool { return c.Expr != nil && HasAggregate(c.Expr) }) ||
		slices.ContainsFunc(t.Having, func(h *havingTest) bool { return HasAggregate(h.Expr) })
}

// Ranked reports whether the rows come by a score.
func (t *Table) Ranked() bool { return t.Near != nil || t.Search != nil }

// Shaped reports whether the rows of a table are groups or distinct rows, not the vertices.
func (t *Table) Shaped() bool {
	return t.Distinct || t.Havings != nil || t.Grouped()
}

// Derived returns a table of the rows of t, without its join conditions, as @from@ does.
func (t *Table) Derived(links []*Cond) *Table {
	inner := *t
	inner.Conds = slices.DeleteFunc(slices.Clone(t.Conds), func(c *Cond) bool { return slices.Contains(links, c) })
	inner.Members, inner.Custom, inner.Drop = nil, nil, false
	outer := &Table{
		N: t.N, Key: t.Key, Label: t.Label, Conds: links, Casts: t.Casts, JSON: t.JSON, Drop: t.Drop, Role: t.Role,
		Custom: t.Custom, Members: t.Members,
		From: &Array{N: t.N, Key: t.Key, sub: true, Members: []*Member{{Kind: MemberTable, Key: t.Key, N: t.N, Table: &inner}}},
	}
	star := slices.ContainsFunc(t.Columns, func(c *column) bool { return c.Expr == nil })
	if len(t.Columns) == 0 || star {
		return outer
	}
	outer.Has = true
	for _, c := range t.Columns {
		name := c.AnswerName(t, false)
		outer.Columns = append(outer.Columns, &column{Expr: &NameExpr{Name: name}, Name: name})
	}
	inner.Columns = slices.Clone(t.Columns)
	for _, c := range links { // the subquery returns the join columns, even if the request does not
		if !slices.ContainsFunc(inner.Columns, func(o *column) bool { return o.Name == c.Name }) {
			inner.Columns = append(inner.Columns, &column{Expr: &NameExpr{Name: c.Name}, Name: c.Name})
		}
	}
	return outer
}

// KeepsKey checks that all conditions on the key hold as they stand: no word gives it another meaning or combines it with others.
func (t *Table) KeepsKey(key string) error {
	on := func(name string) bool {
		k, reason := parseCondKey(name)
		return reason == "" && k.Name == key
	}
	if t.Keys[key] != nil {
		return Illegal(t.N.Get("@key"), "%q says which to write, so it must be the property", key)
	}
	for name := range t.Casts {
		if on(name) {
			return Illegal(t.N.Get("@cast"), "%q says which to write, so it takes no cast", name)
		}
	}
	var combined func(c *Combination) bool
	combined = func(c *Combination) bool {
		return c.Op == 'k' && on(c.Key) || slices.ContainsFunc(c.Args, combined)
	}
	if t.Combine == nil {
		return nil
	}
	for _, c := range t.Combine.Args { // all of them hold
		if c.Op != 'k' && combined(c) {
			return Illegal(t.N.Get("@combine"), "%q says which to write, so it cannot be combined", key)
		}
	}
	return nil
}
