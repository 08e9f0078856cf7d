package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// A caller from whom rules hide a part of a graph sees no estimates, also in a transaction that began before an index was there, which has plans
// of its own.
func TestHiddenEstimates(t *testing.T) {
	e := New(restricted.NewStore(stores["local"](t)), Options{})
	must(t, e, "UNWIND range(0, 99) AS i CREATE (:Doc {tenant: i, x: i})")
	must(t, e, "GRANT MATCH {*} ON HOME GRAPH FOR (d:Doc) WHERE d.tenant = 1 TO clerk")
	var estimates func(n *explain.Node) []float64
	estimates = func(n *explain.Node) []float64 {
		all := []float64{n.Estimate}
		for _, c := range n.Children {
			all = append(all, estimates(c)...)
		}
		return all
	}
	for role, seen := range map[string]bool{"clerk": false, "": true} {
		ctx := t.Context()
		if role != "" {
			ctx = access.WithIdentity(context.Background(), &access.Identity{Name: "ann", Roles: []string{role}})
		}
		tx, err := e.Begin(ctx, TxOptions{})
		require.NoError(t, err)
		t.Cleanup(tx.Rollback)
		explained := func() []float64 {
			res, err := tx.Run(ctx, Request{Statement: "EXPLAIN MATCH (d:Doc) WHERE d.x > 5 RETURN d"})
			require.NoError(t, err)
			defer res.Close()
			return estimates(res.Summary().Plan)
		}
		check := func(when string) {
			known := 0
			for _, n := range explained() {
				if n >= 0 {
					known++
				}
			}
			require.Equal(t, seen, known > 0, "%q %s", role, when)
		}
		check("at first")
		must(t, e, "CREATE INDEX late"+role+" FOR (d:Doc) ON (d.x, d.tenant)")
		check("once there is an index")
		tx.Rollback()
		must(t, e, "DROP INDEX late"+role)
		res, err := e.Query(ctx, Request{Statement: "MATCH (d:Doc) RETURN d", Limits: &Limits{Units: 1 << 40}})
		if seen {
			require.NoError(t, err)
			res.Close()
		} else {
			require.Equal(t, "NoEstimate", graph.AsError(err).Detail)
		}
	}
}
