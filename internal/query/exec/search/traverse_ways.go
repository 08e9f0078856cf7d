package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// traverseWays keeps every way apart: walks, trails and acyclic ones. It goes depth first, a part of a level at a time, so
// that the memory grows with the number of hops alone; see trails.
type traverseWays struct {
	*traverse
	levels []*wayLevel
	depth  int // the level at work; -1: at the end
	held   int // entries that the levels have had room for
}

// wayLevel holds ways of one length by their last edge.
type wayLevel struct {
	vertex []graph.VertexID
	parent []int32 // the entry of the level above that it continues; not at level 0
	edge   []graph.Edge
	given  int // entries that are given as rows

	// Entries before hi are in the frontier, those at[place]; the sources before base are done, and places k … end are
	// those of the present answer that are left, off the edges of place k that are done.
	hi          int
	list        []graph.VertexID
	at          []int32
	f           runtime.Frontier
	base        int
	k, end, off int
}

// wayBytes is what an entry of a level takes.
const wayBytes = 8 + 4 + 32

// wayEntries is how many ways are continued with one request.
const wayEntries = 4 * graph.BatchSize

func newTraverseWays(x *traverse) *traverseWays {
	w := &traverseWays{traverse: x}
	for _, h := range x.hops {
		h.Edges = x.edgeAt >= 0 || x.pathAt >= 0 || x.n.Mode == plan.ModeTrail
	}
	for range len(x.hops) + 1 {
		w.levels = append(w.levels, &wayLevel{})
	}
	return w
}

func (l *wayLevel) reset() {
	l.vertex, l.parent, l.edge = l.vertex[:0], l.parent[:0], l.edge[:0]
	l.given, l.hi, l.base, l.k, l.end, l.off = 0, 0, 0, 0, 0, 0
	l.f.IDs = l.f.IDs[:0]
}

func (w *traverseWays) Open(ctx context.Context) error {
	for _, l := range w.levels {
		l.reset()
	}
	w.depth = 0
	return w.traverse.open(ctx)
}

func (w *traverseWays) Next(ctx context.Context) (*runtime.Batch, error) {
	w.out.Reset(w.width())
	if !w.loaded {
		if err := w.load(ctx); err != nil {
			return nil, err
		}
		w.levels[0].vertex = append(w.levels[0].vertex, w.starts...)
	}
	for w.depth >= 0 && w.out.N < w.r.BatchSize() {
		l := w.levels[w.depth]
		if w.depth >= w.n.Min && l.given < len(l.vertex) {
			w.give(l)
			continue
		}
		more := false
		if w.depth < len(w.hops) && !w.stop {
			var err error
			if more, err = w.grow(ctx, l, w.levels[w.depth+1]); err != nil {
				return nil, err
			}
		}
		if more {
			w.depth++
		} else {
			w.depth--
		}
	}
	if w.out.N == 0 {
		return nil, nil
	}
	return &w.out, nil
}

// grow fills the level below with continuations of the next part of a level; it reports whether there are any.
func (w *traverseWays) grow(ctx context.Context, l, below *wayLevel) (more bool, err error) {
	if w.r.Late() {
		w.stop = true
		return false, nil
	}
	h := w.hops[w.depth]
	below.reset()
	for len(below.vertex) == 0 {
		switch {
		case l.k < l.end:
			before := cap(below.vertex)
			w.take(h, l, below)
			w.held += cap(below.vertex) - before
			if err := w.hold(wayBytes * w.held); err != nil && !w.endedBy(err) {
				return false, err
			}
		case l.base+h.Answer.Done < len(l.f.IDs) && !h.full():
			if err := w.r.Alive(ctx); err != nil {
				return false, err
			}
			l.base += h.Answer.Done
			if err := h.next(ctx, l.f.IDs[l.base:], adjacency.MaxEdges); err != nil {
				h.Answer.Done, l.base = 0, len(l.f.IDs)
				if w.endedBy(err) {
					return false, nil
				}
				return false, err
			}
			l.k, l.end, l.off = int(l.f.First[l.base]), int(l.f.First[l.base+h.Answer.Done]), 0
		case l.hi < len(l.vertex) && !h.full():
			if err := w.chunk(ctx, h, l); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
	}
	return true, nil
}

// chunk makes the next entries of a level the frontier.
func (w *traverseWays) chunk(ctx context.Context, h *cappedHop, l *wayLevel) error {
	lo := l.hi
	l.hi = min(lo+wayEntries, len(l.vertex))
	l.list, l.at = l.list[:0], l.at[:0]
	keep, err := h.admit(ctx, l.vertex[lo:l.hi])
	if err != nil {
		return err
	}
	for i := lo; i < l.hi; i++ {
		if keep == nil || keep[i-lo] {
			l.list, l.at = append(l.list, l.vertex[i]), append(l.at, int32(i))
		}
	}
	l.f.Set(l.list)
	l.base, l.k, l.end, l.off, h.Answer.Done = 0, 0, 0, 0, 0
	return nil
}

// take adds continuations from the present answer until there are about enough of them.
func (w *traverseWays) take(h *cappedHop, l, below *wayLevel) {
	for l.k < l.end && len(below.vertex) < wayEntries {
		entry := l.at[l.f.Order[l.k]]
		u := int(l.f.Pos[l.f.Order[l.k]]) - l.base
		lo, hi := h.Answer.Offsets[u]+l.off, h.Answer.Offsets[u+1]
		l.off = 0
		if room := wayEntries - len(below.vertex); hi-lo > room {
			hi = lo + room
			l.off = hi - h.Answer.Offsets[u]
		} else {
			l.k++
		}
		for i := lo; i < hi; i++ {
			if w.repeats(h, i, entry) {
				continue
			}
			below.vertex = append(below.vertex, h.Answer.Targets[i])
			below.parent = append(below.parent, entry)
			if h.Edges {
				below.edge = append(below.edge, h.Edge(i, l.vertex[entry]))
			}
		}
	}
}

// repeats reports whether edge i of the answer would repeat what may not be repeated on the way to an entry of the
// present level.
func (w *traverseWays) repeats(h *cappedHop, i int, entry int32) bool {
	switch w.n.Mode {
	case plan.ModeTrail:
		for d := w.depth; d > 0; d-- {
			if w.levels[d].edge[entry].ID == h.Answer.Edges[i] {
				return true
			}
			entry = w.levels[d].parent[entry]
		}
	case plan.ModeAcyclic:
		for d := w.depth; d >= 0; d-- {
			if w.levels[d].vertex[entry] == h.Answer.Targets[i] {
				return true
			}
			if d > 0 {
				entry = w.levels[d].parent[entry]
			}
		}
	}
	return false
}

// give adds rows of the present level.
func (w *traverseWays) give(l *wayLevel) {
	n := min(w.r.BatchSize()-w.out.N, len(l.vertex)-l.given)
	for i := l.given; i < l.given+n; i++ {
		w.addVertex(l.vertex[i])
		w.addHop(w.depth)
		if w.edgeAt >= 0 {
			if w.depth > 0 {
				w.addEdge(l.edge[i], true)
			} else {
				w.addEdge(graph.Edge{}, false)
			}
		}
		if w.startAt >= 0 || w.pathAt >= 0 {
			w.addWay(int32(i))
		}
	}
	l.given += n
	w.out.N += n
}

// addWay adds the start of the way to an entry of the present level, and the way itself.
func (w *traverseWays) addWay(entry int32) {
	var p *graph.Path
	if w.pathAt >= 0 {
		p = &graph.Path{Vertices: make([]graph.Value, 0, w.depth+1), Edges: make([]graph.Value, 0, w.depth)}
	}
	for d := w.depth; d > 0; d-- {
		l := w.levels[d]
		if p != nil {
			p.Vertices = append(p.Vertices, graph.VertexValue(l.vertex[entry]))
			p.Edges = append(p.Edges, graph.EdgeRefValue(w.writer.Keep(l.edge[entry])))
		}
		entry = l.parent[entry]
	}
	start := w.levels[0].vertex[entry]
	if w.startAt >= 0 {
		col := &w.out.Cols[w.startAt]
		col.IDs = append(col.IDs, start)
	}
	if p != nil {
		p.Vertices = append(p.Vertices, graph.VertexValue(start))
		slices.Reverse(p.Vertices)
		slices.Reverse(p.Edges)
		col := &w.out.Cols[w.pathAt]
		col.Vals = append(col.Vals, graph.PathValue(p))
	}
}
