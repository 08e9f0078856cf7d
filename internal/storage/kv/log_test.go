package kv

import (
	"bytes"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// TestLogFile holds a log against what was written to it: after a sync all of it is in the file, with zeros behind it.
func TestLogFile(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testLogFile(t, vfs.NewMem(), "") })
	t.Run("disk", func(t *testing.T) { testLogFile(t, vfs.Default, t.TempDir()) })
}

func testLogFile(t *testing.T, fs vfs.FS, dir string) {
	in := &Instance{}
	in.Init("log", slog.New(slog.DiscardHandler))
	read := func(name string) []byte {
		f, err := fs.Open(name)
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return got
	}
	write := func(f vfs.File, name string, size int64) {
		log := newLogFile(faultFile{f, in, false}, size)
		var want []byte
		for i := range 300 {
			b := bytes.Repeat([]byte{byte(i + 1)}, 1+i*i%7000)
			if i == 200 {
				b = bytes.Repeat(b, mostHeld/len(b)*5/2)
			}
			n, err := log.Write(bytes.Clone(b))
			require.NoError(t, err)
			require.Equal(t, len(b), n)
			want = append(want, b...)
			if i%3 != 0 || i%50 == 49 {
				require.NoError(t, log.Sync())
			}
			if i%50 == 49 {
				got := read(name)
				require.Equal(t, want, got[:len(want)])
				rest := got[len(want):]
				if size > 0 {
					rest = rest[:-len(want)&(directAlign-1)] // what is behind is of the log before
				}
				require.Equal(t, make([]byte, len(rest)), rest)
			}
		}
		require.NoError(t, log.Close())
		got := read(name)
		require.Equal(t, want, got[:len(want)])
		require.Greater(t, len(got), len(want))
		require.LessOrEqual(t, len(got), len(want)+directAlign+mostAhead)
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	f, err := fs.Create(a, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	write(f, a, 0)
	info, err := fs.Stat(a)
	require.NoError(t, err)
	f, err = fs.ReuseForWrite(a, b, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	write(f, b, info.Size())
	after, err := fs.Stat(b)
	require.NoError(t, err)
	require.Equal(t, info.Size(), after.Size(), "a log that is used again need not grow")
}
