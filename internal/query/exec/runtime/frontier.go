package runtime

import (
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Frontier turns a list of vertices into the sources of a shard request, sorted and without repeats, and maps each of them back
// to its positions in the list.
type Frontier struct {
	IDs   []graph.VertexID // sorted, without repeats
	First []int32          // positions Order[First[u]:First[u+1]] of the list hold IDs[u]
	Order []int32          // the positions in the list, by vertex and then ascending
	Pos   []int32          // by position: the index of its vertex in IDs

	a, b []vertexAt
}

// vertexAt is a vertex and its position in the list.
type vertexAt struct {
	id graph.VertexID
	at int32
}

// Set sets the list, of at most 1<<31-1 vertices.
func (f *Frontier) Set(list []graph.VertexID) {
	f.IDs, f.First, f.Order = f.IDs[:0], f.First[:0], f.Order[:0]
	if cap(f.Pos) < len(list) {
		f.Pos = make([]int32, len(list), max(len(list), 2*cap(f.Pos)))
	}
	f.Pos = f.Pos[:len(list)]
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
				f.IDs = append(f.IDs, id)
				f.First = append(f.First, int32(i))
			}
			f.Order = append(f.Order, int32(i))
			f.Pos[i] = int32(len(f.IDs) - 1)
		}
		f.First = append(f.First, int32(len(list)))
		return
	}
	f.a = f.a[:0]
	for i, id := range list {
		f.a = append(f.a, vertexAt{id, int32(i)})
	}
	f.sort()
	for i, p := range f.a {
		if i == 0 || p.id != f.a[i-1].id {
			f.IDs = append(f.IDs, p.id)
			f.First = append(f.First, int32(i))
		}
		f.Order = append(f.Order, p.at)
		f.Pos[p.at] = int32(len(f.IDs) - 1)
	}
	f.First = append(f.First, int32(len(list)))
}

// SortOnly sorts ids in place and sets nothing.
func (f *Frontier) SortOnly(ids []graph.VertexID) {
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

// radixBits is the width of a digit. The counters of one pass then fill a quarter of a first-level cache.
const radixBits = 11

// sort orders f.a by id, stably: short lists by insertion, others by a radix sort over the bits in which ids differ, which are
// few because ids are dense.
func (f *Frontier) sort() {
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
