package cache

import (
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
)

// ListBlock is the number of vertices of a block of lists.
const ListBlock = 4096

const (
	listWords = ListBlock / 64
	// listCredit is how many lists of a block readers fetch elsewhere before the block is loaded: one load costs about
	// as much as some hundreds of fetches. When a load pushes others out it must have earned more.
	listCredit, listCreditCrowded = 64, 8192
	// manyLists is how many lists of one block a reader wants at once for a load to pay by itself. Other loads are spread over readers:
	// each may load one block, and one more for so many lists that it finds elsewhere, so that none waits for all blocks of a cold cache.
	manyLists = 1024
	// mostListEntries is the size of an overlay from which on a segment is dropped.
	mostListEntries = 1 << 14
)

// Want says what a reader wants of the lists besides the targets.
type Want struct {
	Edges bool           // the edge ids
	Props []graph.PropID // edge properties
}

// ListSource reads the lists of a snapshot.
type ListSource interface {
	// ReadLists adds to b, in order, the lists of the vertices with local ids first … first+ListBlock-1.
	ReadLists(typ graph.TypeID, dir graph.Direction, first uint64, b *ListBuilder) error
	// ReadEdgeVectors puts into b the lists that the edges of a type have for a property, if they leave a vertex with local id first …
	// first+ColumnBlock-1; see VectorBuilder.Edges.
	ReadEdgeVectors(typ graph.TypeID, prop graph.PropID, first uint64, b *VectorBuilder) error
}

// Lists are the neighbour lists of one shard of one graph.
type Lists struct {
	cache   *Cache
	counts  *counts
	ids     IDs
	tables  tables[listData, edgeEntry] // by 2·type + direction
	vectors edgeVectors
	graphs
	// spare is the number of overlay entries that a segment may have before it is rebuilt.
	spare int
}

// listData is the lists of a block.
type listData struct {
	offsets []uint32 // ListBlock+1, the first 0
	targets []uint32 // packed, sorted within a list, then by edge id
	edges   []uint32 // the local part; nil if not loaded
	props   []edgeColumn
	max     []uint32 // for each shard one more than the greatest local id in targets, 0 if there is none
}

// edgeColumn is an edge property beside the targets.
type edgeColumn struct {
	prop graph.PropID
	col  Column
}

// edgeEntry is a change of one edge in one list.
type edgeEntry struct {
	seq          uint64
	target, edge uint32
	kind         ChangeKind
}

type (
	listSegment = segment[listData, edgeEntry]
	listSlot    = slot[listData, edgeEntry]
)

// NewLists makes a place for the lists of one shard of a graph.
func (c *Cache) NewLists(ids IDs) *Lists {
	return &Lists{cache: c, counts: c.counts(), ids: ids, graphs: graphs{cache: c, ids: ids}, spare: ListBlock}
}

// Counts returns what readers have found.
func (l *Lists) Counts() Counts { return l.counts.load() }

// Roomy reports whether more than half of the cache is free.
func (l *Lists) Roomy() bool {
	l.cache.mu.Lock()
	defer l.cache.mu.Unlock()
	return 2*l.cache.arena.used < l.cache.arena.budget
}

// IDs is the packing of the targets.
func (l *Lists) IDs() IDs { return l.ids }

// Close forgets everything. No view may be opened any more.
func (l *Lists) Close() {
	l.tables.each(func(s *listSlot) { s.clear(l.cache) })
	l.vectors.each(func(s *vectorSlot) { s.clear(l.cache) })
	l.graphs.close()
	l.cache.reclaim()
	l.cache.close(l.counts)
}

func tableIndex(typ graph.TypeID, dir graph.Direction) int { return int(typ)<<1 | int(dir)&1 }

// ChangeKind says what happened to an edge.
type ChangeKind uint8

// The kinds of changes.
const (
	EdgeAdded ChangeKind = iota
	EdgeRemoved
	EdgeChanged // its properties
)

// EdgeChange is a change of one entry of one list.
type EdgeChange struct {
	Vertex uint64 // the local id of the list's owner
	Target graph.VertexID
	Edge   graph.EdgeID
	Kind   ChangeKind
}

// Apply notes the changes that a commit made in the lists of one type and direction. It must be called before the
// commit's sequence becomes visible, in the order of sequences. Changes of one block should stand together. Changed follows it.
func (l *Lists) Apply(seq uint64, typ graph.TypeID, dir graph.Direction, changes []EdgeChange) {
	t := l.tables.at(tableIndex(typ, dir))
	var buf []change[edgeEntry]
	for len(changes) > 0 {
		block := changes[0].Vertex / ListBlock
		n := 1
		for n < len(changes) && changes[n].Vertex/ListBlock == block {
			n++
		}
		s := t.at(block)
		buf = buf[:0]
		if s.watched() {
			buf = l.pack(buf, seq, changes[:n])
		}
		s.apply(l.cache, &l.cache.lists, seq, buf, mostListEntries)
		changes = changes[n:]
	}
}

// pack appends changes as entries, or gives an empty slice if they do not fit.
func (l *Lists) pack(buf []change[edgeEntry], seq uint64, changes []EdgeChange) []change[edgeEntry] {
	for i := range changes {
		ch := &changes[i]
		target, ok := l.ids.Pack(ch.Target)
		if !ok || ch.Edge.Local()>>32 != 0 {
			return buf[:0]
		}
		buf = append(buf, change[edgeEntry]{
			uint32(ch.Vertex % ListBlock), edgeEntry{seq, target, uint32(ch.Edge.Local()), ch.Kind},
		})
	}
	return buf
}

// Invalidate notes that a commit made changes that are not given one by one in a block of lists. Changed follows it.
func (l *Lists) Invalidate(seq uint64, typ graph.TypeID, dir graph.Direction, block uint64) {
	l.tables.at(tableIndex(typ, dir)).at(block).apply(l.cache, &l.cache.lists, seq, nil, 0)
}

// Watched reports whether Apply is of use for a block, because someone holds or loads it; else Invalidate is as good.
func (l *Lists) Watched(typ graph.TypeID, dir graph.Direction, block uint64) bool {
	t := l.tables.find(tableIndex(typ, dir))
	if t == nil {
		return false
	}
	s := t.find(block)
	return s != nil && s.watched()
}

// ListView is what one reader sees. It may be used by many goroutines; each cursor by one.
type ListView struct {
	lists   *Lists
	seq     uint64
	src     ListSource
	touched *Touched
	// vertices is the number of local ids that had been given out as of seq.
	vertices uint64
	pin      pin
	reads    *graph.Reads
	// elsewhere counts the lists that had to be found elsewhere, less manyLists for each load.
	elsewhere atomic.Int64
}

// Open lets a view read at sequence seq, when so many local ids had been given out, filling the cache from src, which
// reads the same snapshot; without one the view fills nothing. touched, if not nil, names the lists that a write transaction has changed: the view leaves
// these to the caller. Slices that come out of the view are valid until Close.
func (l *Lists) Open(v *ListView, seq, vertices uint64, src ListSource, touched *Touched) {
	v.lists, v.seq, v.vertices, v.src, v.touched, v.reads = l, seq, vertices, src, touched, nil
	v.elsewhere.Store(manyLists)
	l.cache.lists.enter(&v.pin)
}

// Hold keeps slices that come out of views valid after these have been closed.
type Hold struct {
	lists *Lists // nil: nothing is held
	pin   pin
}

// Begin holds what views of lists give from now on until End.
func (h *Hold) Begin(l *Lists) {
	if h.lists == nil {
		h.lists = l
		l.cache.lists.enter(&h.pin)
	}
}

// End holds nothing any more.
func (h *Hold) End() {
	if h.lists != nil {
		h.lists.cache.leave(&h.lists.cache.lists, &h.pin)
		h.lists = nil
	}
}

// Count has what the view reads counted from now on, or with nil no more. No read runs meanwhile.
func (v *ListView) Count(r *graph.Reads) { v.reads = r }

// Close ends the view.
func (v *ListView) Close() { v.lists.cache.leave(&v.lists.cache.lists, &v.pin) }

// segment returns a block's segment with all that want asks for, or nil if the caller must do without. wanted is
// the number of lists.
func (v *ListView) segment(t *table[listData, edgeEntry], typ graph.TypeID, dir graph.Direction, block uint64, wanted int, want *Want) (*listSegment, error) {
	c, n := v.lists.cache, v.lists.counts
	if block*ListBlock >= v.vertices {
		// A made-up id must not make the table grow.
		n.misses.Add(1)
		v.reads.Block(false)
		return nil, nil
	}
	s := t.at(block)
	seg := s.seg.Load()
	if seg != nil && seg.since > v.seq {
		n.stale.Add(1)
		v.reads.Block(false)
		return nil, nil
	}
	if seg != nil {
		seg.touch()
		if !seg.data.has(want) {
			seg = nil
		} else if !v.lists.bloated(seg, want) {
			n.hits.Add(1)
			v.reads.Block(true)
			return seg, nil
		}
	}
	n.block(seg != nil)
	v.reads.Block(seg != nil)
	if v.src == nil || !s.due(c, wanted, listCredit, listCreditCrowded) || seg == nil && !v.spends(wanted) {
		return seg, nil
	}
	return v.segmentSlow(s, typ, dir, block, want)
}

// spends reports whether the view may load a block from which it wants so many lists.
func (v *ListView) spends(wanted int) bool {
	if wanted >= manyLists || v.elsewhere.Add(int64(wanted)-manyLists) >= 0 {
		return true
	}
	v.elsewhere.Add(manyLists)
	return false
}

// segmentSlow loads a block, adds to it what is wanted and missing, or merges its overlay into it.
func (v *ListView) segmentSlow(s *listSlot, typ graph.TypeID, dir graph.Direction, block uint64, want *Want) (*listSegment, error) {
	c := v.lists.cache
	seg, err := s.replace(c, v.lists.counts, &c.lists, v.seq,
		func(seg *listSegment) bool { return seg.data.has(want) && !v.lists.bloated(seg, want) },
		func(old *listSegment) (built[listData], error) {
			if old != nil && old.data.has(want) && len(want.Props) == 0 {
				c.merges.Add(1)
				return v.merge(old)
			}
			b := newListBuilder(v.lists.ids, block*ListBlock, *want, old)
			defer b.free()
			if err := v.src.ReadLists(typ, dir, block*ListBlock, b); err != nil {
				return built[listData]{}, err
			}
			return b.build(c)
		})
	if seg == nil && err == nil {
		// What is there will do if only the overlay was too big.
		if seg = s.seg.Load(); seg != nil && (seg.since > v.seq || !seg.data.has(want)) {
			seg = nil
		}
	}
	return seg, err
}

// has reports whether the data is all that is wanted.
func (d *listData) has(want *Want) bool {
	if want.Edges && d.edges == nil && len(d.targets) > 0 {
		return false
	}
	for _, p := range want.Props {
		if d.prop(p) == nil {
			return false
		}
	}
	return true
}

func (d *listData) prop(p graph.PropID) *Column {
	for i := range d.props {
		if d.props[i].prop == p {
			return &d.props[i].col
		}
	}
	return nil
}

// bloated reports whether the overlay has grown so much that merging it costs more than a new segment does.
func (l *Lists) bloated(seg *listSegment, want *Want) bool {
	n := seg.entries()
	return n > l.spare+len(seg.data.targets)/16 || len(want.Props) > 0 && n > l.spare/8
}
