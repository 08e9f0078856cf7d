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

// terminate sends SIGTERM and returns a channel that closes when the process has ended.
func (p *process) terminate() <-chan struct{} {
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.cmd.Wait()
	}()
	return done
}

// ends waits until a process has ended.
func ends(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		require.Fail(t, "the process does not end")
	}
}

// TestClusterStopWait sends SIGTERM to a process of three while another one is away: it serves on until that one is back. When all get the
// signal, none waits for the others.
func TestClusterStopWait(t *testing.T) {
	ss, gs := startCluster(t, 3, 1, "--replication", "3", "--stop-wait", "1h")
	write := func() bool {
		_, err := ask(gs[0].http, "CREATE (:A)")
		return err == nil
	}
	require.Eventually(t, write, patience, 20*time.Millisecond)
	ss[0].kill(syscall.SIGKILL)
	done := ss[2].terminate()
	require.Eventually(t, func() bool { return strings.Contains(ss[2].log.String(), "would lose its majority") }, patience, 20*time.Millisecond)
	require.Eventually(t, write, patience, 20*time.Millisecond)
	ss[0].start()
	ends(t, done)
	require.Zero(t, ss[2].cmd.ProcessState.ExitCode(), ss[2].log.String())
	require.Eventually(t, write, patience, 20*time.Millisecond)
	ss[2].start()
	for _, s := range ss {
		s.awaitReady()
	}
	var all []<-chan struct{}
	for _, s := range ss {
		all = append(all, s.terminate())
	}
	for _, done := range all {
		ends(t, done)
	}
}

// TestClusterWaits has a shard without another copy go away: the gateway stays ready, and requests wait for the shard.
func TestClusterWaits(t *testing.T) {
	ss, gs := startCluster(t, 2, 1)
	_, err := ask(gs[0].http, "UNWIND range(1, 100) AS i CREATE (:A {i: i})")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		m := adminAddress.FindStringSubmatch(gs[0].log.String())
		if m != nil {
			gs[0].admin = m[1]
		}
		return m != nil
	}, patience, 20*time.Millisecond)
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
