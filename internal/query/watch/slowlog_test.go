package watch

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/explain"
)

// A file carries the slow log from one engine to the next and holds at most as many entries as that one keeps.
func TestSlowLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slowlog")
	e := &SlowLog{size: 4}
	require.NoError(t, e.Load(path), "there is none yet")
	for i, failed := range []error{nil, errors.New("division by zero")} {
		e.Add(Slow{Statement: fmt.Sprintf("RETURN %d", i), Start: time.Now(), Elapsed: time.Duration(i + 1), Err: failed}, StatementKind, nil)
	}
	e.entries[0].Plan = &explain.Node{Operator: "Scan", Estimate: math.Inf(1)}
	require.NoError(t, e.Save(path))
	require.NoError(t, e.Save(path))

	next := &SlowLog{size: 4}
	require.NoError(t, next.Load(path))
	want, got := e.All(), next.All()
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
	small := &SlowLog{size: 1}
	require.NoError(t, small.Load(path))
	require.Len(t, small.All(), 1)
	require.Equal(t, want[0].Statement, small.All()[0].Statement)

	require.NoError(t, os.WriteFile(path, []byte("no log"), 0o600))
	require.ErrorContains(t, (&SlowLog{size: 1}).Load(path), "slow log")
}
