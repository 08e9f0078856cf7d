package query

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// leaderless is a store whose leader dies: after some commits, each one fails.
type leaderless struct {
	shard.Store
	lives atomic.Int64
	fault *graph.Error
}

func (l *leaderless) Graph(name string) (shard.Graph, error) {
	g, err := l.Store.Graph(name)
	return &leaderlessGraph{g, l}, err
}

type leaderlessGraph struct {
	shard.Graph
	l *leaderless
}

func (g *leaderlessGraph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := g.Graph.Begin(ctx, mode)
	return &leaderlessTx{tx, g.l, mode}, err
}

func (g *leaderlessGraph) CreateIndex(ctx context.Context, ix graph.Index) error {
	if g.l.lives.Add(-1) < 0 {
		return g.l.fault
	}
	return g.Graph.CreateIndex(ctx, ix)
}

type leaderlessTx struct {
	shard.Tx
	l    *leaderless
	mode shard.Mode
}

func (tx *leaderlessTx) Commit(ctx context.Context) error {
	if tx.mode != shard.Read && tx.l.lives.Add(-1) < 0 {
		return tx.l.fault
	}
	return tx.Tx.Commit(ctx)
}

// A statement that fails after some of its transactions were committed says how many stand, and its code never asks a client to run it
// again.
func TestWhatStands(t *testing.T) {
	lost := &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "DatabaseError", Detail: shard.TransactionLost,
		Msg: "the leader was lost, and the transaction with it; run it again",
	}
	store := &leaderless{Store: stores["oracle"](t), fault: lost}
	e := New(store, Options{})
	run := func(lives int64, statement string) *graph.Error {
		t.Helper()
		store.lives.Store(1 << 40)
		must(t, e, "MATCH (n) DETACH DELETE n")
		store.lives.Store(lives)
		_, err := e.rows(Request{Statement: statement})
		require.Error(t, err, statement)
		return graph.AsError(err)
	}
	const load = "UNWIND range(1, 10) AS i CALL (i) { CREATE (:A {i: 6 / (i - 8)}) } IN TRANSACTIONS OF 3 ROWS"
	err := run(1, load)
	require.Equal(t, graph.PartiallyCommitted, err.Code)
	require.Equal(t, graph.KindUnknown, err.Kind)
	require.Equal(t, "the leader was lost, and the transaction with it; what was committed before stands (transactions: 1, rows: 3): look at it before you run the rest", err.Error())
	require.False(t, shard.Retriable(err))
	require.Equal(t, []string{"[3]"}, must(t, e, "MATCH (n) RETURN count(n)"))

	err = run(0, load)
	require.Equal(t, lost.Code, err.Code, "nothing stands, so the client may run it again")
	require.Equal(t, lost.Msg, err.Msg)

	err = run(1<<40, load)
	require.Equal(t, "Neo.ClientError.Statement.ArithmeticError", err.Code, "the statement's own fault keeps its code")
	require.Contains(t, err.Msg, "(transactions: 2, rows: 6)")

	err = run(1, "UNWIND range(1, 10) AS i CALL (i) { CREATE (:A) } IN TRANSACTIONS OF 3 ROWS ON ERROR BREAK WITH i RETURN 1 / (i - 10)")
	require.Contains(t, err.Msg, "(transactions: 1, rows: 3)")

	// Commands of a transaction take effect one after the other.
	store.lives.Store(1)
	tx := begin(t, e, TxOptions{})
	for _, s := range []string{"CREATE INDEX a FOR (n:A) ON (n.k)", "CREATE INDEX b FOR (n:B) ON (n.k)"} {
		_, err := rowsOf(tx.Run(context.Background(), Request{Statement: s}))
		require.NoError(t, err)
	}
	err = graph.AsError(tx.Commit(context.Background()))
	require.Equal(t, graph.PartiallyCommitted, err.Code)
	require.Contains(t, err.Msg, "(commands: 1)")
}
