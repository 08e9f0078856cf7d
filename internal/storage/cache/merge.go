package cache

import (
	"cmp"
	"slices"
)

// merger merges a vertex's chain with its list. Its memory is reused from call to call.
type merger struct {
	added, removed []edgeRef
	targets, edges []uint32
}

// edgeRef is an edge in a list: its target and its local id.
type edgeRef struct{ target, edge uint32 }

func compareRefs(a, b edgeRef) int {
	if c := cmp.Compare(a.target, b.target); c != 0 {
		return c
	}
	return cmp.Compare(a.edge, b.edge)
}

// collect sorts the chain's entries up to seq into added and removed, leaving out edges that came and went. It
// reports whether there are any.
func (m *merger) collect(chain *node[edgeEntry], seq uint64) (some bool) {
	m.added, m.removed = m.added[:0], m.removed[:0]
	for n := chain; n != nil; n = n.next {
		if n.entry.seq > seq {
			continue
		}
		some = true
		r := edgeRef{n.entry.target, n.entry.edge}
		switch n.entry.kind {
		case EdgeAdded:
			m.added = append(m.added, r)
		case EdgeRemoved:
			m.removed = append(m.removed, r)
		}
	}
	if len(m.added) > 1 {
		slices.SortFunc(m.added, compareRefs)
	}
	if len(m.removed) > 1 {
		slices.SortFunc(m.removed, compareRefs)
	}
	if len(m.added) > 0 && len(m.removed) > 0 {
		m.cancel()
	}
	return some
}

// cancel takes edges that stand in both out of both. An edge's id is never given out again, so it came before it went.
func (m *merger) cancel() {
	added, removed := m.added[:0], m.removed[:0]
	i, j := 0, 0
	for i < len(m.added) && j < len(m.removed) {
		switch c := compareRefs(m.added[i], m.removed[j]); {
		case c < 0:
			added = append(added, m.added[i])
			i++
		case c > 0:
			removed = append(removed, m.removed[j])
			j++
		default:
			i, j = i+1, j+1
		}
	}
	m.added = append(added, m.added[i:]...)
	m.removed = append(removed, m.removed[j:]...)
}

// appendTo appends the merged list to m.targets and, if asked, m.edges.
func (m *merger) appendTo(targets, edges []uint32, withEdges bool) {
	added, removed := m.added, m.removed
	for i, t := range targets {
		r := edgeRef{target: t}
		if withEdges {
			r.edge = edges[i]
		}
		for len(added) > 0 && (added[0].target < t || withEdges && compareRefs(added[0], r) < 0) {
			m.put(added[0], withEdges)
			added = added[1:]
		}
		if len(removed) > 0 && removed[0].target == t && (!withEdges || removed[0].edge == r.edge) {
			removed = removed[1:]
			continue
		}
		m.put(r, withEdges)
	}
	for _, r := range added {
		m.put(r, withEdges)
	}
}

func (m *merger) put(r edgeRef, withEdges bool) {
	m.targets = append(m.targets, r.target)
	if withEdges {
		m.edges = append(m.edges, r.edge)
	}
}

// merge makes a segment of an old one's lists, as the view sees them.
func (v *ListView) merge(old *listSegment) (built[listData], error) {
	d, over := &old.data, old.over.Load()
	if over == nil {
		return built[listData]{}, nil
	}
	b := newListBuilder(v.lists.ids, 0, Want{Edges: d.edges != nil}, nil)
	defer b.free()
	m := merger{targets: b.targets, edges: b.edges}
	withEdges := d.edges != nil || len(d.targets) == 0
	b.want.Edges = withEdges
	for at := range uint32(ListBlock) {
		b.offsets = append(b.offsets, uint32(len(m.targets)))
		lo, hi := d.offsets[at], d.offsets[at+1]
		var edges []uint32
		if d.edges != nil {
			edges = d.edges[lo:hi]
		}
		if chain := over.chain(at); chain != nil {
			m.collect(chain, v.seq)
			m.appendTo(d.targets[lo:hi], edges, withEdges)
			continue
		}
		m.targets = append(m.targets, d.targets[lo:hi]...)
		m.edges = append(m.edges, edges...)
	}
	b.n = ListBlock
	b.targets, b.edges = m.targets, m.edges
	b.measure()
	return b.build(v.lists.cache)
}

// measure finds the greatest local ids.
func (b *ListBuilder) measure() {
	if b.ids.shards == 1 {
		for _, t := range b.targets {
			b.max[0] = max(b.max[0], t+1)
		}
		return
	}
	for _, t := range b.targets {
		m := &b.max[b.ids.Shard(t)]
		*m = max(*m, b.ids.Local(t)+1)
	}
}

// Find returns the places [lo, hi) of a target in a sorted list.
func Find(list []uint32, target uint32) (lo, hi int) {
	lo, _ = slices.BinarySearch(list, target)
	for hi = lo; hi < len(list) && list[hi] == target; hi++ {
	}
	return lo, hi
}
