package storage

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/table"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// ingestCompacted ingests the batch of a compaction as tables. The caller must be the only writer.
func (s *Shard) ingestCompacted(b *pebble.Batch) error {
	d := s.tables()
	paths, err := d.FromBatch(b)
	if err != nil {
		return err
	}
	// The tables must not become durable before earlier batches.
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
	err = s.disk.graph.IngestSplitting(paths)
	if err != nil && s.disk.graph.Health.Writable() == nil {
		err = errors.Join(err, d.Remove(paths))
	}
	return err
}

// tables is where tables lie before the graph store ingests them.
func (s *Shard) tables() *table.Dir {
	return &table.Dir{FS: s.opts.FS, Path: s.opts.FS.PathDir(s.graph.Label()), Options: s.disk.graph.TableOptions, Large: s.opts.Tuning.TableBytes}
}

// isTable decides whether what was packed, alone and large, is ingested as tables. A table is written once, instead of to the
// log, the memtable and a table, but costs some syncs of its own.
func (c *change) isTable(alone bool) bool {
	bulk, chunks := c.w.Packed()
	if !alone || c.s.disk == nil || bulk == nil && !chunks {
		return false
	}
	size := 0
	if bulk != nil {
		size = bulk.Bytes()
	}
	if chunks {
		size += c.w.Overlay().Bytes()
	}
	return size >= c.s.opts.Tuning.IngestBytes
}

// ingest ingests all changes as tables, which are durable when it returns.
func (c *change) ingest() error {
	in := c.s.disk.graph
	paths, err := c.writeTables()
	if err != nil {
		in.NoteFull(err)
	} else {
		err = in.IngestSplitting(paths)
	}
	if err == nil {
		return c.batch.Close()
	}
	if in.Health.Writable() == nil { // nothing was ingested, and the store goes on
		err = errors.Join(err, c.s.tables().Remove(paths), c.s.dropOrphans())
	}
	return err
}

// writeTables writes the changes of the writer, its bulk and the batch, which has only counters and ids, to tables, several at a time.
func (c *change) writeTables() (paths []string, err error) {
	o, r := c.w.Overlay(), c.batch.Reader()
	for {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if kind != pebble.InternalKeyKindSet && kind != pebble.InternalKeyKindDelete {
			return nil, fmt.Errorf("a batch to be ingested has a record of kind %s", kind)
		}
		if kind == pebble.InternalKeyKindDelete {
			o.Delete(key)
		} else {
			o.Set(key, value)
		}
	}
	var sizes table.Sizes
	for n := o.From(nil); n != 0; n = o.Next(n) {
		key, value, _ := o.At(n)
		sizes.Add(key, len(key)+len(value))
	}
	bulk, _ := c.w.Packed()
	if bulk != nil {
		bulk.Sizes(sizes.Add)
	}
	d := c.s.tables()
	bounds := sizes.Bounds(d.Large)
	parts := make([][]string, len(bounds)+1)
	errs := make([]error, len(parts))
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
			var from, below []byte
			if i > 0 {
				from = bounds[i-1]
			}
			if i < len(bounds) {
				below = bounds[i]
			}
			t := d.New(&sizes, i)
			parts[i], errs[i] = t.Finish(writePart(t, o, bulk, from, below))
		}
	}
	var others sync.WaitGroup
	for range min(len(parts), runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	paths = slices.Concat(parts...)
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, d.Remove(paths))
	}
	return paths, nil
}

// writePart writes the changes of an overlay and of a bulk, which may be nil, whose keys lie from a key on and below another; nil keys do
// not bound.
func writePart(t *table.Tables, o *view.Overlay, bulk *pack.Bulk, from, below []byte) error {
	n := o.From(from)
	// until writes the overlay's changes up to a key. With skip it leaves out that of the key itself: the bulk, which has spilled once,
	// writes the record anew.
	until := func(key []byte, skip bool) error {
		for ; n != 0; n = o.Next(n) {
			k, value, deleted := o.At(n)
			c := -1
			if key != nil {
				c = bytes.Compare(k, key)
			}
			var err error
			switch {
			case c > 0 || c == 0 && !skip:
				return nil
			case c == 0:
			case deleted:
				err = t.Delete(k)
			default:
				err = t.Set(k, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if bulk != nil {
		err := bulk.Each(from, below, func(k, v []byte) error {
			if err := until(k, true); err != nil {
				return err
			}
			return t.Set(k, v)
		})
		if err != nil {
			return err
		}
	}
	return until(below, false)
}
