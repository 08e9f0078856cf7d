package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// traverseWays enumerates walks, trails and acyclic paths. It searches depth first, part by part of a level, so the memory
// grows only with the number of hops; see trails.
type traverseWays struct {
	*traverse
	levels []*wayLevel
	depth  int // the current level; -1: at the end
}

// wayLevel holds paths of one length by their last edge. The first given of them have been returned.
type wayLevel struct {
	level
	edge []graph.Edge
	at   []int32 // beside the frontier's places: their entries
}

// wayEntries is how many paths one request continues.
const wayEntries = 4 * graph.BatchSize

func newTraverseWays(x *traverse) *traverseWays {
	w := &traverseWays{traverse: x}
	for _, h := range x.hops {
		h.Edges = x.edgeAt >= 0 || x.pathAt >= 0 || x.n.Mode == plan.ModeTrail
	}
	for _, h := range x.hops {
		w.levels = append(w.levels, &wayLevel{level: level{kernel: newKernel(x.r, "Traverse", h.Reader)}})
	}
	w.levels = append(w.levels, &wayLevel{level: level{kernel: newKernel(x.r, "Traverse", nil)}})
	return w
}

func (l *wayLevel) reset() {
	l.level.reset()
	l.edge = l.edge[:0]
}

func (w *traverseWays) Open(ctx context.Context) error {
	for _, l := range w.levels {
		l.reset()
	}
	w.depth = 0
	return w.traverse.open(ctx)
}

func (w *traverseWays) Close() {
	for _, l := range w.levels {
		l.release()
	}
	w.traverse.Close()
}

func (w *traverseWays) Next(ctx context.Context) (*runtime.Batch, error) {
	w.out.Reset(w.width())
	if !w.loaded {
		if err := w.load(ctx); err != nil {
			return nil, err
		}
		w.levels[0].ids = append(w.levels[0].ids, w.starts...)
	}
	for w.depth >= 0 && w.out.N < w.r.BatchSize() {
		l := w.levels[w.depth]
		if w.depth >= w.n.Min && l.given < len(l.ids) {
			w.emit(l)
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
	if w.r.Expired() {
		w.stop = true
		return false, nil
	}
	h := w.hops[w.depth]
	below.reset()
	for len(below.ids) == 0 {
		switch {
		case l.k < l.end:
			w.extend(h, l, below)
			if err := w.holdLevels(); err != nil && !w.endedBy(err) {
				return false, err
			}
		case len(l.unread()) > 0 && !h.full():
			if err := w.r.CheckCancel(ctx); err != nil {
				return false, err
			}
			l.base += h.Answer.Done
			if err := h.next(ctx, l.frontier.IDs[l.base:], adjacency.MaxEdges); err != nil {
				h.Answer.Done, l.base = 0, len(l.frontier.IDs)
				if w.endedBy(err) {
					return false, nil
				}
				return false, err
			}
			l.answered()
		case l.hi < len(l.ids) && !h.full():
			if err := w.chunk(ctx, h, l); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
	}
	return true, nil
}

// holdLevels accounts for the levels.
func (w *traverseWays) holdLevels() error {
	n := 0
	for _, l := range w.levels {
		n += l.bytes() + 32*len(l.edge)
	}
	return w.acct.GrowTo(n)
}

// chunk takes the next entries of a level as the frontier.
func (w *traverseWays) chunk(ctx context.Context, h *cappedReader, l *wayLevel) error {
	part := l.part(wayEntries)
	keep, err := h.admit(ctx, part)
	if err != nil {
		return err
	}
	l.chain, l.at = l.chain[:0], l.at[:0]
	for i, v := range part {
		if keep == nil || keep[i] {
			l.chain, l.at = append(l.chain, v), append(l.at, int32(l.lo+i))
		}
	}
	l.frontier.Set(l.chain)
	return nil
}

// extend adds continuations from the current answer until there are about enough of them.
func (w *traverseWays) extend(h *cappedReader, l, below *wayLevel) {
	to := below.memory
	for l.k < l.end && len(to.ids) < wayEntries {
		place, lo, hi := l.take(wayEntries - len(to.ids))
		entry := l.at[place]
		for i := lo; i < hi; i++ {
			if w.repeats(h, i, entry) {
				continue
			}
			to.ids = append(to.ids, h.Answer.Targets[i])
			to.parent = append(to.parent, entry)
			if h.Edges {
				below.edge = append(below.edge, h.Edge(i, l.ids[entry]))
			}
		}
	}
}

// repeats reports whether edge i of the answer repeats an edge or a vertex that the mode forbids on the path of an entry of the
// current level.
func (w *traverseWays) repeats(h *cappedReader, i int, entry int32) bool {
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
			if w.levels[d].ids[entry] == h.Answer.Targets[i] {
				return true
			}
			if d > 0 {
				entry = w.levels[d].parent[entry]
			}
		}
	}
	return false
}

// emit returns entries of the current level.
func (w *traverseWays) emit(l *wayLevel) {
	n := min(w.r.BatchSize()-w.out.N, len(l.ids)-l.given)
	for i := l.given; i < l.given+n; i++ {
		w.addVertex(l.ids[i])
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

// addWay adds the start and the path of an entry of the current level to a row.
func (w *traverseWays) addWay(entry int32) {
	var p *graph.Path
	if w.pathAt >= 0 {
		p = &graph.Path{Vertices: make([]graph.Value, 0, w.depth+1), Edges: make([]graph.Value, 0, w.depth)}
	}
	for d := w.depth; d > 0; d-- {
		l := w.levels[d]
		if p != nil {
			p.Vertices = append(p.Vertices, graph.VertexValue(l.ids[entry]))
			p.Edges = append(p.Edges, graph.EdgeRefValue(w.writer.Keep(l.edge[entry])))
		}
		entry = l.parent[entry]
	}
	start := w.levels[0].ids[entry]
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
