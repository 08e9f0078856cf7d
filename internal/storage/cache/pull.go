package cache

import (
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
)

// worthPulling compares the edges that pushing and pulling are likely to touch (Beamer, Asanović, Patterson:
// Direction-Optimizing Breadth-First Search, 2012). Pushing walks every list of the frontier. Pulling walks the list
// of each vertex outside of out up to the first vertex of the frontier, which comes the sooner the larger the frontier is.
func (s *stepper) worthPulling() bool {
	if s.frontier < minParallel/2 {
		return false
	}
	vertices, edges, known := uint64(0), 0, 0
	for _, v := range s.views {
		if v == nil || v.touched != nil {
			return false
		}
		vertices += v.vertices
	}
	for i := range s.parts {
		p := &s.parts[i]
		if t := p.view.lists.tables.find(tableIndex(s.typ, s.dir)); t != nil {
			if slot := t.find(p.block); slot != nil {
				if seg := slot.seg.Load(); seg != nil {
					edges += len(seg.data.targets)
					known++
				}
			}
		}
	}
	if known == 0 {
		return false
	}
	degree := float64(edges) / float64(known*ListBlock)
	candidates := float64(vertices) - float64(s.out.Len())
	return WorthPulling(float64(s.frontier), float64(vertices), candidates, degree)
}

// Pull adds to out those vertices of the shards that have a view which have an edge from a vertex of from, whatever shard
// that is in; the other views are nil, and all are of readers. It reports whether it did: it does not where it would need a
// list that is not here.
func Pull(views []*ListView, typ graph.TypeID, dir graph.Direction, from, out *graph.VertexSet, workers int) (bool, error) {
	s := &stepper{views: views, typ: typ, dir: dir, from: from, out: out, workers: max(workers, 1)}
	return s.pull()
}

// WorthPulling compares the edges that a step from so many vertices of a graph is likely to touch by pushing and by
// pulling, where unknown ends are candidates; degree is the mean number of edges.
func WorthPulling(frontier, vertices, candidates, degree float64) bool {
	if frontier < minParallel/2 {
		return false
	}
	push := frontier * (degree + 2)
	pull := 2 * candidates * (min(degree, vertices/frontier) + 2)
	return pull < push
}

// pull looks for each vertex outside of out whether its opposite list has a vertex of from. It gives up, having
// changed nothing that matters, if it would need a list that is not here.
func (s *stepper) pull() (bool, error) {
	dir := s.dir.Reverse()
	var parts []part
	var segs []Cursor
	for shard, v := range s.views {
		if v == nil {
			continue
		}
		out := s.out.Grow(shard, v.vertices)
		var cur Cursor
		v.Cursor(&cur, s.typ, dir, Want{})
		for block := uint64(0); block*ListBlock < v.vertices; block++ {
			n := ListBlock
			for _, w := range window(out, block) {
				n -= bits.OnesCount64(w)
			}
			if n == 0 {
				continue
			}
			ok, err := cur.seek(block, n)
			if !ok || err != nil {
				return false, err
			}
			parts = append(parts, part{v, shard, block, len(segs)})
			segs = append(segs, cur)
		}
	}
	workers := min(s.workers, max(len(parts), 1))
	err := s.run(parts, workers, func(_ int, p *part) error {
		cur := &segs[p.n]
		s.pullPart(p, cur)
		return nil
	})
	return true, err
}

func (s *stepper) pullPart(p *part, cur *Cursor) {
	words := window(s.out.Bitmap(p.shard), p.block)
	last := p.view.vertices - p.block*ListBlock // vertices from the block's first on
	ids := p.view.lists.ids
	for w, word := range words {
		m := ^word
		if uint64(w)*64+64 > last {
			m &= ^(^uint64(0) << (last & 63))
			if uint64(w)*64 >= last {
				break
			}
		}
		if cur.over != nil {
			if dirty := cur.over.mask(w) & m; dirty != 0 {
				words[w] |= s.pullDirty(cur, w, dirty)
				m &^= dirty
			}
		}
		if ids.shards == 1 {
			words[w] |= pullOne(s.from.Bitmap(0), w, m, cur.data.offsets, cur.data.targets)
		} else {
			words[w] |= s.pullMany(cur, w, m)
		}
	}
}

// pullOne returns those of the vertices m of word w that have a target in from, in a graph of one shard.
func pullOne(from graph.Bitmap, w int, m uint64, offsets, targets []uint32) uint64 {
	var found uint64
	for ; m != 0; m &= m - 1 {
		bit := bits.TrailingZeros64(m)
		at := w<<6 + bit
		for _, t := range targets[offsets[at]:offsets[at+1]] {
			if i := int(t >> 6); i < len(from) && from[i]>>(t&63)&1 != 0 {
				found |= 1 << bit
				break
			}
		}
	}
	return found
}

func (s *stepper) pullMany(cur *Cursor, w int, m uint64) uint64 {
	var found uint64
	d := cur.data
	for ; m != 0; m &= m - 1 {
		bit := bits.TrailingZeros64(m)
		at := w<<6 + bit
		if s.anyIn(cur.view.lists.ids, d.targets[d.offsets[at]:d.offsets[at+1]]) {
			found |= 1 << bit
		}
	}
	return found
}

func (s *stepper) pullDirty(cur *Cursor, w int, m uint64) uint64 {
	var found uint64
	for ; m != 0; m &= m - 1 {
		bit := bits.TrailingZeros64(m)
		if l, ok := cur.list(uint32(w<<6 + bit)); ok && s.anyIn(cur.view.lists.ids, l.Targets) {
			found |= 1 << bit
		}
	}
	return found
}

func (s *stepper) anyIn(ids IDs, list []uint32) bool {
	for _, t := range list {
		if s.from.Has(ids.unpack(t)) {
			return true
		}
	}
	return false
}
