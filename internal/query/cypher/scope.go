package cypher

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// binding is a variable: the column that holds it, or, where that is 0, the expression alias that computes it, or, where
// that is nil, the reason why it cannot be used.
type binding struct {
	name  string
	col   plan.Col
	alias func() plan.Expr
	reads []plan.Col // by alias
	why   string
}

// scope is the set of variables visible at one place. It is immutable: with and without return new ones.
type scope []*binding

// find returns the variable of a name; nil: there is none.
func (s scope) find(name string) *binding {
	for _, b := range s {
		if b.name == name {
			return b
		}
	}
	return nil
}

func (s scope) has(col plan.Col) bool {
	return slices.ContainsFunc(s, func(b *binding) bool { return b.col == col || slices.Contains(b.reads, col) })
}

// with adds variables; one of the same name is replaced.
func (s scope) with(bs ...*binding) scope {
	replaced := func(b *binding) bool {
		return slices.ContainsFunc(bs, func(n *binding) bool { return n.name == b.name })
	}
	if len(bs) > fewVariables {
		names := make(map[string]bool, len(bs))
		for _, b := range bs {
			names[b.name] = true
		}
		replaced = func(b *binding) bool { return names[b.name] }
	}
	out := make(scope, 0, len(s)+len(bs))
	for _, b := range s {
		if !replaced(b) {
			out = append(out, b)
		}
	}
	return append(out, bs...)
}

// fewVariables is the number of variables up to which comparing their names takes less time than a map of them.
const fewVariables = 8

// without leaves out the variables of another scope.
func (s scope) without(o scope) scope {
	return slices.DeleteFunc(slices.Clone(s), func(b *binding) bool {
		return o.find(b.name) != nil
	})
}

// hidden reports whether no statement can write a variable's name.
func (b *binding) hidden() bool { return strings.HasPrefix(b.name, "\x00") }

// sorted returns the variables by name, as * lists them.
func (s scope) sorted() scope {
	out := slices.DeleteFunc(slices.Clone(s), (*binding).hidden)
	slices.SortFunc(out, func(a, b *binding) int { return strings.Compare(a.name, b.name) })
	return out
}

// frame is a subplan under construction.
type frame struct {
	outer scope // columns that it may take from the row around it
	// lasting reports whether the outer variables stay visible after a WITH that does not name them.
	lasting bool
	used    []plan.Col
	args    []*plan.Argument
	clauses []*effects // of its clauses, in their order
}

// open begins a subplan that sees the variables outer.
func (b *binder) open(outer scope, lasting bool) {
	b.frames = append(b.frames, &frame{outer: outer, lasting: lasting})
}

// close ends the innermost subplan and adds the columns that it used to its arguments.
func (b *binder) close() *frame {
	f := b.frames[len(b.frames)-1]
	b.frames = b.frames[:len(b.frames)-1]
	for _, a := range f.args {
		a.Cols = f.used
	}
	return f
}

// start returns the node that a chain of clauses begins with.
func (b *binder) start() plan.Node {
	if len(b.frames) == 0 {
		return &plan.Unit{}
	}
	f := b.frames[len(b.frames)-1]
	a := &plan.Argument{}
	f.args = append(f.args, a)
	return a
}

// use notes that a column is read here, in all subplans that must be given it.
func (b *binder) use(c plan.Col) {
	b.refs[c]++
	for _, f := range slices.Backward(b.frames) {
		b.opts.Steps.Add(1 + (len(f.outer)+len(f.used))/64)
		if !f.outer.has(c) {
			return
		}
		if !slices.Contains(f.used, c) {
			f.used = append(f.used, c)
		}
	}
}

// ref is a use of a column in an expression.
func (b *binder) ref(c plan.Col) *plan.ColRef {
	b.use(c)
	return &plan.ColRef{Col: c}
}
