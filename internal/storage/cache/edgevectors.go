package cache

import (
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// edgeRows say which edges the rows of a block are of: those of one type that leave the vertices of the block.
type edgeRows struct {
	offsets []uint32 // by vertex, ColumnBlock+1: the first row of its edges
	targets []uint32 // by row, packed
	edges   []uint32 // by row, the local part
}

// edgeRowBuilder collects them. Its zero value is of a block of vertices.
type edgeRowBuilder struct {
	on      bool // the block is one of edges
	unfit   bool // an id is too large
	ids     IDs
	vertex  int // whose edges come now, in the block
	n       int // vertices whose edges have begun
	list    []graph.VertexID
	listed  []graph.EdgeID
	offsets [ColumnBlock + 1]uint32
	targets []uint32
	edges   []uint32
}

func (b *edgeRowBuilder) emptied() edgeRowBuilder {
	return edgeRowBuilder{targets: b.targets[:0], edges: b.edges[:0]}
}

// Edges begins the list of edges that leave the vertex at a place of the block, after those of lower places. The vectors that Put is given
// next are of these edges, by their places in the list, in any order.
func (b *VectorBuilder) Edges(vertex int, targets []graph.VertexID, edges []graph.EdgeID) {
	b.edges.upTo(vertex)
	b.edges.vertex, b.edges.list, b.edges.listed = vertex, targets, edges
}

// upTo ends the lists of all vertices before one.
func (b *edgeRowBuilder) upTo(vertex int) {
	for ; b.n <= vertex; b.n++ {
		b.offsets[b.n] = uint32(len(b.targets))
	}
}

// row notes that the next row is of an edge of the list.
func (b *edgeRowBuilder) row(i int) {
	target, ok := b.ids.Pack(b.list[i])
	edge := b.listed[i].Local()
	b.unfit = b.unfit || !ok || edge>>32 != 0
	b.targets, b.edges = append(b.targets, target), append(b.edges, uint32(edge))
}

func (b *edgeRowBuilder) size() int {
	if !b.on {
		return 0
	}
	return sizeOf[uint32](len(b.offsets)) + 2*sizeOf[uint32](len(b.targets))
}

func (b *edgeRowBuilder) put(mem []byte) (r edgeRows) {
	if !b.on {
		return r
	}
	b.upTo(ColumnBlock)
	r.offsets, mem = carve[uint32](mem, len(b.offsets))
	r.targets, mem = carve[uint32](mem, len(b.targets))
	r.edges, _ = carve[uint32](mem, len(b.edges))
	copy(r.offsets, b.offsets[:])
	copy(r.targets, b.targets)
	copy(r.edges, b.edges)
	return r
}

// edgeVectors have the tables of edge properties that have been compared with vectors. Their blocks are of the vertices that the edges leave.
type edgeVectors struct {
	growing sync.Mutex
	list    atomic.Pointer[[]*edgeTable]
}

type edgeTable struct {
	typ  graph.TypeID
	prop graph.PropID
	table[vectors, vectorEntry]
}

func (v *edgeVectors) all() []*edgeTable {
	if l := v.list.Load(); l != nil {
		return *l
	}
	return nil
}

// of returns the table of a property, making it if need be.
func (v *edgeVectors) of(typ graph.TypeID, prop graph.PropID) *edgeTable {
	find := func() *edgeTable {
		for _, t := range v.all() {
			if t.typ == typ && t.prop == prop {
				return t
			}
		}
		return nil
	}
	if t := find(); t != nil {
		return t
	}
	v.growing.Lock()
	defer v.growing.Unlock()
	if t := find(); t != nil {
		return t
	}
	t := &edgeTable{typ: typ, prop: prop}
	list := append(append([]*edgeTable(nil), v.all()...), t)
	v.list.Store(&list)
	return t
}

func (v *edgeVectors) each(f func(*vectorSlot)) {
	for _, t := range v.all() {
		t.each(f)
	}
}

// Changed notes that a commit changed the lists of n vertices, in the order of their blocks, after Apply or Invalidate has noted it too.
func (l *Lists) Changed(seq uint64, typ graph.TypeID, dir graph.Direction, n int, vertex func(i int) uint64) {
	if dir != graph.Out {
		return // an edge's vector stands beside its source
	}
	for _, x := range l.noting(seq) {
		if typ == x.key.Type {
			x.log.addEach(seq, n, vertex)
		}
	}
	var buf []change[vectorEntry]
	for _, t := range l.vectors.all() {
		if t.typ != typ {
			continue
		}
		for i := 0; i < n; {
			block := vertex(i) / ColumnBlock
			buf = buf[:0]
			for last := uint64(ColumnBlock); i < n && vertex(i)/ColumnBlock == block; i++ {
				if at := vertex(i) % ColumnBlock; at != last {
					buf, last = append(buf, change[vectorEntry]{uint32(at), vectorEntry{seq}}), at
				}
			}
			if s := t.find(block); s != nil {
				if len(buf) > mostColumnEntries || !s.watched() {
					buf = buf[:0]
				}
				s.apply(l.cache, &l.cache.lists, seq, buf, mostColumnEntries)
			}
		}
	}
}

// EdgeHit is an edge that a comparison has scored.
type EdgeHit struct {
	Score          float64
	Source, Target graph.VertexID
	Edge           graph.EdgeID
}

// EdgeComparison compares a probe with a property of edges of one type. It is for one goroutine.
type EdgeComparison struct {
	Type  graph.TypeID
	Prop  graph.PropID
	Probe *vector.Probe
	// Take is given the edges that have a score, some at a time. The slice is good until it returns.
	Take func(hits []EdgeHit)
	// Missing are vertices whose edges the caller must read elsewhere.
	Missing []graph.VertexID
	// Compared counts the vectors, Bytes theirs.
	Compared, Bytes int

	n    int
	hits [256]EdgeHit
}

func (c *EdgeComparison) flush() {
	if c.n > 0 {
		c.Take(c.hits[:c.n])
		c.n = 0
	}
}

// CompareEdges compares the edges that leave some vertices of the view's shard, whose number is no. Sorted vertices are fastest.
func (v *ListView) CompareEdges(c *EdgeComparison, no int, sources []graph.VertexID) error {
	t := v.lists.vectors.of(c.Type, c.Prop)
	r := vectorReader{v.lists.cache, v.lists.counts, &v.lists.cache.lists, v.seq, v.reads, v.src != nil}
	defer c.flush()
	for len(sources) > 0 {
		n := sameColumnBlock(sources)
		some := sources[:n]
		sources = sources[n:]
		if some[0].Local()/ColumnBlock*ColumnBlock >= v.vertices {
			c.Missing = append(c.Missing, some...)
			continue
		}
		seg, err := v.edgeVectorBlock(&r, t, some[0].Local()/ColumnBlock)
		if err != nil {
			return err
		}
		if seg == nil {
			c.Missing = append(c.Missing, some...)
			continue
		}
		d := &seg.data
		over, skip := seg.over.Load(), v.touched.block(uint32(tableIndex(c.Type, graph.Out)), some[0].Local()/ListBlock)
		for _, id := range some {
			at := uint32(id % ColumnBlock)
			if d.places[at] == elsewhere || id.Local() >= v.vertices || over != nil && r.changed(over, at) || skip != nil && skip[id%ListBlock>>6]>>(id%ListBlock&63)&1 != 0 {
				c.Missing = append(c.Missing, id)
				continue
			}
			if d.dimensions == c.Probe.Dimensions() {
				c.rows(d, v.lists.ids, no, id, int(d.offsets[at]), int(d.offsets[at+1]))
			}
		}
	}
	return nil
}

// rows compares the edges of one vertex.
func (c *EdgeComparison) rows(d *vectors, ids IDs, no int, source graph.VertexID, lo, hi int) {
	c.Compared += hi - lo
	c.Bytes += 4 * d.stride * (hi - lo)
	for row := lo; row < hi; row++ {
		score, ok := d.score(c.Probe, row)
		if !ok {
			continue
		}
		c.hits[c.n] = EdgeHit{score, source, ids.unpack(d.targets[row]), graph.MakeEdgeID(no, uint64(d.edges[row]))}
		if c.n++; c.n == len(c.hits) {
			c.flush()
		}
	}
}

// edgeVectorBlock returns the segment of a block, or nil if the caller must read the edges elsewhere.
func (v *ListView) edgeVectorBlock(r *vectorReader, t *edgeTable, block uint64) (*vectorSegment, error) {
	s := t.at(block)
	// One vertex may have any number of edges, and most searches want them all: the first one that misses a block loads it.
	seg, due := r.find(s, vectorCredit)
	if !due {
		return seg, nil
	}
	last := v.lists.tables.at(tableIndex(t.typ, graph.Out)).at(block * ColumnBlock / ListBlock).changedAt()
	return r.load(s, seg, last, func(b *VectorBuilder) error {
		b.edges.on, b.edges.ids = true, v.lists.ids
		return v.src.ReadEdgeVectors(t.typ, t.prop, block*ColumnBlock, b)
	})
}
