package main_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// members returns the lines of graphctl member list by a gateway that have a word.
func (p *process) members(word string) (n int) {
	o := run(p.t, []string{"GRAPHCTL_ADDRESS=" + p.grpc}, "graphctl", "member", "list")
	return strings.Count(o.out, word)
}

// writers writes pairs through a gateway until end, which verifies that the graph has all that were acknowledged. progress waits for n more.
func writers(t *testing.T, g *process) (progress func(n int64), end func()) {
	var acknowledged atomic.Int64
	stop := until(2, func(int) {
		if _, err := ask(g.http, fmt.Sprintf("CREATE (:A {w: %d})-[:R]->(:B)", acknowledged.Load())); err == nil {
			acknowledged.Add(1)
		}
	})
	progress = func(n int64) {
		want := acknowledged.Load() + n
		eventually(t, func() bool { return acknowledged.Load() >= want }, 10*time.Millisecond)
	}
	return progress, func() {
		stop()
		got, err := ask(g.http, "MATCH (a:A)-[:R]->(b:B) RETURN count(DISTINCT a) >= "+strconv.FormatInt(acknowledged.Load(), 10))
		require.NoError(t, err)
		require.Contains(t, got, "true")
		require.Contains(t, g.graphctl("check"), "nothing is wrong")
	}
}

// TestClusterRebalance empties a process of four while clients write, ends it, and spreads the replicas again once it is back.
func TestClusterRebalance(t *testing.T) {
	ss, gs := startCluster(t, 4, 1, "--replicas", "3")
	g, last := gs[0], ss[3]
	progress, end := writers(t, g)
	progress(5)
	eventually(t, func() bool { return g.members("leader") == 4 && g.members("follower") == 8 }, 20*time.Millisecond)
	require.Equal(t, "nothing to move\n", g.graphctl("member", "rebalance"))
	planned := g.graphctl("member", "rebalance", "--drain", "3", "--dry-run")
	require.Equal(t, 3, strings.Count(planned, "from process 3"), planned)
	require.Zero(t, g.members("idle"))
	require.Equal(t, 3, strings.Count(g.graphctl("member", "rebalance", "--drain", "3"), "from process 3"))
	eventually(t, func() bool { return g.members("idle") == 1 }, 20*time.Millisecond)
	progress(5)
	last.kill(syscall.SIGTERM)
	progress(5)
	eventually(t, func() bool { return g.members("unreachable") == 1 }, 20*time.Millisecond)
	o := run(t, []string{"GRAPHCTL_ADDRESS=" + g.grpc}, "graphctl", "member", "rebalance")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "process 3 is unreachable")
	last.start()
	eventually(t, func() bool { return g.members("idle") == 1 }, 20*time.Millisecond)
	require.Equal(t, 3, strings.Count(g.graphctl("member", "rebalance"), "to process 3"))
	require.Equal(t, "nothing to move\n", g.graphctl("member", "rebalance"))
	progress(5)
	ss[0].kill(syscall.SIGKILL)
	progress(5)
	ss[0].start()
	eventually(t, func() bool { return g.members("leader") == 4 && g.members("follower") == 8 }, 20*time.Millisecond)
	end()
}
