package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// SIGHUP changes the limits of requests of a running server, and never ends it.
func TestHangup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hopgate.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("maxRows: 10\n")
	p := &process{t: t, http: freeAddress(t), grpc: freeAddress(t), admin: freeAddress(t)}
	p.args = []string{"serve", "--config", file, "--data-dir", t.TempDir(), "--http", p.http, "--grpc", p.grpc, "--admin", p.admin, "--bolt", "", "--memory", "256MiB"}
	p.start()
	p.awaitReady()
	fails := func(code string) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, err := ask(p.http, "UNWIND range(1, 20) AS n RETURN n")
			return code == "" && err == nil || code != "" && err != nil && strings.Contains(err.Error(), code)
		}, patience, 10*time.Millisecond)
	}
	fails("the budget of max-rows")
	write("maxRows: 20\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	fails("")
	write("maxRows: 20\nqueryTimeout: 1ns\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	fails("the limit query-timeout")
	write("maxRows: many\nqueryTimeout: 1m\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	time.Sleep(50 * time.Millisecond)
	fails("the limit query-timeout")
	write("maxRows: 20\nqueryTimeout: 1m\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	fails("")
}
