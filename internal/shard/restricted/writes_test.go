package restricted

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// desk is a graph and a caller who changes it.
type desk struct {
	t      *testing.T
	g      *oracle.Graph
	policy *rules.Policy
	props  map[string]graph.PropID
	labels map[string]graph.LabelID
	typ    map[string]graph.TypeID
}

func newDesk(t *testing.T, all ...rules.Rule) *desk {
	d := &desk{t: t, g: oracle.NewGraph(1), policy: rules.New(all, []string{"r"}, nil, nil), props: map[string]graph.PropID{}, labels: map[string]graph.LabelID{}, typ: map[string]graph.TypeID{}}
	d.as(nil, func(tx shard.Tx) error {
		for _, name := range []string{"tenant", "name", "ssn"} {
			d.props[name], _ = tx.Prop(name)
		}
		for _, name := range []string{"Person", "Secret", "Tag"} {
			d.labels[name], _ = tx.Label(name)
		}
		for _, name := range []string{"KNOWS", "OWES"} {
			d.typ[name], _ = tx.Type(name)
		}
		return nil
	})
	return d
}

// as runs f in a transaction under a policy, nil for none, and commits it.
func (d *desk) as(policy *rules.Policy, f func(tx shard.Tx) error) error {
	tx, err := d.g.Begin(context.Background(), shard.Write)
	require.NoError(d.t, err)
	defer tx.Rollback()
	if policy != nil {
		tx = New(tx, d.g, policy, FeaturesOf(d.g.Features()))
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit(context.Background())
}

func (d *desk) vertex(tx shard.Tx, labels []string, props map[string]string) (graph.VertexID, error) {
	var ids []graph.LabelID
	for _, l := range labels {
		ids = append(ids, d.labels[l])
	}
	set, err := tx.LabelSet(ids)
	require.NoError(d.t, err)
	m := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: d.values(props)}}
	err = tx.Apply(context.Background(), m)
	return m[0].Vertex, err
}

func (d *desk) values(props map[string]string) (out []graph.Property) {
	for _, name := range []string{"tenant", "name", "ssn"} {
		if v, ok := props[name]; ok {
			out = append(out, graph.Property{ID: d.props[name], Value: graph.StringValue(v)})
		}
	}
	return out
}

// A caller changes what the rules let it change, and gets an error for anything else, which changes nothing.
func TestWrites(t *testing.T) {
	mine := is(rules.Equal, "tenant", graph.StringValue("a"))
	grant := func(action rules.Action, edges bool, where *rules.Condition, names ...string) rules.Rule {
		return all(rules.Grant, action, edges, where, names...)
	}
	checked := grant(rules.Create, false, nil, "Person")
	checked.Check = true
	named := rules.Rule{Effect: rules.Grant, Action: rules.SetProperty, Props: []string{"tenant", "name"}, Names: []string{"Person"}, Role: "r"}
	d := newDesk(t, grant(rules.Match, false, mine, "Person"), grant(rules.Match, true, nil, "KNOWS"), checked, named,
		grant(rules.Create, true, nil, "KNOWS"), grant(rules.Delete, true, nil), grant(rules.Delete, false, mine), grant(rules.SetLabel, false, nil, "Tag"))
	var own, other, secret graph.VertexID
	require.NoError(t, d.as(nil, func(tx shard.Tx) (err error) {
		own, err = d.vertex(tx, []string{"Person"}, map[string]string{"tenant": "a", "ssn": "1"})
		require.NoError(t, err)
		other, err = d.vertex(tx, []string{"Person"}, map[string]string{"tenant": "b"})
		require.NoError(t, err)
		secret, err = d.vertex(tx, []string{"Secret"}, nil)
		return err
	}))
	apply := func(m shard.Mutation) func(tx shard.Tx) error {
		return func(tx shard.Tx) error { return tx.Apply(context.Background(), []shard.Mutation{m}) }
	}
	set := func(labels ...string) (out graph.LabelSet) {
		require.NoError(t, d.as(nil, func(tx shard.Tx) (err error) {
			var ids []graph.LabelID
			for _, l := range labels {
				ids = append(ids, d.labels[l])
			}
			out, err = tx.LabelSet(ids)
			return err
		}))
		return out
	}
	edge := func(src, dst graph.VertexID, typ string) graph.Edge {
		return graph.Edge{Src: src, Dst: dst, Type: d.typ[typ]}
	}
	str := map[string]string{"tenant": "a", "name": "x"}
	for name, c := range map[string]struct {
		f       func(tx shard.Tx) error
		refused string
	}{
		"create": {func(tx shard.Tx) error { _, err := d.vertex(tx, []string{"Person"}, str); return err }, ""},
		"create hidden": {func(tx shard.Tx) error {
			_, err := d.vertex(tx, []string{"Person"}, map[string]string{"tenant": "b"})
			return err
		}, "WITH CHECK"},
		"create other label":    {func(tx shard.Tx) error { _, err := d.vertex(tx, []string{"Secret"}, nil); return err }, "with the label Secret"},
		"create two labels":     {func(tx shard.Tx) error { _, err := d.vertex(tx, []string{"Person", "Secret"}, str); return err }, "with the label Secret"},
		"create without labels": {func(tx shard.Tx) error { _, err := d.vertex(tx, nil, nil); return err }, "without labels"},
		"create with ssn": {func(tx shard.Tx) error {
			_, err := d.vertex(tx, []string{"Person"}, map[string]string{"tenant": "a", "ssn": "2"})
			return err
		}, "the property ssn"},
		"set":                {apply(shard.Mutation{Op: shard.SetVertex, Vertex: own, Props: d.values(map[string]string{"name": "y"})}), ""},
		"set ssn":            {apply(shard.Mutation{Op: shard.SetVertex, Vertex: own, Props: d.values(map[string]string{"ssn": "2"})}), "the property ssn"},
		"give away":          {apply(shard.Mutation{Op: shard.SetVertex, Vertex: own, Props: d.values(map[string]string{"tenant": "b"})}), "WITH CHECK"},
		"set of another":     {apply(shard.Mutation{Op: shard.SetVertex, Vertex: other, Props: d.values(map[string]string{"name": "y"})}), "may not change this vertex"},
		"tag":                {apply(shard.Mutation{Op: shard.SetLabels, Vertex: own, Labels: set("Person", "Tag")}), ""},
		"unlabel":            {apply(shard.Mutation{Op: shard.SetLabels, Vertex: own, Labels: set()}), "remove the label Person"},
		"label":              {apply(shard.Mutation{Op: shard.SetLabels, Vertex: own, Labels: set("Person", "Secret")}), "set the label Secret"},
		"delete":             {apply(shard.Mutation{Op: shard.DeleteVertex, Vertex: own}), ""},
		"delete another":     {apply(shard.Mutation{Op: shard.DeleteVertex, Vertex: secret}), "may not change this vertex"},
		"loop":               {apply(shard.Mutation{Op: shard.CreateEdge, Edge: edge(own, own, "KNOWS")}), ""},
		"edge to hidden":     {apply(shard.Mutation{Op: shard.CreateEdge, Edge: edge(own, other, "KNOWS")}), "between these vertices"},
		"edge of other type": {apply(shard.Mutation{Op: shard.CreateEdge, Edge: edge(own, own, "OWES")}), "edges of the type OWES"},
		"edge with property": {apply(shard.Mutation{Op: shard.CreateEdge, Edge: edge(own, own, "KNOWS"), Props: d.values(map[string]string{"name": "x"})}), "the property name"},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := d.g.Begin(context.Background(), shard.Write)
			require.NoError(t, err)
			defer tx.Rollback()
			err = c.f(New(tx, d.g, d.policy, FeaturesOf(d.g.Features())))
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.refused)
			require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
		})
	}
}

// A constraint that a hidden vertex meets names neither the vertex nor its values.
func TestConceal(t *testing.T) {
	ctx := context.Background()
	d := newDesk(t, all(rules.Grant, rules.Match, false, is(rules.Equal, "tenant", graph.StringValue("a"))), all(rules.Grant, rules.Write, false, nil))
	require.NoError(t, d.g.CreateIndex(ctx, graph.Index{Name: "one", Label: "Person", Props: []string{"ssn"}, Unique: true, Indexed: true}))
	require.NoError(t, d.as(nil, func(tx shard.Tx) error {
		_, err := d.vertex(tx, []string{"Person"}, map[string]string{"tenant": "b", "ssn": "1"})
		return err
	}))
	err := d.as(d.policy, func(tx shard.Tx) error {
		_, err := d.vertex(tx, []string{"Person"}, map[string]string{"tenant": "a", "ssn": "1"})
		return err
	})
	require.Equal(t, graph.KindExists, graph.AsError(err).Kind)
	require.NotContains(t, err.Error(), "Node")
	require.NotContains(t, err.Error(), "ssn")
}
