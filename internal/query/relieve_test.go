package query

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
)

// When memory is short, the largest request ends with that reason; others continue.
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

// The memory of all statements is bounded: the largest ends with that reason; others continue.
func TestPool(t *testing.T) {
	overStores(t, Options{PoolBytes: 8 << 20}, func(t *testing.T, e *Engine) {
		small, err := e.Query(context.Background(), Request{Statement: "UNWIND range(1, 3000) AS x RETURN x ORDER BY -x"})
		require.NoError(t, err)
		_, err = small.Next()
		require.NoError(t, err)
		require.Positive(t, e.pool.Held())
		_, err = e.rows(Request{Statement: "UNWIND range(1, 1000000000000) AS x RETURN collect(x)"})
		require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
		require.Equal(t, "Neo.TransientError.General.OutOfMemoryError", code(err))
		require.ErrorContains(t, err, "of which they may hold 8388608 together")
		require.ErrorContains(t, err, "operator Aggregate")
		for {
			b, err := small.Next()
			require.NoError(t, err)
			if b == nil {
				break
			}
		}
		small.Close()
		require.Zero(t, e.pool.Held())
	})
}

// The memory of one caller's statements, or of those on one graph, is bounded: their largest ends, and no one else's.
func TestPoolOfOne(t *testing.T) {
	limits := admission.Limits{Caller: access.Limits{Memory: 4 << 20}, Graph: access.Limits{Memory: 8 << 20}}
	overStores(t, Options{Admission: limits}, func(t *testing.T, e *Engine) {
		const much = "UNWIND range(1, 1000000000000) AS x RETURN collect(x)"
		other, err := e.Query(as("bob"), Request{Statement: "UNWIND range(1, 50000) AS x RETURN x ORDER BY -x"})
		require.NoError(t, err)
		_, err = other.Next()
		require.NoError(t, err)
		for who, ctx := range map[string]context.Context{
			"all statements of ann hold": as("ann"), `all statements of the graph "default" hold`: context.Background(),
		} {
			_, err = rowsOf(e.Query(ctx, Request{Statement: much}))
			require.Equal(t, "Neo.TransientError.General.OutOfMemoryError", code(err))
			require.ErrorContains(t, err, who)
		}
		_, err = other.Next()
		require.NoError(t, err, "others go on")
		other.Close()
		require.Zero(t, e.Load().Running)
	})
}

// Given a directory, a sort larger than its memory spills to disk, and PROFILE says so.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	spill, err := exec.NewSpill(dir, 1<<30)
	require.NoError(t, err)
	overStores(t, Options{QueryBytes: 2 << 20, Spill: spill}, func(t *testing.T, e *Engine) {
		for statement, first := range map[string]int64{
			"UNWIND range(1, 100000) AS x RETURN x ORDER BY -x":                                        100000,
			"UNWIND range(1, 100000) AS x WITH x % 50000 AS k, count(*) AS n RETURN count(*) + sum(n)": 150000,
			"UNWIND range(1, 200000) AS x WITH DISTINCT 'a key ' + x % 50000 AS k RETURN count(k)":     50000,
			"UNWIND range(1, 100000) AS x WITH x ORDER BY x % 7, x SKIP 3 RETURN min(x) + count(x)*0":  1,
		} {
			res, err := e.Query(context.Background(), Request{Statement: "PROFILE " + statement})
			require.NoError(t, err)
			b, err := res.Next()
			require.NoError(t, err, statement)
			require.Equal(t, first, b.Cols[0].Value(0).Int(), statement)
			for b != nil {
				b, err = res.Next()
				require.NoError(t, err)
			}
			var written func(n *explain.Node) int64
			written = func(n *explain.Node) int64 {
				sum := n.Spilled
				for _, c := range n.Children {
					sum += written(c)
				}
				return sum
			}
			require.Positive(t, written(res.Summary().Plan), statement)
			res.Close()
			require.Zero(t, spill.Used())
		}
	})
}

// A caller that keeps the result of an ended statement, or its entry in the list of running ones, keeps none of its rows in memory.
func TestEndedKeepsNothing(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // empties pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		before := heap()
		res, err := e.Query(context.Background(), Request{Statement: "WITH reduce(s = 'x', i IN range(1, 23) | s + s) AS s UNWIND range(1, 5) AS i RETURN s + i"})
		require.NoError(t, err)
		_, err = res.Next()
		require.NoError(t, err)
		listed := e.Running(context.Background())
		require.Len(t, listed, 1)
		require.Greater(t, heap()-before, int64(40<<20))
		res.Close()
		require.Less(t, heap()-before, int64(8<<20))
		runtime.KeepAlive(res)
		runtime.KeepAlive(listed)
	})
}
