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
	ss, gs := startClusterIn(t, dirs, 1, "--replicas", "3")
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
		eventually(t, func() bool { return acknowledged.Load() >= want }, 10*time.Millisecond)
	}
	progress(50)
	const lost = 1
	ss[lost].kill(syscall.SIGKILL)
	require.NoError(t, os.RemoveAll(dirs[lost]))
	progress(5)
	ss[lost].start()
	listed := func(what string, n int) {
		eventually(t, func() bool {
			o := member("list")
			return o.code == 0 && strings.Count(o.out, what) == n
		}, 20*time.Millisecond)
	}
	listed("waiting", 3)
	progress(5)
	replaced := make(chan outcome, 1)
	go func() { replaced <- member("replace", strconv.Itoa(lost)) }()
	eventually(t, func() bool { return strings.Count(member("list").out, "waiting") < 3 }, time.Millisecond)
	ss[lost].kill(syscall.SIGKILL)
	ss[lost].start()
	o := <-replaced
	require.Zero(t, o.code, o.err)
	eventually(t, func() bool {
		_, err := get("http://" + ss[lost].admin + "/readyz")
		return err == nil
	}, 20*time.Millisecond)
	o = member("replace", strconv.Itoa(lost))
	require.Contains(t, o.out, "nothing to replace", o.err)
	eventually(t, func() bool { // an election may undo it
		o = member("transfer", "0", strconv.Itoa(lost))
		return o.code == 0 && leaderOf(t, ss, 0) == ss[lost]
	}, 20*time.Millisecond, o.err)
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

// TestClusterRecover has two processes of three lose their data directories. hopgate recover makes the third the only member; the others
// get new replicas, and then the third one may end.
func TestClusterRecover(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	ss, gs := startClusterIn(t, dirs, 1, "--replicas", "3")
	g := gs[0]
	for range 20 {
		g.graphctl("query", "CREATE (:A)-[:R]->(:B)")
	}
	const left = 1
	recovering := func(args ...string) outcome {
		return run(t, nil, "hopgate", append([]string{"recover", "--data-dir", dirs[left]}, args...)...)
	}
	ready := func(s *process) {
		eventually(t, func() bool { _, err := get("http://" + s.admin + "/readyz"); return err == nil }, 20*time.Millisecond)
	}
	for i := range ss {
		ready(ss[i]) // so that the one that is left lacks no commit
	}
	o := recovering("--all", "--force")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "in use by another process")
	for i, s := range ss {
		s.kill(syscall.SIGKILL)
		if i != left {
			require.NoError(t, os.RemoveAll(dirs[i]))
		}
	}
	for _, args := range [][]string{{}, {"--all", "--group", "1"}, {"--group", "-2"}, {"--all"}} {
		require.Equal(t, 2, recovering(args...).code, "%q", args)
	}
	o = recovering("--group", "1")
	require.Contains(t, o.err, "nothing is changed without it")
	require.Contains(t, o.out, "which a recovery removes: processes 0, 2")
	for range 2 {
		o = recovering("--all", "--force")
		require.Zero(t, o.code, o.err)
	}
	require.Equal(t, 3, strings.Count(o.out, "is the only member already"), o.out)
	require.Equal(t, 1, run(t, nil, "hopgate", "recover", "--data-dir", t.TempDir(), "--all").code)

	for _, s := range ss {
		s.start()
	}
	for _, lost := range []int{0, 2} {
		eventually(t, func() bool {
			o := run(t, []string{"GRAPHCTL_ADDRESS=" + g.grpc}, "graphctl", "member", "replace", strconv.Itoa(lost))
			return o.code == 0
		}, 100*time.Millisecond)
		ready(ss[lost])
	}
	ready(ss[left])
	g.graphctl("query", "CREATE (:A)-[:R]->(:B)")
	ss[left].kill(syscall.SIGKILL)
	require.Contains(t, g.graphctl("query", "CREATE (:A)-[:R]->(:B) WITH 1 AS one MATCH (a:A)-[:R]->(b:B) RETURN count(a) AS n", "-o", "csv"), "22")
	require.Contains(t, g.graphctl("check"), "nothing is wrong")
}
