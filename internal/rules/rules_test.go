package rules

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// catalog numbers names from 1; a label set is that of one label.
type catalog struct {
	graph.Catalog
	labels, types, props []string
}

func (c *catalog) Labels(s graph.LabelSet) []graph.LabelID { return []graph.LabelID{graph.LabelID(s)} }
func (c *catalog) LabelName(l graph.LabelID) string        { return c.labels[l-1] }
func (c *catalog) TypeName(t graph.TypeID) string          { return c.types[t-1] }
func (c *catalog) PropName(p graph.PropID) string          { return c.props[p-1] }
func (c *catalog) Prop(name string) (p graph.PropID, ok bool) {
	i := slices.Index(c.props, name)
	return graph.PropID(i + 1), i >= 0
}

func compare(op Op, prop string, with any) *Condition {
	if claim, ok := with.(claim); ok {
		return &Condition{Op: op, Prop: prop, With: &Operand{Claim: string(claim)}}
	}
	b, err := json.Marshal(with)
	if err != nil {
		panic(err)
	}
	c := &Constant{}
	if err := json.Unmarshal(b, c); err != nil {
		panic(err)
	}
	return &Condition{Op: op, Prop: prop, With: &Operand{Const: c}}
}

type claim string

// Rules keep their form as JSON, and their statements name all that they hold.
func TestRuleForms(t *testing.T) {
	for want, r := range map[string]Rule{
		"GRANT TRAVERSE ON GRAPH g NODES * TO r":                         {Effect: Grant, Action: Traverse, Role: "r"},
		"DENY READ {ssn, `a b`} ON GRAPH g NODES Person, `Old one` TO r": {Effect: Deny, Action: Read, Names: []string{"Person", "Old one"}, Props: []string{"ssn", "a b"}, Role: "r"},
		"GRANT MATCH {*} ON GRAPH g RELATIONSHIPS KNOWS TO PUBLIC":       {Effect: Grant, Action: Match, Edges: true, Names: []string{"KNOWS"}, Role: Public},
		"GRANT SET LABEL A, B ON GRAPH g TO r":                           {Effect: Grant, Action: SetLabel, Names: []string{"A", "B"}, Role: "r"},
		"GRANT WRITE ON GRAPH g TO r":                                    {Effect: Grant, Action: Write, Role: "r"},
		"GRANT MATCH {*} ON GRAPH g FOR (n:A|B) WHERE n.t = $claims.tenant AND (n.level <= 3 OR n.level IS NULL) WITH CHECK TO r": {
			Effect: Grant, Action: Match, Names: []string{"A", "B"}, Check: true, Role: "r",
			Where: &Condition{Op: And, Of: []*Condition{compare(Equal, "t", claim("tenant")), {Op: Or, Of: []*Condition{compare(LessEqual, "level", 3), {Op: IsNull, Prop: "level"}}}}},
		},
		"DENY TRAVERSE ON GRAPH g FOR ()-[n]-() WHERE NOT (n.x IN [1, 2.5, 'it\\'s']) TO r": {
			Effect: Deny, Action: Traverse, Edges: true, Role: "r", Where: &Condition{Op: Not, Of: []*Condition{compare(In, "x", []any{1, 2.5, "it's"})}},
		},
	} {
		require.Equal(t, want, r.Command("g"))
		var again Rule
		require.NoError(t, json.Unmarshal([]byte(r.Key()), &again))
		require.Equal(t, r.Key(), again.Key())
	}
	require.Error(t, json.Unmarshal([]byte("{}"), &Constant{}))
	require.Error(t, json.Unmarshal([]byte("[[1]]"), &Constant{}))
}

// permitted evaluates a gate for one element with properties in the order of the catalog.
func permitted(g *Gate, b *Bound, edges bool, values ...graph.Value) bool {
	props := b.VertexProps
	if edges {
		props = b.EdgeProps
	}
	cols := make([][]graph.Value, len(props))
	for i, p := range props {
		cols[i] = []graph.Value{values[p-1]}
	}
	return g.Permits(cols, 0)
}

func TestPolicy(t *testing.T) {
	c := &catalog{labels: []string{"Person", "City"}, types: []string{"KNOWS", "IN"}, props: []string{"tenant", "level", "ssn"}}
	all := []Rule{
		{Effect: Grant, Action: Match, Names: []string{"Person"}, Role: "app", Where: compare(Equal, "tenant", claim("tenant"))},
		{Effect: Grant, Action: Traverse, Names: []string{"City"}, Role: Public},
		{Effect: Grant, Action: Match, Edges: true, Names: []string{"KNOWS"}, Role: "app"},
		{Effect: Deny, Action: Match, Props: []string{"ssn"}, Names: []string{"Person"}, Role: "app"},
		{Effect: Deny, Action: Traverse, Names: []string{"Person"}, Role: "app", Where: compare(More, "level", 3)},
		{Effect: Grant, Action: Match, Role: "other"},
	}
	require.Nil(t, New(all, []string{"x"}, []Action{Match}, nil), "nothing denies this reader anything")
	p := New(all, []string{"app"}, nil, map[string]graph.Value{"tenant": graph.StringValue("a")})
	b := p.Bind(c)
	require.False(t, b.All(false))
	str, i, null := graph.StringValue, graph.IntValue, graph.Value{}
	person, city := b.Vertices(1), b.Vertices(2)
	for _, x := range []struct {
		tenant, level graph.Value
		seen          bool
	}{{str("a"), null, true}, {str("a"), i(3), true}, {str("a"), i(4), false}, {str("b"), i(1), false}, {null, null, false}, {str("a"), str("x"), true}} {
		require.Equal(t, x.seen, permitted(&person.Visible, b, false, x.tenant, x.level, null), "%v %v", x.tenant, x.level)
	}
	require.True(t, city.Visible.Always)
	require.True(t, city.Read(1).Never())
	require.True(t, person.Read(3).Never())
	require.True(t, permitted(person.Read(2), b, false, str("a"), i(1), null))
	require.False(t, permitted(person.Read(2), b, false, str("b"), i(1), null))
	require.True(t, b.Edges(1).Visible.Always)
	require.True(t, b.Edges(2).Visible.Never())
	never := person.Gate(Create, "")
	require.True(t, never.Never())

	// Without the claim, what it would grant is not granted, and what it would deny is.
	p = New(all, []string{"app"}, nil, nil)
	require.True(t, p.Bind(c).Vertices(1).Visible.Never())
	denying := []Rule{{Effect: Deny, Action: Traverse, Role: "app", Where: compare(Unequal, "tenant", claim("tenant"))}}
	require.True(t, New(denying, []string{"app"}, []Action{Match}, nil).Bind(c).Vertices(1).Visible.Never())
	p = New([]Rule{all[3]}, []string{"app"}, []Action{Match, Write}, nil)
	require.True(t, p.Bind(c).All(false))
	require.False(t, p.Bind(c).Reads(false, []graph.PropID{1, 3}))
	require.True(t, p.Bind(c).Reads(false, []graph.PropID{1, 2}))
	create := p.Bind(c).Vertices(1).Gate(Create, "")
	require.True(t, create.Always)
}

// A property may be read of all visible vertices if what grants to see them grants to read it, and nothing more denies that.
func TestReads(t *testing.T) {
	c := &catalog{labels: []string{"Person", "City"}, types: []string{"KNOWS"}, props: []string{"tenant", "level", "ssn"}}
	own := compare(Equal, "tenant", claim("tenant"))
	people := Rule{Effect: Grant, Action: Match, Names: []string{"Person"}, Role: "app", Where: own}
	everything := Rule{Effect: Grant, Action: Read, Role: "app"}
	for _, x := range []struct {
		name  string
		rules []Rule
		reads [3]bool // tenant, level, ssn
	}{
		{"granted together", []Rule{people, {Effect: Grant, Action: Match, Names: []string{"City"}, Role: "app"}}, [3]bool{true, true, true}},
		{"seen without reading", []Rule{people, {Effect: Grant, Action: Traverse, Names: []string{"City"}, Role: "app"}}, [3]bool{}},
		{"read by another rule", []Rule{people, {Effect: Grant, Action: Traverse, Role: "app"}, everything}, [3]bool{true, true, true}},
		{"only of some", []Rule{people, {Effect: Grant, Action: Traverse, Role: "app"}, {Effect: Grant, Action: Read, Names: []string{"City"}, Role: "app"}}, [3]bool{}},
		{"some properties", []Rule{{Effect: Grant, Action: Match, Props: []string{"level", "ssn"}, Role: "app"}}, [3]bool{false, true, true}},
		{"denied with the vertex", []Rule{{Effect: Grant, Action: Match, Role: "app"}, {Effect: Deny, Action: Match, Role: "app", Where: own}}, [3]bool{true, true, true}},
		{"denied alone", []Rule{people, {Effect: Deny, Action: Match, Props: []string{"ssn"}, Names: []string{"City"}, Role: "app"}}, [3]bool{true, true, false}},
		{"other elements", []Rule{people, {Effect: Deny, Action: Read, Edges: true, Role: "app"}}, [3]bool{true, true, true}},
	} {
		b := New(x.rules, []string{"app"}, nil, map[string]graph.Value{"tenant": graph.StringValue("a")}).Bind(c)
		require.True(t, b.Whole, x.name)
		for i, ok := range x.reads {
			require.Equal(t, ok, b.Read(false, graph.PropID(i+1)), "%s: %s", x.name, c.props[i])
		}
	}
	b := New([]Rule{{Effect: Grant, Action: Match, Props: []string{"later"}, Role: "app"}}, []string{"app"}, nil, nil).Bind(c)
	require.False(t, b.Whole, "a name that the catalog has not got yet")
}

// Conditions follow openCypher's three-valued logic.
func TestConditions(t *testing.T) {
	i, f, s, null := graph.IntValue, graph.FloatValue, graph.StringValue, graph.Value{}
	for _, c := range []struct {
		c    *Condition
		v    graph.Value
		want truth
	}{
		{compare(Equal, "x", 1), f(1), yes},
		{compare(Equal, "x", 1), s("1"), no},
		{compare(Equal, "x", 1), null, unknown},
		{compare(Unequal, "x", "a"), i(1), yes},
		{compare(Unequal, "x", "a"), null, unknown},
		{compare(Less, "x", "a"), i(1), unknown},
		{compare(Less, "x", 2), f(1.5), yes},
		{compare(MoreEqual, "x", 2.5), i(2), no},
		{compare(LessEqual, "x", "b"), s("b"), yes},
		{compare(In, "x", []any{1, "a"}), s("a"), yes},
		{compare(In, "x", []any{1, "a"}), s("b"), no},
		{compare(In, "x", []any{}), null, no},
		{compare(In, "x", []any{1}), null, unknown},
		{compare(In, "x", 3), i(3), unknown},
		{compare(Equal, "x", true), graph.BoolValue(true), yes},
		{compare(Equal, "x", []any{1, 2}), graph.ListValue([]graph.Value{i(1), f(2)}), yes},
		{&Condition{Op: IsNull, Prop: "x"}, null, yes},
		{&Condition{Op: IsNotNull, Prop: "x"}, null, no},
		{&Condition{Op: Not, Of: []*Condition{compare(Equal, "x", 1)}}, null, unknown},
		{&Condition{Op: Or, Of: []*Condition{compare(Equal, "x", 1), {Op: IsNull, Prop: "x"}}}, null, yes},
		{&Condition{Op: And, Of: []*Condition{compare(More, "x", 0), compare(Less, "x", 9)}}, i(5), yes},
	} {
		got := testOf(c.c, []string{"x"}, nil).eval([][]graph.Value{{c.v}}, 0)
		require.Equal(t, c.want, got, "%s of %v", c.c, c.v)
	}
}

// Before its callers are known, a role is permitted what some grant permits, by the conditions of all of them.
func TestNamesWhere(t *testing.T) {
	mine, old := compare(Equal, "owner", claim("me")), compare(More, "age", 60)
	n := NamesOf([]Rule{
		{Effect: Grant, Action: Match, Names: []string{"A", "B"}, Where: mine, Role: "r"},
		{Effect: Grant, Action: Match, Names: []string{"B"}, Where: old, Role: "r"},
		{Effect: Deny, Action: Read, Names: []string{"A"}, Props: []string{"p"}, Role: "r"},
		{Effect: Grant, Action: SetProperty, Names: []string{"A"}, Props: []string{"p"}, Role: "r"},
		{Effect: Grant, Action: Delete, Names: []string{"A"}, Role: "r"},
		{Effect: Grant, Action: Delete, Names: []string{"A"}, Where: mine, Role: "r"},
		{Effect: Grant, Action: Match, Names: []string{"C"}, Role: "other"},
	}, []string{"r"}, nil)
	for _, c := range []struct {
		name   string
		action Action
		prop   string
		ok     bool
		want   *Condition
	}{
		{"A", Match, "", true, mine},
		{"A", Traverse, "", true, mine},
		{"B", Match, "", true, &Condition{Op: Or, Of: []*Condition{mine, old}}},
		{"C", Match, "", false, nil},
		{"A", Read, "q", true, mine},
		{"A", Read, "p", false, nil},
		{"A", SetProperty, "p", true, nil},
		{"A", SetProperty, "q", false, nil},
		{"A", Delete, "", true, nil},
	} {
		where, ok := n.Where(false, []string{c.name}, c.action, c.prop)
		require.Equal(t, c.ok, ok, c)
		require.Equal(t, c.want, where, c)
	}
	require.Equal(t, map[string]bool{"p": true}, n.Denied(false, "A", Read))
	require.Empty(t, n.Denied(false, "B", Read))
	of := func(owner int64) func(string) graph.Value {
		return func(string) graph.Value { return graph.IntValue(owner) }
	}
	require.True(t, mine.Holds(of(1), map[string]graph.Value{"me": graph.IntValue(1)}))
	require.False(t, mine.Holds(of(2), map[string]graph.Value{"me": graph.IntValue(1)}))
	require.False(t, mine.Holds(of(1), nil))
}
