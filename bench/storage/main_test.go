package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// TestRun prints a table for each cache mode of a tiny network.
func TestRun(t *testing.T) {
	if _, err := kv.NewDirectFS(vfs.Default, t.TempDir()); err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	require.NoError(t, run(&out, options{scale: 0.01, time: time.Microsecond, dir: t.TempDir()}))
	for _, want := range []string{"cache mode block", "cache mode page", "cache mode direct", "shortest path, P99", "MB on disk"} {
		require.Contains(t, out.String(), want)
	}
}

// TestLayouts reads the same from both layouts.
func TestLayouts(t *testing.T) {
	d := newData(0.01)
	var stores []store
	for i, l := range layouts {
		s, err := l.open(setup{filepath.Join(t.TempDir(), string(rune('a'+i))), 100, kv.CacheBlocks, 1 << 20}, d, true)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.close()) }()
		stores = append(stores, s)
	}
	for p := range d.people {
		var ends [2][]int
		var names [2]int
		var since [2]int64
		for i, s := range stores {
			var err error
			ends[i], err = s.step([]int{p})
			require.NoError(t, err)
			names[i], err = s.names(p)
			require.NoError(t, err)
			since[i], err = s.since(p)
			require.NoError(t, err)
		}
		require.True(t, slices.Equal(ends[0], ends[1]))
		require.Equal(t, names[0], names[1])
		require.Equal(t, since[0], since[1])
	}
	for c := range d.comments {
		for _, s := range stores {
			n, err := s.texts([]int{c})
			require.NoError(t, err)
			require.Equal(t, len(d.comments[c].text), n)
		}
	}
}
