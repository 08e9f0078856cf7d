package adjacency

import (
	"sort"

	"github.com/hopgate/hopgate/internal/graph"
)

// probe looks up vertices in one neighbour list after another. It marks the list's vertices in a bitmap if there are enough
// look-ups; otherwise it searches the list's ascending runs, one for each type and direction.
type probe struct {
	list   []graph.VertexID
	ends   []int // of the runs; computed on demand
	marks  graph.VertexSet
	marked bool
}

// set sets the list, which must not change until clear or the next set, for about that many look-ups.
func (p *probe) set(list []graph.VertexID, lookups int) {
	p.clear()
	p.list = list
	if lookups >= 4 && lookups*8 >= len(list) {
		p.marked = true
		for _, v := range list {
			p.marks.Add(v)
		}
	}
}

// clear removes the list.
func (p *probe) clear() {
	if p.marked {
		p.marks.RemoveAll(p.list)
		p.marked = false
	}
	p.list, p.ends = nil, p.ends[:0]
}

// has reports whether a vertex is in the list.
func (p *probe) has(v graph.VertexID) bool {
	if p.marked {
		return p.marks.Has(v)
	}
	lo := 0
	for _, hi := range p.runs() {
		if at := search(p.list[lo:hi], v); at < hi-lo && p.list[lo+at] == v {
			return true
		}
		lo = hi
	}
	return false
}

// find appends to dst the positions of a vertex in the list.
func (p *probe) find(v graph.VertexID, dst []int) []int {
	if p.marked && !p.marks.Has(v) {
		return dst
	}
	lo := 0
	for _, hi := range p.runs() {
		for at := lo + search(p.list[lo:hi], v); at < hi && p.list[at] == v; at++ {
			dst = append(dst, at)
		}
		lo = hi
	}
	return dst
}

// runs returns the ends of the list's ascending runs.
func (p *probe) runs() []int {
	if len(p.ends) == 0 && len(p.list) > 0 {
		for i := 1; i < len(p.list); i++ {
			if p.list[i-1] > p.list[i] {
				p.ends = append(p.ends, i)
			}
		}
		p.ends = append(p.ends, len(p.list))
	}
	return p.ends
}

// search returns the first position in an ascending list at or after v.
func search(list []graph.VertexID, v graph.VertexID) int {
	return sort.Search(len(list), func(i int) bool { return list[i] >= v })
}
