package storage

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage/staging"
)

// An outcome is known for a quarter of an hour, in this process and the next; after that it is not taken for absent.
func TestOutcome(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	o := &Options{FS: vfs.NewMem(), Clock: func() time.Time { return now }}
	o.EnsureDefaults()
	sh := NewShared(o)
	defer sh.Close()
	s, err := CreateShard(o, sh, "data/0", 0, 1)
	require.NoError(t, err)
	intents, err := Recover([]*Shard{s})
	require.NoError(t, err)
	made := byte(0)
	name := func() (id CommitID) {
		made++
		binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16)
		id[15] = made
		return id
	}
	commit := func(ids ...CommitID) {
		w := s.NewWriter()
		require.NoError(t, w.Vertices.Put(w.NewVertex(), 0, nil, nil))
		wait, err := Commit([]*Shard{s}, []*staging.Writer{w}, &CommitInfo{IDs: ids}, &intents)
		require.NoError(t, err)
		require.NoError(t, wait())
	}
	requireOutcome := func(want Outcome, id CommitID) {
		t.Helper()
		got, err := FindOutcome([]*Shard{s}, id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	reopen := func() {
		require.NoError(t, s.Close())
		s, err = OpenShard(o, sh, "data/0", 0, 1)
		require.NoError(t, err)
		intents, err = Recover([]*Shard{s})
		require.NoError(t, err)
	}
	defer func() { require.NoError(t, s.Close()) }()

	first, second, never := name(), name(), name()
	commit(first, second)
	reopen()
	for range 2 {
		requireOutcome(OutcomeCommitted, first)
		requireOutcome(OutcomeCommitted, second)
		requireOutcome(OutcomeAbsent, never)
		now = now.Add(outcomeWindow - time.Second)
		commit(name())
	}
	now = now.Add(outcomePurge)
	late := name()
	commit(late)
	for range 2 {
		requireOutcome(OutcomeUnknown, first)
		requireOutcome(OutcomeUnknown, never)
		requireOutcome(OutcomeCommitted, late)
		requireOutcome(OutcomeAbsent, name())
		reopen()
	}
}
