package main_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/bench/workload"
)

// Each workload of graphctl bench runs, reports the time of each of its requests, and leaves the server unchanged.
func TestBench(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "data"))
	at := []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC}
	o := run(t, at, "graphctl", "bench", "hops", "--seconds", "0.01")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "holds 0 vertices :Person with an id")
	o = run(t, at, "graphctl", "bench", "hops", "--timeout", "-1s")
	require.Equal(t, 2, o.code)
	o = run(t, at, "graphctl", "bench", "nothing")
	require.Equal(t, 2, o.code)
	require.Contains(t, o.err, "name a workload: hops, fetch, commit")

	dir, _, _ := network(t, "--persons", "300")
	s.graphctl("load", dir)
	graphs, stats := s.graphctl("query", "SHOW GRAPHS"), s.graphctl("query", "MATCH (n) RETURN count(n)")
	for _, w := range workload.All {
		var rows []struct {
			Request              string
			Requests             int
			P50, P99, Throughput float64
		}
		out := s.graphctl("bench", w.Name, "--seconds", "0.05", "--clients", "3", "-o", "json")
		require.NoError(t, json.Unmarshal([]byte(out), &rows), out)
		require.Len(t, rows, len(w.Requests), out)
		for i, r := range rows {
			require.Equal(t, w.Requests[i].Name, r.Request)
			require.GreaterOrEqual(t, r.Requests, 3, out)
			require.Positive(t, r.P50, out)
			require.GreaterOrEqual(t, r.P99, r.P50, out)
			require.Positive(t, r.Throughput, out)
		}
	}
	require.Equal(t, graphs, s.graphctl("query", "SHOW GRAPHS"))
	require.Equal(t, stats, s.graphctl("query", "MATCH (n) RETURN count(n)"))
}
