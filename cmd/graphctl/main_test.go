package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli"
)

// TestMain runs the program itself in the processes that tests start.
func TestMain(m *testing.M) {
	if os.Getenv("GRAPHCTL_RUN_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// Ctrl-C ends a command with 130, which shells know as the exit code of an interrupted program.
func TestInterrupted(t *testing.T) {
	a, e := serve(t)
	cmd := exec.Command(os.Args[0], "query", "UNWIND range(1, 1000000000000) AS x RETURN sum(x % 7)")
	cmd.Env = append(os.Environ(), "GRAPHCTL_RUN_MAIN=1", "GRAPHCTL_ADDRESS="+a.Address)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(e.Running(context.Background())) > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, cli.Interrupted, exit.ExitCode())
}
