package main_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// adminAddress finds in the log where the admin listener is.
var adminAddress = regexp.MustCompile(`listener=admin address=(\S+)`)

// ends waits until a process has ended.
func ends(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.Fail(t, "the process does not end")
	}
}

// TestClusterStopWait sends SIGTERM to a process of three while another one is away: it serves on until that one is back. When all get the
// signal, none waits for the others.
func TestClusterStopWait(t *testing.T) {
	ss, gs := startCluster(t, 3, 1, "--replicas", "3", "--stop-wait", "1h")
	testStopWait(t, ss, gs[0])
}

// TestMemberStopWait does the same to processes of hopgate serve --join.
func TestMemberStopWait(t *testing.T) {
	ms, _ := startMembers(t, 3, "--stop-wait", "1h")
	testStopWait(t, ms, ms[1])
}

// testStopWait tests processes that wait before they stop. Clients ask at, which is none of those that end while others do not.
func testStopWait(t *testing.T, ss []*process, at *process) {
	write := func() bool {
		_, err := ask(at.http, "CREATE (:A)")
		return err == nil
	}
	eventually(t, write, 20*time.Millisecond)
	ss[0].kill(syscall.SIGKILL)
	ss[2].signal(syscall.SIGTERM)
	eventually(t, func() bool { return strings.Contains(ss[2].log.String(), "would lose its majority") }, 20*time.Millisecond)
	eventually(t, write, 20*time.Millisecond)
	ss[0].start()
	ends(t, ss[2])
	require.Zero(t, ss[2].cmd.ProcessState.ExitCode(), ss[2].log.String())
	eventually(t, write, 20*time.Millisecond)
	ss[2].start()
	for _, s := range ss {
		s.awaitReady()
	}
	for _, s := range ss {
		s.signal(syscall.SIGTERM)
	}
	for _, s := range ss {
		ends(t, s)
	}
}

// TestClusterWaits has a shard without another copy go away: the gateway stays ready, and requests wait for the shard.
func TestClusterWaits(t *testing.T) {
	ss, gs := startCluster(t, 2, 1)
	_, err := ask(gs[0].http, "UNWIND range(1, 100) AS i CREATE (:A {i: i})")
	require.NoError(t, err)
	eventually(t, func() bool {
		m := adminAddress.FindStringSubmatch(gs[0].log.String())
		if m != nil {
			gs[0].admin = m[1]
		}
		return m != nil
	}, 20*time.Millisecond)
	gs[0].awaitReady()
	ss[1].kill(syscall.SIGKILL)
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := ask(gs[0].http, "MATCH (a:A) RETURN sum(a.i)")
		got <- answer{text, err}
	}()
	for range 3 {
		text, err := get("http://" + gs[0].admin + "/readyz")
		require.NoError(t, err)
		require.Contains(t, text, `"ok"`)
	}
	require.Empty(t, got)
	ss[1].start()
	a := <-got
	require.NoError(t, a.err)
	require.Contains(t, a.text, "5050")
}
