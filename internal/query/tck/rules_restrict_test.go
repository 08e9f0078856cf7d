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
	if err := shard.ChangeRules(context.Background(), e.g, all, nil); err != nil {
		return err
	}
	e.ctx = access.WithIdentity(context.Background(), &access.Identity{Name: "ann", Roles: []string{"clerk"}, Claims: map[string]graph.Value{"yes": graph.BoolValue(true)}})
	e.g = restricted.For(e.ctx, e.g)
	return nil
}
