package main_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// TestClusterStopWait tells a process of three to stop while another one is away: it serves on until that one is back. When all are told to
// stop, none waits for the others.
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
