package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/config"
)

// A reload puts in force what can change, names what has to wait for a restart, and changes nothing if the configuration is invalid.
func TestReload(t *testing.T) {
	var out bytes.Buffer
	now := config.Default()
	read, failure := now, error(nil)
	var level string
	r := &reloader{load: func() (config.Config, error) { return read, failure }, now: now, log: slog.New(slog.NewTextHandler(&out, nil))}
	r.on(func(c *config.Config) { level = c.LogLevel }, "log-level")
	reload := func() string {
		out.Reset()
		r.reload()
		return regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(out.String(), "")
	}
	require.Contains(t, reload(), "no setting has changed")
	read.LogLevel, read.Shards = "debug", 3
	require.Equal(t, `level=INFO msg="SIGHUP: setting changed" setting=log-level from=info to=debug
level=WARN msg="SIGHUP: setting changes at a restart" setting=shards from=0 to=3
`, reload())
	require.Equal(t, "debug", level)
	require.Equal(t, "level=WARN msg=\"SIGHUP: setting changes at a restart\" setting=shards from=0 to=3\n", reload(), "it still waits")
	read, failure = config.Default(), errors.New("hopgate.yaml:1: logLevel: is wrong")
	require.Equal(t, "level=ERROR msg=\"SIGHUP: all settings stay as they are\" error=\"hopgate.yaml:1: logLevel: is wrong\"\n", reload())
	require.Equal(t, "debug", level)
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
