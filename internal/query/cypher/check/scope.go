package check

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/cypher/symbols"
)

// scope holds the visible variables in the order of their definition, including those of outer: the variables around a subquery
// or a comprehension.
type scope struct {
	outer *scope
	vars  symbols.Table[typ]
}

func newScope(outer *scope) *scope { return &scope{outer: outer} }

// lookup finds a variable.
func (s *scope) lookup(name string) (typ, bool) {
	for ; s != nil; s = s.outer {
		if t, ok := s.vars.Get(name); ok {
			return t, true
		}
	}
	return typ{}, false
}

// typeOf returns the type of a variable that the scope itself has.
func (s *scope) typeOf(name string) typ {
	t, _ := s.vars.Get(name)
	return t
}

// names returns the variables of the scope itself.
func (s *scope) names() []string {
	all := make([]string, 0, s.vars.Len())
	for n := range s.vars.All() {
		all = append(all, n)
	}
	return all
}

// define adds a variable, or changes its type.
func (s *scope) define(name string, t typ) { s.vars = s.vars.With(name, t) }

// with returns a scope that sees s, with one more variable that may hide another.
func (s *scope) with(name string, t typ) *scope {
	in := newScope(s)
	in.define(name, t)
	return in
}

// over returns a scope of the variables of s, and of those of under that s does not have.
func (s *scope) over(under *scope) *scope {
	out := &scope{outer: s.outer, vars: under.vars}
	for n, t := range s.vars.All() {
		out.define(n, t)
	}
	return out
}

// first returns the scope of the first n variables.
func (s *scope) first(n int) *scope {
	out := newScope(s.outer)
	for _, name := range s.names()[:n] {
		out.define(name, s.typeOf(name))
	}
	return out
}

// visible returns all visible names, sorted.
func (s *scope) visible() []string {
	var all []string
	for ; s != nil; s = s.outer {
		all = append(all, s.names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
