package table

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// A class is the records with the same prefix: the lists of one type and direction, packed or delta, a column, an index, or all others of
// a keyspace.
func class(key []byte) []byte {
	switch keys.Space(key[0]) {
	case keys.Adjacency, keys.DeltaEdge, keys.DeltaGroup:
		return key[:keys.ListSize-keys.LocalSize]
	case keys.Column, keys.Entry:
		return key[:keys.EntrySize]
	}
	return key[:1]
}

// Sizes sums up the sizes of records by class. Records of a class are added in a row.
type Sizes struct {
	sizes []classSize
}

type classSize struct {
	prefix []byte
	bytes  int
}

// Add adds a record. It keeps the key.
func (c *Sizes) Add(key []byte, bytes int) {
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
func (c *Sizes) size(key []byte) int {
	prefix := class(key)
	for i := range c.sizes {
		if string(c.sizes[i].prefix) == string(prefix) {
			return c.sizes[i].bytes
		}
	}
	return 0
}

// Bounds returns the first key of each class of at least large bytes and the first key after it, in order.
func (c *Sizes) Bounds(large int) [][]byte {
	var bounds [][]byte
	for i := range c.sizes {
		if p := c.sizes[i].prefix; c.sizes[i].bytes >= large {
			bounds = append(bounds, p, keys.AppendSuccessor(nil, p))
		}
	}
	slices.SortFunc(bounds, bytes.Compare)
	return slices.CompactFunc(bounds, bytes.Equal)
}

// Dir is where tables are before a store ingests them.
type Dir struct {
	FS      vfs.FS
	Path    string
	Options func(level int) sstable.WriterOptions // of tables of the store
	// Large is the size in bytes of the records of one class from which they get a table of their own.
	Large int
}

// Tables writes records in the order of their keys to sorted tables, one for each large class and one for what is between
// two of these. A store ingests them together.
type Tables struct {
	d     *Dir
	sizes *Sizes
	part  int // among concurrently written tables
	paths []string
	w     *sstable.Writer
	class []byte // of the last record
	large bool
	err   error
}

// The names of tables before a store ingests them.
const tablePrefix, tableSuffix = "load-", ".sst"

// Clean removes tables that a crash has left behind.
func (d *Dir) Clean() error {
	names, err := d.FS.List(d.Path)
	for _, name := range names {
		if strings.HasPrefix(name, tablePrefix) && strings.HasSuffix(name, tableSuffix) {
			err = errors.Join(err, d.FS.Remove(d.FS.PathJoin(d.Path, name)))
		}
	}
	return err
}

// New starts tables for records of given sizes. part tells them from others that are written concurrently.
func (d *Dir) New(sizes *Sizes, part int) *Tables { return &Tables{d: d, sizes: sizes, part: part} }

// at prepares for a record.
func (t *Tables) at(key []byte) error {
	if t.err != nil || t.w != nil && bytes.Equal(t.class, class(key)) {
		return t.err
	}
	large := t.sizes.size(key) >= t.d.Large
	if t.w == nil || large || t.large {
		if t.end(); t.err == nil {
			t.begin()
		}
	}
	t.class, t.large = append(t.class[:0], class(key)...), large
	return t.err
}

func (t *Tables) begin() {
	d := t.d
	path := d.FS.PathJoin(d.Path, fmt.Sprintf("%s%d-%d%s", tablePrefix, t.part, len(t.paths), tableSuffix))
	f, err := d.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.err = err
		return
	}
	t.paths = append(t.paths, path)
	// Options for the lowest level would hide deletions, if the table ended up above it.
	t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), d.Options(0))
}

// end ends the last table, which is synced.
func (t *Tables) end() {
	if t.w != nil {
		t.err = errors.Join(t.err, t.w.Close())
		t.w = nil
	}
}

// Set writes a record.
func (t *Tables) Set(key, value []byte) error {
	if err := t.at(key); err != nil {
		return err
	}
	return t.w.Set(key, value)
}

// Delete writes the deletion of a record.
func (t *Tables) Delete(key []byte) error {
	if err := t.at(key); err != nil {
		return err
	}
	return t.w.Delete(key)
}

// DeleteRange writes the deletion of the records with keys in [first, end).
func (t *Tables) DeleteRange(first, end []byte) error {
	if err := t.at(first); err != nil {
		return err
	}
	return t.w.DeleteRange(first, end)
}

// Finish makes the tables durable and returns their paths. If err is not nil, or writing has failed, it removes them instead.
func (t *Tables) Finish(err error) (paths []string, _ error) {
	t.end()
	if err = errors.Join(err, t.err); err != nil {
		return nil, kv.Unavailable("storage: write tables", errors.Join(err, t.d.Remove(t.paths)))
	}
	return t.paths, nil
}

// Remove removes tables that the store has not ingested.
func (d *Dir) Remove(paths []string) error {
	var errs []error
	for _, path := range paths {
		if err := d.FS.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// FromBatch writes the records of a batch of a compaction as tables and returns their paths. Lists that were empty so far go to the
// lowest level as they are.
func (d *Dir) FromBatch(b *pebble.Batch) (paths []string, err error) {
	type record struct {
		kind       pebble.InternalKeyKind
		key, value []byte
	}
	var records []record
	var sizes Sizes
	r := b.Reader()
	for {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		records = append(records, record{kind, key, value})
		// The deletions of delta records come after all lists and may span several classes.
		if space := keys.Space(key[0]); space == keys.Adjacency || space == keys.Column {
			sizes.Add(key, len(key)+len(value))
		}
	}
	slices.SortStableFunc(records, func(a, b record) int { return bytes.Compare(a.key, b.key) })
	t := d.New(&sizes, 0)
	for i, rec := range records {
		switch {
		case rec.kind == pebble.InternalKeyKindRangeDelete:
			err = t.DeleteRange(rec.key, rec.value)
		case i+1 < len(records) && records[i+1].kind != pebble.InternalKeyKindRangeDelete && bytes.Equal(rec.key, records[i+1].key):
			// the next record overrides it
		case rec.kind == pebble.InternalKeyKindSet:
			err = t.Set(rec.key, rec.value)
		case rec.kind == pebble.InternalKeyKindDelete:
			err = t.Delete(rec.key)
		default:
			err = fmt.Errorf("a compaction has a record of kind %s", rec.kind)
		}
		if err != nil {
			break
		}
	}
	return t.Finish(err)
}
