package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// TestEvidence checks that the last moments are kept, and none too soon after another.
func TestEvidence(t *testing.T) {
	e := evidence{dir: filepath.Join(t.TempDir(), "evidence"), running: func(context.Context) []*query.Running {
		return []*query.Running{{ID: 7, Graph: "g", Statement: "RETURN 1"}}
	}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 14 {
		require.NoError(t, e.keep(at.Add(time.Duration(i)*evidenceEvery/2)))
	}
	moments, err := os.ReadDir(e.dir)
	require.NoError(t, err)
	require.Len(t, moments, evidenceKept)
	require.Equal(t, "20260102T031005.000Z", moments[evidenceKept-1].Name())
	last := filepath.Join(e.dir, moments[evidenceKept-1].Name())
	data, err := os.ReadFile(filepath.Join(last, "running.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"statement": "RETURN 1"`)
	for _, name := range []string{"goroutines.txt", "heap.pb.gz"} {
		info, err := os.Stat(filepath.Join(last, name))
		require.NoError(t, err)
		require.Positive(t, info.Size())
	}
}
