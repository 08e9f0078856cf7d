package diagnose

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/flame"
)

// Stacks form a tree from their roots, and a function that calls itself counts once.
func TestFlame(t *testing.T) {
	f := func(id uint64, name string) *profile.Location {
		return &profile.Location{ID: id, Line: []profile.Line{{Function: &profile.Function{ID: id, Name: name}}}}
	}
	a, rec := f(1, "a"), f(2, "rec</script>")
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{rec, rec, a}, Value: []int64{1, 30}}, {Location: []*profile.Location{a}, Value: []int64{1, 10}},
		},
	}
	root := flame.Tree(p, nil, flame.NoLabels)
	require.EqualValues(t, 40, root.Value)
	require.Equal(t, "a", root.Children[0].Name)
	require.EqualValues(t, 10, root.Children[0].Self)
	var b strings.Builder
	require.NoError(t, printTop(&b, p, nil, 10))
	require.Contains(t, b.String(), "   75.0%    75.0%  rec")
	page, err := flamePage(p, nil, "cpu")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(page), "</script>"))
	require.NotContains(t, string(page), `id="widths"`)

	// The difference of two profiles compares shares, and includes functions that only the first one has.
	gone := f(3, "gone")
	base := &profile.Profile{SampleType: p.SampleType, Sample: []*profile.Sample{
		{Location: []*profile.Location{a}, Value: []int64{1, 1}}, {Location: []*profile.Location{gone, a}, Value: []int64{1, 3}},
	}}
	root = flame.Tree(p, base, flame.NoLabels)
	require.EqualValues(t, 4, root.Base)
	require.EqualValues(t, 1, root.Children[0].BaseSelf)
	b.Reset()
	require.NoError(t, printTop(&b, p, base, 10))
	require.Equal(t, `  before     self   change  function (nanoseconds)
   75.0%     0.0%   -75.0%  gone
    0.0%    75.0%   +75.0%  rec</script>
   25.0%    25.0%    +0.0%  a
`, b.String())
	page, err = flamePage(p, base, "cpu")
	require.NoError(t, err)
	require.Contains(t, string(page), `id="widths"`)
	require.Contains(t, string(page), `"n":"gone","v":0,"s":0,"b":3,"t":3`)
	require.Contains(t, string(page), "Each box is a function,")

	// Labelled samples are listed below their statements and operators; the list of functions shows neither.
	p.Sample[0].Label = map[string][]string{"graph": {"default"}, "statement": {"0123"}, "text": {"RETURN ?"}, "operator": {"Unwind"}}
	root = flame.Tree(p, base, flame.StatementLabels)
	require.Equal(t, "RETURN ?  [0123]", root.Children[0].Name)
	require.EqualValues(t, 30, root.Children[0].Value)
	require.Equal(t, "Unwind", root.Children[0].Children[0].Name)
	require.Equal(t, "a", root.Children[0].Children[0].Children[0].Name)
	require.Equal(t, "outside of statements", root.Children[1].Name)
	require.EqualValues(t, 4, root.Children[1].Base)
	page, err = flamePage(p, nil, "cpu")
	require.NoError(t, err)
	require.Contains(t, string(page), "The boxes are statements")
	require.Contains(t, string(page), `"n":"RETURN ?  [0123]","v":30`)
	delete(p.Sample[0].Label, "text")
	delete(p.Sample[0].Label, "operator")
	require.Equal(t, []string{"0123", "outside of operators"}, flame.StatementLabels(p.Sample[0]))
	b.Reset()
	require.NoError(t, printTop(&b, p, nil, 10))
	require.NotContains(t, b.String(), "0123")
}
