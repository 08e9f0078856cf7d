package main_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ship has a process ship the logs of all graphs of a server to a repository, until it is killed, perhaps while it writes.
func ship(t *testing.T, dest, address string, interval time.Duration) (kill func()) {
	p := exec.CommandContext(context.Background(), filepath.Join(bin, "graphctl"), "backup", "--log", dest, "--interval", interval.String(), "--address", address)
	p.Env = environ()
	require.NoError(t, p.Start())
	return func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// restored returns the data directories of the processes of a cluster, or of a single server, restored from a repository.
func restored(t *testing.T, dest string, processes int, more ...string) (dirs []string) {
	for no := range processes {
		dir := filepath.Join(t.TempDir(), "back")
		args := append([]string{"restore", dest, "--data-dir", dir}, more...)
		if processes > 1 {
			args = append(args, "--processes", strconv.Itoa(processes), "--process", strconv.Itoa(no))
		}
		o := run(t, nil, "graphctl", args...)
		require.Zero(t, o.code, o.err)
		dirs = append(dirs, dir)
	}
	return dirs
}
