package kv

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// TestDirectReads reads any part of a file as it was written, and ends where it ends.
func TestDirectReads(t *testing.T) {
	dir := t.TempDir()
	fs, err := NewDirectFS(vfs.Default, dir)
	if err != nil {
		t.Skip(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 4095, 4096, 4097, 50_000} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		name := fs.PathJoin(dir, "1.sst")
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(bytes.Clone(data))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		f, err = fs.Open(name)
		require.NoError(t, err)
		for range 100 {
			off := rng.IntN(size + 10)
			p := make([]byte, rng.IntN(size+10))
			n, err := f.ReadAt(p, int64(off))
			want := data[min(off, size):min(off+len(p), size)]
			require.True(t, bytes.Equal(want, p[:n]))
			require.Equal(t, n < len(p), errors.Is(err, io.EOF), "%d of %d: %v", n, len(p), err)
		}
		all, err := io.ReadAll(f)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, all))
		require.NoError(t, f.Close())
	}
}

// TestDirectRefused says what is missing where there are no direct reads.
func TestDirectRefused(t *testing.T) {
	_, err := NewDirectFS(vfs.NewMem(), "")
	require.ErrorContains(t, err, "cache mode direct needs direct reads")
}
