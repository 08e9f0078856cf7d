package query

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/oracle"
)

// A file carries the slow log from one engine to the next and holds at most as many entries as that one keeps.
func TestSlowLogFile(t *testing.T) {
	engine := func(size int) *Engine {
		store := oracle.New(1)
		require.NoError(t, store.CreateGraph(context.Background(), DefaultGraph))
		return New(store, Options{SlowLogSize: size})
	}
	path := filepath.Join(t.TempDir(), "slowlog")
	e := engine(4)
	require.NoError(t, e.LoadSlowLog(path), "there is none yet")
	must(t, e, "MATCH (n) RETURN n")
	_, err := e.rows(Request{Statement: "RETURN 1 / 0"})
	require.Error(t, err)
	e.slow.entries[0].Plan = &PlanNode{Operator: "Scan", Estimate: math.Inf(1)}
	require.NoError(t, e.SaveSlowLog(path))
	require.NoError(t, e.SaveSlowLog(path))

	next := engine(4)
	require.NoError(t, next.LoadSlowLog(path))
	want, got := e.SlowLog(), next.SlowLog()
	require.Len(t, got, 2)
	for i := range want {
		require.Equal(t, want[i].Statement, got[i].Statement)
		digits, _ := Fingerprint(StatementKind, want[i].Statement)
		require.Equal(t, digits, got[i].Fingerprint)
		require.True(t, want[i].Start.Equal(got[i].Start))
		require.Equal(t, want[i].Plan, got[i].Plan)
		require.Equal(t, want[i].Err == nil, got[i].Err == nil)
		if want[i].Err != nil {
			require.EqualError(t, got[i].Err, want[i].Err.Error())
		}
	}
	small := engine(1)
	require.NoError(t, small.LoadSlowLog(path))
	require.Len(t, small.SlowLog(), 1)
	require.Equal(t, want[0].Statement, small.SlowLog()[0].Statement)

	require.NoError(t, os.WriteFile(path, []byte("no log"), 0o600))
	require.ErrorContains(t, engine(1).LoadSlowLog(path), "slow log")
}
