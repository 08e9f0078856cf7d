package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// SetMark stores how far a stream of load batches has come: the number of its last batch and what the batch said.
func (w *Writer) SetMark(stream string, seq uint64, mark []byte) {
	w.over.put(markKey(stream), append(binary.AppendUvarint(nil, seq), mark...), false)
}

// DropMark forgets a stream.
func (w *Writer) DropMark(stream string) { w.over.put(markKey(stream), nil, true) }

// Mark reads what SetMark stored; 0 and nil if there is nothing.
func (v *View) Mark(stream string) (seq uint64, mark []byte, err error) {
	key := markKey(stream)
	b, ok, err := v.record(key, nil)
	if err != nil {
		return 0, nil, fault("read a load mark", err)
	}
	if !ok {
		return 0, nil, nil
	}
	seq, rest := uvarint(b)
	if rest == nil {
		return 0, nil, corrupt("load mark", key, errRecord)
	}
	return seq, rest, nil
}

func markKey(stream string) []byte { return append([]byte{byte(keys.LoadMark)}, stream...) }

// commitBulk prepares the bulk for its commit: alone and large it stays apart, to be ingested, else its records go to
// the writer's batch. A table is written once, instead of to the log, the memtable and a table, but costs some syncs of
// its own.
func (w *Writer) commitBulk(alone bool) error {
	b := w.bulk
	if b == nil {
		return nil
	}
	if _, size := b.size(); alone && w.shard.peer == nil && size >= w.shard.opts.Tuning.IngestBytes {
		return nil
	}
	w.bulk = nil
	return b.each(func(k, v []byte) error { return w.batch.Set(k, v, nil) })
}

// ingest puts the bulk and the writer's batch in as one sorted table, which is durable when it returns.
func (w *Writer) ingest() error {
	s := w.shard
	dir := s.graph.name
	path := s.opts.FS.PathJoin(s.opts.FS.PathDir(dir), "load.sst")
	if err := w.writeTable(path); err != nil {
		return unavailable("storage: write a table of loaded records", errors.Join(err, removeIfThere(s.opts.FS, path)))
	}
	if err := s.graph.ingest(path); err != nil {
		return err
	}
	return w.batch.Close()
}

func removeIfThere(fs vfs.FS, path string) error {
	if _, err := fs.Stat(path); err != nil {
		return nil
	}
	return fs.Remove(path)
}

func (w *Writer) writeTable(path string) (err error) {
	s := w.shard
	ops, err := batchOps(w.batch)
	if err != nil {
		return err
	}
	f, err := s.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	t := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.graph.tableOptions(0))
	put := func(o op) error {
		if o.delete {
			return t.Delete(o.key)
		}
		return t.Set(o.key, o.value)
	}
	err = w.bulk.each(func(k, v []byte) error {
		for len(ops) > 0 {
			c := bytes.Compare(ops[0].key, k)
			if c > 0 {
				break
			}
			// A bulk that was spilled may have written the same record before.
			if c < 0 {
				if err := put(ops[0]); err != nil {
					return err
				}
			}
			ops = ops[1:]
		}
		return t.Set(k, v)
	})
	for i := 0; err == nil && i < len(ops); i++ {
		err = put(ops[i])
	}
	// Closing syncs the file.
	return errors.Join(err, t.Close())
}

// op is a change in a batch.
type op struct {
	key, value []byte
	delete     bool
}

// batchOps gives a batch's changes in the order of their keys, the last one of each key.
func batchOps(b *pebble.Batch) ([]op, error) {
	var ops []op
	r := b.Reader()
	for {
		kind, key, value, ok, err := r.Next()
		if err != nil || !ok {
			if err != nil {
				return nil, err
			}
			break
		}
		switch kind {
		case pebble.InternalKeyKindSet:
			ops = append(ops, op{key: key, value: value})
		case pebble.InternalKeyKindDelete:
			ops = append(ops, op{key: key, delete: true})
		default:
			return nil, fmt.Errorf("a batch that is loaded has a record of kind %s", kind)
		}
	}
	slices.SortStableFunc(ops, func(a, b op) int { return bytes.Compare(a.key, b.key) })
	last := ops[:0]
	for i, o := range ops {
		if i+1 == len(ops) || !bytes.Equal(ops[i+1].key, o.key) {
			last = append(last, o)
		}
	}
	return last, nil
}

// tableOptions are those of the tables that the store writes itself to a level.
func (in *instance) tableOptions(level int) sstable.WriterOptions {
	return in.opts.MakeWriterOptions(level, in.db.TableFormat())
}

// ingest moves tables in. Like apply it survives what Pebble does at faults.
func (in *instance) ingest(paths ...string) error {
	if err := in.writable(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				in.wedged.Store(true)
				err := fmt.Errorf("%v", r)
				in.fail(err)
				done <- err
			}
		}()
		done <- in.db.Ingest(context.Background(), paths)
	}()
	select {
	case err := <-done:
		if err != nil {
			in.fail(err)
			return in.fault
		}
		return nil
	case <-in.failed:
		return in.fault
	}
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
	for _, c := range []*cursor{ls.l.packed, ls.l.fresh} {
		if c.seek(nil) {
			return false, nil
		}
		if err := c.err(); err != nil {
			ls.err = fault("read edges", err)
			return false, ls.err
		}
	}
	return true, nil
}
