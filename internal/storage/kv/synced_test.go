package kv

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// killed makes a store of synced records and returns it as a killed process leaves it, with the name of its log.
func killed(t *testing.T, records int) (fs *vfs.MemFS, log string) {
	mem := vfs.NewCrashableMem()
	in, err := Open(&Options{FS: mem, Logger: slog.New(slog.DiscardHandler)}, "store", false, true, nil)
	require.NoError(t, err)
	for i := range records {
		require.NoError(t, in.DB.Set(fmt.Appendf(nil, "%04d", i), bytes.Repeat([]byte{1}, 100), pebble.Sync))
	}
	fs = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	require.NoError(t, in.Close())
	names, err := fs.List("store")
	require.NoError(t, err)
	logs := slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".log" })
	return fs, "store/" + slices.Max(logs)
}

// edit changes the content of a file.
func edit(t *testing.T, fs *vfs.MemFS, name string, change func(b []byte) []byte) {
	b, err := readFile(fs, name)
	require.NoError(t, err)
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(change(b))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// reopen opens a store and returns how many records it has, and what it logs.
func reopen(t *testing.T, fs *vfs.MemFS) (records int, said string, err error) {
	var log bytes.Buffer
	in, err := Open(&Options{FS: fs, Logger: slog.New(slog.NewTextHandler(&log, nil))}, "store", false, false, nil)
	if err != nil {
		return 0, log.String(), err
	}
	require.NoError(t, ScanRange(in.DB, nil, nil, func(_, _ []byte) error { records++; return nil }))
	require.NoError(t, in.Close())
	return records, log.String(), nil
}

// TestFirstLogProvesDamage reads the types of the chunks in the log of a new store: later chunks say how far the log was synced. Pebble notes
// a sync just after it wakes the writer, so that the next chunk may not say so yet; the one after does.
func TestFirstLogProvesDamage(t *testing.T) {
	fs, log := killed(t, 3)
	b, err := readFile(fs, log)
	require.NoError(t, err)
	file, ok := syncedFileOf(path.Base(log))
	require.True(t, ok)
	whole := len(b)
	var ends []int64
	for i := range 3 {
		c := readChunk(b, file)
		require.True(t, c.ok && c.first)
		require.Greater(t, b[6], byte(numberTypes))
		if i > 1 {
			require.GreaterOrEqual(t, c.synced, ends[i-2])
		}
		ends, b = append(ends, int64(whole-len(b)+c.size)), b[c.size:]
	}
	require.False(t, readChunk(b, file).ok)
}

// TestTornWrite adds the beginning of a write to a log, as a crash leaves it: the store opens without it and says so.
func TestTornWrite(t *testing.T) {
	fs, log := killed(t, 20)
	edit(t, fs, log, func(b []byte) []byte {
		file, _ := syncedFileOf(path.Base(log))
		end := 0
		for c := readChunk(b, file); c.ok; c = readChunk(b[end:], file) {
			end += c.size
		}
		first := readChunk(b, file)
		copy(b[end:], b[:first.size/2])
		return b
	})
	records, said, err := reopen(t, fs)
	require.NoError(t, err)
	require.Equal(t, 20, records)
	require.Contains(t, said, "interrupted the last write")
	require.Contains(t, said, log)
}

// TestSyncedRecord damages and removes what a killed process leaves: the store opens with all records, or not at all.
func TestSyncedRecord(t *testing.T) {
	fs, _ := killed(t, 20)
	edit(t, fs, "store/SYNCED", func(b []byte) []byte { b[9] ^= 1; return b })
	records, said, err := reopen(t, fs)
	require.NoError(t, err)
	require.Equal(t, 20, records)
	require.Contains(t, said, "the record of what was synced is damaged")

	fs, log := killed(t, 20)
	require.NoError(t, fs.Remove(log))
	_, _, err = reopen(t, fs)
	require.ErrorContains(t, err, "is missing")
	require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind)

	// The mark of a log's end has no checksum: Pebble takes a wrong log number for it.
	fs, log = killed(t, 20)
	edit(t, fs, log, func(b []byte) []byte { b[7] ^= 1; return b })
	for range 2 { // an error changes nothing
		_, _, err = reopen(t, fs)
		require.ErrorContains(t, err, "damaged at offset 0")
		require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind)
	}
	require.NoError(t, fs.Remove("store/SYNCED"))
	_, _, err = reopen(t, fs)
	require.ErrorContains(t, err, "damaged at offset 0")
}

// TestCheckLogs damages the log and the manifest of a store that is open.
func TestCheckLogs(t *testing.T) {
	fs, _ := killed(t, 20)
	in, err := Open(&Options{FS: fs, Logger: slog.New(slog.DiscardHandler)}, "store", false, false, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	require.NoError(t, in.DB.Set([]byte("a"), []byte("b"), pebble.Sync))
	check := func() (found []string) {
		require.NoError(t, in.CheckLogs(func(file string, err error) { found = append(found, file) }))
		return found
	}
	require.Empty(t, check())
	var want []string
	for _, e := range in.synced.ends {
		name := e.name()
		want = append(want, name)
		f, err := fs.OpenReadWrite("store/"+name, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{0xff}, e.end-1)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.Len(t, want, 3) // Pebble keeps the manifest before the last one
	require.Equal(t, want, check())
}
