package codec

import (
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A Group holds the runs of edges that one commit appended to lists of one type, direction and chunk of 65,536 vertices,
// so that they need not a record each. It is stored as
//
//	uvarint  number of lists
//	byte     width of an end in bytes
//	bytes    lists × the vertex's place in the chunk, two bytes, ascending
//	bytes    lists × the end of the list's run among the runs, little-endian
//	bytes    runs: the edges of each list, packed like a segment
type Group struct {
	N, width       int
	vertices, ends []byte
	runs           []byte
}

// Parse opens a group, whose bytes it shares, and checks its sizes.
func (g *Group) Parse(b []byte) error {
	*g = Group{}
	n, b := Uvarint(b)
	if len(b) == 0 || b[0] > 8 || n > uint64(len(b)) {
		return ErrDelta
	}
	g.N, g.width = int(n), int(b[0])
	b = b[1:]
	if len(b) < g.N*(2+g.width) {
		return ErrDelta
	}
	g.vertices, b = b[:2*g.N], b[2*g.N:]
	g.ends, g.runs = b[:g.N*g.width], b[g.N*g.width:]
	return nil
}

// Vertex is the place in the chunk of the vertex of list i.
func (g *Group) Vertex(i int) uint64 { return uint64(binary.LittleEndian.Uint16(g.vertices[2*i:])) }

// Run is the run of list i.
func (g *Group) Run(i int) ([]byte, error) {
	from := uint64(0)
	if i > 0 {
		from = Fixed(g.ends, i-1, g.width)
	}
	to := Fixed(g.ends, i, g.width)
	if from > to || to > uint64(len(g.runs)) {
		return nil, ErrDelta
	}
	return g.runs[from:to], nil
}

// Find finds the list of the vertex at a place in the chunk; -1 if the group has none.
func (g *Group) Find(place uint64) int {
	from, to := 0, g.N
	for from < to {
		mid := (from + to) / 2
		if g.Vertex(mid) < place {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from == g.N || g.Vertex(from) != place {
		return -1
	}
	return from
}

// GroupIndex holds all groups of a chunk, by vertex.
type GroupIndex struct {
	groups []Group
	At     []uint64 // place, number of the group, number of the list; ascending
	spare  []uint64 // memory for the sort
}

// PlaceBits is by how much the place in an entry of At is shifted; the number of the list has the low listBits.
const (
	PlaceBits = 64 - keys.GroupBits
	listBits  = PlaceBits / 2
)

// Reset removes all groups.
func (x *GroupIndex) Reset() { x.groups, x.At = x.groups[:0], x.At[:0] }

// Add adds a group, whose bytes it shares. Index follows the last one.
func (x *GroupIndex) Add(b []byte) error {
	var g Group
	if err := g.Parse(b); err != nil {
		return err
	}
	for i := 1; i < g.N; i++ {
		if g.Vertex(i) <= g.Vertex(i-1) {
			return ErrDelta
		}
	}
	for i := range g.N {
		x.At = append(x.At, g.Vertex(i)<<PlaceBits|uint64(len(x.groups))<<listBits|uint64(i))
	}
	x.groups = append(x.groups, g)
	return nil
}

// radixFrom is the number of entries from which a radix sort is faster than one by comparisons.
const radixFrom = 128

// Index sorts the entries after the last Add. Those of one place are in order already, so a stable sort by place is enough.
func (x *GroupIndex) Index() {
	if len(x.At) < radixFrom {
		slices.Sort(x.At)
		return
	}
	x.spare = slices.Grow(x.spare[:0], len(x.At))[:len(x.At)]
	for shift := PlaceBits; shift < 64; shift += 8 {
		var ends [1 << 8]int
		for _, e := range x.At {
			ends[e>>shift&0xff]++
		}
		at := 0
		for i, n := range ends {
			ends[i] = at
			at += n
		}
		for _, e := range x.At {
			i := e >> shift & 0xff
			x.spare[ends[i]] = e
			ends[i]++
		}
		x.At, x.spare = x.spare, x.At
	}
}

// Lists is how many entries, from i on, are of one vertex, whose place in the chunk it gives.
func (x *GroupIndex) Lists(i int) (place uint64, n int) {
	place = x.At[i] >> PlaceBits
	for n = 1; i+n < len(x.At) && x.At[i+n]>>PlaceBits == place; n++ {
	}
	return place, n
}

// Run is the run of entry i.
func (x *GroupIndex) Run(i int) ([]byte, error) {
	return x.groups[x.At[i]>>listBits&(1<<listBits-1)].Run(int(x.At[i] & (1<<listBits - 1)))
}
