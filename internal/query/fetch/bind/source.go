package bind

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// source resolves the names of a table: to properties of a vertex or an edge, or to columns of a subquery.
type source struct {
	t      *syntax.Table
	Vertex plan.Col             // or an edge; 0 for a subquery's columns
	cols   map[string]plan.Expr // columns that are not properties: @depth, or a subquery's
	order  []string             // the names of a subquery's columns
	label  string               // of a vertex
	edge   bool
	denied map[string]bool // properties that the request may not read
	bound  *bound
}

// property returns the expression of a name; ok is false where the graph does not know it.
func (s *source) property(cat graph.Catalog, name string) (plan.Expr, bool) {
	if e, ok := s.cols[name]; ok {
		return e, true
	}
	if s.Vertex == 0 || s.denied[name] {
		return nil, false
	}
	if _, ok := cat.Prop(name); !ok {
		return nil, false
	}
	return &plan.Prop{X: &plan.ColRef{Col: s.Vertex}, Key: name}, true
}

// level is one level of a plan: the rows of the whole, or of a subplan that runs for each row of the level above.
type level struct {
	Query  *Query
	parent *level
	arg    *plan.Argument // values passed from the rows above; nil at the top
	Outs   outs
	refs   []target // columns of the rows above that its rows are compared with
}

// leaf is where the rows of the level begin.
func (l *level) leaf() plan.Node {
	if l.arg == nil {
		return &plan.Unit{}
	}
	return l.arg
}

// below returns the level of a subplan.
func (l *level) below() *level {
	return &level{Query: l.Query, parent: l, arg: &plan.Argument{}}
}

func (l *level) col(name string, k graph.ValueKind) plan.Col { return l.Query.Q.NewCol(name, k) }

// within reports whether l is o or below it.
func (l *level) within(o *level) bool {
	for ; l != nil; l = l.parent {
		if l == o {
			return true
		}
	}
	return false
}

// use hands the columns of an expression of the level above down to this one.
func (l *level) use(e plan.Expr, from *level) {
	for ; l != from; l = l.parent {
		eachCol(e, func(c plan.Col) {
			if slices.Contains(l.arg.Cols, c) {
				return
			}
			l.arg.Cols = append(l.arg.Cols, c)
		})
	}
}

// eachCol visits the columns of an expression that computes a column of an answer.
func eachCol(e plan.Expr, visit func(plan.Col)) {
	switch e := e.(type) {
	case *plan.ColRef:
		visit(e.Col)
	case *plan.Prop:
		eachCol(e.X, visit)
	case *plan.Op:
		for _, a := range e.Args {
			if a != nil {
				eachCol(a, visit)
			}
		}
	case *plan.Call:
		for _, a := range e.Args {
			eachCol(a, visit)
		}
	case *plan.Case:
		for _, a := range e.When {
			eachCol(a, visit)
		}
		for _, a := range e.Then {
			eachCol(a, visit)
		}
		if e.Else != nil {
			eachCol(e.Else, visit)
		}
	case *plan.ListLit:
		for _, a := range e.Elems {
			eachCol(a, visit)
		}
	case *plan.Subquery:
		eachArgument(e.Sub, visit)
	}
}

// eachArgument visits the columns that a subplan takes from outside.
func eachArgument(n plan.Node, visit func(plan.Col)) {
	if a, ok := n.(*plan.Argument); ok {
		for _, c := range a.Cols {
			visit(c)
		}
		return
	}
	for _, c := range plan.Children(n) {
		eachArgument(c, visit)
	}
}

// outs are the columns of a level's rows as they are written, in order.
type outs struct {
	exprs []plan.Expr
	names []string
	at    map[columnID]int // places in exprs
}

// columnID tells columns and their properties apart, and any other expression from every other.
type columnID struct {
	of   any    // a plan.Col, or the expression
	path string // the keys of its properties, the last first
}

func idOf(e plan.Expr) columnID {
	var id columnID
	for {
		switch x := e.(type) {
		case *plan.ColRef:
			id.of = x.Col
			return id
		case *plan.Prop:
			id.path += x.Key + "\x00"
			e = x.X
			continue
		}
		id.of = e
		return id
	}
}

// Add returns the place of an expression among the columns.
func (o *outs) Add(e plan.Expr, name string) int {
	id := idOf(e)
	if i, ok := o.at[id]; ok {
		return i
	}
	if o.at == nil {
		o.at = map[columnID]int{}
	}
	o.at[id] = len(o.exprs)
	o.exprs = append(o.exprs, e)
	o.names = append(o.names, name)
	return len(o.exprs) - 1
}

func (o *outs) has(e plan.Expr) bool {
	_, ok := o.at[idOf(e)]
	return ok
}

// bound is a bound table, as references find it.
type bound struct {
	t     *syntax.Table
	lv    *level
	src   *source
	cols  map[string]plan.Expr // by the name in the answer
	star  bool                 // all properties
	none  map[string]bool      // but these
	open  bool                 // it is still being bound
	never bool                 // it finds nothing
	// grouped reports whether its rows are groups or distinct columns rather than vertices.
	grouped bool
	row     plan.Expr // of a child: the vertex, where src.vertex is a column below
	present plan.Expr // whether a row has it; nil: always
}

// column returns a column of the answer by name, or nil.
func (b *bound) column(cat graph.Catalog, name string) plan.Expr {
	if b.cols == nil { // its columns are not bound yet: a subquery of its own refers to any property
		e, _ := b.src.property(cat, name)
		return e
	}
	if e, ok := b.cols[name]; ok {
		return e
	}
	if b.star && !b.none[name] {
		e, _ := b.src.property(cat, name)
		if e != nil && b.row != nil {
			return &plan.Prop{X: b.row, Key: name}
		}
		return e
	}
	return nil
}

// Scope resolves references inside an object or an item of an array.
type Scope struct {
	parent *Scope
	lv     *level // of an array's items; nil for an object
	main   *bound // the table that an item, a table's inside or a condition belongs to
	things map[string]*thing
}

// NewScope returns a scope within another, which may be nil.
func NewScope(parent *Scope, lv *level) *Scope {
	return &Scope{parent: parent, lv: lv, things: make(map[string]*thing)}
}

// root is the outermost scope.
func (s *Scope) root() *Scope {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

// holds reports whether o is s or lies inside it.
func (s *Scope) holds(o *Scope) bool {
	for ; o != nil; o = o.parent {
		if o == s {
			return true
		}
	}
	return false
}

// thing is one thing that a reference can find.
type thing struct {
	table *bound
	array *boundArray
	inner *Scope       // of an object or an array
	plain *syntax.Node // a value of the request
	sub   *boundSub
	slot  string // of a function's result
}

// boundArray is a bound array, as references from outside find it.
type boundArray struct {
	query *Query // nil for one in an item, or with no rows
	lv    *level
	value int // the column of the single value, or -1
	page  *Paging
	total plan.Expr // of one in an item
	main  string    // the key of the unwrapped table
}

// boundSub is a subquery: parameters that a query before fills, or a plan to run for each row.
type boundSub struct {
	query *Query
	lv    *level
	node  plan.Node // of one that depends on the row
	value plan.Expr // the first column, of lv
	quant string
	from  []outName
}

// outName is a column of a subquery by its name.
type outName struct {
	name string
	expr plan.Expr
}

// outNames are the columns of a subquery in their order.
func outNames(src *source) []outName {
	var outs []outName
	for _, name := range src.order {
		outs = append(outs, outName{name, src.cols[name]})
	}
	return outs
}
