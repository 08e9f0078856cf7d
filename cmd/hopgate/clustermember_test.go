package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClusterLostDisk has a process of three lose its data directory while clients write. It takes no part until graphctl member replace
// gives it new replicas; it is killed while these catch up, and in the end makes the majority with one of the others.
func TestClusterLostDisk(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	ss, gs := startClusterIn(t, dirs, 1, "--replication", "3")
	member := func(args ...string) outcome {
		return run(t, []string{"GRAPHCTL_ADDRESS=" + gs[0].grpc}, "graphctl", append([]string{"member"}, args...)...)
	}
	var acknowledged atomic.Int64
	end := until(2, func(int) {
		id := acknowledged.Load()
		if _, err := ask(gs[0].http, fmt.Sprintf("CREATE (:A {w: %d})-[:R]->(:B)", id)); err == nil {
			acknowledged.Add(1)
		}
	})
	progress := func(n int64) {
		want := acknowledged.Load() + n
		require.Eventually(t, func() bool { return acknowledged.Load() >= want }, patience, 10*time.Millisecond)
	}
	progress(50)
	const lost = 1
	ss[lost].kill(syscall.SIGKILL)
	require.NoError(t, os.RemoveAll(dirs[lost]))
	progress(5)
	ss[lost].start()
	listed := func(what string, n int) {
		require.Eventually(t, func() bool {
			o := member("list")
			return o.code == 0 && strings.Count(o.out, what) == n
		}, patience, 20*time.Millisecond)
	}
	listed("waiting", 3)
	progress(5)
	replaced := make(chan outcome, 1)
	go func() { replaced <- member("replace", strconv.Itoa(lost)) }()
	require.Eventually(t, func() bool { return strings.Count(member("list").out, "waiting") < 3 }, patience, time.Millisecond)
	ss[lost].kill(syscall.SIGKILL)
	ss[lost].start()
	o := <-replaced
	require.Zero(t, o.code, o.err)
	require.Eventually(t, func() bool {
		_, err := get("http://" + ss[lost].admin + "/readyz")
		return err == nil
	}, patience, 20*time.Millisecond)
	o = member("replace", strconv.Itoa(lost))
	require.Contains(t, o.out, "nothing to replace", o.err)
	o = member("transfer", "0", strconv.Itoa(lost))
	require.Zero(t, o.code, o.err)
	require.Equal(t, ss[lost], leaderOf(t, ss, 0))
	require.NotZero(t, member("replace", "7").code)
	require.NotZero(t, member("transfer", "0", "x").code)

	for _, args := range [][]string{{"stats"}, {"top", "-n", "1", "--interval", "100ms"}} {
		o := run(t, []string{"GRAPHCTL_ADDRESS=" + gs[0].grpc}, "graphctl", args...)
		require.Zero(t, o.code, o.err)
		require.Regexp(t, `replicas of shard 0 +led by process 1 in term \d+, process 0 \d+ entries behind, process 2 \d+ entries behind\n`, o.out)
	}

	ss[0].kill(syscall.SIGKILL)
	listed("unreachable", 1)
	o = run(t, []string{"GRAPHCTL_ADDRESS=" + gs[0].grpc}, "graphctl", "top", "-n", "1", "--interval", "100ms")
	require.Contains(t, o.out, ", process 0 unreachable\n", o.err)
	progress(20)
	end()
	got, err := ask(gs[0].http, "MATCH (a:A)-[:R]->(b:B) RETURN count(DISTINCT a) >= "+strconv.FormatInt(acknowledged.Load(), 10))
	require.NoError(t, err)
	require.Contains(t, got, "true")
}
