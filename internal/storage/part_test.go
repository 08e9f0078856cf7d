package storage

import (
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// TestPartOrphans reads the states of a writer after another one has attached itself: its held states and its last one can be
// read until orphanAge has passed, and errors tell the states that are gone from those that are yet to come.
func TestPartOrphans(t *testing.T) {
	now := time.Unix(1<<30, 0)
	opts := &Options{FS: vfs.NewMem(), Clock: func() time.Time { return now }}
	opts.EnsureDefaults()
	sh := NewShared(opts)
	defer sh.Close()
	p, err := OpenPart(opts, sh, "part", 0, 1, true, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()

	key := keys.MetaKey(keys.MetaPurged) // a number that means nothing to the part
	attach := func(epoch uint64) uint64 {
		version, err := p.Attach(0, epoch)
		require.NoError(t, err)
		return version
	}
	apply := func(epoch, version uint64, keep bool, gone ...uint64) {
		b := p.s.graph.NewBatch()
		require.NoError(t, b.Set(key, []byte(strconv.FormatUint(version, 10)), nil))
		require.NoError(t, p.Apply(0, epoch, &Changed{Version: version, Batch: b.Repr(), Keep: keep, Gone: gone}))
		require.NoError(t, b.Close())
	}
	reads := func(epoch, version uint64) {
		t.Helper()
		v, ok, err := p.Get(epoch, GraphStore, version, 0, key)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, strconv.FormatUint(version, 10), string(v))
	}
	fails := func(want error, epoch, version uint64) {
		t.Helper()
		_, _, err := p.Get(epoch, GraphStore, version, 0, key)
		require.ErrorIs(t, err, want)
	}

	first := attach(3) + 1
	apply(3, first, false)
	apply(3, first+1, true)  // holds first
	apply(3, first+2, false) // first+1 goes
	reads(3, first)
	reads(3, first+2)
	fails(ErrGone, 3, first+1)
	fails(ErrAhead, 3, first+3)
	fails(ErrAhead, 4, first)

	second := attach(5)
	require.Equal(t, first+3, second)
	apply(5, second+1, false)
	reads(3, first)
	reads(3, first+2)
	reads(5, second+1)
	fails(ErrGone, 3, first+1)
	fails(ErrGone, 3, second) // the state of another writer
	fails(ErrGone, 4, first)
	fails(ErrGone, 5, first)
	fails(ErrAhead, 5, second+2)
	fails(ErrAhead, 6, first)
	fails(ErrFenced, 3, 0)
	require.ErrorIs(t, p.Apply(0, 3, &Changed{Version: first + 3}), ErrFenced)

	// A reader keeps what it has beyond that time; no other gets it.
	v, _, done, err := p.View(3, first)
	require.NoError(t, err)
	now = now.Add(orphanAge - 1)
	third := attach(7)
	reads(3, first)
	reads(5, second+1)
	now = now.Add(1)
	apply(7, third+1, false)
	require.NotContains(t, p.views, first)
	require.NotContains(t, p.views, first+2)
	fails(ErrGone, 3, first)
	fails(ErrGone, 3, first+2)
	got, ok, err := kv.Get(v.Graph(), key, nil)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, strconv.FormatUint(first, 10), string(got))
	done()
	reads(5, second+1)
	now = now.Add(orphanAge)
	fails(ErrGone, 5, second+1)
	require.Empty(t, p.orphans)
	require.Empty(t, p.views)
}
