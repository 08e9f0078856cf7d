package check

import "slices"

// scope holds the variables that can be seen at a place, in the order of their definition. Those of outer can be seen too: the
// variables around a subquery or a comprehension.
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

// over returns a scope of the variables of s and of under, where s has none of the name.
func (s *scope) over(under *scope) *scope {
	out := newScope(s.outer)
	for _, from := range []*scope{under, s} {
		for _, n := range from.names {
			out.define(n, from.types[n])
		}
	}
	return out
}

// visible returns all names that can be seen, sorted.
func (s *scope) visible() []string {
	var all []string
	for ; s != nil; s = s.outer {
		all = append(all, s.names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
