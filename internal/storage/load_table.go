package storage

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// ListTable writes whole edge lists of one type and direction, in the order of their vertices, as a sorted table of its
// own that the shard takes in later. The shard must have no lists of the type and direction.
type ListTable struct {
	s       *Shard
	t       graph.TypeID
	dir     graph.Direction
	w       *sstable.Writer
	key     []byte
	value   []byte
	scratch packScratch
	// Resized is what the lists are for the degree histograms; see Writer.Resize.
	Resized map[Degree]int64
}

// NewListTable begins a table.
func (s *Shard) NewListTable(path string, t graph.TypeID, dir graph.Direction) (*ListTable, error) {
	f, err := s.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, kv.Unavailable("storage: make a table", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.disk.graph.TableOptions(kv.LowestLevel))
	return &ListTable{s: s, t: t, dir: dir, w: w, Resized: map[Degree]int64{}}, nil
}

// Put writes the list of a vertex: the far ends and ids of its edges, sorted, with a row each in the columns, which
// are in the order of their properties.
func (l *ListTable) Put(local uint64, neighbours []graph.VertexID, ids []graph.EdgeID, cols []BulkColumn) error {
	n := len(ids)
	ResizeList(l.Resized, l.t, l.dir, 0, n)
	l.key = keys.AppendList(l.key[:0], l.t, l.dir, local)
	e := codec.Ends{Neighbours: neighbours, IDs: ids}
	l.value = l.appendSegment(l.value[:0], &e, cols, 0, n)
	most := l.s.opts.Tuning.SegmentBytes
	if len(l.value) <= most || n < 2 {
		return l.set()
	}
	parts := min(n, (2*len(l.value)+most-1)/most)
	for i := range parts {
		from, to, total := i*n/parts, (i+1)*n/parts, n
		if i > 0 {
			l.key = keys.AppendPair(l.key[:keys.ListSize], neighbours[from], ids[from])
			total = 0
		}
		l.value = l.appendSegment(l.value[:0], &codec.Ends{Neighbours: neighbours[from:to], IDs: ids[from:to]}, cols, from, total)
		if err := l.set(); err != nil {
			return err
		}
	}
	return nil
}

// appendSegment appends edges. The first edge has the row first of the columns.
func (l *ListTable) appendSegment(dst []byte, e *codec.Ends, cols []BulkColumn, first, total int) []byte {
	dst = codec.AppendTopology(dst, e, total)
	return l.scratch.appendColumns(dst, cols, func(c *BulkColumn) {
		n := len(e.IDs)
		if n == c.Rows() {
			l.scratch.appendCells(&c.cells)
			return
		}
		part := &l.scratch.cells
		part.Reset()
		for i := range n {
			part.Add(c.cells.At(first + i))
		}
		l.scratch.appendCells(part)
	})
}

func (l *ListTable) set() error {
	if err := l.w.Set(l.key, l.value); err != nil {
		return kv.Unavailable("storage: write a table", err)
	}
	return nil
}

// Close ends the table, which is synced.
func (l *ListTable) Close() error {
	if err := l.w.Close(); err != nil {
		return kv.Unavailable("storage: write a table", err)
	}
	return nil
}

// AddCell appends a row that is encoded already.
func (c *BulkColumn) AddCell(cell []byte) {
	c.cells.Add(cell)
	c.Values++
}

// Rows is the number of rows so far.
func (c *BulkColumn) Rows() int { return c.cells.Len() }

// Reset takes all rows out.
func (c *BulkColumn) Reset() {
	c.cells.Reset()
	c.Values = 0
}

// TakeIn moves tables, whose keys do not meet, into the graph's store; they are durable when it returns. The caller must be
// the only one who may write. After Compact the tables go to the lowest level as they are, since those that lie there are
// split where the new ones belong. What lies within the bounds of a compaction that runs would go to the highest level, and
// be written once more, so TakeIn waits for its end.
func (s *Shard) TakeIn(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := s.disk.graph.Rest(ctx); err != nil {
		return err
	}
	s.version++
	return s.disk.graph.IngestSplitting(paths)
}

// ReserveEdges reserves n consecutive local edge ids and returns the first.
func (s *Shard) ReserveEdges(n int) (first uint64) { return s.nextEdge.Add(uint64(n)) - uint64(n) }

// Resize adds to the degree histograms.
func (w *Writer) Resize(delta map[Degree]int64) {
	if w.resized == nil {
		w.resized = map[Degree]int64{}
	}
	for d, n := range delta {
		w.resized[d] += n
	}
}

// DropLarge marks a large value, to which nothing refers any more, as garbage.
func (w *Writer) DropLarge(id uint64) { w.set(keys.AppendGarbage(nil, id), nil) }

// NextLarge is the id that the first value of the next PutLarge gets; the others get those that follow.
func (s *Shard) NextLarge() uint64 { return s.valueID(s.next.value) }

// PutLarge makes large values durable to which nothing refers yet. The caller must be the only one who may write.
func (s *Shard) PutLarge(cells [][]byte) error {
	if len(cells) == 0 {
		return nil
	}
	b := s.values.NewBatch()
	var key []byte
	for i, cell := range cells {
		key = keys.AppendValueKey(key[:0], s.NextLarge()+uint64(i))
		if err := b.Set(key, cell, nil); err != nil {
			return err
		}
	}
	wait, err := s.values.Apply(b, true, false)
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return err
	}
	s.next.value += uint64(len(cells))
	return s.put(func(b *pebble.Batch) error {
		return b.Set(keys.MetaKey(keys.MetaNextValue), binary.AppendUvarint(nil, s.next.value), nil)
	})
}

// Compact rewrites the shard's tables until all lie in the lowest level, without what is deleted.
func (s *Shard) Compact(ctx context.Context) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	var errs []error
	for _, in := range []*kv.Instance{s.disk.graph, s.disk.values} {
		err := in.Guard(func() error {
			return in.DB.Compact(ctx, []byte{0}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true)
		})
		if err != nil {
			errs = append(errs, kv.Unavailable("storage: compact "+in.Name, err))
		}
	}
	return errors.Join(errs...)
}
