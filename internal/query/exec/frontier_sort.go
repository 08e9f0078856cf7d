package exec

import (
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// frontier makes a list of vertices what a shard request wants, sorted and without repeats, and leads from each of its
// vertices back to the places where it stood.
type frontier struct {
	ids   []graph.VertexID // sorted, without repeats
	first []int32          // places order[first[u]:first[u+1]] held ids[u]
	order []int32          // the places in the list in the order of their vertices, equal ones in ascending order
	pos   []int32          // by place: the index of its vertex in ids

	a, b []vertexAt
}

// vertexAt is a vertex and its place in the list.
type vertexAt struct {
	id graph.VertexID
	at int32
}

// set takes in a list. It may be longer than a batch, but not longer than 1<<31-1.
func (f *frontier) set(list []graph.VertexID) {
	f.ids, f.first, f.order = f.ids[:0], f.first[:0], f.order[:0]
	if cap(f.pos) < len(list) {
		f.pos = make([]int32, len(list), max(len(list), 2*cap(f.pos)))
	}
	f.pos = f.pos[:len(list)]
	sorted := true
	for i := 1; i < len(list); i++ {
		if list[i-1] > list[i] {
			sorted = false
			break
		}
	}
	if sorted {
		for i, id := range list {
			if i == 0 || id != list[i-1] {
				f.ids = append(f.ids, id)
				f.first = append(f.first, int32(i))
			}
			f.order = append(f.order, int32(i))
			f.pos[i] = int32(len(f.ids) - 1)
		}
		f.first = append(f.first, int32(len(list)))
		return
	}
	f.a = f.a[:0]
	for i, id := range list {
		f.a = append(f.a, vertexAt{id, int32(i)})
	}
	f.sort()
	for i, p := range f.a {
		if i == 0 || p.id != f.a[i-1].id {
			f.ids = append(f.ids, p.id)
			f.first = append(f.first, int32(i))
		}
		f.order = append(f.order, p.at)
		f.pos[p.at] = int32(len(f.ids) - 1)
	}
	f.first = append(f.first, int32(len(list)))
}

// sortOnly sorts ids, and takes in none of them.
func (f *frontier) sortOnly(ids []graph.VertexID) {
	if slices.IsSorted(ids) {
		return
	}
	f.a = f.a[:0]
	for _, id := range ids {
		f.a = append(f.a, vertexAt{id: id})
	}
	f.sort()
	for i, p := range f.a {
		ids[i] = p.id
	}
}

// radixBits is the width of a digit; the counters of one pass then fill a quarter of a first-level cache.
const radixBits = 11

// sort orders f.a by id, stably: short lists by insertion, others by a radix sort over the bits in which ids differ at
// all, which with dense ids are few.
func (f *frontier) sort() {
	a := f.a
	if len(a) <= 32 {
		for i := 1; i < len(a); i++ {
			p := a[i]
			j := i
			for ; j > 0 && a[j-1].id > p.id; j-- {
				a[j] = a[j-1]
			}
			a[j] = p
		}
		return
	}
	or, and := graph.VertexID(0), ^graph.VertexID(0)
	for _, p := range a {
		or |= p.id
		and &= p.id
	}
	if cap(f.b) < len(a) {
		f.b = make([]vertexAt, len(a), cap(a))
	}
	b := f.b[:len(a)]
	differ := uint64(or &^ and)
	for differ != 0 {
		shift := bits.TrailingZeros64(differ)
		differ &^= (1<<radixBits - 1) << shift
		var counts [1 << radixBits]int32
		for i := range a {
			counts[a[i].id>>shift&(1<<radixBits-1)]++
		}
		sum := int32(0)
		for i, n := range counts {
			counts[i] = sum
			sum += n
		}
		for i := range a {
			c := &counts[a[i].id>>shift&(1<<radixBits-1)]
			b[*c] = a[i]
			*c++
		}
		a, b = b, a
	}
	f.a, f.b = a, b
}
