package main

import (
	"io"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHangup sends SIGHUP, by which a process ends that does not handle it.
func TestHangup(t *testing.T) {
	logged := make(chan string, 1)
	stop := ignoreHangups(slog.New(slog.NewTextHandler(lineWriter(logged), nil)))
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	select {
	case line := <-logged:
		require.Contains(t, line, "SIGHUP is ignored")
	case <-time.After(time.Minute):
		require.Fail(t, "nothing is logged")
	}
}

// TestUntilEnd ends a context with its input: a program that holds the other end of a pipe may be killed.
func TestUntilEnd(t *testing.T) {
	in, out := io.Pipe()
	ctx := untilEnd(t.Context(), in)
	_, err := out.Write([]byte("any"))
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	require.NoError(t, out.Close())
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		require.Fail(t, "the context has not ended")
	}
}

// lineWriter passes on what is written to it.
type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}
