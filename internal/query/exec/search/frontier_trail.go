package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// trailWalk finds the ends of the trails that follow a row of hops, set by set, without following all trails.
//
// At each hop, it keeps for each end one trail that leads there, its witness. An edge beyond an end that is not in the witness
// extends it to a longer trail, so its end has a witness too. If all edges to a vertex are in the witnesses of their sources,
// another trail may still lead there; only then does it search for one, backwards through the sets of the hops. This finds exactly
// the ends: a trail to a vertex begins with a trail that is shorter by one edge, whose end has a witness, so the search has seen its
// last edge.
//
// A witness is a list of vertices. Two edges between the same vertices count as one, which errs on the safe side.
type trailWalk struct {
	kernel  // the ends of the last hop; those in ids may have no trail
	readers []*adjacency.Reader
	back    []*adjacency.Reader // parallel to readers: against the hop, with edges, without labels
	levels  []*trailSet
	depth   int // hops that have been made
}

// trailSet holds the ends of trails of one length, each with a witness: parent is the previous vertex by its position in the
// previous set, or a path, by ^position in paths. The frontier is set once the set is complete.
type trailSet struct {
	kernel
	paths [][]graph.VertexID // witnesses that a search has found
}

// place returns the position of a vertex in a complete set.
func (s *trailSet) place(v graph.VertexID) int32 {
	i, _ := slices.BinarySearch(s.frontier.IDs, v)
	return s.frontier.Order[i]
}

func newTrailWalk(r *runtime.Run, name string, readers []*adjacency.Reader) *trailWalk {
	w := &trailWalk{kernel: newKernel(r, name, nil), readers: readers}
	for _, h := range readers {
		b := &adjacency.Reader{Run: r, Types: h.Types, Dir: h.Dir.Reverse(), Filter: h.Filter, Back: true, Edges: true}
		w.back = append(w.back, b)
	}
	return w
}

// release returns the memory.
func (w *trailWalk) release() {
	for _, s := range w.levels {
		s.release()
	}
	w.kernel.release()
}

// hop returns the hop of a length; the last one repeats.
func (w *trailWalk) hop(depth int) int { return min(depth, len(w.readers)-1) }

// start starts with trails of no edges.
func (w *trailWalk) start(vertices []graph.VertexID) {
	w.begin()
	w.depth = 0
	s := w.level(0)
	s.addAll(vertices)
	s.frontier.Set(s.list)
	s.parent = append(s.parent, make([]int32, len(s.list))...)
}

// level returns the set of a length, empty.
func (w *trailWalk) level(depth int) *trailSet {
	for len(w.levels) <= depth {
		w.levels = append(w.levels, &trailSet{kernel: newKernel(w.r, w.acct.Name, nil)})
	}
	s := w.levels[depth]
	s.begin()
	s.paths = s.paths[:0]
	return s
}

// ends returns the ends of the current length, sorted.
func (w *trailWalk) ends() []graph.VertexID { return w.levels[w.depth].frontier.IDs }

// advance extends the trails by a hop.
func (w *trailWalk) advance(ctx context.Context) error {
	if err := w.extend(ctx); err != nil {
		return err
	}
	to := w.levels[w.depth]
	to.frontier.Set(to.list)
	return w.account()
}

// extend is advance without sorting the ends.
func (w *trailWalk) extend(ctx context.Context) error {
	from, to := w.levels[w.depth], w.level(w.depth+1)
	h := w.readers[w.hop(w.depth)]
	w.swapAnswer(h)
	defer w.swapAnswer(h)
	w.ids = w.ids[:0]
	for base := 0; base < len(from.frontier.IDs); base += h.Answer.Done {
		if err := w.r.CheckCancel(ctx); err != nil {
			return err
		}
		if err := h.Read(ctx, from.frontier.IDs[base:], adjacency.MaxEdges); err != nil {
			return err
		}
		for u := range h.Answer.Done {
			place := from.frontier.Order[base+u]
			targets := h.Answer.Targets[h.Answer.Offsets[u]:h.Answer.Offsets[u+1]]
			if held := w.witnessEdges(w.depth, place, w.depth); len(held) == 0 {
				to.addAll(targets)
			} else {
				for _, v := range targets {
					if slices.Contains(held, v) {
						w.ids = append(w.ids, v)
					} else {
						to.add(v)
					}
				}
			}
			to.parent = runtime.AppendRepeated(to.parent, place, len(to.list)-len(to.parent))
		}
	}
	slices.Sort(w.ids)
	for _, v := range slices.Compact(w.ids) {
		if to.has(v) {
			continue
		}
		path, err := w.search(ctx, v, w.depth+1)
		if err != nil {
			return err
		}
		if path != nil {
			to.paths = append(to.paths, path)
			to.add(v)
			to.parent = append(to.parent, ^int32(len(to.paths)-1))
		}
	}
	w.depth++
	return nil
}

// account accounts for new memory.
func (w *trailWalk) account() error {
	held := 0
	for _, s := range w.levels[:w.depth+1] {
		held += s.bytes()
	}
	return w.acct.GrowTo(held)
}

// witness returns the vertices of the witness of an end, the end first. It is valid until the next call.
func (w *trailWalk) witness(depth int, place int32) []graph.VertexID {
	w.chain = w.chain[:0]
	for d := depth; d >= 0; d-- {
		s := w.levels[d]
		parent := s.parent[place]
		if d > 0 && parent < 0 {
			path := s.paths[^parent]
			for i := d; i >= 0; i-- {
				w.chain = append(w.chain, path[i])
			}
			break
		}
		w.chain = append(w.chain, s.list[place])
		place = parent
	}
	return w.chain
}

// witnessEdges returns the far ends that hop number next must not lead to from an end, because the end's witness contains that
// edge. The result is valid until the next call.
func (w *trailWalk) witnessEdges(depth int, place int32, next int) []graph.VertexID {
	chain := w.witness(depth, place)
	end := chain[0]
	dir := w.readers[w.hop(next)].Dir
	held := chain[len(chain):]
	for i := range depth {
		// Step depth-1-i of the witness goes from chain[i+1] to chain[i].
		a, b := chain[i+1], chain[i]
		if a != end && b != end {
			continue
		}
		step := w.readers[w.hop(depth-1-i)].Dir
		if a == end && (step == dir || step == graph.Both || dir == graph.Both) {
			held = append(held, b)
		}
		if b == end && (step != dir || step == graph.Both) {
			held = append(held, a)
		}
	}
	return held
}

// search searches backwards for a trail of the given length to v. It returns its vertices from the start, or nil.
func (w *trailWalk) search(ctx context.Context, v graph.VertexID, depth int) ([]graph.VertexID, error) {
	path := make([]graph.VertexID, depth+1)
	path[depth] = v
	ok, err := w.searchFrom(ctx, path, depth, make([]graph.EdgeID, 0, depth))
	if !ok || err != nil {
		return nil, err
	}
	return path, nil
}

// searchFrom fills path[:depth] using only unused edges.
func (w *trailWalk) searchFrom(ctx context.Context, path []graph.VertexID, depth int, used []graph.EdgeID) (bool, error) {
	if depth == 0 {
		return true, nil
	}
	if err := w.r.CheckCancel(ctx); err != nil {
		return false, err
	}
	h := w.back[w.hop(depth-1)]
	if err := h.Read(ctx, path[depth:depth+1], 0); err != nil {
		return false, err
	}
	// The recursion reuses the answer.
	before := w.levels[depth-1]
	type step struct {
		from graph.VertexID
		edge graph.EdgeID
	}
	var steps []step
	for i, from := range h.Answer.Targets {
		if before.has(from) && !slices.Contains(used, h.Answer.Edges[i]) {
			steps = append(steps, step{from, h.Answer.Edges[i]})
		}
	}
	for _, s := range steps {
		path[depth-1] = s.from
		if ok, err := w.searchFrom(ctx, path, depth-1, append(used, s.edge)); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// countNext returns the number of ends that advance would find. It needs no witnesses for them, so a store can step from a large set
// by itself; only ends of edges in witnesses need a closer look.
func (w *trailWalk) countNext(ctx context.Context) (int, error) {
	from := w.levels[w.depth]
	h := w.readers[w.hop(w.depth)]
	if !useBitmap(w.r, len(from.list)) {
		if err := w.extend(ctx); err != nil {
			return 0, err
		}
		return len(w.levels[w.depth].list), w.account()
	}
	found, err := w.reach(ctx, h, from)
	if err != nil {
		return 0, err
	}
	w.ids = w.ids[:0]
	for place := range from.list {
		for _, v := range w.witnessEdges(w.depth, int32(place), w.depth) {
			if w.has(v) {
				w.ids = append(w.ids, v)
			}
		}
	}
	lost, err := w.dropUnreached(ctx)
	return found - lost, err
}

// reach visits the far ends of a hop from the ends of a length, and returns their number.
func (w *trailWalk) reach(ctx context.Context, h *adjacency.Reader, from *trailSet) (int, error) {
	w.hidden = true
	w.swapAnswer(h)
	defer w.swapAnswer(h)
	if len(from.list) < minSetStep && h.Puts() {
		return h.Put(ctx, from.frontier.IDs, &w.set)
	}
	var err error
	if h.ByEdge() {
		err = h.StepEdges(ctx, from.frontier.IDs, &w.set)
	} else {
		err = h.Step(ctx, &from.set, &w.set)
	}
	return w.set.Len(), err
}

// dropUnreached removes those of ids that no trail leads to from the visited set, and returns their number.
func (w *trailWalk) dropUnreached(ctx context.Context) (lost int, err error) {
	from := w.levels[w.depth]
	back := w.back[w.hop(w.depth)]
	slices.Sort(w.ids)
	w.ids = slices.Compact(w.ids)
	for base := 0; base < len(w.ids); {
		if err := w.r.CheckCancel(ctx); err != nil {
			return 0, err
		}
		back.Edges = false
		err := back.Read(ctx, w.ids[base:], adjacency.MaxEdges)
		back.Edges = true
		if err != nil {
			return 0, err
		}
		res := &back.Answer
		done := res.Done
		left := w.ids[base:base]
		for u, v := range w.ids[base : base+done] {
			free := slices.ContainsFunc(res.Targets[res.Offsets[u]:res.Offsets[u+1]], func(x graph.VertexID) bool {
				return from.has(x) && !slices.Contains(w.witnessEdges(w.depth, from.place(x), w.depth), v)
			})
			if !free {
				left = append(left, v)
			}
		}
		for _, v := range left {
			path, err := w.search(ctx, v, w.depth+1)
			if err != nil {
				return 0, err
			}
			if path == nil {
				w.set.Remove(v)
				lost++
			}
		}
		base += done
	}
	return lost, nil
}
