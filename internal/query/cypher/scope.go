package cypher

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/symbols"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// binding is a variable: the column that holds it, or, where that is 0, the expression alias that computes it, or, where
// that is nil, the reason why it cannot be used.
type binding struct {
	name  string
	col   plan.Col
	alias func() plan.Expr
	why   string
}

// scope is the set of variables visible at one place. It is immutable: with and without return new ones.
type scope struct{ vars symbols.Table[*binding] }

// find returns the variable of a name; nil: there is none.
func (s scope) find(name string) *binding {
	b, _ := s.vars.Get(name)
	return b
}

// with adds variables; one of the same name is replaced.
func (s scope) with(bs ...*binding) scope {
	for _, b := range bs {
		s.vars = s.vars.With(b.name, b)
	}
	return s
}

// all returns the variables in the order of their definition.
func (s scope) all() []*binding {
	all := make([]*binding, 0, s.vars.Len())
	for _, b := range s.vars.All() {
		all = append(all, b)
	}
	return all
}

// without returns the variables that another scope does not have.
func (s scope) without(o scope) []*binding {
	return slices.DeleteFunc(s.all(), func(b *binding) bool { return o.find(b.name) != nil })
}

// hidden reports whether no statement can write a variable's name.
func (b *binding) hidden() bool { return strings.HasPrefix(b.name, hiddenPrefix) }

const hiddenPrefix = "\x00"

// sorted returns the variables by name, as * lists them.
func (s scope) sorted() []*binding {
	all := make([]*binding, 0, s.vars.Len())
	for _, b := range s.vars.Sorted() {
		if !b.hidden() {
			all = append(all, b)
		}
	}
	return all
}

// frame is a subplan under construction.
type frame struct {
	outer scope // variables of the row around it
	// first is the first column that is made for it: those before belong to the row around it.
	first plan.Col
	// lasting reports whether the outer variables stay visible after a WITH that does not name them.
	lasting bool
	used    []plan.Col
	uses    map[plan.Col]bool // the elements of used
	args    []*plan.Argument
	clauses []*effects // of its clauses, in their order
	// last is, for the variables of the query that ends with end, the number of clauses from the last that names them to end.
	last map[string]int
	end  ast.Node
}

// variables binds variables to the columns of a plan, across the subplans under construction.
type variables struct {
	opts   Options
	q      *plan.Query
	scope  scope
	frames []*frame
	refs   map[plan.Col]int // number of reads of a column
	// scalar are the columns that hold no vertices, edges or paths.
	scalar map[plan.Col]bool
	// mentioned are the elements of Query.Mentions.
	mentioned map[plan.Mention]bool
	err       error // the first; later results are discarded
}

// open begins a subplan that sees the variables outer.
func (b *variables) open(outer scope, lasting bool) {
	b.frames = append(b.frames, &frame{outer: outer, first: b.q.NextCol(), lasting: lasting, uses: map[plan.Col]bool{}})
}

// around reports whether a column belongs to the row around the subplan.
func (f *frame) around(c plan.Col) bool { return c < f.first }

// close ends the innermost subplan and adds the columns that it used to its arguments.
func (b *variables) close() *frame {
	f := b.frames[len(b.frames)-1]
	b.frames = b.frames[:len(b.frames)-1]
	for _, a := range f.args {
		a.Cols = f.used
	}
	return f
}

// start returns the node that a chain of clauses begins with.
func (b *variables) start() plan.Node {
	if len(b.frames) == 0 {
		return &plan.Unit{}
	}
	f := b.frames[len(b.frames)-1]
	a := &plan.Argument{}
	f.args = append(f.args, a)
	return a
}

// use notes that a column is read here, in all subplans that must be given it.
func (b *variables) use(c plan.Col) {
	b.refs[c]++
	for _, f := range slices.Backward(b.frames) {
		b.opts.Steps.Add(1)
		if !f.around(c) {
			return
		}
		if !f.uses[c] {
			f.uses[c] = true
			f.used = append(f.used, c)
		}
	}
}

// ref is a use of a column in an expression.
func (b *variables) ref(c plan.Col) *plan.ColRef {
	b.use(c)
	return &plan.ColRef{Col: c}
}
