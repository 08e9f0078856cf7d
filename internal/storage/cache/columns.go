package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
)

// ColumnBlock is the number of vertices of a block of property values.
const ColumnBlock = 1024

// LabelProp is the property number of label sets, which are cached like a property whose values are Ints.
const LabelProp graph.PropID = 0

const (
	columnCredit, columnCreditCrowded = 8, 256 // see listCredit
	mostColumnEntries                 = ColumnBlock / 2
)

// ColumnSource reads the properties of a snapshot.
type ColumnSource interface {
	// ReadColumn puts into b, in order, the values of a property of the vertices with local ids first …
	// first+ColumnBlock-1; the place of a value is the id less first. Values that are stored apart because they are
	// large are put as Opaque references.
	ReadColumn(prop graph.PropID, first uint64, b *ColumnBuilder) error
	// ReadVectors puts into b the lists that those vertices have for a property.
	ReadVectors(prop graph.PropID, first uint64, b *VectorBuilder) error
}

// Columns are the property values of one shard of one graph.
type Columns struct {
	cache  *Cache
	counts *counts
	shard  int
	tables tables[Column, valueEntry] // by columnIndex
	// vectors has the tables of properties that have been compared with vectors.
	vectors tables[vectors, vectorEntry]
	graphs
}

// valueEntry is a new value of a vertex.
type valueEntry struct {
	seq   uint64
	value graph.Value
	enc   []byte // if not nil, what the source has to decode
}

type (
	columnSegment = segment[Column, valueEntry]
	columnSlot    = slot[Column, valueEntry]
)

// columnIndex numbers properties so that small numbers stay small, and so do those that count from 1<<31.
func columnIndex(prop graph.PropID) int { return int(prop&^(1<<31))<<1 | int(prop>>31) }

// NewColumns returns the columns of one shard of a graph.
func (c *Cache) NewColumns(shard int) *Columns {
	return &Columns{cache: c, counts: c.counts(), shard: shard, graphs: graphs{cache: c}}
}

// Counts returns what readers have found.
func (c *Columns) Counts() Counts { return c.counts.load() }

// Close forgets everything. No view may be opened any more.
func (c *Columns) Close() {
	c.tables.each(func(s *columnSlot) { s.clear(c.cache) })
	c.vectors.each(func(s *vectorSlot) { s.clear(c.cache) })
	c.graphs.close()
	c.cache.reclaim()
	c.cache.close(c.counts)
}

// ValueChange is a new value of a vertex's property.
type ValueChange struct {
	Vertex uint64      // local id
	Value  graph.Value // a simple value or null; see Simple
	Opaque []byte      // if not nil, the value as the source encodes it
}

// Apply notes the values of one property that a commit set; see Lists.Apply. It copies what it keeps. Changed follows it.
func (c *Columns) Apply(seq uint64, prop graph.PropID, changes []ValueChange) {
	t := c.tables.at(columnIndex(prop))
	var buf []change[valueEntry]
	for len(changes) > 0 {
		block := changes[0].Vertex / ColumnBlock
		n := 1
		for n < len(changes) && changes[n].Vertex/ColumnBlock == block {
			n++
		}
		s := t.at(block)
		buf = buf[:0]
		if n <= mostColumnEntries && s.watched() {
			for _, ch := range changes[:n] {
				e := valueEntry{seq: seq, value: ch.Value.Clone()}
				if ch.Opaque != nil {
					e.enc = append([]byte{}, ch.Opaque...)
				}
				buf = append(buf, change[valueEntry]{uint32(ch.Vertex % ColumnBlock), e})
			}
		}
		s.apply(c.cache, &c.cache.columns, seq, buf, mostColumnEntries)
		changes = changes[n:]
	}
}

// Invalidate notes that a commit set values of a block that are not given one by one.
func (c *Columns) Invalidate(seq uint64, prop graph.PropID, block uint64) {
	c.noteUntold(seq, prop, block)
	c.dropVectors(seq, prop, block)
}

// InvalidateColumn is Invalidate for a block whose vectors Changed names.
func (c *Columns) InvalidateColumn(seq uint64, prop graph.PropID, block uint64) {
	c.noteUntold(seq, prop, block)
}

func (c *Columns) noteUntold(seq uint64, prop graph.PropID, block uint64) {
	c.tables.at(columnIndex(prop)).at(block).apply(c.cache, &c.cache.columns, seq, nil, 0)
}

// ColumnView is what one reader sees. It may be used by many goroutines.
type ColumnView struct {
	columns *Columns
	seq     uint64
	// vertices is the number of local ids that had been given out as of seq.
	vertices uint64
	src      ColumnSource
	decode   Decode
	touched  *Touched
	pin      pin
	passing  atomic.Bool
	reads    *graph.Reads
}

// Open lets a view read; see Lists.Open. Ids that have not been given out are left to the caller, so that one that was
// made up costs no memory. decode decodes Opaque values. Values that come out of the view are valid until Close.
func (c *Columns) Open(v *ColumnView, seq, vertices uint64, src ColumnSource, decode Decode, touched *Touched) {
	v.columns, v.seq, v.vertices, v.src, v.decode, v.touched = c, seq, vertices, src, decode, touched
	v.passing.Store(false)
	v.reads = nil
	c.cache.columns.enter(&v.pin)
}

// Pass stops the view from filling the cache; it still reads cached values.
func (v *ColumnView) Pass() { v.passing.Store(true) }

// Count has what the view reads counted from now on, or with nil no more. No read runs meanwhile.
func (v *ColumnView) Count(r *graph.Reads) { v.reads = r }

// Close ends the view.
func (v *ColumnView) Close() { v.columns.cache.leave(&v.columns.cache.columns, &v.pin) }

// segment returns a block's segment, or nil if the caller must read the values that it wants, so many, elsewhere.
func (v *ColumnView) segment(t *table[Column, valueEntry], prop graph.PropID, block uint64, wanted int) (*columnSegment, error) {
	s := t.at(block)
	c, n := v.columns.cache, v.columns.counts
	seg := s.seg.Load()
	if seg != nil {
		if seg.since > v.seq {
			n.stale.Add(1)
			v.reads.Block(false)
			return nil, nil
		}
		seg.touch()
		n.hits.Add(1)
		v.reads.Block(true)
		return seg, nil
	}
	n.misses.Add(1)
	v.reads.Block(false)
	if v.src == nil || v.passing.Load() || !s.due(c, wanted, columnCredit, columnCreditCrowded) {
		return nil, nil
	}
	return s.replace(c, n, &c.columns, v.seq,
		func(*columnSegment) bool { return true },
		func(*columnSegment) (built[Column], error) { return v.load(prop, block) })
}

func (v *ColumnView) load(prop graph.PropID, block uint64) (built[Column], error) {
	b := columnBuilders.Get().(*ColumnBuilder)
	defer columnBuilders.Put(b)
	b.reset()
	if err := v.src.ReadColumn(prop, block*ColumnBlock, b); err != nil {
		return built[Column]{}, err
	}
	b.finish(ColumnBlock)
	if b.over {
		return built[Column]{unfit: true}, nil
	}
	if b.size() == 0 {
		return built[Column]{ok: true}, nil
	}
	r, ok := v.columns.cache.alloc(b.size())
	if !ok {
		return built[Column]{unfit: b.size() > v.columns.cache.limit()}, nil
	}
	col, _ := b.put(r.mem)
	return built[Column]{data: col, runs: []run{r}, ok: true}, nil
}

// Cell is a value that only the source can decode, and the place where it belongs.
type Cell struct {
	At  int
	Enc []byte
}

// Fill sets out[i] to the property of ids[i] for the vertices of the view's shard, and appends to missing the places of
// those that the caller must read elsewhere, and to opaque the values that it must decode. Sorted ids are fastest.
func (v *ColumnView) Fill(prop graph.PropID, ids []graph.VertexID, out []graph.Value, missing []int, opaque *[]Cell) ([]int, error) {
	t := v.columns.tables.at(columnIndex(prop))
	out = out[:len(ids)]
	for i := 0; i < len(ids); {
		if ids[i].Shard() != v.columns.shard {
			i++
			continue
		}
		if ids[i].Local() >= v.vertices {
			missing = append(missing, i)
			i++
			continue
		}
		n := sameColumnBlock(ids[i:])
		block := ids[i].Local() / ColumnBlock
		seg, err := v.segment(t, prop, block, n)
		if err != nil {
			return missing, err
		}
		if seg == nil {
			for j := range n {
				missing = append(missing, i+j)
			}
			i += n
			continue
		}
		if over, skip := seg.over.Load(), v.touched.block(valueSpace(prop), ids[i].Local()/ListBlock); over != nil || skip != nil {
			missing, err = v.fillSlow(seg, over, skip, ids[i:i+n], out[i:i+n], i, missing, opaque)
		} else {
			fillFast(&seg.data, ids[i:i+n], out[i:i+n], i, opaque)
		}
		if err != nil {
			return missing, err
		}
		i += n
	}
	return missing, nil
}

// FillLabels is Fill for the label sets.
func (v *ColumnView) FillLabels(ids []graph.VertexID, out []graph.LabelSet, missing []int) ([]int, error) {
	t := v.columns.tables.at(columnIndex(LabelProp))
	out = out[:len(ids)]
	for i := 0; i < len(ids); {
		if ids[i].Shard() != v.columns.shard {
			i++
			continue
		}
		if ids[i].Local() >= v.vertices {
			missing = append(missing, i)
			i++
			continue
		}
		n := sameColumnBlock(ids[i:])
		seg, err := v.segment(t, LabelProp, ids[i].Local()/ColumnBlock, n)
		if err != nil {
			return missing, err
		}
		if seg == nil {
			for j := range n {
				missing = append(missing, i+j)
			}
			i += n
			continue
		}
		over, skip := seg.over.Load(), v.touched.block(valueSpace(LabelProp), ids[i].Local()/ListBlock)
		if col := &seg.data; over == nil && skip == nil && col.form == formNarrow && col.present == nil {
			for j, id := range ids[i : i+n] {
				out[i+j] = graph.LabelSet(col.base + uint64(col.narrow[id.Local()%ColumnBlock]))
			}
			i += n
			continue
		}
		var vals [64]graph.Value
		for n > 0 {
			k := min(n, len(vals))
			was := len(missing)
			if missing, err = v.fillSlow(seg, over, skip, ids[i:i+k], vals[:k], i, missing, nil); err != nil {
				return missing, err
			}
			for j := range k {
				if was < len(missing) && missing[was] == i+j {
					was++
					continue
				}
				out[i+j] = 0
				if !vals[j].IsNull() {
					out[i+j] = graph.LabelSet(vals[j].Int())
				}
			}
			i, n = i+k, n-k
		}
	}
	return missing, nil
}

// sameColumnBlock is the number of leading vertices that are in the first one's block.
func sameColumnBlock(vs []graph.VertexID) int {
	block := vs[0] / ColumnBlock
	for i, v := range vs {
		if v/ColumnBlock != block {
			return i
		}
	}
	return len(vs)
}

// fillFast fills from a column without changes; first is the place of ids[0] for opaque.
func fillFast(c *Column, ids []graph.VertexID, out []graph.Value, first int, opaque *[]Cell) {
	switch {
	case c.form == formEmpty:
		clear(out)
		return
	case c.present == nil && c.form == formNarrow && c.kind == graph.Int:
		for i, id := range ids {
			out[i] = graph.IntValue(int64(c.base + uint64(c.narrow[id%ColumnBlock])))
		}
		return
	case c.present == nil && c.form == formWide && c.kind == graph.Int:
		for i, id := range ids {
			out[i] = graph.IntValue(int64(c.wide[id%ColumnBlock]))
		}
		return
	case c.present == nil && c.form == formText:
		for i, id := range ids {
			out[i] = c.word(uint32(id % ColumnBlock))
		}
		return
	case c.present == nil && c.form == formCoded:
		codes, offsets, words := c.codes, c.offsets, c.bytes
		for i, id := range ids {
			code := codes[id%ColumnBlock]
			b := words[offsets[code]:offsets[code+1]]
			out[i] = graph.StringValue(unsafe.String(unsafe.SliceData(b), len(b)))
		}
		return
	}
	for i, id := range ids {
		at := uint32(id % ColumnBlock)
		if !c.has(at) {
			out[i] = graph.Value{}
			continue
		}
		switch c.form {
		case formNarrow:
			out[i] = number(c.kind, c.base+uint64(c.narrow[at]))
		case formWide:
			out[i] = number(c.kind, c.wide[at])
		case formBool:
			out[i] = graph.BoolValue(c.wide[at>>6]>>(at&63)&1 != 0)
		case formText:
			out[i] = c.word(at)
		case formCoded:
			out[i] = c.word(uint32(c.codes[at]))
		default:
			if enc := c.opaque(at); enc != nil {
				*opaque = append(*opaque, Cell{first + i, enc})
			} else {
				out[i], _ = c.mixed(at, nil)
			}
		}
	}
}

// fillSlow fills from a column some of whose vertices have changed; first is the place of ids[0] for missing and opaque.
func (v *ColumnView) fillSlow(seg *columnSegment, over *overlay[valueEntry], skip *[listWords]uint64,
	ids []graph.VertexID, out []graph.Value, first int, missing []int, opaque *[]Cell,
) ([]int, error) {
	for i, id := range ids {
		if skip != nil {
			if at := id % ListBlock; skip[at>>6]>>(at&63)&1 != 0 {
				missing = append(missing, first+i)
				continue
			}
		}
		at := uint32(id % ColumnBlock)
		var enc []byte
		if e := v.newest(over, at); e != nil {
			out[i], enc = e.value, e.enc
		} else if enc = seg.data.opaque(at); enc == nil {
			var err error
			if out[i], err = seg.data.Value(at, nil); err != nil {
				return missing, err
			}
		}
		if enc != nil {
			*opaque = append(*opaque, Cell{first + i, enc})
		}
	}
	return missing, nil
}

// newest returns the newest change of a vertex that the view sees, or nil.
func (v *ColumnView) newest(over *overlay[valueEntry], at uint32) *valueEntry {
	if over == nil {
		return nil
	}
	for n := over.chain(at); n != nil; n = n.next {
		if n.entry.seq <= v.seq {
			return &n.entry
		}
	}
	return nil
}
