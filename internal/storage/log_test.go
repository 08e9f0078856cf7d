package storage

import (
	"bytes"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// TestLogFile holds a log against what was written to it, and wants zeros behind that.
func TestLogFile(t *testing.T) {
	fs := vfs.NewMem()
	in := &instance{failed: make(chan struct{})}
	write := func(f vfs.File, size int64) (want []byte) {
		log := &logFile{faultFile: faultFile{f, in, false}, size: size}
		for i := range 300 {
			b := bytes.Repeat([]byte{byte(i + 1)}, 1+i*i%7000)
			n, err := log.Write(bytes.Clone(b))
			require.NoError(t, err)
			require.Equal(t, len(b), n)
			want = append(want, b...)
		}
		require.NoError(t, log.Close())
		return want
	}
	check := func(name string, want []byte) {
		f, err := fs.Open(name)
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, want, got[:len(want)])
		require.Greater(t, len(got), len(want))
		require.LessOrEqual(t, len(got), len(want)+mostAhead)
	}
	f, err := fs.Create("a", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	check("a", write(f, 0))
	info, err := fs.Stat("a")
	require.NoError(t, err)
	f, err = fs.ReuseForWrite("a", "b", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	check("b", write(f, info.Size()))
	after, err := fs.Stat("b")
	require.NoError(t, err)
	require.Equal(t, info.Size(), after.Size(), "a log that is used again need not grow")
}
