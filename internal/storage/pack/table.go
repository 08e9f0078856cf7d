package pack

import (
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// ListTable writes complete edge lists of one type and direction, in the order of their vertices, to a sorted table that the shard ingests
// later. The shard must not have lists of that type and direction.
type ListTable struct {
	limit   int // SegmentBytes
	t       graph.TypeID
	dir     graph.Direction
	w       *sstable.Writer
	key     []byte
	value   []byte
	scratch packScratch
	// Resized is the change of the degree histograms; see stats.Delta.Resize.
	Resized map[stats.Degree]int64
}

// NewListTable starts a table for a store's lowest level. Lists above segmentBytes are split.
func NewListTable(fs vfs.FS, path string, o sstable.WriterOptions, segmentBytes int, t graph.TypeID, dir graph.Direction) (*ListTable, error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, kv.Unavailable("storage: make a table", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), o)
	return &ListTable{limit: segmentBytes, t: t, dir: dir, w: w, Resized: map[stats.Degree]int64{}}, nil
}

// Put writes the list of a vertex: the neighbours and ids of its edges, sorted, with a row for each in the columns, which are sorted by
// property.
func (l *ListTable) Put(local uint64, neighbours []graph.VertexID, ids []graph.EdgeID, cols []Column) error {
	n := len(ids)
	stats.ResizeList(l.Resized, l.t, l.dir, 0, n)
	l.key = keys.AppendList(l.key[:0], l.t, l.dir, local)
	e := codec.Ends{Neighbours: neighbours, IDs: ids}
	l.value = l.appendSegment(l.value[:0], &e, cols, 0, n)
	most := l.limit
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
func (l *ListTable) appendSegment(dst []byte, e *codec.Ends, cols []Column, first, total int) []byte {
	dst = codec.AppendTopology(dst, e, total)
	return l.scratch.appendColumns(dst, cols, func(c *Column) {
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
func (c *Column) AddCell(cell []byte) {
	c.cells.Add(cell)
	c.Values++
}

// Rows is the number of rows so far.
func (c *Column) Rows() int { return c.cells.Len() }

// Reset removes all rows.
func (c *Column) Reset() {
	c.cells.Reset()
	c.Values = 0
}
