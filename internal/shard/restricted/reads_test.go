package restricted

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// counted answers with the exact counts of what a transaction sees.
type counted struct {
	shard.Tx
	names graph.Catalog
	t     *testing.T
}

func (c counted) Counts() *graph.Counts {
	n, err := shard.CountAll(context.Background(), c.names, c.Tx)
	require.NoError(c.t, err)
	delete(n.Props, graph.PropOf{})
	return n
}

func (c counted) Statistics() *graph.Counts { return c.Counts() }

// view is a graph that can only be read, under a policy.
type view struct {
	shard.Graph
	set *shard.FeatureSet
}

func (v view) Features() *shard.FeatureSet { return v.set }

func all(effect rules.Effect, action rules.Action, edges bool, where *rules.Condition, names ...string) rules.Rule {
	return rules.Rule{Effect: effect, Action: action, Edges: edges, Names: names, Where: where, Role: "r"}
}

func is(op rules.Op, prop string, v graph.Value) *rules.Condition {
	return &rules.Condition{Op: op, Prop: prop, With: &rules.Operand{Const: &rules.Constant{Value: v}}}
}

// policies hide the same in different ways: vertices with hidden = true, or with the label H; edges with hidden = true, or of the type HT; and
// properties of elements with veiled = true that are named there.
var policies = map[string][]rules.Rule{
	"denied": {
		all(rules.Grant, rules.Match, false, nil), all(rules.Grant, rules.Match, true, nil),
		all(rules.Deny, rules.Traverse, false, is(rules.Equal, "hidden", graph.BoolValue(true))), all(rules.Deny, rules.Traverse, true, is(rules.Equal, "hidden", graph.BoolValue(true))),
		all(rules.Deny, rules.Match, false, nil, "H"), all(rules.Deny, rules.Match, true, nil, "HT"),
		{Effect: rules.Deny, Action: rules.Read, Props: []string{"hidden", "veiled"}, Role: "r"},
		{Effect: rules.Deny, Action: rules.Read, Edges: true, Props: []string{"hidden", "veiled"}, Role: "r"},
		{Effect: rules.Deny, Action: rules.Read, Props: []string{"number"}, Where: is(rules.Equal, "veiled", graph.StringValue("number")), Role: "r"},
		{Effect: rules.Deny, Action: rules.Match, Props: []string{"number"}, Edges: true, Where: is(rules.Equal, "veiled", graph.StringValue("number")), Role: "r"},
	},
	"granted": {
		all(rules.Grant, rules.Traverse, false, &rules.Condition{Op: rules.IsNull, Prop: "hidden"}), all(rules.Grant, rules.Traverse, true, &rules.Condition{Op: rules.IsNull, Prop: "hidden"}),
		all(rules.Deny, rules.Traverse, false, nil, "H"), all(rules.Deny, rules.Traverse, true, nil, "HT"),
		{Effect: rules.Grant, Action: rules.Read, Props: []string{"key", "flag", "name", "weight"}, Role: "r"},
		{Effect: rules.Grant, Action: rules.Read, Props: []string{"key", "flag", "name", "weight"}, Edges: true, Role: "r"},
		{Effect: rules.Grant, Action: rules.Read, Props: []string{"number"}, Where: &rules.Condition{Op: rules.IsNull, Prop: "veiled"}, Role: "r"},
		{Effect: rules.Grant, Action: rules.Read, Props: []string{"number"}, Edges: true, Where: &rules.Condition{Op: rules.IsNull, Prop: "veiled"}, Role: "r"},
	},
}

// filler writes contents to a graph of the oracle, with elements and values between them that the policies hide.
type filler struct {
	t     *testing.T
	rng   *rand.Rand
	tx    shard.Tx
	props map[string]graph.PropID
	types map[string]graph.TypeID
}

func (f *filler) label(names ...string) graph.LabelSet {
	var ids []graph.LabelID
	for _, name := range names {
		l, err := f.tx.Label(name)
		require.NoError(f.t, err)
		ids = append(ids, l)
	}
	set, err := f.tx.LabelSet(ids)
	require.NoError(f.t, err)
	return set
}

func (f *filler) properties(values map[string]graph.Value) (out []graph.Property) {
	if _, ok := values["number"]; !ok && f.rng.IntN(2) == 0 {
		values["number"], values["veiled"] = graph.IntValue(7), graph.StringValue("number")
	}
	for name, v := range values {
		out = append(out, graph.Property{ID: f.props[name], Value: v})
	}
	slices.SortFunc(out, func(a, b graph.Property) int { return int(a.ID) - int(b.ID) })
	return out
}

func copyOf(m map[string]graph.Value) map[string]graph.Value {
	out := map[string]graph.Value{}
	maps.Copy(out, m)
	return out
}

// hidden makes a vertex that the policies hide.
func (f *filler) hidden() shard.Mutation {
	values := map[string]graph.Value{"key": graph.IntValue(int64(f.rng.IntN(5))), "name": graph.StringValue("a")}
	if f.rng.IntN(2) == 0 {
		return shard.Mutation{Op: shard.CreateVertex, Labels: f.label("L0", "H"), Props: f.properties(values)}
	}
	values["hidden"] = graph.BoolValue(true)
	return shard.Mutation{Op: shard.CreateVertex, Labels: f.label("L1"), Props: f.properties(values)}
}

func (f *filler) vertices(c *shardtest.Contents) (seen, hidden []graph.VertexID) {
	var ms []shard.Mutation
	var at []int
	for _, r := range c.Vertices {
		for f.rng.IntN(3) == 0 {
			ms = append(ms, f.hidden())
		}
		at, ms = append(at, len(ms)), append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: f.label(r.Names...), Props: f.properties(copyOf(r.Props))})
	}
	ms = append(ms, f.hidden())
	require.NoError(f.t, f.tx.Apply(context.Background(), ms))
	for i := range ms {
		if slices.Contains(at, i) {
			seen = append(seen, ms[i].Vertex)
		} else {
			hidden = append(hidden, ms[i].Vertex)
		}
	}
	return seen, hidden
}

func (f *filler) edges(c *shardtest.Contents, seen, hidden []graph.VertexID) {
	some := func(ids []graph.VertexID) graph.VertexID { return ids[f.rng.IntN(len(ids))] }
	edge := func(src, dst graph.VertexID, typ string, values map[string]graph.Value) shard.Mutation {
		return shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: src, Dst: dst, Type: f.types[typ]}, Props: f.properties(values)}
	}
	var ms []shard.Mutation
	for _, r := range c.Edges {
		ms = append(ms, edge(seen[r.Source], seen[r.Target], r.Names[0], copyOf(r.Props)))
		switch key := map[string]graph.Value{"key": graph.IntValue(3)}; f.rng.IntN(6) {
		case 0:
			ms = append(ms, edge(some(seen), some(hidden), "T1", key))
		case 1:
			ms = append(ms, edge(some(hidden), some(seen), "T0", key))
		case 2:
			ms = append(ms, edge(some(seen), some(seen), "HT", key))
		case 3:
			key["hidden"] = graph.BoolValue(true)
			ms = append(ms, edge(some(seen), some(seen), "T2", key))
		}
	}
	require.NoError(f.t, f.tx.Apply(context.Background(), ms))
}

// fill makes a graph of contents with more that the policies hide.
func fill(t *testing.T, rng *rand.Rand, c *shardtest.Contents) *oracle.Graph {
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Write)
	require.NoError(t, err)
	f := &filler{t: t, rng: rng, tx: tx, props: map[string]graph.PropID{}, types: map[string]graph.TypeID{}}
	for _, name := range []string{shardtest.Key, "flag", "name", "number", "weight", "hidden", "veiled"} {
		f.props[name], err = tx.Prop(name)
		require.NoError(t, err)
	}
	for _, name := range []string{"L0", "L1", "L2", "H"} {
		f.label(name)
	}
	for _, name := range []string{"T0", "T1", "T2", "HT"} {
		f.types[name], err = tx.Type(name)
		require.NoError(t, err)
	}
	seen, hidden := f.vertices(c)
	f.edges(c, seen, hidden)
	require.NoError(t, tx.Commit(context.Background()))
	return g
}

// What a caller sees of a graph with hidden elements and properties equals a graph without them, through every request.
func TestReads(t *testing.T) {
	for name, all := range policies {
		t.Run(name, func(t *testing.T) {
			policy := rules.New(all, []string{"r"}, nil, nil)
			rng := rand.New(rand.NewPCG(1, 2))
			shardtest.RunReads(t, func(yield func(uint64) bool) {
				for seed := range uint64(20) {
					if !yield(seed) {
						return
					}
				}
			}, func(t *testing.T, c *shardtest.Contents) shard.Graph {
				g := fill(t, rng, c)
				set := FeaturesOf(g.Features())
				return view{shard.ReadOnly(g, func(ctx context.Context) (shard.Tx, error) {
					tx, err := g.Begin(ctx, shard.Read)
					if err != nil {
						return nil, err
					}
					return counted{New(tx, g, policy, set), g, t}, nil
				}), set}
			}, shard.ReadMetering, shard.Aggregates, shard.Turns, shard.Validation, shard.WireMetering, shard.Passing,
				shard.ExactCounts, shard.ChangeDates, shard.Versions, shard.Commits, shard.Positions)
		})
	}
}
