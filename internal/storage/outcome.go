package storage

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// CommitID identifies a commit, so that a client that gets no answer can ask for the outcome: a UUIDv7 (RFC 9562, section 5.7), whose
// first 48 bits are its time in Unix milliseconds. The zero value means no id.
type CommitID [16]byte

// millis is the time of the id.
func (id CommitID) millis() uint64 { return binary.BigEndian.Uint64(id[:]) >> 16 }

// Outcome is the result of a commit.
type Outcome uint8

// The outcomes of a commit.
const (
	OutcomeUnknown   Outcome = iota // the id is so old that its record may have been deleted
	OutcomeCommitted                // the changes are durable
	OutcomeAbsent                   // the changes were never applied
)

const (
	// outcomeWindow is the minimum time for which a shard has the record of a commit.
	outcomeWindow = 15 * time.Minute
	// outcomePurge is the minimum time between two deletions of old records.
	outcomePurge = time.Minute
)

// recordCommits puts the ids of commits among the writer's changes. A commit over several shards has them in its first shard, and so
// in its intent.
func recordCommits(w *staging.Writer, ids []CommitID) {
	for _, id := range ids {
		if id != (CommitID{}) {
			w.Overlay().Set(append([]byte{byte(keys.Outcome)}, id[:]...), nil)
		}
	}
}

// purgeOutcomes deletes the records of commits that are older than the window, if that is due. The caller must be the only writer.
func (s *Shard) purgeOutcomes() error {
	now := uint64(s.opts.Clock().UnixMilli())
	window := uint64(outcomeWindow.Milliseconds())
	if now < s.purged.Load()+window+uint64(outcomePurge.Milliseconds()) {
		return nil
	}
	from := s.purged.Load()
	s.purged.Store(now - window) // first, so that FindOutcome does not take a purged commit for an absent one
	b := s.graph.NewBatch()
	err := errors.Join(
		b.DeleteRange(outcomeBound(from), outcomeBound(now-window), nil),
		b.Set(keys.MetaKey(keys.MetaPurged), binary.AppendUvarint(nil, now-window), nil),
	)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	s.compaction.note(nil)
	_, err = s.apply(b, false, false)
	return err
}

// outcomeBound is the lower bound of the keys of ids from a time on.
func outcomeBound(millis uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(keys.Outcome)}, millis<<16)
}

// FindOutcome finds the outcome of a commit by its record in any of a graph's shards. The commit must have ended, or the shards must have
// been recovered since. If the graph refuses writes, FindOutcome returns that error, since a pending commit may still be completed.
func FindOutcome(shards []*Shard, id CommitID) (Outcome, error) {
	key := append([]byte{byte(keys.Outcome)}, id[:]...)
	for _, s := range shards {
		if err := s.Writable(); err != nil {
			return OutcomeUnknown, err
		}
		_, ok, err := kv.Get(s.graph.Live(), key, nil)
		if err != nil {
			return OutcomeUnknown, kv.Fault("look up a commit", err)
		}
		if ok {
			return OutcomeCommitted, nil
		}
	}
	for _, s := range shards {
		if id.millis() < s.purged.Load() {
			return OutcomeUnknown, nil
		}
	}
	return OutcomeAbsent, nil
}
