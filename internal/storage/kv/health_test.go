package kv

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestHealth has stores fail and leave: both take no more writes, and only a failure is logged as an error.
func TestHealth(t *testing.T) {
	cause := errors.New("the cause")
	for level, end := range map[string]func(*Health){
		"ERROR": func(h *Health) { h.Fail(cause) },
		"INFO":  func(h *Health) { h.Leave(cause) },
	} {
		var log bytes.Buffer
		h := &Health{}
		h.Init("a", slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, h.Writable())
		end(h)
		end(h)
		require.Equal(t, graph.KindUnavailable, graph.AsError(h.Writable()).Kind)
		require.ErrorIs(t, h.Writable(), cause)
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")))
		require.Contains(t, log.String(), "level="+level)
	}
}

// TestRoomAgain has a compaction fail for lack of room with nothing to flush: the store takes writes again by itself.
func TestRoomAgain(t *testing.T) {
	in, err := Open(&Options{FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler)}, "store", false, true, make(chan struct{}))
	require.NoError(t, err)
	in.backgroundError(fmt.Errorf("compaction: %w", syscall.ENOSPC))
	require.ErrorIs(t, in.Writable(), syscall.ENOSPC)
	require.Eventually(t, func() bool { return in.Writable() == nil }, time.Minute, time.Millisecond)
	require.NoError(t, in.Close())
}
