package storage

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// The commit log of a graph lies in its shards: each has the records of its own changes, under the number of their commit, in the same
// batches as these. The first shard that a commit changes has a record even if that says nothing, so that no number is missing.

// CommitInfo says what a commit is besides its changes.
type CommitInfo struct {
	// LogPosition is the commit's; Bytes is set by Commit.
	LogPosition
	// IDs name the transactions, see CommitID.
	IDs []CommitID
	// Logged says that the graph has a commit log, Origins where the transactions came from.
	Logged  bool
	Origins []changelog.Origin
	// Replayed are commits of another log, of which this one makes the changes and keeps the records as they are. Its position is the last one's.
	Replayed []changelog.Commit
	// Ranges are those of the log, nil if there is none. The commit adds its own.
	Ranges *LogRanges

	told bool              // see Told
	made []changelog.Range // see Applied
}

// Applied says that the commit has been applied.
func (cm *CommitInfo) Applied() {
	if cm.Ranges != nil {
		cm.Ranges.add(cm.Number, cm.made)
	}
}

// LogPosition is the end of a commit in the log.
type LogPosition struct {
	// Number counts the graph's commits.
	Number uint64
	// Time is that of the commit in nanoseconds since 1970. It ascends with the numbers.
	Time int64
	// Bytes is the size of all records so far, those that are deleted included.
	Bytes uint64
}

func (p *LogPosition) value() []byte {
	b := binary.BigEndian.AppendUint64(nil, p.Number)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Time))
	return binary.BigEndian.AppendUint64(b, p.Bytes)
}

// LogKeySize is the size of the key of a part of a record.
const LogKeySize = keys.LogSize

// ReadLogPosition reads a record of one of MetaCommit and MetaLogFirst of a shard. It is zero where there is none.
func (s *Shard) ReadLogPosition(what byte) (p LogPosition, err error) {
	b, ok, err := kv.Get(s.graph.Live(), keys.MetaKey(what), nil)
	if err != nil || !ok {
		return p, err
	}
	if len(b) != 24 {
		return p, kv.Corrupt("commit", keys.MetaKey(what), codec.ErrRecord)
	}
	return LogPosition{binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:])), binary.BigEndian.Uint64(b[16:])}, nil
}

// note stores the position of the last commit with a shard's changes.
func (cm *CommitInfo) note(b *pebble.Batch) error {
	return b.Set(keys.MetaKey(keys.MetaCommit), cm.value(), nil)
}

// log adds the record of a shard's changes to their batch. first says that the shard is the first one of the commit.
func (cm *CommitInfo) log(c *change, first bool) error {
	log := c.w.Log
	if !cm.Logged || !first && (log == nil || log.Empty()) {
		return nil
	}
	if len(cm.Replayed) > 0 {
		if !first {
			return nil
		}
		return cm.replay(c.batch)
	}
	if log == nil {
		log = &changelog.Encoder{}
	}
	if err := cm.Ranges.note(c.batch, cm.Number, log.Old); err != nil {
		return err
	}
	if made := log.Ranges(); len(made) > 0 {
		if err := c.batch.Set(keys.AppendLogRange(nil, cm.Number, cm.Number), changelog.AppendRanges(nil, made), nil); err != nil {
			return err
		}
		cm.made = append(cm.made, made...)
	}
	var origins []changelog.Origin
	if first {
		origins = cm.Origins
	}
	return log.Records(cm.Time, origins, func(part int, record []byte) error {
		key := keys.AppendLog(nil, cm.Number, part)
		cm.Bytes += uint64(len(key) + len(record))
		return c.batch.Set(key, record, nil)
	})
}

// LogSettings are what the first shard keeps of a commit log.
type LogSettings struct {
	Mode changelog.Mode
	Key  [32]byte
}

// ReadLogSettings reads the settings of a commit log; ok is false if there are none.
func (s *Shard) ReadLogSettings() (l LogSettings, ok bool, err error) {
	b, ok, err := kv.Get(s.graph.Live(), keys.MetaKey(keys.MetaLog), nil)
	if err != nil || !ok {
		return l, false, err
	}
	if len(b) != 1+len(l.Key) || changelog.Mode(b[0]) > changelog.Full {
		return l, false, kv.Corrupt("commit log", keys.MetaKey(keys.MetaLog), codec.ErrRecord)
	}
	l.Mode = changelog.Mode(b[0])
	copy(l.Key[:], b[1:])
	return l, true, nil
}

// SetLogSettings stores the settings of a commit log, durably.
func (s *Shard) SetLogSettings(l LogSettings) error {
	return s.put(func(b *pebble.Batch) error {
		return b.Set(keys.MetaKey(keys.MetaLog), append([]byte{byte(l.Mode)}, l.Key[:]...), nil)
	})
}

// CutLog deletes the records of all commits up to a position, durably. It may run beside a commit.
func CutLog(shards []*Shard, upTo LogPosition) error {
	for _, s := range shards {
		err := s.put(func(b *pebble.Batch) error {
			return errors.Join(
				b.DeleteRange(keys.AppendLog(nil, 0, 0), keys.AppendLog(nil, upTo.Number+1, 0), nil),
				b.DeleteRange(keys.AppendLogRange(nil, 0, 0), keys.AppendLogRange(nil, upTo.Number+1, 0), nil),
				b.Set(keys.MetaKey(keys.MetaLogFirst), upTo.value(), nil),
			)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LastLogged is the number of the last commit of which the shard has a record, 0 if there is none.
func (s *Shard) LastLogged() (commit uint64, err error) {
	lower, upper := keys.Bounds(keys.Log)
	it, err := kv.NewIter(s.graph.Live(), &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	if it.SeekLT(upper) {
		commit, _, _ = keys.ReadLog(it.Key())
	}
	return commit, errors.Join(it.Error(), it.Close())
}

// LogCursor reads the log of a graph by its commits.
type LogCursor struct {
	its  []kv.Iterator // by shard, nil where nothing follows
	next []uint64
	c    changelog.Commit
}

// LiveLog begins to read the log after a commit in the present state of shards. The cursor must be closed.
func LiveLog(shards []*Shard, after uint64) (*LogCursor, error) {
	readers := make([]pebble.Reader, len(shards))
	for i, s := range shards {
		readers[i] = s.graph.Live()
	}
	return readLog(readers, after, 1<<63)
}

// ReadLog begins to read the log after a commit in views of all shards, up to the one with number until. The cursor must be closed.
func ReadLog(views []*view.View, after, until uint64) (*LogCursor, error) {
	readers := make([]pebble.Reader, len(views))
	for i, v := range views {
		readers[i] = v.Graph()
	}
	return readLog(readers, after, until)
}

func readLog(shards []pebble.Reader, after, until uint64) (*LogCursor, error) {
	cur := &LogCursor{its: make([]kv.Iterator, len(shards)), next: make([]uint64, len(shards))}
	for i, r := range shards {
		it, err := kv.NewIter(r, &pebble.IterOptions{LowerBound: keys.AppendLog(nil, after+1, 0), UpperBound: keys.AppendLog(nil, until+1, 0)})
		if err == nil {
			cur.its[i] = it
			err = cur.found(i, it.First())
		}
		if err != nil {
			return nil, errors.Join(err, cur.Close())
		}
	}
	return cur, nil
}

// found notes where the iterator of a shard is; ok is false at its end.
func (cur *LogCursor) found(i int, ok bool) error {
	it := cur.its[i]
	if !ok {
		cur.its[i] = nil
		return errors.Join(it.Error(), it.Close())
	}
	number, _, ok := keys.ReadLog(it.Key())
	if !ok {
		return kv.Corrupt("commit log", it.Key(), changelog.ErrRecord)
	}
	cur.next[i] = number
	return nil
}

// Next returns the next commit, nil at the end. It is valid until the next call; its time and origins are not read: see changelog.Commit.Open.
func (cur *LogCursor) Next() (*changelog.Commit, error) {
	first := uint64(0)
	for i, it := range cur.its {
		if it != nil && (first == 0 || cur.next[i] < first) {
			first = cur.next[i]
		}
	}
	if first == 0 {
		return nil, nil
	}
	cur.c = changelog.Commit{Number: first, Records: cur.c.Records[:0]}
	for i := range cur.its {
		for cur.its[i] != nil && cur.next[i] == first {
			v, err := cur.its[i].ValueAndErr()
			if err != nil {
				return nil, err
			}
			cur.c.Records = append(cur.c.Records, append([]byte(nil), v...))
			if err := cur.found(i, cur.its[i].Next()); err != nil {
				return nil, err
			}
		}
	}
	return &cur.c, nil
}

// Close ends the cursor.
func (cur *LogCursor) Close() error {
	var errs []error
	for _, it := range cur.its {
		if it != nil {
			errs = append(errs, it.Close())
		}
	}
	return errors.Join(errs...)
}
