package cypher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
)

// known is a catalog of three labels, two types and four properties.
type known struct{ graph.Catalog }

func (known) AllLabels() []string { return []string{"Person", "City", "Both"} }
func (known) AllTypes() []string  { return []string{"KNOWS", "Both"} }
func (known) AllProps() []string  { return []string{"name", "tenant", "level", "since"} }

func (k known) Label(name string) (graph.LabelID, bool) {
	i := slices.Index(k.AllLabels(), name)
	return graph.LabelID(i + 1), i >= 0
}

func (k known) Type(name string) (graph.TypeID, bool) {
	i := slices.Index(k.AllTypes(), name)
	return graph.TypeID(i + 1), i >= 0
}

func (k known) Prop(name string) (graph.PropID, bool) {
	i := slices.Index(k.AllProps(), name)
	return graph.PropID(i + 1), i >= 0
}

// TestRules prints the rules of statements in a graph, each as the statement that makes it, or the error.
func TestRules(t *testing.T) {
	params := map[string]graph.Value{
		"most": graph.IntValue(3), "tenants": graph.ListValue([]graph.Value{graph.StringValue("a"), graph.FloatValue(-2)}), "none": {},
		"nested": graph.ListValue([]graph.Value{graph.ListValue(nil)}),
	}
	datadriven.RunTest(t, "testdata/rules", func(_ *testing.T, d *datadriven.TestData) string {
		c, err := ParseRules(d.Input)
		var all []rules.Rule
		if err == nil {
			all, err = c.Rules(params, known{})
		}
		if err != nil {
			e := graph.AsError(err)
			return fmt.Sprintf("%s %s at %d:%d: %s\n", e.Type, e.Detail, e.Pos.Line, e.Pos.Column, e.Msg)
		}
		var b strings.Builder
		for _, r := range all {
			text := r.Command("g")
			if c.Revoke {
				text = r.Revoke("g")
			}
			fmt.Fprintln(&b, text)
		}
		return b.String()
	})
}

// TestRulesRoundTrip checks that the statement of a rule makes the rule.
func TestRulesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		want := randomRule(r)
		for text, revoke := range map[string]bool{want.Command("a graph"): false, want.Revoke("a graph"): true} {
			c, err := ParseRules(text)
			require.NoError(t, err, text)
			require.Equal(t, "a graph", HeadOf(c).Graph)
			require.Equal(t, revoke, c.Revoke)
			got, err := c.Rules(nil, nil)
			require.NoError(t, err, text)
			if want.Action == rules.Write {
				want.Edges = !want.Edges // its statement makes the rules for vertices and for edges
				require.Equal(t, 2, len(got))
				require.Contains(t, ruleKeys(got), want.Key())
				want.Edges = !want.Edges
				require.Contains(t, ruleKeys(got), want.Key())
				continue
			}
			require.Equal(t, ruleKeys(want.Split()), ruleKeys(got), text)
		}
	}
}

func ruleKeys(all []rules.Rule) (keys []string) {
	for i := range all {
		keys = append(keys, all[i].Key())
	}
	return keys
}

var randomNames = []string{"Person", "A", "a, b", "`", "*", "TO", "n", "WHERE", "é", "x y", "1", "On", "with"}

func randomRule(r *rand.Rand) rules.Rule {
	name := func() string { return randomNames[r.IntN(len(randomNames))] }
	names := func() (out []string) {
		for range r.IntN(4) {
			if n := name(); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		return out
	}
	actions := []rules.Action{
		rules.Traverse, rules.Read, rules.Match, rules.Create, rules.Delete, rules.SetLabel, rules.RemoveLabel, rules.SetProperty, rules.Write,
	}
	out := rules.Rule{Effect: rules.Grant, Action: actions[r.IntN(len(actions))], Role: name()}
	if r.IntN(2) == 0 {
		out.Effect = rules.Deny
	}
	labels := out.Action == rules.SetLabel || out.Action == rules.RemoveLabel
	out.Edges = !labels && r.IntN(2) == 0
	if out.Action != rules.Write {
		out.Names = names()
	}
	if out.Action.OfProperties() {
		out.Props = names()
	}
	if labels || out.Action == rules.Write {
		return out
	}
	out.Check = r.IntN(3) == 0
	if r.IntN(2) == 0 {
		out.Where = randomCondition(r, 3, "")
	}
	return out
}

// randomCondition is one in normal form: an operator does not stand directly within itself, except for NOT.
func randomCondition(r *rand.Rand, depth int, within rules.Op) *rules.Condition {
	if depth > 0 && r.IntN(2) == 0 {
		op := []rules.Op{rules.And, rules.Or, rules.Not}[r.IntN(3)]
		if op == rules.Not {
			return &rules.Condition{Op: op, Of: []*rules.Condition{randomCondition(r, depth-1, op)}}
		}
		if op != within {
			c := &rules.Condition{Op: op}
			for range 2 + r.IntN(2) {
				c.Of = append(c.Of, randomCondition(r, depth-1, op))
			}
			return c
		}
	}
	ops := []rules.Op{
		rules.Equal, rules.Unequal, rules.Less, rules.LessEqual, rules.More, rules.MoreEqual, rules.In, rules.IsNull, rules.IsNotNull,
	}
	c := &rules.Condition{Op: ops[r.IntN(len(ops))], Prop: randomNames[r.IntN(len(randomNames))]}
	switch {
	case c.Op == rules.IsNull || c.Op == rules.IsNotNull:
	case r.IntN(3) == 0:
		c.With = &rules.Operand{Claim: randomNames[r.IntN(len(randomNames))]}
	default:
		c.With = &rules.Operand{Const: &rules.Constant{Value: randomConstant(r, c.Op == rules.In || r.IntN(5) == 0)}}
	}
	return c
}

func randomConstant(r *rand.Rand, list bool) graph.Value {
	if list {
		vs := make([]graph.Value, r.IntN(4))
		for i := range vs {
			vs[i] = randomConstant(r, false)
		}
		return graph.ListValue(vs)
	}
	texts := []string{"", "a", "it's", "\\", "\n\t\r", "é\u2028\x01", "$claims.x", `"`, "// no comment"}
	floats := []float64{0, 1, -1, 2.5, 1e300, -1e-300, 1e6, 1e21, 5e-324, 123456789}
	ints := []int64{0, 1, -1, 1 << 62, -1 << 63, 1<<63 - 1}
	switch r.IntN(4) {
	case 0:
		return graph.BoolValue(r.IntN(2) == 0)
	case 1:
		return graph.IntValue(ints[r.IntN(len(ints))])
	case 2:
		return graph.FloatValue(floats[r.IntN(len(floats))])
	}
	return graph.StringValue(texts[r.IntN(len(texts))])
}
