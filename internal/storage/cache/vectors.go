package cache

import (
	"math"
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

// vectors are the packed vectors that a block of vertices has for one property.
type vectors struct {
	dimensions, stride int
	places             []uint16  // by vertex: 1 + the row of its vector, 0 if it has none, or elsewhere
	lengths            []float64 // by row
	coords             []float32 // stride a row
}

type (
	vectorSegment = segment[vectors, vectorEntry]
	vectorSlot    = slot[vectors, vectorEntry]
)

// vectorEntry says that a vertex's property changed.
type vectorEntry struct{ seq uint64 }

// VectorBuilder collects the vectors of a block.
type VectorBuilder struct {
	dimensions int
	places     [ColumnBlock]uint16
	lengths    []float64
	coords     []float32
}

var vectorBuilders = sync.Pool{New: func() any { return new(VectorBuilder) }}

func (b *VectorBuilder) reset() {
	*b = VectorBuilder{lengths: b.lengths[:0], coords: b.coords[:0]}
}

// Put puts a list at place i: pack appends it to dst as a packed vector and returns its dimensions, or reports false. A list that cannot
// be packed, or has other dimensions than the first one, is left to readers.
func (b *VectorBuilder) Put(i int, pack func(dst []float32) (packed []float32, dimensions int, ok bool)) {
	at := len(b.coords)
	coords, dimensions, ok := pack(b.coords)
	b.coords = coords
	if !ok || len(b.lengths) > 0 && dimensions != b.dimensions {
		b.coords = coords[:at]
		b.places[i] = elsewhere
		return
	}
	b.dimensions = dimensions
	b.lengths = append(b.lengths, vector.Length(b.coords[at:]))
	b.places[i] = uint16(len(b.lengths))
}

// size is the number of bytes that put will take.
func (b *VectorBuilder) size() int {
	return sizeOf[uint16](ColumnBlock) + sizeOf[float64](len(b.lengths)) + sizeOf[float32](len(b.coords))
}

// put makes the block in mem.
func (b *VectorBuilder) put(mem []byte) vectors {
	v := vectors{dimensions: b.dimensions, stride: vector.Stride(b.dimensions)}
	v.coords, mem = carve[float32](mem, len(b.coords))
	v.lengths, mem = carve[float64](mem, len(b.lengths))
	v.places, _ = carve[uint16](mem, ColumnBlock)
	copy(v.coords, b.coords)
	copy(v.lengths, b.lengths)
	copy(v.places, b.places[:])
	return v
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

// vectorBlock returns the segment of a block, or nil if the caller must read the properties that it wants, so many, elsewhere.
func (v *ColumnView) vectorBlock(t *table[vectors, vectorEntry], prop graph.PropID, block uint64, wanted int) (*vectorSegment, error) {
	s := t.at(block)
	c, n := v.columns.cache, v.columns.counts
	fresh := func(seg *vectorSegment) bool { return seg.entries() <= mostVectorChanges }
	seg := s.seg.Load()
	if seg != nil {
		if seg.since > v.seq {
			n.stale.Add(1)
			v.reads.Block(false)
			return nil, nil
		}
		if fresh(seg) {
			seg.touch()
			n.hits.Add(1)
			v.reads.Block(true)
			return seg, nil
		}
	}
	n.misses.Add(1)
	v.reads.Block(false)
	if v.src == nil || v.passing.Load() || !s.due(c, wanted, vectorCredit, vectorCreditCrowded) {
		return seg, nil
	}
	// A slot without a request so far notes no changes: its column's slot does.
	of := v.columns.tables.at(columnIndex(prop)).at(block)
	of.mu.Lock()
	last := of.last
	of.mu.Unlock()
	s.mu.Lock()
	s.last = max(s.last, last)
	s.mu.Unlock()
	made, err := s.replace(c, n, &c.columns, v.seq, fresh, func(*vectorSegment) (built[vectors], error) { return v.loadVectors(prop, block) })
	if made == nil && err == nil {
		return seg, nil
	}
	return made, err
}

func (v *ColumnView) loadVectors(prop graph.PropID, block uint64) (built[vectors], error) {
	b := vectorBuilders.Get().(*VectorBuilder)
	defer vectorBuilders.Put(b)
	b.reset()
	if err := v.src.ReadVectors(prop, block*ColumnBlock, b); err != nil {
		return built[vectors]{}, err
	}
	r, ok := v.columns.cache.alloc(b.size())
	if !ok {
		return built[vectors]{unfit: b.size() > v.columns.cache.limit()}, nil
	}
	return built[vectors]{data: b.put(r.mem), runs: []run{r}, ok: true}, nil
}

// Compare sets scores[i] to the similarity of a probe and the property of ids[i], for the vertices of the view's shard, or to NaN if that is
// no vector of the probe's dimensions. It appends to missing the places of those that the caller must read elsewhere, and returns the bytes
// of the vectors that it compared. Sorted ids are fastest.
func (v *ColumnView) Compare(prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64, missing []int) ([]int, int, error) {
	t := v.columns.vectors.at(columnIndex(prop))
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
		seg, err := v.vectorBlock(t, prop, ids[i].Local()/ColumnBlock, n)
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
			if place == elsewhere || over != nil && v.changed(over, at) || skip != nil && skip[ids[i]%ListBlock>>6]>>(ids[i]%ListBlock&63)&1 != 0 {
				missing = append(missing, i)
				continue
			}
			scores[i] = math.NaN()
			if place == 0 || d.dimensions != probe.Dimensions() {
				continue
			}
			row := int(place) - 1
			if score, ok := probe.Packed(d.coords[row*d.stride:(row+1)*d.stride], d.lengths[row]); ok {
				scores[i] = score
			}
			bytes += d.stride * int(unsafe.Sizeof(float32(0)))
		}
	}
	return missing, bytes, nil
}

// changed reports whether the view sees a change of a vertex in an overlay.
func (v *ColumnView) changed(over *overlay[vectorEntry], at uint32) bool {
	for n := over.chain(at); n != nil; n = n.next {
		if n.entry.seq <= v.seq {
			return true
		}
	}
	return false
}
