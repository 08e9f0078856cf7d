package rules

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

func TestChange(t *testing.T) {
	a := Rule{Effect: Grant, Action: Match, Names: []string{"A", "B"}, Role: "r"}
	b := Rule{Effect: Deny, Action: Read, Props: []string{"ssn"}, Role: "r", Where: compare(Equal, "t", claim("tenant"))}
	again := a
	again.Names = []string{"B", "A"}
	change := func(all, add, remove []Rule) ([]Rule, bool) {
		t.Helper()
		next, changed, err := Change(all, add, remove)
		require.NoError(t, err)
		return next, changed
	}
	all, changed := change(nil, []Rule{a, b, again}, nil)
	require.True(t, changed)
	require.Equal(t, []Rule{a, b}, all)
	_, changed = change(all, []Rule{again}, []Rule{{Effect: Deny, Action: Match, Role: "r"}})
	require.False(t, changed)
	left, changed := change(all, nil, []Rule{again})
	require.True(t, changed)
	require.Equal(t, []Rule{b}, left)
	require.Equal(t, []Rule{a, b}, all)

	c, err := Changed([]Rule{a, b}, nil)
	require.NoError(t, err)
	set, _, err := (*definition.Set)(nil).Apply(c)
	require.NoError(t, err)
	require.ElementsMatch(t, all, Of(set))
	c, err = Changed([]Rule{again}, []Rule{{Effect: Deny, Action: Match, Role: "r"}})
	require.NoError(t, err)
	same, _, err := set.Apply(c)
	require.NoError(t, err)
	require.Same(t, set, same)
	c, err = Changed(nil, []Rule{again})
	require.NoError(t, err)
	set, _, err = set.Apply(c)
	require.NoError(t, err)
	require.Equal(t, []Rule{b}, Of(set))

	_, _, err = Change(nil, []Rule{{Effect: Deny, Action: Read, Role: "r", Where: &Condition{Op: Equal, Prop: "p", With: &Operand{Const: &Constant{graph.FloatValue(math.NaN())}}}}}, nil)
	require.ErrorContains(t, err, "NaN cannot be a constant of a rule")
	_, _, err = Change(all, []Rule{a, {Effect: Grant, Action: Match}}, []Rule{a})
	require.Equal(t, "InvalidRule", graph.AsError(err).Detail)
	require.ErrorContains(t, err, "rule 2: there is no role")
	_, err = Changed([]Rule{a, {Effect: Grant, Action: Match}}, []Rule{a})
	require.Equal(t, "InvalidRule", graph.AsError(err).Detail)
	require.ErrorContains(t, err, "rule 2: there is no role")
}

// A stored rule that is not understood is an error that names it.
func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "cannot unmarshal array",
		`{"effect":"ALLOW","action":"READ","role":"r"}`:                                                          `the effect "ALLOW" is not known`,
		`{"effect":"GRANT","action":"FLY","role":"r"}`:                                                           `the action "FLY" is not known`,
		`{"effect":"GRANT","action":"READ"}`:                                                                     "there is no role",
		`{"effect":"GRANT","action":"READ","role":"r","until":3}`:                                                `unknown field "until"`,
		`{"effect":"GRANT","action":"CREATE","props":["p"],"role":"r"}`:                                          "CREATE has no properties",
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"LIKE","prop":"p"}}`:                         `the operator "LIKE" is not known`,
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"=","prop":"p"}}`:                            "has not the operands",
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"=","prop":"p","with":{}}}`:                  "has not the operands",
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"NOT","of":[null]}}`:                         "has not the operands",
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"AND"}}`:                                     "has not the operands",
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"=","prop":"p","with":{"const":{"a":1}}}}`:   "must be a boolean",
		`{"effect":"GRANT","action":"READ","role":"r","where":{"op":"IS NULL","prop":"p","with":{"claim":"c"}}}`: "has not the operands",
	} {
		_, err := decode(text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := decode(`{"effect":"GRANT"}`)
	require.ErrorContains(t, err, `rule {"effect":"GRANT"}: `)
	_, err = decode(`{"effect":"GRANT","action":"READ","role":"r"} {}`)
	require.ErrorContains(t, err, "more than one value")
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"effect":"DENY","action":"READ","props":["p"],"role":"r","where":{"op":"AND","of":[{"op":"=","prop":"p","with":{"const":[1,2.5,"x"]}},{"op":"NOT","of":[{"op":"<","prop":"q","with":{"claim":"c"}}]}]}}`)
	f.Fuzz(func(t *testing.T, key string) {
		r, err := decode(key)
		if err != nil {
			return
		}
		again, err := decode(r.Key())
		require.NoError(t, err)
		require.Equal(t, r.Key(), again.Key())
		require.NotEmpty(t, r.Command("g"))
		require.NotNil(t, New([]Rule{r}, []string{"r"}, nil, nil))
	})
}
