package admission

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A request that is cancelled while it waits for a slot does not keep the slot.
func TestSlots(t *testing.T) {
	var s slots
	n := s.capacity()
	for range n {
		require.True(t, s.acquire(context.Background()))
	}
	require.False(t, s.contended())
	ctx, cancel := context.WithCancel(context.Background())
	left, got := make(chan bool), make(chan bool)
	go func() { left <- s.acquire(ctx) }()
	require.Eventually(t, s.contended, time.Minute, time.Millisecond)
	cancel()
	require.False(t, <-left)
	require.False(t, s.contended())
	go func() { got <- s.acquire(context.Background()) }()
	require.Eventually(t, s.contended, time.Minute, time.Millisecond)
	s.release()
	require.True(t, <-got)
	for range n {
		s.release()
	}
	require.Zero(t, s.held)
}

// Goroutines that compute for a request count to it.
func TestHelpers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	g := New(Limits{}, nil)
	q := &Ticket{}
	q.begin(g, Now())
	q.longRunning, q.held = true, true
	g.cpu.held = 1
	hs := q.Helpers(2)
	require.Len(t, hs, 2)
	h, _ := hs[0].(*helper)
	h.since -= int64(time.Hour)
	for _, h := range hs {
		h.Release()
	}
	took, _ := q.Spent(time.Now())
	require.Greater(t, took, time.Hour)
	require.Less(t, took, 2*time.Hour)
	q.End(time.Now(), nil)
	took, _ = q.Spent(time.Now())
	later, _ := q.Spent(time.Now().Add(time.Hour))
	require.Equal(t, took, later, "the clock stands")
}
