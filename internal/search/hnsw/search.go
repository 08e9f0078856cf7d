package hnsw

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// Near is a row and its distance, in 32 bits: 1 - cos α, or the square of the Euclidean distance.
type Near struct {
	Distance float32
	Row      uint32
}

func nearer(a, b Near) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Row, b.Row))
}

// sortFor sorts rows by their distances from a row. Those of equal distances come in an order that differs from row to row: if equal vectors all
// linked with the same few of them, most could not be reached.
func sortFor(row uint32, near []Near) {
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare((a.Row^row)*0x9e3779b1, (b.Row^row)*0x9e3779b1))
	})
}

// Searcher is the memory of a search or an insertion, for one goroutine at a time.
type Searcher struct {
	g       *Graph
	x       point    // what it looks for
	visited []uint64 // a bit for each row
	marked  []uint32 // rows whose bits are set
	queue   []Near   // a heap, the nearest first: rows whose lists have not been read
	best    []Near   // a heap, the farthest first: the nearest rows so far
	batch   []uint32
	fresh   []Near
	kept    []uint32
	shrunk  []Near
	// Compared counts the vectors that the search has compared.
	Compared int

	query []float32
	codes []int8
}

// Search returns about the ef rows nearest to a probe, the nearest first; by their codes, in a quantized graph. It is not exact. ok is false if the probe is too long or too short
// for the arithmetic of the graph. The rows are valid until the next search.
func (s *Searcher) Search(g *Graph, probe *vector.Probe, ef int) (rows []Near, ok bool) {
	s.query = append(s.query[:0], probe.Coordinates()...)
	for len(s.query) < g.stride {
		s.query = append(s.query, 0)
	}
	length := vector.Length(s.query)
	if len(s.query) != g.stride || !Fits(g.o.Similarity, length) {
		return nil, false
	}
	s.Compared = 0
	start, highest, ok := g.top()
	if !ok {
		return nil, true
	}
	x := point{coords: s.query, factor: float32(1 / length)}
	if g.o.Quantized {
		x = g.quantize(s.codes[:0], s.query)
		s.codes = x.codes
	}
	s.begin(g, x)
	s.descend(start, highest, 0)
	s.search(0, ef)
	slices.SortFunc(s.best, nearer)
	return s.best, true
}

func (s *Searcher) begin(g *Graph, x point) {
	s.g, s.x = g, x
	if words := (g.Rows() + 63) / 64; len(s.visited) < words {
		s.visited = append(s.visited, make([]uint64, words-len(s.visited)+words/8)...)
	}
}

// visit marks a row and reports whether it was not marked.
func (s *Searcher) visit(row uint32) bool {
	w, bit := row/64, uint64(1)<<(row%64)
	if int(w) >= len(s.visited) { // the graph has grown since the search began
		s.visited = append(s.visited, make([]uint64, int(w)+1-len(s.visited))...)
	}
	if s.visited[w]&bit != 0 {
		return false
	}
	s.visited[w] |= bit
	s.marked = append(s.marked, row)
	return true
}

func (s *Searcher) forget() {
	for _, row := range s.marked {
		s.visited[row/64] = 0
	}
	s.marked = s.marked[:0]
}

// descend makes best the nearest rows that a search from a row at a level finds in the levels above another one. The paper keeps one row there
// (algorithm 5); it stays in the cluster that it meets first, and where vectors lie in clusters upperEf rows find the right one.
func (s *Searcher) descend(start uint32, from, to int) {
	s.batch = append(s.batch[:0], start)
	s.best = s.measure(s.best[:0], &s.x, s.batch)
	for l := from; l > to; l-- {
		s.search(l, upperEf)
	}
}

// search makes best the ef rows of a level nearest to x that it finds from those in best: algorithm 2 of the paper.
func (s *Searcher) search(level, ef int) {
	defer s.forget()
	slices.SortFunc(s.best, nearer)
	s.best = s.best[:min(len(s.best), ef)]
	s.queue = append(s.queue[:0], s.best...)
	slices.Reverse(s.best)
	for _, n := range s.best {
		s.visit(n.Row)
	}
	for len(s.queue) > 0 {
		next := s.queue[0]
		if len(s.best) >= ef && next.Distance > s.best[0].Distance {
			return
		}
		s.popQueue()
		s.batch = s.batch[:0]
		for list := s.g.links(next.Row, level); len(list) > 0; list = list[1:] {
			other := atomic.LoadUint32(&list[0])
			if other == none {
				break
			}
			if s.visit(other) {
				s.batch = append(s.batch, other)
			}
		}
		s.fresh = s.measure(s.fresh[:0], &s.x, s.batch)
		for _, n := range s.fresh {
			if len(s.best) < ef {
				s.pushQueue(n)
				s.pushBest(n)
			} else if n.Distance < s.best[0].Distance {
				s.pushQueue(n)
				s.best[0] = n
				s.sinkBest()
			}
		}
	}
}

// measure appends the distances of rows from a vector.
func (s *Searcher) measure(dst []Near, x *point, rows []uint32) []Near {
	g := s.g
	s.Compared += len(rows)
	chunks := *g.chunks.Load()
	for len(rows) > 0 {
		n := min(len(rows), 4)
		var four vector.Four
		var codes vector.FourCodes
		var factor, square, out [4]float32
		for k := range four {
			row := rows[min(k, n-1)]
			c, i := &chunks[row/ChunkRows], int(row%ChunkRows)
			factor[k] = c.factors[i]
			if g.o.Quantized {
				codes[k], square[k] = &c.codes[i*g.stride], c.squares[i]
			} else {
				four[k] = &c.coords[i*g.stride]
			}
		}
		switch {
		case g.o.Quantized:
			var dots [4]int32
			vector.DotCodes(x.codes, &codes, &dots)
			for k := range out {
				out[k] = x.square + square[k] - 2*(x.factor*float32(dots[k]))*factor[k]
			}
		case g.o.Similarity == graph.Euclidean:
			vector.SquareDistances(x.coords, &four, &out)
		default:
			vector.Dots(x.coords, &four, &out)
			for k := range out {
				out[k] = 1 - out[k]*x.factor*factor[k]
			}
		}
		for k, row := range rows[:n] {
			dst = append(dst, Near{out[k], row})
		}
		rows = rows[n:]
	}
	return dst
}

// choose appends the rows to link with, m at most, of those in from, the nearest first: algorithm 4 of the paper. A row is left out
// if one that was chosen is nearer to it than what it would be linked with, so links lead in different directions.
func (s *Searcher) choose(dst []uint32, from []Near, m int) []uint32 {
	at := len(dst)
	for _, n := range from {
		if len(dst)-at == m {
			break
		}
		if s.apart(n, dst[at:]) {
			dst = append(dst, n.Row)
		}
	}
	return dst
}

func (s *Searcher) apart(n Near, chosen []uint32) bool {
	x := s.g.point(n.Row)
	for len(chosen) > 0 {
		k := min(len(chosen), 4)
		s.fresh = s.measure(s.fresh[:0], &x, chosen[:k])
		for _, o := range s.fresh {
			if o.Distance < n.Distance {
				return false
			}
		}
		chosen = chosen[k:]
	}
	return true
}

func (s *Searcher) pushQueue(n Near) {
	h := append(s.queue, n)
	i := len(h) - 1
	for i > 0 && n.Distance < h[(i-1)/2].Distance {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = n
	s.queue = h
}

func (s *Searcher) popQueue() {
	h := s.queue
	n := h[len(h)-1]
	h = h[:len(h)-1]
	s.queue = h
	if len(h) == 0 {
		return
	}
	i := 0
	for {
		below := 2*i + 1
		if below >= len(h) {
			break
		}
		if below+1 < len(h) && h[below+1].Distance < h[below].Distance {
			below++
		}
		if n.Distance <= h[below].Distance {
			break
		}
		h[i] = h[below]
		i = below
	}
	h[i] = n
}

func (s *Searcher) pushBest(n Near) {
	h := append(s.best, n)
	i := len(h) - 1
	for i > 0 && n.Distance > h[(i-1)/2].Distance {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = n
	s.best = h
}

func (s *Searcher) sinkBest() {
	h, n, i := s.best, s.best[0], 0
	for {
		below := 2*i + 1
		if below >= len(h) {
			break
		}
		if below+1 < len(h) && h[below+1].Distance > h[below].Distance {
			below++
		}
		if n.Distance >= h[below].Distance {
			break
		}
		h[i] = h[below]
		i = below
	}
	h[i] = n
}

// Size is about the memory of the searcher in bytes.
func (s *Searcher) Size() int {
	return 8*cap(s.visited) + cap(s.codes) + 4*(cap(s.marked)+cap(s.query)+cap(s.batch)+cap(s.kept)) + 8*(cap(s.queue)+cap(s.best)+cap(s.fresh)+cap(s.shrunk))
}
