package query

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the wait for an event that should occur immediately.
const patience = time.Minute

// stores are the stores that a test runs over: the oracle, and two shards on disk.
var stores = map[string]func(testing.TB) shard.Store{
	"oracle": func(t testing.TB) shard.Store {
		store := oracle.New(2)
		require.NoError(t, store.CreateGraph(context.Background(), DefaultGraph))
		return store
	},
	"local": func(t testing.TB) shard.Store {
		store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	},
}

// overStores runs a test over each store with an engine of its own.
func overStores(t *testing.T, opt Options, f func(t *testing.T, e *Engine)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { f(t, New(open(t), opt)) })
	}
}

// rowsOf reads a result to its end, a row as a list, and closes it.
func rowsOf(res *Result, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer res.Close()
	var out []string
	for {
		b, err := res.Next()
		if b == nil || err != nil {
			return out, err
		}
		for i := range b.N {
			row := make([]graph.Value, len(b.Cols))
			for c := range b.Cols {
				row[c] = b.Cols[c].Value(i)
			}
			out = append(out, "["+exectest.ShowRow(row)+"]")
		}
	}
}

func (e *Engine) rows(req Request) ([]string, error) {
	return rowsOf(e.Query(context.Background(), req))
}

// must runs a statement that must succeed.
func must(t testing.TB, e *Engine, statement string) []string {
	rows, err := e.rows(Request{Statement: statement})
	require.NoError(t, err, statement)
	return rows
}

// code returns the status code of an error, "" for none.
func code(err error) string {
	if e, ok := errors.AsType[*graph.Error](err); ok {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// slow runs until it is ended.
const slow = "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c UNWIND range(1, 1000) AS d RETURN count(*)"

// Requests without a timeout get the engine's default, and none exceeds the maximum. Explicit transactions have limits of their own.
func TestTimeouts(t *testing.T) {
	overStores(t, Options{Timeout: 10 * time.Millisecond, MaxTimeout: 50 * time.Millisecond}, func(t *testing.T, e *Engine) {
		const late = "Neo.ClientError.Transaction.TransactionTimedOut"
		_, err := e.rows(Request{Statement: slow})
		require.Equal(t, late, code(err))
		require.ErrorContains(t, err, "query-timeout")
		_, err = e.rows(Request{Statement: slow, Timeout: time.Hour})
		require.Equal(t, late, code(err))
		require.NotContains(t, err.Error(), "query-timeout")
		ctx, cancel := context.WithCancel(context.Background())
		tx, err := e.Begin(ctx, TxOptions{})
		require.NoError(t, err)
		time.AfterFunc(30*time.Millisecond, cancel)
		_, err = rowsOf(tx.Run(ctx, Request{Statement: slow}))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "query-timeout")
	})
}
