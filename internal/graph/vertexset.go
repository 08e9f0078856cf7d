package graph

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// VertexSet is a set of vertices: a bitmap of local ids for each shard. The zero value is empty. It is not safe for concurrent
// modification.
type VertexSet struct {
	shards []Bitmap
}

// Bitmap is a set of local ids: bit i of word i/64.
type Bitmap []uint64

// lastByte maps the number of a bitmap's byte in memory to the position of its bits in the word: 0 on little-endian machines.
var lastByte = 7 * uint32(1-binary.NativeEndian.Uint16([]byte{1, 0})&1)

// Mark adds local ids, for which the bitmap must have room, and returns the number of new ones. It works on bytes: consecutive ids of a
// sorted list often share a word, and loading that word would wait for its last store.
//
//go:noinline // In a larger function its loop would keep values on the stack.
func (b Bitmap) Mark(ids []uint32) (added int) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), 8*len(b))
	last := lastByte
	for _, id := range ids {
		at := &bytes[id>>3^last]
		w := uint32(*at)
		with := w | 1<<(id&7)
		*at = byte(with)
		if with != w {
			added++
		}
	}
	return added
}

// Shards returns the number of shards that have a bitmap, possibly an empty one.
func (s *VertexSet) Shards() int { return len(s.shards) }

// Bitmap returns the bitmap of a shard, which may be shorter than the shard.
func (s *VertexSet) Bitmap(shard int) Bitmap {
	if shard >= len(s.shards) {
		return nil
	}
	return s.shards[shard]
}

// Grow returns the bitmap of a shard with room for at least n local ids.
func (s *VertexSet) Grow(shard int, n uint64) Bitmap {
	for shard >= len(s.shards) {
		s.shards = append(s.shards, nil)
	}
	if words := int(n+63) / 64; words > len(s.shards[shard]) {
		b := make(Bitmap, words)
		copy(b, s.shards[shard])
		s.shards[shard] = b
	}
	return s.shards[shard]
}

// Add adds a vertex and reports whether it is new.
func (s *VertexSet) Add(v VertexID) bool {
	shard, local := v.Shard(), v.Local()
	if shard >= len(s.shards) || local>>6 >= uint64(len(s.shards[shard])) {
		n := local + 1
		if shard < len(s.shards) {
			n = max(n, uint64(len(s.shards[shard]))*64*2)
		}
		s.Grow(shard, n)
	}
	w := &s.shards[shard][local>>6]
	bit := uint64(1) << (local & 63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	return true
}

// AddAll adds vertices.
func (s *VertexSet) AddAll(vs []VertexID) {
	for len(vs) > 0 {
		shard := vs[0].Shard()
		b, n := s.Bitmap(shard), 0
		for _, v := range vs {
			at := uint64(v-MakeVertexID(shard, 0)) >> 6 // exceeds all bitmaps if the vertex is of another shard
			if at >= uint64(len(b)) {
				break
			}
			b[at] |= 1 << (v & 63)
			n++
		}
		if vs = vs[n:]; len(vs) > 0 {
			s.Add(vs[0])
			vs = vs[1:]
		}
	}
}

// AppendNew adds vertices and appends the new ones to dst.
func (s *VertexSet) AppendNew(dst, vs []VertexID) []VertexID {
	for len(vs) > 0 {
		shard := vs[0].Shard()
		b, n := s.Bitmap(shard), 0
		for _, v := range vs {
			at := uint64(v-MakeVertexID(shard, 0)) >> 6
			if at >= uint64(len(b)) {
				break
			}
			n++
			if bit := uint64(1) << (v & 63); b[at]&bit == 0 {
				b[at] |= bit
				dst = append(dst, v)
			}
		}
		if vs = vs[n:]; len(vs) > 0 {
			if s.Add(vs[0]) {
				dst = append(dst, vs[0])
			}
			vs = vs[1:]
		}
	}
	return dst
}

// Remove removes a vertex.
func (s *VertexSet) Remove(v VertexID) {
	if s.Has(v) {
		s.shards[v.Shard()][v.Local()>>6] &^= 1 << (v.Local() & 63)
	}
}

// RemoveAll removes vertices. Given all members, it empties the set without touching the rest of its memory.
func (s *VertexSet) RemoveAll(vs []VertexID) {
	for len(vs) > 0 {
		shard := vs[0].Shard()
		b, n := s.Bitmap(shard), 0
		for _, v := range vs {
			at := uint64(v-MakeVertexID(shard, 0)) >> 6
			if at >= uint64(len(b)) {
				break
			}
			b[at] &^= 1 << (v & 63)
			n++
		}
		if vs = vs[n:]; n == 0 {
			vs = vs[1:] // beyond the bitmap
		}
	}
}

// Has reports whether a vertex is in the set.
func (s *VertexSet) Has(v VertexID) bool {
	shard, local := v.Shard(), v.Local()
	return shard < len(s.shards) && local>>6 < uint64(len(s.shards[shard])) && s.shards[shard][local>>6]>>(local&63)&1 != 0
}

// Len returns the number of vertices.
func (s *VertexSet) Len() int {
	n := 0
	for _, b := range s.shards {
		for _, w := range b {
			n += bits.OnesCount64(w)
		}
	}
	return n
}

// Clear empties the set and keeps its memory.
func (s *VertexSet) Clear() {
	for _, b := range s.shards {
		clear(b)
	}
}

// Subtract removes the vertices of o.
func (s *VertexSet) Subtract(o *VertexSet) {
	for i := range s.shards {
		a, b := s.shards[i], o.Bitmap(i)
		for j := range min(len(a), len(b)) {
			a[j] &^= b[j]
		}
	}
}

// Union adds the vertices of o.
func (s *VertexSet) Union(o *VertexSet) {
	for i, b := range o.shards {
		a := s.Grow(i, uint64(len(b))*64)
		for j, w := range b {
			a[j] |= w
		}
	}
}

// AppendTo appends the vertices in ascending order.
func (s *VertexSet) AppendTo(dst []VertexID) []VertexID {
	for shard, b := range s.shards {
		for i, w := range b {
			for ; w != 0; w &= w - 1 {
				dst = append(dst, MakeVertexID(shard, uint64(i*64+bits.TrailingZeros64(w))))
			}
		}
	}
	return dst
}
