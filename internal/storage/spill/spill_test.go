package spill

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// TestSpillTurns has two buffers take turns: a bucket gives its records in the order of the turns, not in that of the
// writes.
func TestSpillTurns(t *testing.T) {
	s, err := New(vfs.NewMem(), "spill", 2)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	bufs := []*Buffer{s.Buffer(8), s.Buffer(1 << 20)}
	for round := range 5 {
		b := bufs[round%2]
		require.NoError(t, b.Round(round))
		for i := range 6 {
			require.NoError(t, b.End(i%2, fmt.Appendf(b.Begin(i%2), "%d%d ", round, i)))
		}
	}
	for _, b := range bufs {
		require.NoError(t, b.Flush())
	}
	want := []string{"00 02 04 10 12 14 20 22 24 30 32 34 40 42 44 ", "01 03 05 11 13 15 21 23 25 31 33 35 41 43 45 "}
	for bucket := range want {
		require.Equal(t, 15, s.Records(bucket))
		require.Equal(t, int64(len(want[bucket])), s.Bytes(bucket))
		all, err := s.ReadAll(bucket, nil)
		require.NoError(t, err)
		require.Equal(t, want[bucket], string(all))
		var each string
		_, err = s.Each(bucket, nil, func(b []byte) error {
			each += string(b)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, want[bucket], each)
	}
}
