package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// covered is a catalog with label sets and indexes.
type covered struct {
	*catalog
	sets    [][]graph.LabelID // from 1 on
	indexes []graph.Index
	version uint64
}

func (c *covered) Labels(s graph.LabelSet) []graph.LabelID {
	if int(s) > len(c.sets) {
		return nil
	}
	return c.sets[s-1]
}
func (c *covered) Indexes() []graph.Index { return c.indexes }
func (c *covered) Version() uint64        { return c.version }

func newCovered() *covered {
	c := &covered{catalog: &catalog{labels: []string{"A", "B", "C"}, props: []string{"x", "y", "z"}}, sets: [][]graph.LabelID{{}, {1}, {1, 2}, {3}}}
	for i, prop := range c.props[:2] {
		c.indexes = append(c.indexes, graph.Index{ID: graph.IndexID(i + 1), Name: prop, Label: "A", Props: []string{prop, "z"}[:2-i], Indexed: true, Online: true})
	}
	return c
}

// String returns the parts as texts, with their intervals.
func (c *Cover) String() string {
	var parts []string
	for i := range c.Parts {
		p := &c.Parts[i]
		for _, ins := range p.Intervals() {
			s := p.Index.Name
			for _, in := range ins {
				open := func(yes bool) string {
					if yes {
						return "("
					}
					return "["
				}
				s += fmt.Sprintf(" %s%v %v%s", open(in.LoOpen), text(in.Lo), text(in.Hi), strings.Replace(open(in.HiOpen), "[", "]", 1))
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

func text(v graph.Value) string {
	if v.IsNull() {
		return "…"
	}
	return literal(v)
}

func TestCover(t *testing.T) {
	claims := map[string]graph.Value{
		"one": graph.IntValue(1), "many": graph.ListValue([]graph.Value{graph.IntValue(3), graph.FloatValue(1), graph.IntValue(1), graph.StringValue("s"), graph.BoolValue(true)}),
	}
	both := func(op Op, of ...*Condition) *Condition { return &Condition{Op: op, Of: of} }
	x := compare(Equal, "x", claim("one"))
	for name, c := range map[string]struct {
		where *Condition
		names []string
		want  string // "-": no cover
	}{
		"equal":              {where: x, want: "x [1 1]"},
		"in":                 {where: compare(In, "x", claim("many")), want: "x [true true]; x [1.0 1.0] [3 3]; x ['s' 's']"},
		"in no list":         {where: compare(In, "x", claim("one")), want: ""},
		"without the claim":  {where: compare(Equal, "x", claim("none")), want: ""},
		"a list":             {where: compare(Equal, "x", claim("many")), want: "-"},
		"no index":           {where: compare(Equal, "z", 1), want: "-"},
		"unconditional":      {want: "-"},
		"unequal":            {where: compare(Unequal, "x", 1), want: "-"},
		"null":               {where: &Condition{Op: IsNull, Prop: "x"}, want: "-"},
		"not":                {where: both(Not, x), want: "-"},
		"interval":           {where: both(And, compare(More, "x", 1), compare(Less, "y", 3), compare(LessEqual, "x", 2.5)), want: "x (1 2.5]"},
		"one side":           {where: both(And, compare(More, "x", 1), compare(More, "x", 2)), want: "x (1 …]"},
		"types differ":       {where: both(And, compare(More, "x", 1), compare(Less, "x", "a")), want: ""},
		"no order":           {where: compare(More, "x", true), want: ""},
		"and":                {where: both(And, compare(More, "x", 1), compare(In, "x", []any{1, 2}), compare(Equal, "y", 3), x), want: "y [3 3]"},
		"and one":            {where: both(And, compare(Equal, "z", 1), x), want: "x [1 1]"},
		"or":                 {where: both(Or, x, compare(Less, "y", 3)), want: "x [1 1]; y [… 3("},
		"or one":             {where: both(Or, x, compare(Equal, "z", 3)), want: "-"},
		"beside":             {where: x, names: []string{"B"}, want: "x [1 1]"},
		"beside, all":        {names: []string{"B"}, want: "-"},
		"other labels":       {names: []string{"C"}, want: ""},
		"other labels, some": {where: compare(Equal, "z", 3), names: []string{"C"}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			rule := Rule{Effect: Grant, Action: Match, Names: c.names, Where: c.where, Role: "r"}
			cover, ok := New([]Rule{rule}, []string{"r"}, nil, claims).Bind(newCovered()).Cover(1)
			require.Equal(t, c.want != "-", ok)
			if ok {
				require.Equal(t, c.want, cover.String())
			}
		})
	}
}

// A new label set, or a change of an index, changes what covers a label.
func TestCoverAgain(t *testing.T) {
	cat := newCovered()
	b := New([]Rule{
		{Effect: Grant, Action: Match, Names: []string{"A"}, Where: compare(Equal, "x", 1), Role: "r"}, {Effect: Grant, Action: Traverse, Names: []string{"C"}, Role: "r"},
	}, []string{"r"}, nil, nil).Bind(cat)
	ok := func() bool {
		_, ok := b.Cover(1)
		return ok
	}
	require.True(t, ok())
	cat.indexes, cat.version = nil, 1
	require.False(t, ok())
	cat.indexes, cat.version = newCovered().indexes, 2
	require.True(t, ok())
	cat.sets = append(cat.sets, []graph.LabelID{1, 3})
	require.False(t, ok())
}

// What is planned by is the same whatever the claims.
func TestOutline(t *testing.T) {
	all := []Rule{
		{Effect: Grant, Action: Match, Where: compare(Equal, "x", claim("a")), Role: "r"},
		{Effect: Grant, Action: Match, Where: compare(In, "y", claim("b")), Role: "r"},
		{Effect: Grant, Action: Match, Where: &Condition{Op: And, Of: []*Condition{compare(Less, "y", claim("c")), compare(More, "y", 3)}}, Role: "r"},
		{Effect: Grant, Action: Match, Role: "other"},
		{Effect: Deny, Action: Traverse, Role: "r"},
	}
	cover, ok := Outline(all, []string{"r"}, nil).Bind(newCovered()).Cover(1)
	require.True(t, ok)
	var got []string
	for _, p := range cover.Parts {
		got = append(got, fmt.Sprint(p.Index.Name, p.Values, p.Bounds))
	}
	require.Equal(t, []string{"x1 0", "y3 0", "y0 2"}, got)
	_, ok = Outline(all, []string{"r"}, []Action{Match}).Bind(newCovered()).Cover(1)
	require.False(t, ok)
}

// in reports whether a value is in an interval.
func (in *Interval) in(v graph.Value) bool {
	side := func(bound graph.Value, open bool, sign int) bool {
		if bound.IsNull() {
			return true
		}
		if typeOf(bound) != typeOf(v) {
			return false
		}
		c, ok := order(v, bound)
		if !ok { // booleans
			return equal(v, bound) == yes
		}
		return c*sign > 0 || c == 0 && !open
	}
	return side(in.Lo, in.LoOpen, 1) && side(in.Hi, in.HiOpen, -1)
}

// Whatever the conditions, each vertex that may be visible is in a part.
func TestCoverHasAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	scalars := []any{1, 2, 1.0, 2.5, "a", "b", true, false}
	value := func() any { return scalars[rng.IntN(len(scalars))] }
	var condition func(depth int) *Condition
	condition = func(depth int) *Condition {
		if depth > 0 && rng.IntN(2) == 0 {
			c := &Condition{Op: []Op{And, And, Or, Not}[rng.IntN(4)]}
			for range 1 + rng.IntN(3) {
				c.Of = append(c.Of, condition(depth-1))
			}
			if c.Op == Not {
				c.Of = c.Of[:1]
			}
			return c
		}
		prop := []string{"x", "x", "y", "z"}[rng.IntN(4)]
		switch op := []Op{Equal, Equal, Less, LessEqual, More, MoreEqual, In, In, Unequal, IsNull, IsNotNull}[rng.IntN(11)]; op {
		case In:
			return compare(In, prop, []any{value(), value(), value()})
		case IsNull, IsNotNull:
			return &Condition{Op: op, Prop: prop}
		default:
			return compare(op, prop, value())
		}
	}
	cat, covers := newCovered(), 0
	for range 3000 {
		var all []Rule
		for range 1 + rng.IntN(2) {
			all = append(all, Rule{Effect: Grant, Action: Match, Names: [][]string{nil, {"A"}, {"B"}}[rng.IntN(3)], Where: condition(2), Role: "r"})
		}
		b := New(all, []string{"r"}, nil, nil).Bind(cat)
		cover, ok := b.Cover(1)
		if !ok {
			continue
		}
		covers++
		for range 20 {
			values := make([]graph.Value, 3)
			for i := range values {
				if rng.IntN(6) > 0 {
					values[i], _ = ValueOf(value())
				}
			}
			for _, set := range []graph.LabelSet{2, 3} {
				if !permitted(&b.Vertices(set).Visible, b, false, values...) {
					continue
				}
				found := slices.ContainsFunc(cover.Parts, func(p Part) bool {
					v := values[slices.Index(cat.props, p.Index.Props[0])]
					return slices.ContainsFunc(p.Intervals(), func(ins []Interval) bool {
						return slices.ContainsFunc(ins, func(in Interval) bool { return in.in(v) })
					})
				})
				require.True(t, found, "%v of %v, cover %s", values, all, cover)
			}
		}
	}
	require.Greater(t, covers, 500)
}
