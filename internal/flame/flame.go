// Package flame merges the stacks of profiles into flame graphs.
package flame

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Frame is one box of a flame graph: a statement, an operator, or a function with its call path.
type Frame struct {
	Name     string   `json:"n"`
	Value    int64    `json:"v"` // including its callees
	Self     int64    `json:"s"`
	Base     int64    `json:"b,omitempty"` // Value in the base profile
	BaseSelf int64    `json:"t,omitempty"`
	Children []*Frame `json:"c,omitempty"`
	byName   map[string]*Frame
}

func (f *Frame) child(name string) *Frame {
	if c := f.byName[name]; c != nil {
		return c
	}
	c := &Frame{Name: name}
	if f.byName == nil {
		f.byName = map[string]*Frame{}
	}
	f.byName[name] = c
	f.Children = append(f.Children, c)
	return c
}

func (f *Frame) sort() {
	slices.SortFunc(f.Children, func(a, b *Frame) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.Base, a.Base), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range f.Children {
		c.sort()
	}
}

// SampleIndex returns the index of the value to draw: memory in use for a heap profile, otherwise the last, which is time.
func SampleIndex(p *profile.Profile) int {
	for i, t := range p.SampleType {
		if t.Type == "inuse_space" {
			return i
		}
	}
	return len(p.SampleType) - 1
}

// Tree merges the stacks of a profile, and of an optional base profile to compare with, into a tree. over returns the frames to put
// above the stack of a sample, from the root.
func Tree(p, base *profile.Profile, over func(*profile.Sample) []string) *Frame {
	root := &Frame{Name: "all"}
	root.add(p, over, func(f *Frame) (value, self *int64) { return &f.Value, &f.Self })
	if base != nil {
		root.add(base, over, func(f *Frame) (value, self *int64) { return &f.Base, &f.BaseSelf })
	}
	root.sort()
	return root
}

// Of merges the stacks of a profile by statement and operator: those of the statement with a fingerprint, or all if that is "".
func Of(p *profile.Profile, fingerprint string) *Frame {
	if fingerprint != "" {
		p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return !slices.Contains(s.Label["statement"], fingerprint) })
	}
	return Tree(p, nil, StatementLabels)
}

// NoLabels adds no frames.
func NoLabels(*profile.Sample) []string { return nil }

// StatementLabels returns the statement and the operator of a sample. A statement is its text and its fingerprint, as top, trace and
// slowlog show it.
func StatementLabels(s *profile.Sample) []string {
	label := func(name string) string { return strings.Join(s.Label[name], " ") }
	statement, text, operator := label("statement"), label("text"), label("operator")
	switch {
	case statement == "":
		return []string{"outside of statements"}
	case text != "": // older servers do not label profiles
		statement = text + "  [" + statement + "]"
	}
	if operator == "" {
		operator = "outside of operators"
	}
	return []string{statement, operator}
}

// HasStatements reports whether a profile, which may be nil, has samples labelled with statements.
func HasStatements(p *profile.Profile) bool {
	return p != nil && slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool { return len(s.Label["statement"]) > 0 })
}

// add merges the stacks of a profile into a tree, adding to the figures that of returns.
func (f *Frame) add(p *profile.Profile, over func(*profile.Sample) []string, of func(*Frame) (value, self *int64)) {
	at := SampleIndex(p)
	for _, s := range p.Sample {
		v, at := s.Value[at], f
		value, self := of(at)
		*value += v
		for _, name := range over(s) {
			at = at.child(name)
			value, self = of(at)
			*value += v
		}
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				name := "?"
				if fn := line.Function; fn != nil {
					name = fn.Name
				}
				at = at.child(name)
				value, self = of(at)
				*value += v
			}
		}
		*self += v
	}
}
