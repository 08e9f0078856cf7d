package query

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
)

// losing is a store whose transactions lose their snapshot: the next few that scan do so at scan number from.
type losing struct {
	shard.Store
	lose, from int
	detail     string
}

func (l *losing) Graph(name string) (shard.Graph, error) {
	g, err := l.Store.Graph(name)
	return &losingGraph{g, l}, err
}

type losingGraph struct {
	shard.Graph
	l *losing
}

func (g *losingGraph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := g.Graph.Begin(ctx, mode)
	return &losingTx{Tx: tx, l: g.l}, err
}

type losingTx struct {
	shard.Tx
	l     *losing
	scans int
}

func (tx *losingTx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	if tx.scans++; tx.l.lose > 0 && tx.scans > tx.l.from {
		tx.l.lose--
		return dst, from, false, &graph.Error{Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Detail: tx.l.detail}
	}
	return tx.Tx.Scan(ctx, label, from, dst)
}

// heldItems keeps the items of a fetch.
type heldItems struct {
	held, sent []string
	begun      int
}

func (h *heldItems) Begin()                { h.held, h.begun = nil, h.begun+1 }
func (h *heldItems) Add(item []byte) error { h.held = append(h.held, string(item)); return nil }
func (h *heldItems) Held() int             { return 32 * len(h.held) }
func (h *heldItems) Send(hold func(bytes int) error) (int, bool, error) {
	h.sent = h.held
	return 0, true, hold(h.Held())
}

// A request that loses its snapshot runs again, unless its client has seen a row, it has committed changes, or it has lost snapshots for too long.
func TestRerun(t *testing.T) {
	ctx := context.Background()
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(ctx, DefaultGraph))
	l := &losing{Store: store, detail: shard.SnapshotGone}
	e := New(l, Options{})
	query := func(statement string) ([]string, error) { return rowsOf(e.Query(ctx, Request{Statement: statement})) }
	_, err := query("UNWIND range(1, 3000) AS i CREATE (:N {i: i})")
	require.NoError(t, err)

	l.lose = 3
	rows, err := query("MATCH (n:N) RETURN sum(n.i)")
	require.NoError(t, err)
	require.Equal(t, []string{"[4501500]"}, rows)
	require.Zero(t, l.lose)
	require.EqualValues(t, 3, e.Metrics().Retries.Load())

	l.lose, l.detail = 2, shard.TransactionLost
	_, err = query("MATCH (n:N) WHERE n.i = 7 SET n.seen = coalesce(n.seen, 0) + 1")
	require.NoError(t, err)
	rows, err = query("MATCH (n:N) WHERE n.seen > 0 RETURN n.i, n.seen")
	require.NoError(t, err)
	require.Equal(t, []string{"[7, 1]"}, rows)

	l.lose = 2
	var out bytes.Buffer
	_, err = e.Fetch(ctx, FetchRequest{Method: "get", Body: []byte(`{"N[]": {"count": 3, "N": {"@column": "i", "@order": "i-"}}}`)}, &out)
	require.NoError(t, err)
	require.Contains(t, out.String(), `"i":3000`)
	require.Zero(t, l.lose)

	l.lose = 2
	var items heldItems
	out.Reset()
	_, err = e.Fetch(ctx, FetchRequest{Method: "get", Body: []byte(`{"N[]": {"count": 0, "N": {"@column": "i"}}}`), Items: &items}, &out)
	require.NoError(t, err)
	require.Empty(t, out.String())
	require.Len(t, items.sent, 3000)
	require.Equal(t, 3, items.begun)

	l.lose, l.detail = 1, "ShardUnavailable" // as while there is no leader
	answer, err := e.Fetch(ctx, FetchRequest{Method: "get", Body: []byte(`{"N[]": {"count": 3, "N": {"@column": "i"}}}`)}, &out)
	require.NoError(t, err)
	require.Equal(t, 503, answer)
	l.detail = shard.TransactionLost
	out.Reset()

	l.lose, l.from = 1, 1 // after the first items
	items = heldItems{}
	_, err = e.Fetch(ctx, FetchRequest{Method: "get", Body: []byte(`{"N[]": {"count": 0, "N": {"@column": "i"}}}`), Items: &items}, &out)
	require.NoError(t, err)
	require.Zero(t, l.lose)
	require.Len(t, items.sent, 3000)
	require.Equal(t, 2, items.begun)

	l.lose, l.from = 1, 1
	rows, err = query("MATCH (n:N) RETURN n.i")
	require.True(t, shard.Retriable(err), "%v", err)
	require.NotEmpty(t, rows)

	l.lose, l.from = 15, 0
	_, err = query("MATCH (n:N) RETURN n.i")
	require.NoError(t, err)
	require.Zero(t, l.lose)

	l.lose = 1
	tx, err := e.Begin(ctx, TxOptions{})
	require.NoError(t, err)
	_, err = rowsOf(tx.Run(ctx, Request{Statement: "MATCH (n:N) RETURN n.i"}))
	require.True(t, shard.Retriable(err), "%v", err)
}
