package query

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/quota"
)

// Statements, fetches, traversals, operations and statements of transactions are charged to the quotas of their graph, and refused when those are used
// up. An admin can still change them.
func TestQuotas(t *testing.T) {
	e := New(stores["local"](t), Options{})
	ann := access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Every: access.Writer})
	root := access.WithIdentity(t.Context(), &access.Identity{Name: "root", Every: access.Admin})
	run := func(ctx context.Context, statement string, params ...graph.MapEntry) error {
		req := Request{Statement: statement, Params: map[string]graph.Value{}}
		for _, p := range params {
			req.Params[p.Key] = p.Value
		}
		_, err := rowsOf(e.Query(ctx, req))
		return err
	}
	put := func(name, whom string, amount int64, mode string) {
		t.Helper()
		require.NoError(t, run(root, "CALL db.quotas.put({name: '"+name+"', for: '"+whom+"', measure: $measure, amount: $amount, window: 'day', mode: '"+mode+"'})",
			graph.MapEntry{Key: "measure", Value: graph.StringValue("requests")}, graph.MapEntry{Key: "amount", Value: graph.IntValue(amount)}))
	}
	list := func() []quota.State {
		t.Helper()
		all, err := e.Quotas.List(root, DefaultGraph, definitions(t, e))
		require.NoError(t, err)
		return all
	}
	used := func(i int) float64 { return list()[i].Uses[0].Used }
	exceeded := func(err error) {
		t.Helper()
		require.Equal(t, graph.KindBusy, graph.AsError(err).Kind, "%v", err)
		require.Equal(t, "QuotaExceeded", graph.AsError(err).Detail)
	}
	require.NoError(t, run(ann, "CREATE (:P {id: 1}), (:P {id: 2})"))
	require.NoError(t, run(root, "CALL db.operations.put('// name: two\nRETURN 2 AS two')"))
	require.Equal(t, "Neo.ClientError.Security.Forbidden", code(run(ann, "CALL db.quotas.list()")))
	require.Equal(t, "Neo.ClientError.Security.Forbidden", code(run(ann, "CALL db.quotas.drop('all')")))
	require.Equal(t, "Neo.ClientError.Quota.NotFound", code(run(root, "CALL db.quotas.drop('all')")))
	require.Equal(t, "Neo.ClientError.Quota.Invalid", code(run(root, "CALL db.quotas.put({name: 'all', for: 'us', amount: 1, window: 'day'})")))
	put("all", "everyone", 4, "enforce")
	put("op", "operation=two", 1, "enforce")
	first := used(0)
	require.NoError(t, run(ann, "MATCH (p:P) RETURN p.id"))
	require.Equal(t, first+1, used(0))
	require.NoError(t, run(ann, "CALL op.two()"))
	exceeded(run(ann, "CALL op.two()"))
	require.Equal(t, first+2, used(0), "the refused call counts nowhere")
	require.Equal(t, uint64(1), list()[1].Refused)
	tx, err := e.Begin(ann, TxOptions{})
	require.NoError(t, err)
	put("all", "everyone", int64(used(0))+3, "enforce") // which counts itself
	_, err = rowsOf(tx.Run(ann, Request{Statement: "RETURN 1"}))
	require.NoError(t, err)
	require.NoError(t, run(ann, "RETURN 1"))
	exceeded(run(root, "RETURN 1"))
	exceeded(run(ann, "RETURN 1"))
	_, err = rowsOf(tx.Run(ann, Request{Statement: "RETURN 1"}))
	exceeded(err)
	var out bytes.Buffer
	refused, err := e.Fetch(ann, FetchRequest{Method: "get", Body: []byte(`{"P": {"id": 1}}`)}, &out)
	require.NoError(t, err)
	require.Equal(t, syntax.CodeBusy, refused)
	require.Contains(t, out.String(), "the quota all is used up")
	exceeded(run(root, "CALL db.quotas.list() YIELD name MATCH (n) RETURN n"))
	exceeded(run(ann, "CALL db.quotas.list()"))
	require.NoError(t, run(root, "CALL db.quotas.list()"))
	require.NoError(t, run(root, " call db.quotas.drop('op');"))
	put("all", "everyone", 1, "measure")
	require.NoError(t, run(ann, "RETURN 1"))

	// Costs and CPU are charged at the end.
	require.NoError(t, run(root, "CALL db.quotas.put({name: 'cost', for: 'token=ann', amount: 5, window: 'day', mode: 'enforce'})"))
	require.NoError(t, run(root, "CALL db.quotas.put({name: 'cpu', for: 'token=ann', measure: 'cpu', amount: 1000, window: 'day'})"))
	require.NoError(t, run(ann, "UNWIND range(1, 100) AS x RETURN x"))
	require.GreaterOrEqual(t, used(1), 100.0)
	require.Positive(t, used(2))
	exceeded(run(ann, "RETURN 1"))
	require.NoError(t, run(root, "RETURN 1"))
	require.Len(t, e.Quotas.Metrics(), 3)
	for _, name := range []string{"all", "cost", "cpu"} {
		require.NoError(t, run(root, "CALL db.quotas.drop($name)", graph.MapEntry{Key: "name", Value: graph.StringValue(name)}))
	}
	require.NoError(t, run(ann, "RETURN 1"))
	require.Empty(t, e.Quotas.Metrics())
}
