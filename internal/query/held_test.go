package query

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// texts returns n rows of a text of size bytes.
func texts(n, size int) Request {
	return Request{Statement: fmt.Sprintf("UNWIND range(1, %d) AS n RETURN n, toString(n) + '%s' AS s", n, strings.Repeat("x", size))}
}

// pullOne runs a request in a transaction and pulls its first batch.
func pullOne(t testing.TB, tx *Transaction, req Request) (*Result, *graph.Batch) {
	res, err := tx.Run(context.Background(), req)
	require.NoError(t, err)
	b, err := res.Next()
	require.NoError(t, err)
	return res, b
}

// The open results of a transaction and its running statement share the memory of one statement.
func TestHeldResultsShareMemory(t *testing.T) {
	overStores(t, Options{QueryBytes: 1 << 20, PoolBytes: 64 << 20}, func(t *testing.T, e *Engine) {
		tx := begin(t, e, TxOptions{})
		var open []*Result
		for range 3 { // each is about 250 KB
			res, b := pullOne(t, tx, texts(2500, 50))
			require.NoError(t, res.Hold(b, 1))
			open = append(open, res)
		}
		held := e.pool.Held()
		require.Greater(t, held, int64(600_000))
		_, bytes := e.Running(context.Background())[0].Held()
		require.Equal(t, held, bytes)

		// The first row of each has been read; the others follow in order.
		res := open[0]
		b, err := res.Next()
		require.NoError(t, err)
		require.Equal(t, int64(2), b.Cols[0].Value(0).Int())
		res.Close()
		require.Less(t, e.pool.Held(), held, "a result that is closed gives its memory back")

		res, b = pullOne(t, tx, texts(2500, 50))
		require.NoError(t, res.Hold(b, b.N))
		res, b = pullOne(t, tx, texts(4000, 50))
		err = res.Hold(b, 0)
		require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
		require.ErrorContains(t, err, "needs more than 1048576 bytes, the budget of query-memory")
		require.ErrorContains(t, err, "open results of the transaction hold")
		res.Close()
		for _, res := range open {
			res.Close()
		}
	})
}

// Open results count towards the memory that all statements share: those in transactions, and the rows of a statement that has
// written.
func TestHeldResultsCountForAll(t *testing.T) {
	overStores(t, Options{PoolBytes: 1 << 20}, func(t *testing.T, e *Engine) {
		written, err := e.Query(context.Background(), Request{Statement: "CREATE (n) WITH n UNWIND range(1, 2000) AS x RETURN x"})
		require.NoError(t, err)
		require.Greater(t, e.pool.Held(), int64(40_000))
		written.Close()
		require.Zero(t, e.pool.Held())

		var txs []*Transaction
		var open []*Result
		var over error // of any of them: the largest is ended
		for over == nil && len(open) < 100 {
			tx := begin(t, e, TxOptions{ReadOnly: true})
			res, b := pullOne(t, tx, texts(300, 50)) // below the 64 KiB steps in which a run reports its memory
			txs, open = append(txs, tx), append(open, res)
			over = res.Hold(b, 0)
			for _, tx := range txs {
				over = cmp.Or(over, tx.Err())
			}
		}
		require.ErrorContains(t, over, "of which they may hold 1048576 together")
		require.Equal(t, "Neo.TransientError.General.OutOfMemoryError", code(over))
		for _, res := range open {
			res.Close()
		}
		require.Zero(t, e.pool.Held())
	})
}
