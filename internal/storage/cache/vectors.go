package cache

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

const (
	vectorCredit, vectorCreditCrowded = 64, ColumnBlock / 2 // see listCredit
	// mostVectorChanges is how many changed vectors of a block readers fetch elsewhere before one of them decodes the block again.
	mostVectorChanges = 64
	// elsewhere is the place of a property that is a list, but not packed.
	elsewhere = math.MaxUint16
)

// vectors are the packed vectors that a block of vertices has for one property, or that the edges of a type which leave them have; see
// edgevectors.go.
type vectors struct {
	dimensions, stride int
	places             []uint16  // by vertex: 1 + the row of its own vector, 0 if it has none, or elsewhere
	lengths            []float64 // by row
	coords             []float32 // stride a row
	edgeRows
}

type (
	vectorSegment = segment[vectors, vectorEntry]
	vectorSlot    = slot[vectors, vectorEntry]
)

// vectorEntry says that a vertex's property, or the edges that leave it, changed.
type vectorEntry struct{ seq uint64 }

// VectorBuilder collects the vectors of a block.
type VectorBuilder struct {
	dimensions int
	places     [ColumnBlock]uint16
	lengths    []float64
	coords     []float32
	edges      edgeRowBuilder
}

var vectorBuilders = sync.Pool{New: func() any { return new(VectorBuilder) }}

func (b *VectorBuilder) reset() {
	*b = VectorBuilder{lengths: b.lengths[:0], coords: b.coords[:0], edges: b.edges.emptied()}
}

// Put puts a list at place i, of a vertex in the block or of an edge in the list that Edges has begun: pack appends it to dst as a packed
// vector and returns its dimensions, or reports false. A list that cannot be packed, or has other dimensions than the first one, is left to
// readers.
func (b *VectorBuilder) Put(i int, pack func(dst []float32) (packed []float32, dimensions int, ok bool)) {
	vertex := i
	if b.edges.on {
		vertex = b.edges.vertex
	}
	at := len(b.coords)
	coords, dimensions, ok := pack(b.coords)
	b.coords = coords
	if !ok || len(b.lengths) > 0 && dimensions != b.dimensions {
		b.coords = coords[:at]
		b.places[vertex] = elsewhere
		return
	}
	b.dimensions = dimensions
	b.lengths = append(b.lengths, vector.Length(b.coords[at:]))
	if b.edges.on {
		b.edges.row(i)
	} else {
		b.places[vertex] = uint16(len(b.lengths))
	}
}

// size is the number of bytes that put will take.
func (b *VectorBuilder) size() int {
	return sizeOf[uint16](ColumnBlock) + sizeOf[float64](len(b.lengths)) + sizeOf[float32](len(b.coords)) + b.edges.size()
}

// put makes the block in mem.
func (b *VectorBuilder) put(mem []byte) vectors {
	v := vectors{dimensions: b.dimensions, stride: vector.Stride(b.dimensions)}
	v.coords, mem = carve[float32](mem, len(b.coords))
	v.lengths, mem = carve[float64](mem, len(b.lengths))
	v.places, mem = carve[uint16](mem, ColumnBlock)
	copy(v.coords, b.coords)
	copy(v.lengths, b.lengths)
	copy(v.places, b.places[:])
	v.edgeRows = b.edges.put(mem)
	return v
}

// noPlaces are the places of a block without vectors.
var noPlaces = make([]uint16, ColumnBlock)

// build makes the block off the heap.
func (b *VectorBuilder) build(c *Cache) built[vectors] {
	if b.edges.unfit {
		return built[vectors]{unfit: true}
	}
	if len(b.lengths) == 0 && !slices.Contains(b.places[:], elsewhere) {
		return built[vectors]{data: vectors{places: noPlaces, edgeRows: edgeRows{offsets: noLists}}, ok: true}
	}
	r, ok := c.alloc(b.size())
	if !ok {
		return built[vectors]{unfit: b.size() > c.limit()}
	}
	return built[vectors]{data: b.put(r.mem), runs: []run{r}, ok: true}
}

// score compares a probe with a row of the probe's dimensions.
func (v *vectors) score(probe *vector.Probe, row int) (score float64, ok bool) {
	return probe.Packed(v.coords[row*v.stride:(row+1)*v.stride], v.lengths[row])
}

// Changed notes that a commit set a property, at these places, after Apply or Invalidate has noted it too.
func (c *Columns) Changed(seq uint64, prop graph.PropID, changes []ValueChange) {
	for rest := changes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Vertex == rest[n-1].Vertex+1 {
			n++
		}
		c.ChangedRange(seq, prop, rest[0].Vertex, uint64(n))
		rest = rest[n:]
	}
	t := c.vectors.find(columnIndex(prop))
	if t == nil {
		return
	}
	var buf []change[vectorEntry]
	for len(changes) > 0 {
		block := changes[0].Vertex / ColumnBlock
		n := 0
		for n < len(changes) && changes[n].Vertex/ColumnBlock == block {
			n++
		}
		if s := t.find(block); s != nil {
			buf = buf[:0]
			if n <= mostColumnEntries && s.watched() {
				for _, ch := range changes[:n] {
					buf = append(buf, change[vectorEntry]{uint32(ch.Vertex % ColumnBlock), vectorEntry{seq}})
				}
			}
			s.apply(c.cache, &c.cache.columns, seq, buf, mostColumnEntries)
		}
		changes = changes[n:]
	}
}

// dropVectors notes a change of a block that is not given one by one, after its column has noted it.
func (c *Columns) dropVectors(seq uint64, prop graph.PropID, block uint64) {
	if t := c.vectors.find(columnIndex(prop)); t != nil {
		if s := t.find(block); s != nil {
			s.apply(c.cache, &c.cache.columns, seq, nil, 0)
		}
	}
}

// vectorReader is what a view needs to find packed vectors.
type vectorReader struct {
	cache  *Cache
	counts *counts
	limbo  *epochs
	seq    uint64
	reads  *graph.Reads
	fills  bool // the view may load blocks
}

func freshVectors(seg *vectorSegment) bool { return seg.entries() <= mostVectorChanges }

// find returns the segment of a slot, or nil if the caller must read what it wants elsewhere, and reports whether the block is to be loaded:
// so many vectors are wanted of it.
func (r *vectorReader) find(s *vectorSlot, wanted int) (seg *vectorSegment, due bool) {
	seg = s.seg.Load()
	if seg != nil {
		if seg.since > r.seq {
			r.counts.stale.Add(1)
			r.reads.Block(false)
			return nil, false
		}
		if freshVectors(seg) {
			seg.touch()
			r.counts.hits.Add(1)
			r.reads.Block(true)
			return seg, false
		}
	}
	r.counts.misses.Add(1)
	r.reads.Block(false)
	return seg, r.fills && s.due(r.cache, wanted, vectorCredit, vectorCreditCrowded)
}

// load loads the block of a slot from what read puts, or returns seg, which find has returned. A slot without a request so far notes no
// changes: the slot of the property's column, or of the lists, has, the last one at sequence last.
func (r *vectorReader) load(s *vectorSlot, seg *vectorSegment, last uint64, read func(b *VectorBuilder) error) (*vectorSegment, error) {
	s.mu.Lock()
	s.last = max(s.last, last)
	s.mu.Unlock()
	made, err := s.replace(r.cache, r.counts, r.limbo, r.seq, freshVectors, func(*vectorSegment) (built[vectors], error) {
		b := vectorBuilders.Get().(*VectorBuilder)
		defer vectorBuilders.Put(b)
		b.reset()
		if err := read(b); err != nil {
			return built[vectors]{}, err
		}
		return b.build(r.cache), nil
	})
	if made == nil && err == nil {
		return seg, nil
	}
	return made, err
}

// changed reports whether the reader sees a change of a vertex in an overlay.
func (r *vectorReader) changed(over *overlay[vectorEntry], at uint32) bool {
	for n := over.chain(at); n != nil; n = n.next {
		if n.entry.seq <= r.seq {
			return true
		}
	}
	return false
}

// vectorBlock returns the segment of a block, or nil if the caller must read the properties that it wants, so many, elsewhere.
func (v *ColumnView) vectorBlock(r *vectorReader, t *table[vectors, vectorEntry], prop graph.PropID, block uint64, wanted int) (*vectorSegment, error) {
	s := t.at(block)
	seg, due := r.find(s, wanted)
	if !due {
		return seg, nil
	}
	last := v.columns.tables.at(columnIndex(prop)).at(block).changedAt()
	return r.load(s, seg, last, func(b *VectorBuilder) error { return v.src.ReadVectors(prop, block*ColumnBlock, b) })
}

// Compare sets scores[i] to the similarity of a probe and the property of ids[i], for the vertices of the view's shard, or to NaN if that is
// no vector of the probe's dimensions. It appends to missing the places of those that the caller must read elsewhere, and returns the bytes
// of the vectors that it compared. Sorted ids are fastest.
func (v *ColumnView) Compare(prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64, missing []int) ([]int, int, error) {
	t := v.columns.vectors.at(columnIndex(prop))
	r := vectorReader{v.columns.cache, v.columns.counts, &v.columns.cache.columns, v.seq, v.reads, v.src != nil && !v.passing.Load()}
	scores = scores[:len(ids)]
	bytes := 0
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
		seg, err := v.vectorBlock(&r, t, prop, ids[i].Local()/ColumnBlock, n)
		if err != nil {
			return missing, bytes, err
		}
		if seg == nil {
			for j := range n {
				missing = append(missing, i+j)
			}
			i += n
			continue
		}
		d := &seg.data
		over, skip := seg.over.Load(), v.touched.block(valueSpace(prop), ids[i].Local()/ListBlock)
		for end := i + n; i < end; i++ {
			at := uint32(ids[i] % ColumnBlock)
			place := d.places[at]
			if place == elsewhere || over != nil && r.changed(over, at) || skip != nil && skip[ids[i]%ListBlock>>6]>>(ids[i]%ListBlock&63)&1 != 0 {
				missing = append(missing, i)
				continue
			}
			scores[i] = math.NaN()
			if place == 0 || d.dimensions != probe.Dimensions() {
				continue
			}
			if score, ok := d.score(probe, int(place)-1); ok {
				scores[i] = score
			}
			bytes += d.stride * int(unsafe.Sizeof(float32(0)))
		}
	}
	return missing, bytes, nil
}
