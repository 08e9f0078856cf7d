package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// A scan of a label reads the part of an index that a rule lets the caller see, and its plan says so.
func TestScanByRules(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			e := New(restricted.NewStore(open(t)), Options{})
			must(t, e, "UNWIND range(0, 999) AS i CREATE (:Doc {tenant: i % 100, owner: i % 50, x: i})")
			must(t, e, "CREATE INDEX doc_tenant FOR (d:Doc) ON (d.tenant)")
			must(t, e, "CREATE INDEX doc_owner FOR (d:Doc) ON (d.owner)")
			must(t, e, "GRANT MATCH {*} ON HOME GRAPH FOR (d:Doc) WHERE d.tenant = $claims.tenant TO clerk")
			must(t, e, "GRANT TRAVERSE ON HOME GRAPH FOR (d:Doc) WHERE d.tenant IN $claims.tenants TO secret")
			must(t, e, "GRANT READ {x} ON HOME GRAPH NODES Doc TO secret")
			must(t, e, "GRANT MATCH {*} ON HOME GRAPH FOR (d:Doc) WHERE d.tenant = $claims.tenant OR d.owner = 7 TO both")
			as := func(role string, claim graph.Value) context.Context {
				return access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Roles: []string{role}, Claims: map[string]graph.Value{"tenant": claim, "tenants": claim}})
			}
			list := func(n int64) graph.Value {
				var of []graph.Value
				for i := range n {
					of = append(of, graph.IntValue(i))
				}
				return graph.ListValue(of)
			}
			const statement = "MATCH (d:Doc) WITH d SKIP 0 RETURN count(d.x), count(d.tenant)"
			reads := func(f func() ([]string, error), want string) (seeks uint64) {
				before := e.totals.Requests()["seek_range"]
				rows, err := f()
				require.NoError(t, err)
				require.Equal(t, []string{want}, rows)
				return e.totals.Requests()["seek_range"] - before
			}
			query := func(ctx context.Context) func() ([]string, error) {
				return func() ([]string, error) { return rowsOf(e.Query(ctx, Request{Statement: statement})) }
			}
			scan := func(ctx context.Context) string {
				res, err := e.Query(ctx, Request{Statement: "EXPLAIN " + statement})
				require.NoError(t, err)
				defer res.Close()
				n := res.Summary().Plan
				for n.Operator != "LabelScan" {
					require.NotEmpty(t, n.Children)
					n = n.Children[0]
				}
				require.Negative(t, n.Estimate)
				return n.Args
			}
			one := as("clerk", graph.IntValue(3))
			cheap := name == "oracle" // which remembers nothing from transaction to transaction
			if cheap {
				require.Equal(t, "(d:Doc) BY RULES ON doc_tenant, doc_owner", scan(as("both", graph.IntValue(57))))
				require.Equal(t, "(d:Doc)", scan(as("secret", list(2))))
			}
			require.Equal(t, "(d:Doc) BY RULES ON doc_tenant", scan(one))
			require.Positive(t, reads(query(one), "[10, 10]"))
			for claims, want := range map[int64]string{0: "[0, 0]", 2: "[20, 0]", 90: "[900, 0]"} {
				ctx := as("secret", list(claims))
				seeks := reads(query(ctx), want)
				if cheap {
					require.Equal(t, claims == 2, seeks > 0)
				}
			}
			both := as("both", graph.IntValue(57))
			reads(query(both), "[20, 20]") // tenant 57 is among the vertices of owner 7
			other := as("clerk", graph.ListValue(nil))
			require.Zero(t, reads(query(other), "[0, 0]"))

			// A transaction that is older than an index, or has written, scans the label.
			must(t, e, "DROP INDEX doc_tenant")
			require.Equal(t, "(d:Doc)", scan(one))
			require.Zero(t, reads(query(one), "[10, 10]"))
			tx, err := e.Begin(one, TxOptions{ReadOnly: true})
			require.NoError(t, err)
			must(t, e, "CREATE INDEX doc_tenant FOR (d:Doc) ON (d.tenant)")
			must(t, e, "MATCH (d:Doc {x: 3}) SET d.tenant = 'gone'")
			in := func() ([]string, error) { return rowsOf(tx.Run(one, Request{Statement: statement})) }
			require.Zero(t, reads(in, "[10, 10]"))
			tx.Rollback()
			require.Positive(t, reads(query(one), "[9, 9]"))

			// So does one in which a vertex has a label beside it by which all see it.
			must(t, e, "CREATE (:Open)")
			must(t, e, "GRANT MATCH {*} ON HOME GRAPH NODES Open TO clerk")
			require.Equal(t, "(d:Doc) BY RULES ON doc_tenant", scan(one))
			must(t, e, "MATCH (d:Doc {x: 5}) SET d:Open")
			require.Zero(t, reads(query(one), "[10, 10]"))
		})
	}
}
