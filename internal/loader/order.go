package loader

import (
	"hash/maphash"

	"github.com/hopgate/hopgate/internal/graph"
)

// ordering keeps the rows of one vertex, or of the edges between two vertices, in file order, although rows are collected into groups that
// are applied one after another. It hashes keys only if a chunk has several groups of one kind.
type ordering struct {
	groups []*group
	on     bool
	last   map[uint64]int // the latest group with a row of these keys, by hash
	seed   maphash.Seed
}

func (o *ordering) reset() {
	o.groups, o.on = o.groups[:0], false
	clear(o.last)
}

// add records a new group.
func (o *ordering) add(g *group) {
	o.groups = append(o.groups, g)
	if o.on || len(o.groups) < 2 {
		return
	}
	mixed := false
	for _, other := range o.groups[:len(o.groups)-1] {
		mixed = mixed || (other.dst != nil) == (g.dst != nil)
	}
	if !mixed {
		return
	}
	if o.on = true; o.last == nil {
		o.last, o.seed = map[uint64]int{}, maphash.MakeSeed()
	}
	for _, g := range o.groups {
		for i := range g.n {
			o.last[o.hash(g, i)] = g.seq
		}
	}
}

// late records the last row of a group. It reports whether a group that began later already has a row of the same vertex or edge.
func (o *ordering) late(g *group) bool {
	if !o.on {
		return false
	}
	h := o.hash(g, len(g.key)-1)
	if last, ok := o.last[h]; ok && last > g.seq {
		return true
	}
	o.last[h] = g.seq
	return false
}

func (o *ordering) hash(g *group, row int) uint64 {
	var h maphash.Hash
	h.SetSeed(o.seed)
	if g.dst != nil {
		_, _ = h.WriteString(g.names[0])
		writeKey(&h, g.dst[row])
	} else {
		_, _ = h.WriteString(g.rule.vertex.ID.Space.Name)
	}
	writeKey(&h, g.key[row])
	return h.Sum64()
}

func writeKey(h *maphash.Hash, v graph.Value) {
	_ = h.WriteByte(byte(v.Kind()))
	if v.Kind() == graph.Int {
		maphash.WriteComparable(h, v.Int())
		return
	}
	_, _ = h.WriteString(v.Str())
}
