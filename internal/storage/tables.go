package storage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// A class is the records that begin with the same prefix: the lists of one type and direction, packed or delta, a column, an
// index, or all others of a keyspace. New vertices come behind all others of their column, so a table of the class alone lies
// over no other table, and goes to the lowest level as it is. A table of all classes would lie over every table before it.
func class(key []byte) []byte {
	switch keys.Space(key[0]) {
	case keys.Adjacency, keys.DeltaEdge, keys.DeltaGroup:
		return key[:keys.ListSize-keys.LocalSize]
	case keys.Column, keys.Entry:
		return key[:keys.EntrySize]
	}
	return key[:1]
}

// classes sums the sizes of records by class. Those of a class follow each other.
type classes struct {
	sizes []classSize
}

type classSize struct {
	prefix []byte
	bytes  int
}

// add adds a record, whose key must last.
func (c *classes) add(key []byte, bytes int) {
	prefix := class(key)
	for i := len(c.sizes) - 1; i >= 0; i-- {
		if string(c.sizes[i].prefix) == string(prefix) {
			c.sizes[i].bytes += bytes
			return
		}
	}
	c.sizes = append(c.sizes, classSize{prefix, bytes})
}

// size is how many bytes the records of a key's class have.
func (c *classes) size(key []byte) int {
	prefix := class(key)
	for i := range c.sizes {
		if string(c.sizes[i].prefix) == string(prefix) {
			return c.sizes[i].bytes
		}
	}
	return 0
}

// bounds returns the first key of each class of at least that size and the first key behind it, in order.
func (c *classes) bounds(large int) [][]byte {
	var bounds [][]byte
	for i := range c.sizes {
		if p := c.sizes[i].prefix; c.sizes[i].bytes >= large {
			bounds = append(bounds, p, keys.AppendSuccessor(nil, p))
		}
	}
	slices.SortFunc(bounds, bytes.Compare)
	return slices.CompactFunc(bounds, bytes.Equal)
}

// tables writes records in the order of their keys to sorted tables, one for each large class and one for what lies between
// two of these, so that a store takes them in at the same time.
type tables struct {
	s       *Shard
	classes *classes
	part    int // among tables that are written at the same time
	paths   []string
	w       *sstable.Writer
	class   []byte // of the last record
	large   bool
	err     error
}

// The names of tables before a store takes them in.
const tablePrefix, tableSuffix = "load-", ".sst"

// tableDir is where tables are before a store takes them in.
func (s *Shard) tableDir() string { return s.opts.FS.PathDir(s.graph.Label()) }

// dropTables removes tables that a crash has left before the store took them in.
func (s *Shard) dropTables() {
	dir := s.tableDir()
	names, err := s.opts.FS.List(dir)
	for _, name := range names {
		if strings.HasPrefix(name, tablePrefix) && strings.HasSuffix(name, tableSuffix) {
			err = errors.Join(err, s.opts.FS.Remove(s.opts.FS.PathJoin(dir, name)))
		}
	}
	if err != nil {
		s.opts.Logger.Warn("remove tables that a crash has left", slog.String("store", s.graph.Label()), slog.Any("error", err))
	}
}

// at prepares for a record.
func (t *tables) at(key []byte) error {
	if t.err != nil || t.w != nil && bytes.Equal(t.class, class(key)) {
		return t.err
	}
	large := t.classes.size(key) >= t.s.opts.Tuning.TableBytes
	if t.w == nil || large || t.large {
		if t.end(); t.err == nil {
			t.begin()
		}
	}
	t.class, t.large = append(t.class[:0], class(key)...), large
	return t.err
}

func (t *tables) begin() {
	o := t.s.opts
	path := o.FS.PathJoin(t.s.tableDir(), fmt.Sprintf("%s%d-%d%s", tablePrefix, t.part, len(t.paths), tableSuffix))
	f, err := o.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.err = err
		return
	}
	t.paths = append(t.paths, path)
	// Options for the lowest level would hide deletions, if the table came to lie above it.
	t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), t.s.disk.graph.TableOptions(0))
}

// end ends the last table, which is synced.
func (t *tables) end() {
	if t.w != nil {
		t.err = errors.Join(t.err, t.w.Close())
		t.w = nil
	}
}

func (t *tables) set(key, value []byte) error {
	if err := t.at(key); err != nil {
		return err
	}
	return t.w.Set(key, value)
}

func (t *tables) delete(key []byte) error {
	if err := t.at(key); err != nil {
		return err
	}
	return t.w.Delete(key)
}

func (t *tables) deleteRange(first, end []byte) error {
	if err := t.at(first); err != nil {
		return err
	}
	return t.w.DeleteRange(first, end)
}

// finish ends the tables, which are removed if err, or what else has failed, is not nil.
func (t *tables) finish(err error) error {
	t.end()
	if err = errors.Join(err, t.err); err == nil {
		return nil
	}
	err = errors.Join(err, t.s.removeTables(t.paths))
	t.paths = nil
	return kv.Unavailable("storage: write tables", err)
}

// removeTables removes tables that the store has not taken in.
func (s *Shard) removeTables(paths []string) error {
	var err error
	for _, path := range paths {
		err = errors.Join(err, removeIfThere(s.opts.FS, path))
	}
	return err
}

// ingestCompacted puts the batch of a compaction in as tables. Lists that were empty so far go to the lowest level as they are.
// The caller must be the only one who may write.
func (s *Shard) ingestCompacted(b *pebble.Batch) error {
	type record struct {
		kind       pebble.InternalKeyKind
		key, value []byte
	}
	var records []record
	var sizes classes
	r := b.Reader()
	for {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		records = append(records, record{kind, key, value})
		// What deletes delta records lies behind all lists, and may reach over several classes.
		if space := keys.Space(key[0]); space == keys.Adjacency || space == keys.Column {
			sizes.add(key, len(key)+len(value))
		}
	}
	slices.SortStableFunc(records, func(a, b record) int { return bytes.Compare(a.key, b.key) })
	t := tables{s: s, classes: &sizes}
	var err error
	for i, rec := range records {
		switch {
		case rec.kind == pebble.InternalKeyKindRangeDelete:
			err = t.deleteRange(rec.key, rec.value)
		case i+1 < len(records) && records[i+1].kind != pebble.InternalKeyKindRangeDelete && bytes.Equal(rec.key, records[i+1].key):
			// the record after it counts
		case rec.kind == pebble.InternalKeyKindSet:
			err = t.set(rec.key, rec.value)
		case rec.kind == pebble.InternalKeyKindDelete:
			err = t.delete(rec.key)
		default:
			err = fmt.Errorf("a compaction has a record of kind %s", rec.kind)
		}
		if err != nil {
			break
		}
	}
	if err := t.finish(err); err != nil {
		return err
	}
	// What the tables stand on may wait for its sync still.
	if s.synced.Load() < s.applied {
		wait, err := s.startSync()
		if err != nil {
			return err
		}
		if err := wait(); err != nil {
			return err
		}
	}
	s.version++
	err = s.disk.graph.IngestSplitting(t.paths)
	if err != nil && s.disk.graph.Health.Writable() == nil {
		err = errors.Join(err, s.removeTables(t.paths))
	}
	return err
}
