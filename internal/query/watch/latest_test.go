package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The latest requests are those that ended within a time before the last of them, however long ago.
func TestLatest(t *testing.T) {
	var w Watch
	ended, since, until := w.Latest(time.Second)
	require.Empty(t, ended)
	require.True(t, since.IsZero() && until.IsZero())
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(id int, end time.Duration) {
		w.latest.add(Ended{ID: uint64(id), Statement: "RETURN 1", Start: start.Add(end - time.Millisecond), Elapsed: time.Millisecond})
	}
	ids := func(ended []Ended) (ids []uint64) {
		for _, r := range ended {
			ids = append(ids, r.ID)
		}
		return ids
	}
	add(1, 0)
	add(2, 500*time.Millisecond)
	add(4, 1500*time.Millisecond)
	add(3, 1400*time.Millisecond)
	ended, since, until = w.Latest(time.Second)
	require.Equal(t, []uint64{3, 4}, ids(ended), "the one that ended at the beginning belongs to the time before")
	require.Equal(t, start.Add(500*time.Millisecond), since)
	require.Equal(t, start.Add(1500*time.Millisecond), until)
	for i := range latestKept + 7 {
		add(100+i, time.Minute+time.Duration(i)*time.Microsecond)
	}
	ended, since, until = w.Latest(time.Second)
	require.Len(t, ended, latestKept-1)
	require.Equal(t, uint64(100+8), ended[0].ID)
	require.Equal(t, (latestKept-1)*time.Microsecond, until.Sub(since))
	w.latest.add(Ended{Statement: strings.Repeat("x", 2*latestText), Start: start.Add(time.Hour)})
	ended, _, _ = w.Latest(time.Second)
	require.Len(t, ended, 1)
	require.Len(t, ended[0].Statement, latestText)
}
