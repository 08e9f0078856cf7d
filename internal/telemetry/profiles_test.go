package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// Rounds keep profiles, which can be listed and summed, and drop the oldest for which there is no room.
func TestProfiles(t *testing.T) {
	labelled := 0
	p, err := NewProfiles(filepath.Join(t.TempDir(), "profiles"), 1<<20, func() func() { labelled++; return func() { labelled-- } }, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	p.watch = time.Millisecond
	start := time.Now()
	require.NoError(t, p.take(t.Context()))
	require.Zero(t, labelled)
	kept, err := p.List()
	require.NoError(t, err)
	require.Len(t, kept, 2)
	for i, kind := range []string{"cpu", "heap"} {
		require.Equal(t, kind, kept[i].Kind)
		require.Positive(t, kept[i].Bytes)
		var b bytes.Buffer
		require.NoError(t, p.Between(kind, start, time.Now(), &b))
		_, err := profile.Parse(&b)
		require.NoError(t, err)
		require.ErrorIs(t, p.Between(kind, start.Add(time.Hour), start.Add(2*time.Hour), &b), ErrNoProfile)
	}

	// The sum of two is twice one of them, and of the heap the last counts.
	data, err := os.ReadFile(filepath.Join(p.dir, kept[1].Name))
	require.NoError(t, err)
	one, err := profile.ParseData(data)
	require.NoError(t, err)
	total := func(p *profile.Profile) (sum int64) {
		for _, s := range p.Sample {
			sum += s.Value[0]
		}
		return sum
	}
	yesterday := start.Add(-24 * time.Hour)
	for i := range 2 {
		for _, kind := range []string{"cpu", "heap"} {
			require.NoError(t, p.keep(yesterday.Add(time.Duration(i)*time.Minute), kind, data))
		}
	}
	for kind, times := range map[string]int64{"cpu": 2, "heap": 1} {
		var b bytes.Buffer
		require.NoError(t, p.Between(kind, yesterday, yesterday.Add(time.Hour), &b))
		sum, err := profile.Parse(&b)
		require.NoError(t, err)
		require.Equal(t, times*total(one), total(sum), kind)
	}

	p.most = 2 * int64(len(data))
	require.NoError(t, p.keep(start.Add(time.Minute), "heap", data))
	kept, err = p.List()
	require.NoError(t, err)
	require.LessOrEqual(t, kept[0].Bytes+kept[len(kept)-1].Bytes, p.most)
	require.WithinDuration(t, start, kept[0].Time, time.Hour, "the oldest are gone")
	require.NoError(t, p.keep(start.Add(2*time.Minute), "heap", make([]byte, 3*len(data))))
	kept, err = p.List()
	require.NoError(t, err)
	require.Empty(t, kept, "what is larger than all that may be kept")
}

// A requested CPU profile ends the running one, whose part is kept.
func TestProfilesYield(t *testing.T) {
	p, err := NewProfiles(t.TempDir(), 1<<20, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	p.watch, p.every = time.Hour, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { p.Run(ctx); close(ran) }()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.stop != nil
	}, time.Minute, time.Millisecond)
	resume := p.Yield()
	var b bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&b))
	require.False(t, p.watchCPU(ctx, &b))
	pprof.StopCPUProfile()
	p.Yield()()
	resume()
	cancel()
	<-ran
	kept, err := p.List()
	require.NoError(t, err)
	require.NotEmpty(t, kept)
	require.Equal(t, "cpu", kept[0].Kind)
	(*Profiles)(nil).Yield()()
	kept, err = (*Profiles)(nil).List()
	require.NoError(t, err)
	require.Empty(t, kept)
}
