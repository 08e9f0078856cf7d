package query

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTransactionsTakeTurns increments a few vertices in explicit transactions that have all begun before the first commits. Each commits
// at its first attempt.
func TestTransactionsTakeTurns(t *testing.T) {
	const writers, hot, rounds = 60, 3, 2
	e := New(stores["local"](t), Options{})
	ctx := context.Background()
	run := func(text string) []string {
		rows, err := rowsOf(e.Query(ctx, Request{Statement: text}))
		require.NoError(t, err)
		return rows
	}
	run("UNWIND range(0, 2) AS k CREATE (:Hot {k: k, n: 0})")
	for range rounds {
		var txs []*Transaction
		for range writers {
			tx, err := e.Begin(ctx, TxOptions{})
			require.NoError(t, err)
			txs = append(txs, tx)
		}
		var all sync.WaitGroup
		for i, tx := range txs {
			all.Go(func() {
				defer tx.Rollback()
				text := []string{"MATCH (n:Hot {k: 0})", "MATCH (n:Hot {k: 1})", "MATCH (n:Hot {k: 2})"}[i%hot] + " SET n.n = n.n + 1 RETURN n.n"
				rows, err := rowsOf(tx.Run(ctx, Request{Statement: text}))
				if err != nil || len(rows) != 1 {
					t.Errorf("%v %v", rows, err)
				}
				if err := tx.Commit(ctx); err != nil {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
	}
	require.Equal(t, []string{"[40]", "[40]", "[40]"}, run("MATCH (n:Hot) RETURN n.n ORDER BY n.k"))
}
