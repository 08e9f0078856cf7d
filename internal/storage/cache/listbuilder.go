package cache

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// ListBuilder collects the lists of a block.
type ListBuilder struct {
	ids     IDs
	first   uint64
	want    Want
	n       int // vertices whose list has begun
	offsets []uint32
	targets []uint32
	edges   []uint32
	props   []*ColumnBuilder // beside want.Props
	max     []uint32
	unfit   bool
	err     error
}

var listBuilders = sync.Pool{New: func() any { return new(ListBuilder) }}

// newListBuilder makes a builder for what is wanted and what the old segment had.
func newListBuilder(ids IDs, first uint64, want Want, old *listSegment) *ListBuilder {
	b := listBuilders.Get().(*ListBuilder)
	b.ids, b.first, b.n, b.unfit, b.err = ids, first, 0, false, nil
	b.want = Want{Edges: want.Edges, Props: append(b.want.Props[:0], want.Props...)}
	if old != nil {
		b.want.Edges = b.want.Edges || old.data.edges != nil
		for _, p := range old.data.props {
			if !contains(want.Props, p.prop) {
				b.want.Props = append(b.want.Props, p.prop)
			}
		}
	}
	b.offsets, b.targets, b.edges = b.offsets[:0], b.targets[:0], b.edges[:0]
	for len(b.props) < len(b.want.Props) {
		b.props = append(b.props, new(ColumnBuilder))
	}
	for _, p := range b.props {
		p.reset()
	}
	b.max = append(b.max[:0], make([]uint32, ids.shards)...)
	return b
}

func (b *ListBuilder) free() { listBuilders.Put(b) }

func contains(ps []graph.PropID, p graph.PropID) bool {
	return slices.Contains(ps, p)
}

// Want tells what the source has to give besides the targets.
func (b *ListBuilder) Want() Want { return b.want }

// Add returns the list of the vertex with this local id: its targets, sorted, and beside them the edges' ids, sorted
// among equal targets; edges may be nil unless wanted. Vertices come in ascending order, those without a list may be
// left out, and a vertex may come again at once with the next part of its list.
func (b *ListBuilder) Add(local uint64, targets []graph.VertexID, edges []graph.EdgeID) {
	at := int(local - b.first)
	if local < b.first || at >= ListBlock || at < b.n-1 {
		b.err = graph.CorruptError("load of neighbour lists", fmt.Errorf("list of vertex %d out of place", local))
		return
	}
	for ; b.n <= at; b.n++ {
		b.offsets = append(b.offsets, uint32(len(b.targets)))
	}
	start := len(b.targets)
	var last uint32
	if start > int(b.offsets[at]) {
		last = b.targets[start-1]
	}
	sorted := true
	if b.ids.shards == 1 {
		var seen uint64
		for _, t := range targets {
			seen |= uint64(t)
			c := uint32(t)
			sorted = sorted && c >= last
			last = c
			b.targets = append(b.targets, c)
		}
		b.unfit = b.unfit || seen>>32 != 0
		if len(targets) > 0 {
			b.max[0] = max(b.max[0], last+1)
		}
	} else {
		for _, t := range targets {
			c, ok := b.ids.Pack(t)
			b.unfit = b.unfit || !ok
			sorted = sorted && c >= last
			last = c
			b.targets = append(b.targets, c)
			if ok {
				m := &b.max[t.Shard()]
				*m = max(*m, uint32(t.Local())+1)
			}
		}
	}
	if !sorted && !b.unfit {
		b.err = graph.CorruptError("load of neighbour lists", fmt.Errorf("list of vertex %d is not sorted", local))
	}
	if b.want.Edges {
		var seen uint64
		for _, e := range edges[:len(targets)] {
			seen |= e.Local()
			b.edges = append(b.edges, uint32(e.Local()))
		}
		b.unfit = b.unfit || seen>>32 != 0
	}
	b.unfit = b.unfit || len(b.targets) > 1<<31
}

// Edges is the number of edges so far: the place of the next edge's properties.
func (b *ListBuilder) Edges() int { return len(b.targets) }

// Prop returns the builder of the k-th wanted edge property, whose places count the edges of all lists.
func (b *ListBuilder) Prop(k int) *ColumnBuilder { return b.props[k] }

// noLists are the offsets of a block without edges.
var noLists = make([]uint32, ListBlock+1)

// build makes the data off the heap.
func (b *ListBuilder) build(c *Cache) (built[listData], error) {
	if b.err != nil {
		return built[listData]{}, b.err
	}
	for _, p := range b.props[:len(b.want.Props)] {
		p.finish(len(b.targets))
		b.unfit = b.unfit || p.over
	}
	if b.unfit {
		return built[listData]{unfit: true}, nil
	}
	d := listData{offsets: noLists, max: append([]uint32(nil), b.max...)}
	if len(b.targets) == 0 {
		for _, p := range b.want.Props {
			d.props = append(d.props, edgeColumn{prop: p})
		}
		return built[listData]{data: d, ok: true}, nil
	}
	for ; b.n <= ListBlock; b.n++ {
		b.offsets = append(b.offsets, uint32(len(b.targets)))
	}
	n := len(b.targets)
	size := sizeOf[uint32](ListBlock+1) + sizeOf[uint32](n)
	if b.want.Edges {
		size += sizeOf[uint32](n)
	}
	for k := range b.want.Props {
		size += b.props[k].size()
	}
	r, ok := c.alloc(size)
	if !ok {
		return built[listData]{unfit: size > c.limit()}, nil
	}
	mem := r.mem
	d.offsets, mem = carve[uint32](mem, ListBlock+1)
	copy(d.offsets, b.offsets)
	d.targets, mem = carve[uint32](mem, n)
	copy(d.targets, b.targets)
	if b.want.Edges {
		d.edges, mem = carve[uint32](mem, n)
		copy(d.edges, b.edges)
	}
	for k, p := range b.want.Props {
		var col Column
		col, mem = b.props[k].put(mem)
		d.props = append(d.props, edgeColumn{p, col})
	}
	return built[listData]{data: d, runs: []run{r}, ok: true}, nil
}
