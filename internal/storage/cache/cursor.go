package cache

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// Cursor walks the lists of one type and direction. It is used by one goroutine.
//
//	for i := 0; i < len(sources); {
//		n := cache.SameBlock(sources[i:])
//		ok, err := cur.Seek(sources[i], n)
//		for _, s := range sources[i : i+n] {
//			if list, found := cur.List(s); ok && found { … } else { read it elsewhere }
//		}
//		i += n
//	}
type Cursor struct {
	view  *ListView
	table *table[listData, edgeEntry]
	typ   graph.TypeID
	dir   graph.Direction
	want  Want

	block uint64
	seg   *listSegment
	data  *listData
	over  *overlay[edgeEntry]
	skip  *[listWords]uint64
	m     merger
}

// List is the neighbours of one vertex. Its slices are good until the next call.
type List struct {
	Targets []uint32 // packed, sorted
	Edges   []uint32 // local parts of the ids, if wanted; the shard is that of the edge's source
	// Offset is the place of the list's first edge in the block's property columns.
	Offset uint32
}

// Cursor prepares c for the lists of a type in the direction Out or In. want's slice must not change while c is used.
func (v *ListView) Cursor(c *Cursor, typ graph.TypeID, dir graph.Direction, want Want) {
	c.view, c.typ, c.dir, c.want = v, typ, dir, want
	c.table = v.lists.tables.at(tableIndex(typ, dir))
	c.block, c.seg = math.MaxUint64, nil
}

// Mark adds to a set the far ends of the lists of the leading vertices of vs that lie in the block that Seek has found:
// up to the first list that the caller must read itself, or that comes after most edges (0: no bound). added are those
// that the set had not held.
func (c *Cursor) Mark(vs []graph.VertexID, most int, set *graph.VertexSet) (done, edges, added int) {
	ids := c.view.lists.ids
	if c.over != nil || c.skip != nil || ids.shards > 1 {
		return 0, 0, 0
	}
	offsets, targets := c.data.offsets, c.data.targets
	b := set.Grow(0, uint64(c.data.max[0]))
	for _, v := range vs {
		if most > 0 && edges >= most {
			break
		}
		list := targets[offsets[v%ListBlock]:offsets[v%ListBlock+1]]
		added += b.Mark(list)
		edges += len(list)
		done++
	}
	return done, edges, added
}

// Append appends the far ends of the lists that Mark would mark to targets, and the length of targets after each list to ends.
// Lists of consecutive vertices are one range of the block.
func (c *Cursor) Append(vs []graph.VertexID, most int, targets []graph.VertexID, ends []int) ([]graph.VertexID, []int) {
	if c.over != nil || c.skip != nil {
		return targets, ends
	}
	offsets, ids := c.data.offsets, c.view.lists.ids
	first, from := len(targets), 0
	for i := 0; i < len(vs) && (most == 0 || len(targets)-first < most); i = from {
		end, lo := len(targets), offsets[vs[from]%ListBlock]
		hi := lo
		for ; i < len(vs) && vs[i]-vs[from] == graph.VertexID(i-from) && (most == 0 || end-first < most); i++ {
			at := vs[i] % ListBlock
			end += int(offsets[at+1] - offsets[at])
			hi = offsets[at+1]
			ends = append(ends, end)
		}
		targets, from = ids.AppendTo(targets, c.data.targets[lo:hi]), i
	}
	return targets, ends
}

// MarkPlaces adds to a set the targets at some places of a list that List has returned, and returns the number of new ones.
func (c *Cursor) MarkPlaces(targets, places []uint32, set *graph.VertexSet) (added int) {
	ids := c.view.lists.ids
	if ids.shards > 1 {
		for _, at := range places {
			if set.Add(ids.unpack(targets[at])) {
				added++
			}
		}
		return added
	}
	b := set.Grow(0, uint64(c.data.max[0]))
	for _, at := range places {
		t := targets[at]
		w := b[t>>6]
		b[t>>6] = w | 1<<(t&63)
		added += int(^w >> (t & 63) & 1)
	}
	return added
}

// Release drops all references of the cursor except its memory, which serves the next lists.
func (c *Cursor) Release() { *c = Cursor{m: c.m} }

// SameBlock is the number of leading vertices that are in the first one's block.
func SameBlock(vs []graph.VertexID) int {
	end := vs[0] | (ListBlock - 1)
	for i, v := range vs {
		if v > end || v < vs[0] {
			return i
		}
	}
	return len(vs)
}

// Seek moves to a vertex's block, from which the caller wants n lists. It reports false if the caller must read them elsewhere.
func (c *Cursor) Seek(v graph.VertexID, n int) (bool, error) { return c.seek(v.Local()/ListBlock, n) }

func (c *Cursor) seek(block uint64, n int) (bool, error) {
	if block == c.block && c.seg != nil {
		return true, nil
	}
	c.block = block
	var err error
	c.seg, err = c.view.segment(c.table, c.typ, c.dir, block, n, &c.want)
	if c.seg == nil {
		return false, err
	}
	c.data = &c.seg.data
	c.over = c.seg.over.Load()
	c.skip = c.view.touched.block(uint32(tableIndex(c.typ, c.dir)), block)
	return true, nil
}

// List returns a vertex's list, or false if the caller must read it elsewhere. Seek must have found the block.
func (c *Cursor) List(v graph.VertexID) (List, bool) { return c.list(uint32(v.Local() % ListBlock)) }

func (c *Cursor) list(at uint32) (List, bool) {
	d := c.data
	lo, hi := d.offsets[at], d.offsets[at+1]
	l := List{Targets: d.targets[lo:hi:hi], Offset: lo}
	if c.want.Edges && d.edges != nil {
		l.Edges = d.edges[lo:hi:hi]
	}
	if c.over == nil && c.skip == nil {
		return l, true
	}
	return c.listSlow(at, l)
}

func (c *Cursor) listSlow(at uint32, l List) (List, bool) {
	if c.skip != nil && c.skip[at>>6]>>(at&63)&1 != 0 {
		return List{}, false
	}
	if c.over == nil {
		return l, true
	}
	chain := c.over.chain(at)
	if chain == nil {
		return l, true
	}
	some := c.m.collect(chain, c.view.seq)
	if some && len(c.want.Props) > 0 {
		return List{}, false
	}
	if len(c.m.added) == 0 && len(c.m.removed) == 0 {
		return l, true
	}
	c.m.targets, c.m.edges = c.m.targets[:0], c.m.edges[:0]
	c.m.appendTo(l.Targets, l.Edges, c.want.Edges)
	l.Targets = c.m.targets
	if c.want.Edges {
		l.Edges = c.m.edges
	}
	return l, true
}

// Degree returns the length of a vertex's list, or false if the caller must find it elsewhere. Seek must have found the
// block.
func (c *Cursor) Degree(v graph.VertexID) (int, bool) {
	at := uint32(v.Local() % ListBlock)
	n := int(c.data.offsets[at+1] - c.data.offsets[at])
	if c.skip != nil && c.skip[at>>6]>>(at&63)&1 != 0 {
		return 0, false
	}
	if c.over != nil {
		for e := c.over.chain(at); e != nil; e = e.next {
			if e.entry.seq <= c.view.seq {
				switch e.entry.kind {
				case EdgeAdded:
					n++
				case EdgeRemoved:
					n--
				}
			}
		}
	}
	return n, true
}

// Prop returns the column of the k-th wanted property of the block; a list's edges are at its Offset and after.
func (c *Cursor) Prop(k int) *Column { return c.data.prop(c.want.Props[k]) }
