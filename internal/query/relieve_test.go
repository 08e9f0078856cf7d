package query

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// When memory is short the largest request is ended, and told why; others go on.
func TestRelieve(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		_, ok := e.Relieve(2, 1, 0)
		require.False(t, ok, "there is none")
		small, err := e.Query(context.Background(), Request{Statement: "UNWIND range(1, 3) AS x RETURN x ORDER BY -x"})
		require.NoError(t, err)
		_, err = small.Next()
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := rowsOf(e.Query(context.Background(), Request{
				Statement: "WITH range(1, 200000) AS l UNWIND range(1, 1000000000000) AS x WITH l, x WHERE x < 0 RETURN collect(l[0])",
			}))
			done <- err
		}()
		var l Largest
		require.Eventually(t, func() bool {
			l, ok = e.Relieve(2, 1, 1<<20)
			return ok
		}, patience, time.Millisecond)
		require.GreaterOrEqual(t, l.Bytes, int64(1<<20))
		require.Contains(t, l.Statement, "collect")
		err = <-done
		require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
		require.Equal(t, "Neo.TransientError.General.OutOfMemoryError", code(err))
		require.ErrorContains(t, err, "operator "+l.Operator)
		b, err := small.Next()
		require.NoError(t, err)
		require.Nil(t, b)
		small.Close()
	})
}
