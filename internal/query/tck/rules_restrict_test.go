package tck

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	accessrules "github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// hiding adds to the graph of a case what the rules hide: vertices by a label or by a property, edges by their type, by a property or with an
// end that is hidden, and a property.
var hiding = []string{
	"UNWIND range(0, 4) AS i CREATE (:A:B:C:Hidden {x: i % 3, s: 'a', id: 1000 + i, f: 1.0})",
	"UNWIND range(0, 4) AS i CREATE (:A {x: i % 3, s: 'ab', id: 2000 + i, hidden: true})",
	"MATCH (a:Hidden), (b {hidden: true}) WHERE a.x = b.x CREATE (a)-[:T {w: 1}]->(b), (b)-[:U {w: 0}]->(a)",
	"MATCH (n) SET n.veil = 1",
}

// hidingEdges are edges of vertices that the caller sees, which keep it from deleting these.
var hidingEdges = []string{
	"MATCH (h), (n) WHERE (h:Hidden OR h.hidden) AND NOT n:Hidden AND n.hidden IS NULL CREATE (h)-[:T {w: 1}]->(n), (n)-[:U {w: 0}]->(h)",
	"MATCH (a), (b) WHERE NOT a:Hidden AND a.hidden IS NULL AND NOT b:Hidden AND b.hidden IS NULL AND id(a) % 2 = id(b) % 2 CREATE (a)-[:T {w: 1, hidden: true}]->(b), (b)-[:Hidden {w: 1}]->(a)",
}

// newGuarded returns an engine whose graph follows rules.
func newGuarded(t *testing.T, s setting) *engine {
	whole := oracle.New(s.shards)
	require.NoError(t, whole.CreateGraph(t.Context(), query.DefaultGraph))
	store := restricted.NewStore(whole)
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	return &engine{setting: s, g: g, whole: query.New(store, query.Options{}), store: store}
}

// rule adds to the engine's graph what its caller does not see, and makes it that caller's: who sees and may change all that was there
// before. Without edges between the two, the caller can delete it.
func (e *engine) rule(deletes bool) error {
	add := hiding
	if !deletes {
		add = append(slices.Clip(add), hidingEdges...)
	}
	for _, text := range add {
		if _, err := e.run(text, nil); err != nil {
			return err
		}
	}
	var all []accessrules.Rule
	for _, edges := range []bool{false, true} {
		of := func(effect accessrules.Effect, action accessrules.Action, r accessrules.Rule) {
			r.Effect, r.Action, r.Edges, r.Role = effect, action, edges, "clerk"
			all = append(all, r)
		}
		hidden := &accessrules.Condition{Op: accessrules.Equal, Prop: "hidden", With: &accessrules.Operand{Claim: "yes"}}
		of(accessrules.Grant, accessrules.Match, accessrules.Rule{})
		of(accessrules.Grant, accessrules.Write, accessrules.Rule{})
		of(accessrules.Deny, accessrules.Traverse, accessrules.Rule{Names: []string{"Hidden"}})
		of(accessrules.Deny, accessrules.Traverse, accessrules.Rule{Where: hidden})
		of(accessrules.Deny, accessrules.Read, accessrules.Rule{Props: []string{"hidden", "veil"}})
	}
	return e.become(all, map[string]graph.Value{"yes": graph.BoolValue(true)})
}

// become makes the engine's graph that of a caller under rules of the role clerk.
func (e *engine) become(all []accessrules.Rule, claims map[string]graph.Value) error {
	if err := shard.ChangeRules(context.Background(), e.g, all, nil); err != nil {
		return err
	}
	e.ctx = access.WithIdentity(context.Background(), &access.Identity{Name: "ann", Roles: []string{"clerk"}, Claims: claims})
	e.g = restricted.For(e.ctx, e.g)
	return nil
}

// let does as rule, for statements that read: the caller sees the vertices whose properties meet one of some conditions, which have indexes, and
// plans take these for cheap.
func (e *engine) let() error {
	for _, text := range append(slices.Concat(hiding, hidingEdges),
		"MATCH (n) SET n.tenant = id(n) % 3, n.level = id(n) % 5 / 2.0",
		"MATCH (n) WHERE (n:A OR n:B) AND n.level < 2 AND id(n) % 2 = 0 SET n.tenant = null",
		"MATCH (n) WHERE n:Hidden OR n.hidden SET n.tenant = ['x', 7, null][id(n) % 3], n.level = ['1', 9, 2.5, null, false][id(n) % 5]",
	) {
		if _, err := e.run(text, nil); err != nil {
			return err
		}
	}
	for _, label := range []string{"A", "B", "C"} {
		for _, prop := range []string{"tenant", "level"} {
			if err := e.g.CreateIndex(context.Background(), graph.Index{Name: label + prop, Label: label, Props: []string{prop}, Indexed: true}); err != nil {
				return err
			}
		}
	}
	with := func(op accessrules.Op, prop, claim string) *accessrules.Condition {
		return &accessrules.Condition{Op: op, Prop: prop, With: &accessrules.Operand{Claim: claim}}
	}
	match := func(edges bool, where *accessrules.Condition, names ...string) accessrules.Rule {
		return accessrules.Rule{Effect: accessrules.Grant, Action: accessrules.Match, Edges: edges, Where: where, Names: names, Role: "clerk"}
	}
	interval := &accessrules.Condition{Op: accessrules.And, Of: []*accessrules.Condition{with(accessrules.MoreEqual, "level", "lo"), with(accessrules.Less, "level", "hi")}}
	all := []accessrules.Rule{
		match(false, with(accessrules.Equal, "tenant", "own")), match(false, interval, "A", "B"), match(false, with(accessrules.In, "tenant", "others")),
		match(true, nil),
		{Effect: accessrules.Deny, Action: accessrules.Traverse, Names: []string{"Hidden"}, Edges: true, Role: "clerk"},
		{Effect: accessrules.Deny, Action: accessrules.Traverse, Edges: true, Where: with(accessrules.Equal, "hidden", "yes"), Role: "clerk"},
	}
	for _, edges := range []bool{false, true} {
		all = append(all, accessrules.Rule{Effect: accessrules.Deny, Action: accessrules.Read, Edges: edges, Props: []string{"hidden", "veil", "tenant", "level"}, Role: "clerk"})
	}
	e.cheap = true
	return e.become(all, map[string]graph.Value{
		"yes": graph.BoolValue(true), "own": graph.FloatValue(1), "others": graph.ListValue([]graph.Value{graph.IntValue(2), graph.StringValue("none"), graph.IntValue(0), graph.FloatValue(2)}),
		"lo": graph.IntValue(0), "hi": graph.FloatValue(2),
	})
}
