package storage

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// SchemaChange is how a commit of the log changes what a graph's catalog defines. One of the fields is set.
type SchemaChange struct {
	// Put is an index, a constraint or a TTL that is new or has changed, Drop one that is gone.
	Put, Drop *graph.Index
	// Define puts and drops definitions.
	Define *definition.Change
}

// The kinds of changes, the first byte of their stored form.
const (
	schemaPut byte = 1 + iota
	schemaDrop
	schemaDefine
)

// append appends the stored form.
func (c *SchemaChange) append(dst []byte) []byte {
	text := func(s string) { dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...) }
	switch {
	case c.Put != nil:
		dst = binary.AppendUvarint(append(dst, schemaPut), uint64(c.Put.ID))
		return appendIndex(dst, *c.Put)
	case c.Drop != nil:
		dst = binary.AppendUvarint(append(dst, schemaDrop), uint64(c.Drop.ID))
		return appendIndex(dst, *c.Drop)
	}
	dst = binary.AppendUvarint(append(dst, schemaDefine), uint64(len(c.Define.Put)))
	for _, r := range c.Define.Put {
		text(r.Kind)
		text(r.Name)
		text(string(r.Value))
	}
	dst = binary.AppendUvarint(dst, uint64(len(c.Define.Drop)))
	for _, r := range c.Define.Drop {
		text(r.Kind)
		text(r.Name)
	}
	return dst
}

// ParseSchemaChange reads a change that changelog.Commit.Schema has found.
func ParseSchemaChange(b []byte) (c SchemaChange, err error) {
	if len(b) < 2 {
		return c, codec.ErrRecord
	}
	kind, b := b[0], b[1:]
	number := func() (n uint64) {
		if b != nil {
			n, b = codec.Uvarint(b)
		}
		return n
	}
	text := func() string {
		n := number()
		if b == nil || n > uint64(len(b)) {
			b = nil
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	switch kind {
	case schemaPut, schemaDrop:
		id := number()
		if b == nil {
			return c, codec.ErrRecord
		}
		ix, err := parseIndex(b)
		if err != nil {
			return c, err
		}
		ix.ID = graph.IndexID(id)
		if kind == schemaPut {
			c.Put = &ix
		} else {
			c.Drop = &ix
		}
		return c, nil
	case schemaDefine:
		c.Define = &definition.Change{}
		for n := number(); n > 0 && b != nil; n-- {
			c.Define.Put = append(c.Define.Put, definition.Record{Kind: text(), Name: text(), Value: []byte(text())})
		}
		for n := number(); n > 0 && b != nil; n-- {
			c.Define.Drop = append(c.Define.Drop, definition.Ref{Kind: text(), Name: text()})
		}
		if b == nil || len(b) > 0 {
			return c, codec.ErrRecord
		}
		return c, nil
	}
	return c, codec.ErrRecord
}

// tell adds to a batch of the first shard the commit that tells of a change of the catalog which the batch makes. A nil commit is not told.
func (cm *CommitInfo) tell(b *pebble.Batch, c SchemaChange) error {
	if cm == nil || !cm.Logged {
		return nil
	}
	key, record := keys.AppendLog(nil, cm.Number, 0), changelog.SchemaRecord(cm.Time, c.append(nil))
	cm.Bytes += uint64(len(key) + len(record))
	cm.told = true
	return errors.Join(b.Set(key, record, nil), cm.note(b))
}

// Told reports whether the catalog has told a change by the commit.
func (cm *CommitInfo) Told() bool { return cm.told }

// replay adds the records of the commits of another log to a batch.
func (cm *CommitInfo) replay(b *pebble.Batch) error {
	for i := range cm.Replayed {
		c := &cm.Replayed[i]
		if err := cm.Ranges.note(b, c.Number, c.Old); err != nil {
			return err
		}
		for part, record := range c.Records {
			key := keys.AppendLog(nil, c.Number, part)
			cm.Bytes += uint64(len(key) + len(record))
			if err := b.Set(key, record, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// CommitReplayed commits the records of replayed commits that change nothing, durably.
func CommitReplayed(first *Shard, cm *CommitInfo) error {
	return first.put(func(b *pebble.Batch) error { return errors.Join(cm.replay(b), cm.note(b)) })
}

// Sync waits until all that was applied to shards is durable.
func Sync(shards []*Shard) error {
	var errs []error
	for _, s := range shards {
		if s.synced.Load() >= s.committed {
			continue
		}
		wait, err := s.startSync()
		if err == nil {
			err = wait()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ReserveIDs makes the next local ids greater than some. KeepIDs stores that.
func (s *Shard) ReserveIDs(vertex, edge uint64) {
	raise(&s.writing.NextVertex, vertex)
	raise(&s.writing.NextEdge, edge)
}

// KeepIDs stores the ids that ReserveIDs has reserved since the last commit, durably.
func (s *Shard) KeepIDs() error {
	next := s.next
	next.Vertex, next.Edge = s.writing.NextVertex.Load(), s.writing.NextEdge.Load()
	if next == s.next {
		return nil
	}
	s.next = next
	return s.put(func(b *pebble.Batch) error {
		return errors.Join(
			b.Set(keys.MetaKey(keys.MetaNextVertex), binary.AppendUvarint(nil, next.Vertex), nil),
			b.Set(keys.MetaKey(keys.MetaNextEdge), binary.AppendUvarint(nil, next.Edge), nil),
		)
	})
}
