package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A cluster of three is backed up once and its log shipped through a gateway, while processes die. Three directories that are restored to a moment
// after the backup make a cluster whose replicas hold the same, which is the graph of that moment; so does one for a single server.
func TestClusterRestoreShipped(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "backups")
	ss, gs := startClusterIn(t, []string{t.TempDir(), t.TempDir(), t.TempDir()}, 1, "--replicas", "3")
	g := gs[0]
	g.graphctl("query", "CREATE CONSTRAINT n FOR (n:N) REQUIRE n.i IS UNIQUE")
	var states, tokens, moments []string
	change := func(i int) {
		g.graphctl("query", fmt.Sprintf("UNWIND range(0, 4999) AS k CREATE (:N {i: %d + k, x: 'made'})", 5000*i)) // in several shards
		g.graphctl("query", fmt.Sprintf("MATCH (a:N), (b:N) WHERE a.i %% 1000 = %d AND b.i = a.i + 1 CREATE (a)-[:E {w: %d}]->(b)", i, i))
		if i == 2 {
			g.graphctl("query", "CREATE INDEX x FOR (n:N) ON (n.x)")
			g.graphctl("query", "MATCH (n:N) WHERE n.i % 7 = 0 DETACH DELETE n")
		}
		out := g.graphctl("query", "-o", "csv", "CALL db.cdc.current() YIELD id RETURN id")
		tokens, moments = append(tokens, strings.Fields(out)[1]), append(moments, time.Now().UTC().Format(time.RFC3339Nano))
		states = append(states, g.graphctl("query", "-o", "csv", all))
	}
	change(0)
	g.graphctl("backup", dest)
	change(1)
	require.Contains(t, g.graphctl("backup", "--log", dest, "--once"), `"msg":"shipped"`)
	change(2)
	ss[0].kill(syscall.SIGKILL)
	eventually(t, func() bool {
		o := run(t, []string{"GRAPHCTL_ADDRESS=" + g.grpc}, "graphctl", "backup", "--log", dest, "--once")
		return o.code == 0
	}, 50*time.Millisecond)
	ss[0].start()
	eventually(t, func() bool { _, err := ask(g.http, "CREATE (:M) RETURN 1"); return err == nil }, 50*time.Millisecond)
	g.graphctl("backup", "--log", dest, "--once")

	for _, i := range []int{1, 2} {
		dirs := restored(t, dest, 3, "--replicas", "3", "--to", moments[i])
		_, gs := startClusterIn(t, dirs, 1, "--replicas", "3")
		require.Equal(t, states[i], gs[0].graphctl("query", "-o", "csv", all))
		require.Contains(t, gs[0].graphctl("check"), "nothing is wrong")
		gs[0].graphctl("query", "CREATE (:After)")
		require.Contains(t, gs[0].graphctl("changes", "--from", tokens[i], "--once"), "After")
		require.NotContains(t, gs[0].graphctl("changes", "--from", tokens[i], "--once"), "made")
	}
	single := filepath.Join(t.TempDir(), "single")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", single, "--to", tokens[2])
	require.Zero(t, o.code, o.err)
	s := start(t, single)
	require.Equal(t, states[2], s.graphctl("query", "-o", "csv", all))
	require.Zero(t, s.stop(syscall.SIGTERM))
}
