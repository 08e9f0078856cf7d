package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// SetMark stores how far a stream of load batches has come: the number of its last batch and what the batch said.
func (w *Writer) SetMark(stream string, seq uint64, mark []byte) {
	w.over.put(markKey(stream), append(binary.AppendUvarint(nil, seq), mark...), false)
}

// DropMark forgets a stream.
func (w *Writer) DropMark(stream string) { w.over.put(markKey(stream), nil, true) }

// Mark reads what SetMark stored, or 0 and nil.
func (v *View) Mark(stream string) (seq uint64, mark []byte, err error) {
	key := markKey(stream)
	b, ok, err := v.record(key, nil)
	if err != nil {
		return 0, nil, kv.Fault("read a load mark", err)
	}
	if !ok {
		return 0, nil, nil
	}
	seq, rest := codec.Uvarint(b)
	if rest == nil {
		return 0, nil, kv.Corrupt("load mark", key, codec.ErrRecord)
	}
	return seq, rest, nil
}

func markKey(stream string) []byte { return append([]byte{byte(keys.LoadMark)}, stream...) }

// setTable decides whether what was packed, alone and large, is ingested as tables. A table is written once, instead of to the
// log, the memtable and a table, but costs some syncs of its own.
func (w *Writer) setTable(alone bool) {
	size := 0
	if w.bulk != nil {
		_, size = w.bulk.size()
	}
	if w.chunks {
		size += w.over.bytes
	}
	w.table = alone && w.shard.disk != nil && (w.bulk != nil || w.chunks) && size >= w.shard.opts.Tuning.IngestBytes
}

// commitBulk puts the bulk's records into the writer's batch, unless they become tables.
func (w *Writer) commitBulk() error {
	b := w.bulk
	if w.table || b == nil {
		return nil
	}
	w.bulk = nil
	return b.each(nil, nil, func(k, v []byte) error { return w.batch.Set(k, v, nil) })
}

// ingest puts all changes in as sorted tables, which are durable when it returns.
func (w *Writer) ingest() error {
	in := w.shard.disk.graph
	paths, err := w.writeTables()
	if err != nil {
		in.NoteFull(err)
	} else {
		err = in.IngestSplitting(paths)
	}
	if err == nil {
		return w.batch.Close()
	}
	if in.Health.Writable() == nil { // nothing of it is applied, and the store lives on
		err = errors.Join(err, w.shard.removeTables(paths), w.shard.dropOrphans())
	}
	return err
}

func removeIfThere(files vfs.FS, path string) error {
	if err := files.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeTables writes tables of the writer's changes, its batch, which has the counters alone, and the bulk. Large classes, and
// what lies between them, are written at the same time.
func (w *Writer) writeTables() (paths []string, err error) {
	o := w.over
	r := w.batch.Reader()
	for {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if kind != pebble.InternalKeyKindSet && kind != pebble.InternalKeyKindDelete {
			return nil, fmt.Errorf("a batch that is loaded has a record of kind %s", kind)
		}
		o.put(key, value, kind == pebble.InternalKeyKindDelete)
	}
	var sizes classes
	if len(o.nodes) > 0 {
		for i := o.next(0); i != 0; i = o.next(i) {
			sizes.add(o.nodes[i].key, len(o.nodes[i].key)+len(o.nodes[i].value))
		}
	}
	if w.bulk != nil {
		w.bulk.classes(&sizes)
	}
	bounds := sizes.bounds(w.shard.opts.Tuning.TableBytes)
	parts := make([]tables, len(bounds)+1)
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
			t := &parts[i]
			*t = tables{s: w.shard, classes: &sizes, part: i}
			errs[i] = t.finish(w.writePart(t, from, below))
		}
	}
	var others sync.WaitGroup
	for range min(len(parts), runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	for i := range parts {
		paths = append(paths, parts[i].paths...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, w.shard.removeTables(paths))
	}
	return paths, nil
}

// writePart writes the changes whose keys lie from a key on and below another; nil keys do not bound.
func (w *Writer) writePart(t *tables, from, below []byte) error {
	o := w.over
	n := uint32(0)
	if len(o.nodes) > 0 {
		n = o.next(o.before(from))
	}
	// until puts changes up to a key, which, if bulk is set, is put by the bulk: one that was spilled may have written the
	// same record before.
	until := func(key []byte, bulk bool) error {
		for ; n != 0; n = o.next(n) {
			node, c := &o.nodes[n], -1
			if key != nil {
				c = bytes.Compare(node.key, key)
			}
			var err error
			switch {
			case c > 0 || c == 0 && !bulk:
				return nil
			case c == 0:
			case node.deleted:
				err = t.delete(node.key)
			default:
				err = t.set(node.key, node.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if w.bulk != nil {
		err := w.bulk.each(from, below, func(k, v []byte) error {
			if err := until(k, true); err != nil {
				return err
			}
			return t.set(k, v)
		})
		if err != nil {
			return err
		}
	}
	return until(below, false)
}

// No is the number of the view's shard.
func (v *View) No() int { return v.shard.no }

// ListsEmpty reports whether no vertex of the shard has an edge of a type in a direction.
func (v *View) ListsEmpty(t graph.TypeID, dir graph.Direction) (empty bool, err error) {
	ls, err := v.Lists(t, dir)
	if err != nil {
		return false, err
	}
	defer ls.Close()
	for _, c := range []*cursor{ls.l.packed, ls.l.delta} {
		if c.seek(nil) {
			return false, nil
		}
		if err := c.err(); err != nil {
			ls.err = kv.Fault("read edges", err)
			return false, ls.err
		}
	}
	return true, nil
}
