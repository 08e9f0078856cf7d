package check

import (
	"maps"
	"slices"
)

// scope holds the visible variables in the order of their definition, including those of outer: the variables around a subquery
// or a comprehension.
type scope struct {
	outer *scope
	names []string
	types map[string]typ
}

func newScope(outer *scope) *scope { return &scope{outer: outer, types: map[string]typ{}} }

// lookup finds a variable.
func (s *scope) lookup(name string) (typ, bool) {
	for ; s != nil; s = s.outer {
		if t, ok := s.types[name]; ok {
			return t, true
		}
	}
	return typ{}, false
}

// define adds a variable, or changes its type.
func (s *scope) define(name string, t typ) {
	if _, ok := s.types[name]; !ok {
		s.names = append(s.names, name)
	}
	s.types[name] = t
}

// with returns a scope that sees s, with one more variable that may hide another.
func (s *scope) with(name string, t typ) *scope {
	in := newScope(s)
	in.define(name, t)
	return in
}

// over returns a scope of the variables of s, and of those of under that s does not have.
func (s *scope) over(under *scope) *scope {
	out := &scope{outer: s.outer, names: slices.Clone(under.names), types: maps.Clone(under.types)}
	for _, n := range s.names {
		out.define(n, s.types[n])
	}
	return out
}

// first returns the scope of the first n variables.
func (s *scope) first(n int) *scope {
	out := newScope(s.outer)
	for _, name := range s.names[:n] {
		out.define(name, s.types[name])
	}
	return out
}

// visible returns all visible names, sorted.
func (s *scope) visible() []string {
	var all []string
	for ; s != nil; s = s.outer {
		all = append(all, s.names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
