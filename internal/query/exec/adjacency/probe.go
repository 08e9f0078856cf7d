package adjacency

import (
	"sort"

	"github.com/hopgate/hopgate/internal/graph"
)

// probe looks vertices up in one neighbour list after another: by marking the list's vertices in a bitmap where there are
// enough look-ups to pay for that, else by binary search in its ascending runs, of which a list has one for each type and
// direction.
type probe struct {
	list   []graph.VertexID
	ends   []int // of the runs, once they are asked for
	marks  graph.VertexSet
	marked bool
}

// set takes in a list, which must stay as it is until clear or the next set, for about so many look-ups.
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

// clear forgets the list.
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

// find appends to dst where in the list a vertex stands.
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

// runs gives the ends of the list's ascending runs.
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

// search gives the first place in an ascending list at or after v.
func search(list []graph.VertexID, v graph.VertexID) int {
	return sort.Search(len(list), func(i int) bool { return list[i] >= v })
}
