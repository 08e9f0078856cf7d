package rules

import (
	"cmp"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Cover is a set of index ranges that together contain every visible vertex of a label. They may contain hidden vertices too. An empty cover
// means that no vertex is visible.
type Cover struct {
	Parts []Part
	ok    bool
	// what it was made of: the label sets before next, and a version of the indexes
	next    graph.LabelSet
	version uint64
}

// Part is the part of an index that the condition of a rule leaves: one property that equals one of some values, or lies in an interval.
type Part struct {
	Index graph.Index
	// Values is how many values the property may equal, and 0 for an interval. It is a guess for a list that only claims tell.
	Values int
	// Bounds is how many sides of an interval are bounded.
	Bounds int
	tests  []*test
}

// guessValues is how many values a claim's list is taken to have.
const guessValues = 3

// Cover returns the cover of a label; ok is false if the indexes do not have all vertices that may be visible. It holds for snapshots that
// began before.
func (b *Bound) Cover(label graph.LabelID) (c *Cover, ok bool) {
	if old, found := b.covers.Load(label); found {
		if c := old.(*Cover); c.version == b.c.Version() && len(b.c.Labels(c.next)) == 0 {
			return c, c.ok
		}
	}
	c = b.cover(label)
	b.covers.Store(label, c)
	return c, c.ok
}

func (b *Bound) cover(label graph.LabelID) *Cover {
	c := &Cover{version: b.c.Version(), next: graph.NoLabels + 1, ok: true}
	name := b.c.LabelName(label)
	beside := map[string]bool{name: true} // the labels of vertices with the label
	for ; ; c.next++ {
		set := b.c.Labels(c.next)
		if len(set) == 0 {
			break
		}
		if slices.Contains(set, label) {
			for _, l := range set {
				beside[b.c.LabelName(l)] = true
			}
		}
	}
	indexes := b.c.Indexes()
	for i := range b.p.rules {
		r := &b.p.rules[i]
		if r.Edges || r.Effect != Grant || !r.covers(Traverse, "") || len(r.Names) > 0 && !slices.ContainsFunc(r.Names, func(n string) bool { return beside[n] }) {
			continue
		}
		parts, ok := partsOf(r.where, r.props, func(prop string) *graph.Index {
			for k := range indexes {
				if ix := &indexes[k]; ix.Label == name && ix.Kind == graph.RangeIndex && ix.Indexed && ix.Online && len(ix.Props) > 0 && ix.Props[0] == prop {
					return ix
				}
			}
			return nil
		})
		if c.ok = ok; !ok {
			break
		}
		c.Parts = append(c.Parts, parts...)
	}
	return c
}

// partsOf returns parts of indexes that have all elements that meet a condition: of the conditions of an AND, those of the best one, which is one
// of values before an interval, and of equal ones the first.
func partsOf(t *test, props []string, index func(prop string) *graph.Index) (parts []Part, ok bool) {
	if t == nil {
		return nil, false
	}
	switch t.op {
	case Or:
		for i := range t.of {
			more, ok := partsOf(&t.of[i], props, index)
			if !ok {
				return nil, false
			}
			parts = append(parts, more...)
		}
		return parts, true
	case And:
		for i := range t.of {
			if other, also := partsOf(&t.of[i], props, index); also && (!ok || rank(other) < rank(parts)) {
				parts, ok = other, true
			}
		}
		if len(parts) == 1 && parts[0].Values == 0 {
			parts[0].bound(t.of)
		}
		return parts, ok
	case Equal, In, Less, LessEqual, More, MoreEqual:
		ix := index(props[t.col])
		if ix == nil || t.op == Equal && t.with.Kind() == graph.List {
			return nil, false
		}
		p := Part{Index: *ix, tests: []*test{t}}
		switch {
		case t.op.compares():
			p.Bounds = 1
		case t.op == Equal:
			p.Values = 1
		case t.op == In && t.with.IsNull():
			p.Values = guessValues
		case t.op == In && t.with.Kind() == graph.List:
			p.Values = max(1, len(t.with.List()))
		case t.op == In:
			p.Values = 1
		}
		return []Part{p}, true
	}
	return nil, false
}

// bound bounds the other side of an interval by one of the conditions that hold beside its own.
func (p *Part) bound(beside []test) {
	own := p.tests[0]
	for i := range beside {
		if t := &beside[i]; p.Bounds == 1 && t.op.compares() && t.col == own.col && t.op.below() != own.op.below() {
			p.tests, p.Bounds = append(p.tests, t), 2
		}
	}
}

// below reports whether an operator of order bounds from above.
func (o Op) below() bool { return o == Less || o == LessEqual }

// compares reports whether the operator is one of order.
func (o Op) compares() bool { return o == Less || o == LessEqual || o == More || o == MoreEqual }

// rank orders parts by how much they are likely to leave out.
func rank(parts []Part) int {
	n := 0
	for i := range parts {
		if parts[i].Values == 0 {
			return 1 << 30
		}
		n += parts[i].Values
	}
	return n
}

// Interval is an interval of values of one type; a bound that is null is open within the type of the other.
type Interval struct {
	Lo, Hi         graph.Value
	LoOpen, HiOpen bool
}

// Intervals returns the intervals of the part's index, each with the intervals that follow it: those of values are ascending, of one type and
// not open. They do not meet. None means that no value meets the condition.
func (p *Part) Intervals() [][]Interval {
	if t := p.tests[0]; p.Values == 0 {
		return p.bounds()
	} else if t.op == Equal {
		return points([]graph.Value{t.with})
	} else if t.with.Kind() == graph.List {
		return points(t.with.List())
	}
	return nil
}

// bounds returns the interval of comparisons.
func (p *Part) bounds() [][]Interval {
	var in Interval
	for _, t := range p.tests {
		if k := typeOf(t.with); k != aNumber && k != aString {
			return nil
		}
		if t.op.below() {
			in.Hi, in.HiOpen = t.with, t.op == Less
		} else {
			in.Lo, in.LoOpen = t.with, t.op == More
		}
	}
	if !in.Lo.IsNull() && !in.Hi.IsNull() && typeOf(in.Lo) != typeOf(in.Hi) {
		return nil
	}
	return [][]Interval{{in}}
}

// valueType is a type of values that may equal each other.
type valueType int

const (
	noType valueType = iota
	aBool
	aNumber
	aString
)

func typeOf(v graph.Value) valueType {
	switch v.Kind() {
	case graph.Bool:
		return aBool
	case graph.Int, graph.Float:
		return aNumber
	case graph.String:
		return aString
	}
	return noType
}

// points returns the intervals of single values.
func points(values []graph.Value) (out [][]Interval) {
	for _, of := range []valueType{aBool, aNumber, aString} {
		some := slices.DeleteFunc(slices.Clone(values), func(v graph.Value) bool { return typeOf(v) != of })
		slices.SortFunc(some, func(a, b graph.Value) int {
			if of == aBool {
				return cmp.Compare(number(a), number(b))
			}
			c, _ := order(a, b)
			return c
		})
		some = slices.CompactFunc(some, func(a, b graph.Value) bool { return equal(a, b) == yes })
		var all []Interval
		for _, v := range some {
			all = append(all, Interval{Lo: v, Hi: v})
		}
		if len(all) > 0 {
			out = append(out, all)
		}
	}
	return out
}

func number(v graph.Value) int {
	if v.Bool() {
		return 1
	}
	return 0
}

// Outline returns the policy of callers who have roles, and a built-in role with the actions base, with claims that are not known. It serves to
// plan, as it is the same for all of them.
func Outline(all []Rule, roles []string, base []Action) *Policy {
	p := newPolicy(nil, nil, base, nil)
	for i := range all {
		r := &all[i]
		if !of(r, roles) {
			continue
		}
		out := resolved{Rule: r, props: r.Where.Props(nil)}
		if r.Where != nil {
			out.where = testOf(r.Where, out.props, nil)
		}
		p.rules = append(p.rules, out)
	}
	return p
}
