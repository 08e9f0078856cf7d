package main_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
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
	outcomes := make([]outcome, processes)
	var running sync.WaitGroup
	for no := range processes {
		dirs = append(dirs, filepath.Join(t.TempDir(), "back"))
		args := append([]string{"restore", dest, "--data-dir", dirs[no]}, more...)
		if processes > 1 {
			args = append(args, "--processes", strconv.Itoa(processes), "--process", strconv.Itoa(no))
		}
		running.Go(func() { outcomes[no] = run(t, nil, "graphctl", args...) })
	}
	running.Wait()
	for _, o := range outcomes {
		require.Zero(t, o.code, o.err)
	}
	return dirs
}
