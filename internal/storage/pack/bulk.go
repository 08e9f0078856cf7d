package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Bulk collects many new vertices and edges of a shard in packed form. One goroutine uses it. What it collects cannot be read before the
// commit, and must not contain a vertex or an index entry that its transaction changes in another way.
type Bulk struct {
	view  *view.View
	over  *view.Overlay // of the transaction
	delta *stats.Delta  // of the transaction
	next  *atomic.Uint64
	// chunkBytes and segmentBytes are the sizes above which column chunks and edge lists are split.
	chunkBytes, segmentBytes int

	first   uint64     // the first local id that is new
	records [4]records // columns and entries, label bitmaps, edge lists of sources, of targets
	members map[memberChunk]*codec.Members
	open    []*gridCell
	lists   []bulkLists
	// Changed is what was collected, complete after Finish.
	Changed Ranges
	// Runs is the number of runs of edges, the only delta records, and Touched are the chunks of their lists; complete after Finish.
	Runs    int
	Touched []keys.GroupChunk
}

// records are keys and values in one buffer, sorted at the end.
type records struct {
	buf  []byte
	refs []recordRef
}

// recordRef is the place of a record in the buffer: its key, followed by its value.
type recordRef struct {
	at       int
	key, end uint32 // lengths: of the key, of both
}

// memberChunk names a bitmap of label members.
type memberChunk struct {
	label graph.LabelID
	chunk uint32
}

// Ranges are the runs of new vertices of a bulk, for caches of decoded records.
type Ranges struct {
	Vertices []VertexRange
	Lists    []ListRange
}

// VertexRange is new vertices with consecutive local ids and the properties that some of them have; property 0 is the
// label set.
type VertexRange struct {
	First uint64
	N     int
	Props []graph.PropID
}

// ListRange is new edges in the lists of one type and direction, sorted by vertex, neighbour and edge.
type ListRange struct {
	Type  graph.TypeID
	Dir   graph.Direction
	Edges []codec.ListEdge
}

// NewBulk makes a bulk of a transaction that reads a view and has an overlay and statistics. next is the shard's next local id of a
// vertex. Column chunks above chunkBytes and edge lists above segmentBytes are split.
func NewBulk(v *view.View, over *view.Overlay, delta *stats.Delta, next *atomic.Uint64, chunkBytes, segmentBytes int) *Bulk {
	return &Bulk{
		view: v, over: over, delta: delta, next: next, chunkBytes: chunkBytes, segmentBytes: segmentBytes,
		first: next.Load(), members: map[memberChunk]*codec.Members{},
	}
}

// First is the first local id of the vertices that are new since the last Spill.
func (b *Bulk) First() uint64 { return b.first }

// add starts a record: the caller appends the key to buf, calls value, appends the value and calls end.
func (r *records) add() { r.refs = append(r.refs, recordRef{at: len(r.buf)}) }

func (r *records) value() {
	ref := &r.refs[len(r.refs)-1]
	ref.key = uint32(len(r.buf) - ref.at)
}

func (r *records) end() {
	ref := &r.refs[len(r.refs)-1]
	ref.end = uint32(len(r.buf) - ref.at)
}

// drop removes the last record.
func (r *records) drop() {
	ref := r.refs[len(r.refs)-1]
	r.buf, r.refs = r.buf[:ref.at], r.refs[:len(r.refs)-1]
}

func (r *records) keyOf(ref recordRef) []byte { return r.buf[ref.at : ref.at+int(ref.key)] }

func (r *records) valueOf(ref recordRef) []byte {
	return r.buf[ref.at+int(ref.key) : ref.at+int(ref.end)]
}

// sort puts the records in the order of their keys.
func (r *records) sort() {
	compare := func(a, b recordRef) int { return bytes.Compare(r.keyOf(a), r.keyOf(b)) }
	if !slices.IsSortedFunc(r.refs, compare) {
		slices.SortFunc(r.refs, compare)
	}
}

// search returns the number of the first sorted record whose key is not less than key.
func (r *records) search(key []byte) int {
	n, _ := slices.BinarySearchFunc(r.refs, key, func(ref recordRef, key []byte) int { return bytes.Compare(r.keyOf(ref), key) })
	return n
}

// Column is a property of new vertices or edges: an encoded value for each row, empty for null.
type Column struct {
	Prop  graph.PropID
	cells codec.Cells
	ints  []int64 // in place of cells, if not nil
	// Values is how many rows are not null.
	Values int
}

// NewColumn makes a column of about n rows.
func NewColumn(p graph.PropID, n int) Column {
	return Column{Prop: p, cells: codec.Cells{Buf: make([]byte, 0, 6*n), End: make([]uint32, 0, n)}}
}

// NewIntColumn makes a column of edges that all have an integer. It takes ownership of rows.
func NewIntColumn(p graph.PropID, rows []int64) Column {
	return Column{Prop: p, ints: rows, Values: len(rows)}
}

// null reports whether a row is null.
func (c *Column) null(row int) bool { return c.ints == nil && len(c.cells.At(row)) == 0 }

// Add appends a row. A large value goes to an overlay.
func (c *Column) Add(o *view.Overlay, v graph.Value) (err error) {
	if !v.IsNull() {
		if c.cells.Buf, err = o.AppendValue(c.cells.Buf, v); err != nil {
			return err
		}
		c.Values++
	}
	c.cells.Close()
	return nil
}

// Skip appends a row that is null.
func (c *Column) Skip() { c.cells.Close() }

// Column makes a column of values; large ones go to this shard.
func (b *Bulk) Column(p graph.PropID, values []graph.Value) (Column, error) {
	c := NewColumn(p, len(values))
	for _, v := range values {
		if err := c.Add(b.over, v); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Vertices reserves n new consecutive local ids for vertices with these labels and returns the first. The
// columns have n rows each.
func (b *Bulk) Vertices(n int, set graph.LabelSet, labels []graph.LabelID, cols []Column) (first uint64, err error) {
	first = b.next.Add(uint64(n)) - uint64(n)
	changed := VertexRange{First: first, N: n, Props: []graph.PropID{codec.LabelSetProp}}
	if err := b.labelSets(first, n, set); err != nil {
		return first, err
	}
	for i := range cols {
		if cols[i].Values > 0 {
			b.delta.CountProp(set, cols[i].Prop, cols[i].Values)
			if err := b.columns(first, n, &cols[i]); err != nil {
				return first, err
			}
			changed.Props = append(changed.Props, cols[i].Prop)
		}
	}
	b.Changed.Vertices = append(b.Changed.Vertices, changed)
	if err := b.addMembers(0, first, n); err != nil {
		return first, err
	}
	for _, l := range labels {
		if err := b.addMembers(l, first, n); err != nil {
			return first, err
		}
		b.delta.Count(stats.Count{Kind: stats.CountLabel, Label: l}, int64(n))
	}
	b.delta.Count(stats.Count{Kind: stats.CountVertices}, int64(n))
	return first, nil
}

// labelSets writes the chunks of equal label sets.
func (b *Bulk) labelSets(first uint64, n int, set graph.LabelSet) error {
	cell, _ := keys.AppendCell(nil, graph.IntValue(int64(set)))
	r := &b.records[0]
	return codec.EachCell(first, n, func(local uint64, _, rows int) error {
		if rows < codec.GridRows {
			return b.fill(codec.LabelSetProp, local, rows, func(int) []byte { return cell })
		}
		r.add()
		r.buf = keys.AppendChunk(r.buf, codec.LabelSetProp, local+uint64(rows)-1)
		r.value()
		r.buf = binary.AppendUvarint(r.buf, uint64(rows))
		r.buf = append(r.buf, codec.EncInts, byte(graph.Int))
		r.buf = binary.AppendVarint(r.buf, int64(set))
		r.buf = append(r.buf, 0)
		r.end()
		return nil
	})
}

// columns writes the chunks of a property.
func (b *Bulk) columns(first uint64, n int, col *Column) error {
	return codec.EachCell(first, n, func(local uint64, at, rows int) error {
		if rows < codec.GridRows {
			return b.fill(col.Prop, local, rows, func(i int) []byte { return col.cells.At(at + i) })
		}
		b.chunk(col.Prop, local, &col.cells, at, rows)
		return nil
	})
}

// fill adds n values from a local id on to an open cell, which is written at the end. It ignores what is stored for these and later ids,
// since those vertices are new.
func (b *Bulk) fill(p graph.PropID, local uint64, n int, value func(i int) []byte) error {
	c := b.cell(p, local)
	if c.cells.Len() == 0 && c.base < b.first {
		if err := b.readCell(c, b.first); err != nil {
			return kv.Fault("read properties", err)
		}
	}
	for c.base+uint64(c.cells.Len()) < local {
		c.cells.Close()
	}
	for i := range n {
		c.cells.Add(value(i))
	}
	return nil
}

// gridCell is an open cell of the grid of one property.
type gridCell struct {
	p     graph.PropID
	base  uint64
	cells codec.Cells
	old   [][]byte // the keys of its chunks so far
}

// cell returns the cell of a local id.
func (b *Bulk) cell(p graph.PropID, local uint64) *gridCell {
	base := local / codec.GridRows * codec.GridRows
	for _, c := range b.open {
		if c.p == p && c.base == base {
			return c
		}
	}
	c := &gridCell{p: p, base: base}
	b.open = append(b.open, c)
	return c
}

// readCell reads the values before a local id.
func (b *Bulk) readCell(c *gridCell, until uint64) (err error) {
	r := b.view.Acquire()
	defer b.view.Release(r, &err)
	cur, err := r.Cursor(keys.Column)
	if err != nil {
		return err
	}
	for local := c.base; local < c.base+codec.GridRows; {
		first, last, ok, err := r.ChunkAt(cur, c.p, local)
		if err != nil {
			return err
		}
		if !ok || first >= c.base+codec.GridRows {
			return nil
		}
		if first < local || last >= c.base+codec.GridRows {
			return kv.Corrupt("column chunk", cur.Key(), codec.ErrColumn)
		}
		c.old = append(c.old, slices.Clone(cur.Key()))
		for c.base+uint64(c.cells.Len()) < min(first, until) {
			c.cells.Close()
		}
		for local = first; local <= last; local++ {
			if local >= until {
				continue
			}
			if c.cells.Buf, err = r.Chunk.AppendCell(c.cells.Buf, int(local-first)); err != nil {
				return kv.Corrupt("column chunk", cur.Key(), err)
			}
			c.cells.Close()
		}
	}
	return nil
}

// closeCells writes the open cells.
func (b *Bulk) closeCells() {
	r := &b.records[0]
	for _, c := range b.open {
		from := len(r.refs)
		b.chunk(c.p, c.base, &c.cells, 0, c.cells.Len())
		for _, k := range c.old {
			kept := slices.ContainsFunc(r.refs[from:], func(ref recordRef) bool { return bytes.Equal(r.keyOf(ref), k) })
			if !kept {
				b.over.Delete(k)
			}
		}
	}
	b.open = nil
}

// chunk writes n cells, from cell at on, of the vertices from first on as a chunk, or halves them until the chunks are small enough. Chunks
// without a value are left out.
func (b *Bulk) chunk(p graph.PropID, first uint64, cs *codec.Cells, at, n int) {
	start := uint32(0)
	if at > 0 {
		start = cs.End[at-1]
	}
	size := int(cs.End[at+n-1] - start)
	if size == 0 {
		return
	}
	if size > b.chunkBytes && n > 1 {
		b.chunk(p, first, cs, at, n/2)
		b.chunk(p, first+uint64(n/2), cs, at+n/2, n-n/2)
		return
	}
	part := codec.Cells{Buf: cs.Buf[start : int(start)+size], End: cs.End[at : at+n]}
	if start > 0 {
		part.End = make([]uint32, n)
		for i := range n {
			part.End[i] = cs.End[at+i] - start
		}
	}
	r := &b.records[0]
	r.add()
	r.buf = keys.AppendChunk(r.buf, p, first+uint64(n)-1)
	r.value()
	r.buf = codec.AppendColumn(r.buf, &part)
	r.end()
}

// addMembers puts n vertices into a label's bitmaps.
func (b *Bulk) addMembers(l graph.LabelID, first uint64, n int) error {
	for n > 0 {
		chunk := memberChunk{l, uint32(first >> codec.MemberBits)}
		m := b.members[chunk]
		if m == nil {
			m = new(codec.Members)
			key := keys.AppendMember(nil, l, chunk.chunk)
			v, ok, err := b.view.Record(key, nil)
			if err != nil {
				return kv.Fault("read a label", err)
			}
			if ok {
				if err := codec.ParseMembers(v, m); err != nil {
					return kv.Corrupt("bitmap", key, err)
				}
			}
			b.members[chunk] = m
		}
		at := int(first & (codec.MemberRows - 1))
		k := min(n, codec.MemberRows-at)
		codec.SetRange(m, at, at+k-1)
		first, n = first+uint64(k), n-k
	}
	return nil
}

// Entries adds entries for vertices to an index: tuples[i] belongs to the local id vertices[i].
func (b *Bulk) Entries(ix graph.IndexID, tuples *Tuples, vertices []uint64, plain bool) {
	r := &b.records[0]
	sk := b.delta.Sketch(ix)
	for i, v := range vertices {
		t := tuples.At(i)
		r.add()
		r.buf = append(keys.AppendEntry(r.buf, ix), t...)
		if plain {
			r.buf = keys.AppendLocal(r.buf, v)
		}
		r.value()
		r.buf = keys.AppendLocal(r.buf, v)
		r.end()
		sk.Add(t)
	}
}

// Tuples are ordered keys of tuples, in one buffer.
type Tuples struct {
	buf   []byte
	start int // of the first
	end   []int
}

// Add appends a tuple and returns the result of AppendTuple. If ok is false, it appends nothing.
func (t *Tuples) Add(vals ...graph.Value) (ok, nan bool, err error) {
	start := len(t.buf)
	buf, ok, nan, err := view.AppendTuple(t.buf, vals)
	if !ok || err != nil {
		t.buf = buf[:start]
		return ok, nan, err
	}
	t.buf = buf
	t.end = append(t.end, len(buf))
	return true, nan, nil
}

// AddKey appends a tuple that is encoded already.
func (t *Tuples) AddKey(key []byte) {
	t.buf = append(t.buf, key...)
	t.end = append(t.end, len(t.buf))
}

// Slice returns the tuples [from, to), which share the memory.
func (t *Tuples) Slice(from, to int) *Tuples {
	s := &Tuples{buf: t.buf, end: t.end[from:to]}
	if from > 0 {
		s.start = t.end[from-1]
	}
	return s
}

// At returns tuple i.
func (t *Tuples) At(i int) []byte {
	start := t.start
	if i > 0 {
		start = t.end[i-1]
	}
	return t.buf[start:t.end[i]]
}

// Len is the number of tuples.
func (t *Tuples) Len() int { return len(t.end) }

// Spill moves what was collected to the overlay, where it can be read.
func (b *Bulk) Spill() error {
	if err := b.Finish(); err != nil {
		return err
	}
	err := b.Each(nil, nil, func(k, v []byte) error {
		b.over.Set(k, v)
		return nil
	})
	for i := range b.records {
		b.records[i] = records{}
	}
	clear(b.members)
	b.lists, b.first = nil, b.next.Load()
	return err
}

// Finish makes records, for Each, of all that was collected.
func (b *Bulk) Finish() error {
	b.closeCells()
	r := &b.records[1]
	for chunk, m := range b.members {
		r.add()
		r.buf = keys.AppendMember(r.buf, chunk.label, chunk.chunk)
		r.value()
		r.buf = codec.AppendMembers(r.buf, m)
		r.end()
	}
	if err := b.packLists(); err != nil {
		return err
	}
	for i := range b.records {
		b.records[i].sort()
	}
	return nil
}

// Each calls f with the records whose keys are in [from, below), in the order of their keys; nil means no bound.
func (b *Bulk) Each(from, below []byte, f func(key, value []byte) error) error {
	var at, end [len(b.records)]int
	for i := range b.records {
		r := &b.records[i]
		at[i], end[i] = r.search(from), len(r.refs)
		if below != nil {
			end[i] = r.search(below)
		}
	}
	for {
		best := -1
		for i := range b.records {
			r := &b.records[i]
			if at[i] < end[i] && (best < 0 || bytes.Compare(r.keyOf(r.refs[at[i]]), b.records[best].keyOf(b.records[best].refs[at[best]])) < 0) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		r := &b.records[best]
		ref := r.refs[at[best]]
		at[best]++
		if err := f(r.keyOf(ref), r.valueOf(ref)); err != nil {
			return err
		}
	}
}

// Sizes calls f with the key of each record, which f may keep, and the size of its key and value.
func (b *Bulk) Sizes(f func(key []byte, bytes int)) {
	for i := range b.records {
		r := &b.records[i]
		for _, ref := range r.refs {
			f(r.keyOf(ref), int(ref.end))
		}
	}
}

// Bytes is the size of the records.
func (b *Bulk) Bytes() (bytes int) {
	for i := range b.records {
		bytes += len(b.records[i].buf)
	}
	return bytes
}

func compareEdges(a, b codec.ListEdge) int {
	if c := cmp.Compare(a.Neighbour, b.Neighbour); c != 0 {
		return c
	}
	return cmp.Compare(a.Edge, b.Edge)
}
