// Package csr is the reference for traversals: bare arrays walked by one thread.
package csr

// Graph holds the out-neighbours of vertex v at Targets[Offsets[v]:Offsets[v+1]].
type Graph struct {
	Offsets []uint32
	Targets []uint32
}

// New sorts edges from Src[i] to Dst[i] among n vertices into a Graph.
func New(n int, src, dst []uint32) *Graph {
	g := &Graph{Offsets: make([]uint32, n+1), Targets: make([]uint32, len(src))}
	for _, s := range src {
		g.Offsets[s+1]++
	}
	for i := range n {
		g.Offsets[i+1] += g.Offsets[i]
	}
	at := append([]uint32(nil), g.Offsets[:n]...)
	for i, s := range src {
		g.Targets[at[s]] = dst[i]
		at[s]++
	}
	return g
}

// Walk counts the distinct vertices that walks of a number of hops reach.
type Walk struct {
	g         *Graph
	now, next []uint32
	seen      []uint64
}

// NewWalk returns a Walk, whose memory serves all its counts.
func NewWalk(g *Graph) *Walk { return &Walk{g: g, seen: make([]uint64, (len(g.Offsets)+63)/64)} }

// Count returns the number of distinct vertices at the end of walks of hops edges from start.
func (w *Walk) Count(start uint32, hops int) int {
	w.now = append(w.now[:0], start)
	for range hops {
		clear(w.seen)
		w.next = w.next[:0]
		for _, v := range w.now {
			for _, t := range w.g.Targets[w.g.Offsets[v]:w.g.Offsets[v+1]] {
				if bit := uint64(1) << (t & 63); w.seen[t>>6]&bit == 0 {
					w.seen[t>>6] |= bit
					w.next = append(w.next, t)
				}
			}
		}
		w.now, w.next = w.next, w.now
	}
	return len(w.now)
}
