package main_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClusterGrow adds a process to three while clients write, moves replicas to it, removes one of the first three, and kills another one.
func TestClusterGrow(t *testing.T) {
	ss, gs := startCluster(t, 3, 1, "--replicas", "3")
	g, first := gs[0], strings.Split(ss[0].args[slices.Index(ss[0].args, "--join")+1], ",")
	progress, end := writers(t, g)
	progress(5)
	refused := func(why string, args ...string) {
		o := run(t, []string{"GRAPHCTL_ADDRESS=" + g.grpc}, "graphctl", append([]string{"member"}, args...)...)
		require.NotZero(t, o.code)
		require.Contains(t, o.err, why)
	}
	refused("add one first", "remove", first[0])
	refused("must be a host and a port", "add", "nowhere")
	refused("there is no process at", "remove", "nowhere:1")

	at := freeAddress(t)
	added := &process{t: t, admin: freeAddress(t), args: []string{
		"shard", "--replicas", "3", "--data-dir", t.TempDir(), "--join", first[1], "--peer", at, "--grpc", at, "--memory", "256MiB",
	}}
	added.args = append(added.args, "--admin", added.admin)
	added.start()
	require.Contains(t, g.graphctl("member", "add", at), "added process 3")
	require.Contains(t, g.graphctl("member", "add", at), "it is process 3")
	eventually(t, func() bool { return g.members("idle") == 1 }, 20*time.Millisecond)
	progress(5)
	require.Contains(t, g.graphctl("member", "rebalance"), "to process 3")
	refused("graphctl member rebalance --drain 0", "remove", "0")
	g.graphctl("member", "rebalance", "--drain", "0")
	g.graphctl("member", "remove", first[0])
	g.graphctl("member", "remove", "0")
	listed := g.graphctl("member", "list")
	require.NotContains(t, listed, first[0])
	require.Contains(t, listed, at)
	eventually(t, func() bool {
		_, err := get("http://" + ss[0].admin + "/readyz")
		return err != nil && strings.Contains(err.Error(), "removed from the cluster")
	}, 20*time.Millisecond)
	progress(5)
	ss[0].kill(syscall.SIGTERM)
	progress(5)

	// The process that was added starts again, and then another one of the first dies.
	added.kill(syscall.SIGKILL)
	progress(5)
	added.start()
	added.awaitReady()
	eventually(t, func() bool { return g.members("leader")+g.members("follower") == 9 }, 20*time.Millisecond)
	ss[1].kill(syscall.SIGKILL)
	progress(5)
	require.Equal(t, 1, g.members("unreachable"))
	ss[1].start()
	ss[1].awaitReady()
	end()
}
