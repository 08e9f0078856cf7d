package main_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// spilled is what the operators of a plan have put on disk.
type spilled struct {
	Spilled  int64
	Children []spilled
}

func (s *spilled) sum() int64 {
	n := s.Spilled
	for i := range s.Children {
		n += s.Children[i].sum()
	}
	return n
}

// A gateway's sorts and aggregations go on from disk when memory is short, and one that has no place for files keeps to its memory.
func TestGatewaySpills(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, gs := startCluster(t, 1, 1, "--query-memory", "4MiB")
	for _, s := range []string{
		"UNWIND range(1, 100000) AS i WITH i, toString(i * 7919 % 100003) AS s ORDER BY s SKIP 99990 RETURN s, i",
		"UNWIND range(1, 100000) AS i WITH toString(i % 50000) AS k, count(*) AS n RETURN count(k) AS ks, sum(n) AS ns",
	} {
		var answer struct{ Plan spilled }
		require.NoError(t, post(gs[0].http, "PROFILE "+s, &answer), s)
		require.Positive(t, answer.Plan.sum(), s)
	}
	got, err := ask(gs[0].http, "UNWIND range(1, 100000) AS i WITH i * 7919 % 100003 AS x ORDER BY x SKIP 99998 RETURN x")
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"fields": ["x"], "values": [[%d], [%d]]}`, 100001, 100002), got)

	t.Setenv("TMPDIR", "/nowhere")
	_, gs = startCluster(t, 1, 1, "--query-memory", "4MiB")
	_, err = ask(gs[0].http, "UNWIND range(1, 100000) AS i WITH i, toString(i) AS s ORDER BY s SKIP 99990 RETURN s, i")
	require.ErrorContains(t, err, "MemoryPoolOutOfMemoryError")
	gs[0].kill(syscall.SIGTERM)
	require.Contains(t, gs[0].log.String(), "stay in memory")
}
