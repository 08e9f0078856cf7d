package cache

import "sync/atomic"

// overlay holds the changes of a block of up to 64·64 vertices since its arrays were made. One writer adds, under the
// slot's lock; any number read without one.
type overlay[E any] struct {
	groups [64]atomic.Pointer[group[E]]
	n      atomic.Int32 // entries
}

// group is the chains of 64 vertices.
type group[E any] struct {
	mask  atomic.Uint64 // vertices that have a chain
	heads [64]atomic.Pointer[node[E]]
}

// node is one change in a chain, newest first.
type node[E any] struct {
	next  *node[E]
	entry E
}

// add puts an entry at the head of a vertex's chain.
func (o *overlay[E]) add(at uint32, n *node[E]) {
	g := o.groups[at>>6].Load()
	if g == nil {
		g = new(group[E])
		o.groups[at>>6].Store(g)
	}
	h := &g.heads[at&63]
	n.next = h.Load()
	h.Store(n)
	g.mask.Store(g.mask.Load() | 1<<(at&63))
	o.n.Add(1)
}

// chain returns a vertex's newest entry, or nil.
func (o *overlay[E]) chain(at uint32) *node[E] {
	g := o.groups[at>>6].Load()
	if g == nil {
		return nil
	}
	return g.heads[at&63].Load()
}

// mask returns the vertices of group w that have a chain.
func (o *overlay[E]) mask(w int) uint64 {
	g := o.groups[w].Load()
	if g == nil {
		return 0
	}
	return g.mask.Load()
}
