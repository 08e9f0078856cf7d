package optimize_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// social is the schema and statistics of a small social network.
func social() optimize.Env {
	ends := map[graph.TypeEnds]uint64{}
	add := func(src, typ, dst string, n uint64) {
		ends[graph.TypeEnds{Src: src, Type: typ}] += n
		ends[graph.TypeEnds{Type: typ, Dst: dst}] += n
	}
	add("Person", "KNOWS", "Person", 40_000)
	add("Person", "LIVES_IN", "City", 1_000)
	add("Post", "HAS_CREATOR", "Person", 5_000)
	add("Comment", "HAS_CREATOR", "Person", 20_000)
	add("Post", "HAS_TAG", "Tag", 8_000)
	add("Comment", "HAS_TAG", "Tag", 20_000)
	add("Comment", "REPLY_OF", "Post", 20_000)
	return optimize.Env{
		Features: new(shard.FeatureSet), // all
		Counts: &graph.Counts{
			Vertices: 26_200, Edges: 114_000,
			ByLabel: map[string]uint64{"Person": 1_000, "City": 100, "Post": 5_000, "Comment": 20_000, "Tag": 100},
			ByType:  map[string]uint64{"KNOWS": 40_000, "LIVES_IN": 1_000, "HAS_CREATOR": 25_000, "HAS_TAG": 28_000, "REPLY_OF": 20_000},
			Ends:    ends,
		},
		Indexes: []graph.Index{
			{ID: 1, Name: "person_id", Label: "Person", Props: []string{"id"}, Unique: true, Indexed: true, Online: true},
			{ID: 2, Name: "tag_name", Label: "Tag", Props: []string{"name"}, Indexed: true, Online: true},
			{ID: 3, Name: "person_age", Label: "Person", Props: []string{"age"}, Indexed: true, Online: true},
			{ID: 4, Name: "building", Label: "City", Props: []string{"id"}, Unique: true, Indexed: true},
			{ID: 5, Name: "knows_at", Type: "KNOWS", Props: []string{"at"}, Indexed: true, Online: true},
			{ID: 6, Name: "reply_no", Type: "REPLY_OF", Props: []string{"no"}, Unique: true, Indexed: true, Online: true},
			{ID: 7, Name: "person_home", Label: "Person", Props: []string{"country", "born", "name"}, Indexed: true, Online: true},
			{ID: 8, Name: "building_edges", Type: "HAS_TAG", Props: []string{"at"}, Indexed: true},
			{ID: 9, Name: "post_place", Label: "Post", Props: []string{"place"}, Kind: graph.PointIndex, Indexed: true, Online: true},
			{ID: 10, Name: "knows_place", Type: "KNOWS", Props: []string{"place"}, Kind: graph.PointIndex, Indexed: true, Online: true},
			{ID: 11, Name: "tag_place", Label: "Tag", Props: []string{"place"}, Indexed: true, Online: true},
			{ID: 12, Name: "tag_point", Label: "Tag", Props: []string{"place"}, Kind: graph.PointIndex, Indexed: true, Online: true},
		},
	}
}

// have returns the numbers of vertices and edges with properties: all for those of indexes, else as a case says, as in
// Person.email/20.
func have(indexes []graph.Index, c *graph.Counts, cases []string) map[graph.PropOf]uint64 {
	m := map[graph.PropOf]uint64{}
	for _, ix := range indexes {
		n := c.ByLabel[ix.Label] + c.ByType[ix.Type]
		m[graph.PropOf{Label: ix.Label, Type: ix.Type, Prop: ix.Props[0]}] = n
		m[graph.PropOf{Prop: ix.Props[0]}] += c.ByLabel[ix.Label]
	}
	for _, s := range cases {
		name, n, _ := strings.Cut(s, "/")
		owner, prop, _ := strings.Cut(name, ".")
		of := graph.PropOf{Label: owner, Prop: prop}
		if _, ok := c.ByType[owner]; ok {
			of = graph.PropOf{Type: owner, Prop: prop}
		}
		m[of], _ = strconv.ParseUint(n, 10, 64)
		if of.Label != "" {
			m[graph.PropOf{Prop: prop}] += m[of]
		}
	}
	return m
}

// feature returns the feature with a name, in which - stands for a space, or NumFeatures.
func feature(name string) shard.Feature {
	for f := range shard.NumFeatures {
		if f.String() == strings.ReplaceAll(name, "-", " ") {
			return f
		}
	}
	return shard.NumFeatures
}

// ruled says that rules let the caller of a scan see what indexes have for one value, or in an interval.
type ruled struct {
	shard.RuleScanner
	parts     []rules.Part
	remembers bool
}

func (r *ruled) RuleIndexes(label string) (parts []rules.Part, ok bool) {
	for _, p := range r.parts {
		if p.Index.Label == label {
			parts = append(parts, p)
		}
	}
	return parts, len(parts) > 0
}

func (r *ruled) Remembers() bool { return r.remembers }

// ruledBy returns the rules of a case: names of indexes, each with the number of values.
func ruledBy(indexes []graph.Index, cases []string) shard.RuleScanner {
	r := &ruled{}
	for _, s := range cases {
		name, n, _ := strings.Cut(s, "/")
		values, _ := strconv.Atoi(n)
		r.remembers = r.remembers || name == "remembered"
		for _, ix := range indexes {
			if ix.Name == name {
				r.parts = append(r.parts, rules.Part{Index: ix, Values: values, Bounds: 2})
			}
		}
		if name == "secret" { // an index that the caller may not know
			r.parts = append(r.parts, rules.Part{Index: graph.Index{ID: 100, Name: name, Label: "Post", Props: []string{"tenant"}}, Values: values})
		}
	}
	return r
}

// TestPlans pins the plans of statements and the rules that fire. rule= requires a rule to fire; never= requires it not to; without= names features
// that the graph does not have; by= names indexes that find what access rules let the caller see, with the number of values (none: an interval).
func TestPlans(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			q, _, err := cypher.Compile(d.Input, cypher.Options{})
			if err != nil {
				return err.Error() + "\n"
			}
			if d.Cmd == "logical" {
				return plan.Format(q)
			}
			env := social()
			var fired []string
			env.Fired = func(rule string) {
				if !slices.Contains(fired, rule) {
					fired = append(fired, rule)
				}
			}
			for _, a := range d.CmdArgs {
				if a.Key == "disable" {
					env.Disable = a.Vals
				}
				if a.Key == "skew" {
					env.Counts.Degrees = map[graph.TypeDir][]uint64{
						{Type: "HAS_TAG", Dir: graph.In}:  {0, 0, 0, 0, 64, 20, 10, 0, 0, 0, 0, 0, 2, 1}, // two tags have most posts
						{Type: "HAS_TAG", Dir: graph.Out}: {22_000, 3_000},
					}
				}
				if a.Key == "lists" {
					env.Counts.Degrees = map[graph.TypeDir][]uint64{
						{Type: "HAS_CREATOR", Dir: graph.Out}: {25_000},
						{Type: "HAS_TAG", Dir: graph.Out}:     {2_000, 4_000, 2_000},
					}
				}
				if a.Key == "without" {
					for _, name := range a.Vals {
						missing := feature(name)
						if missing == shard.NumFeatures {
							d.Fatalf(t, "unknown feature %q", name)
						}
						env.Features[missing] = "this backing has none"
					}
				}
				if a.Key == "by" {
					env.Rules = ruledBy(env.Indexes, a.Vals)
				}
				if a.Key == "have" {
					env.Counts.Props = have(env.Indexes, env.Counts, a.Vals)
				}
			}
			optimize.Plan(q, env)
			for _, a := range d.CmdArgs {
				for _, rule := range a.Vals {
					if a.Key == "rule" && !slices.Contains(fired, rule) {
						d.Fatalf(t, "rule %s did not fire", rule)
					}
					if a.Key == "never" && slices.Contains(fired, rule) {
						d.Fatalf(t, "rule %s fired", rule)
					}
				}
			}
			out := plan.Format(q)
			if len(fired) > 0 {
				out += "fired: " + strings.Join(fired, ", ") + "\n"
			}
			return out
		})
	})
}

// Each rule has a case in which it fires and one in which it must not.
func TestEachRuleHasCases(t *testing.T) {
	fires, never := map[string]bool{}, map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			for _, a := range d.CmdArgs {
				for _, rule := range a.Vals {
					switch a.Key {
					case "rule":
						fires[rule] = true
					case "never":
						never[rule] = true
					}
				}
			}
			return d.Expected
		})
	})
	for _, rule := range append(optimize.Rules(), optimize.EagerRule) {
		if !fires[rule] || !never[rule] {
			t.Errorf("%s: fires %t, must not %t", rule, fires[rule], never[rule])
		}
	}
}
