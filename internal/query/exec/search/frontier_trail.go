package search

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// trailWalk finds the ends of the trails that follow a row of hops, set by set, without following all trails.
//
// At every hop it keeps for each end one trail that leads there, its witness. An edge beyond an end that the witness
// does not hold makes a longer trail, whose end so has a witness too. If all the edges to a vertex are held by the
// witnesses of the vertices that they come from, another trail may still lead there: then, and only then, is one looked
// for, backwards through the sets of the hops. This finds exactly the ends: a trail to a vertex begins with a trail that
// is shorter by one edge, whose end has a witness, so that its last edge has been looked at.
//
// Witnesses are kept as vertices. Two edges between the same vertices are taken for one, which errs on the safe side.
type trailWalk struct {
	r       *runtime.Run
	readers []*adjacency.Reader
	back    []*adjacency.Reader // beside hops: against the hop, with edges, without labels
	depth   int                 // hops that have been made
	acct    runtime.Account
	held    int
	*trailMemory
}

// trailMemory is what a trailWalk needs memory for. It goes from one statement to the next, so that a short walk does not
// pay for sets as large as the graph.
type trailMemory struct {
	levels  []*trailSet // empty between walks
	doubt   []graph.VertexID
	far     graph.VertexSet // of the last hop
	chain   []graph.VertexID
	answers []shard.Neighbours // of the hops, between walks
}

var trailMemories = sync.Pool{New: func() any { return &trailMemory{} }}

// trailSet holds the ends of trails of one length, each with a witness.
type trailSet struct {
	vertex []graph.VertexID
	parent []int32            // the witness's vertex before, by its place in the set before; or a path, by ^place in paths
	paths  [][]graph.VertexID // witnesses that were looked for
	has    graph.VertexSet
	f      runtime.Frontier // of vertex, once the set is complete
}

func (s *trailSet) reset() {
	s.has.RemoveAll(s.vertex)
	s.vertex, s.parent, s.paths = s.vertex[:0], s.parent[:0], s.paths[:0]
}

func (s *trailSet) add(v graph.VertexID, parent int32) {
	s.vertex, s.parent = append(s.vertex, v), append(s.parent, parent)
}

// place gives the place of a vertex in a complete set.
func (s *trailSet) place(v graph.VertexID) int32 {
	i, _ := slices.BinarySearch(s.f.IDs, v)
	return s.f.Order[i]
}

func newTrailWalk(r *runtime.Run, hops []*adjacency.Reader) *trailWalk {
	w := &trailWalk{r: r, readers: hops, acct: runtime.Account{Run: r, Name: "FrontierCount"}}
	for _, h := range hops {
		b := &adjacency.Reader{Run: r, Types: h.Types, Dir: h.Dir.Reverse(), Filter: h.Filter, Back: true, Edges: true}
		w.back = append(w.back, b)
	}
	return w
}

// take gives the walk memory, if it has none.
func (w *trailWalk) take() {
	if w.trailMemory != nil {
		return
	}
	w.trailMemory, _ = trailMemories.Get().(*trailMemory)
	for len(w.answers) < len(w.readers) {
		w.answers = append(w.answers, shard.Neighbours{})
	}
	for i, h := range w.readers {
		h.Answer = w.answers[i]
	}
}

// release returns the memory to its pool.
func (w *trailWalk) release() {
	w.acct.Release()
	w.held = 0
	if w.trailMemory == nil {
		return
	}
	edges := 0
	for i, h := range w.readers {
		w.answers[i], h.Answer = h.Answer, shard.Neighbours{}
		edges += cap(w.answers[i].Targets)
	}
	for _, s := range w.levels {
		s.reset()
		edges += cap(s.vertex)
	}
	if edges <= adjacency.MaxKeptEdges {
		trailMemories.Put(w.trailMemory)
	}
	w.trailMemory = nil
}

// hop gives the hop of a length; the last one is made again and again.
func (w *trailWalk) hop(depth int) int { return min(depth, len(w.readers)-1) }

// start begins with trails of no edges.
func (w *trailWalk) start(vertices []graph.VertexID) {
	w.take()
	w.depth = 0
	s := w.level(0)
	s.f.Set(vertices)
	for _, v := range s.f.IDs {
		s.has.Add(v)
		s.add(v, 0)
	}
	s.f.Set(s.vertex)
}

// level gives the set of a length, empty.
func (w *trailWalk) level(depth int) *trailSet {
	for len(w.levels) <= depth {
		w.levels = append(w.levels, &trailSet{})
	}
	w.levels[depth].reset()
	return w.levels[depth]
}

// ends gives the ends of the present length, sorted.
func (w *trailWalk) ends() []graph.VertexID { return w.levels[w.depth].f.IDs }

// advance makes the trails longer by a hop.
func (w *trailWalk) advance(ctx context.Context) error {
	if err := w.extend(ctx); err != nil {
		return err
	}
	to := w.levels[w.depth]
	to.f.Set(to.vertex)
	return w.account()
}

// extend is advance without an order of the ends.
func (w *trailWalk) extend(ctx context.Context) error {
	from, to := w.levels[w.depth], w.level(w.depth+1)
	h := w.readers[w.hop(w.depth)]
	w.doubt = w.doubt[:0]
	for base := 0; base < len(from.f.IDs); base += h.Answer.Done {
		if err := w.r.Alive(ctx); err != nil {
			return err
		}
		if err := h.Read(ctx, from.f.IDs[base:], adjacency.MaxEdges); err != nil {
			return err
		}
		for u := range h.Answer.Done {
			place := from.f.Order[base+u]
			held := w.heldBy(w.depth, place, w.depth)
			for _, v := range h.Answer.Targets[h.Answer.Offsets[u]:h.Answer.Offsets[u+1]] {
				if !to.has.Add(v) {
					continue
				}
				if len(held) > 0 && slices.Contains(held, v) {
					to.has.Remove(v)
					w.doubt = append(w.doubt, v)
					continue
				}
				to.add(v, place)
			}
		}
	}
	slices.Sort(w.doubt)
	for _, v := range slices.Compact(w.doubt) {
		if to.has.Has(v) {
			continue
		}
		path, err := w.search(ctx, v, w.depth+1)
		if err != nil {
			return err
		}
		if path != nil {
			to.has.Add(v)
			to.paths = append(to.paths, path)
			to.add(v, ^int32(len(to.paths)-1))
		}
	}
	w.depth++
	return nil
}

// account accounts for new memory.
func (w *trailWalk) account() error {
	held := 0
	for _, s := range w.levels {
		held += len(s.vertex)*(8+4) + len(s.f.IDs)*(8+4+4+16+16)
	}
	grown := held - w.held
	if grown <= 0 {
		return nil
	}
	w.held = held
	return w.acct.Grow(grown)
}

// witness gives the vertices of the witness of an end, the end first. It is valid until the next call.
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
		w.chain = append(w.chain, s.vertex[place])
		place = parent
	}
	return w.chain
}

// heldBy gives the far ends that hop number next must not go to from an end, since the end's witness has that edge. It
// is valid until the next call.
func (w *trailWalk) heldBy(depth int, place int32, next int) []graph.VertexID {
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

// search looks for a trail of the given length to v, backwards; it gives its vertices from the start, or nil.
func (w *trailWalk) search(ctx context.Context, v graph.VertexID, depth int) ([]graph.VertexID, error) {
	path := make([]graph.VertexID, depth+1)
	path[depth] = v
	ok, err := w.searchFrom(ctx, path, depth, make([]graph.EdgeID, 0, depth))
	if !ok || err != nil {
		return nil, err
	}
	return path, nil
}

// searchFrom fills path[:depth] by edges other than those used.
func (w *trailWalk) searchFrom(ctx context.Context, path []graph.VertexID, depth int, used []graph.EdgeID) (bool, error) {
	if depth == 0 {
		return true, nil
	}
	if err := w.r.Alive(ctx); err != nil {
		return false, err
	}
	h := w.back[w.hop(depth-1)]
	if err := h.Read(ctx, path[depth:depth+1], 0); err != nil {
		return false, err
	}
	// The answer is used again further down.
	before := &w.levels[depth-1].has
	type step struct {
		from graph.VertexID
		edge graph.EdgeID
	}
	var steps []step
	for i, from := range h.Answer.Targets {
		if before.Has(from) && !slices.Contains(used, h.Answer.Edges[i]) {
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

// countNext gives the number of ends that advance would find. It needs no witnesses for them, so that a store can walk
// a large set by itself: only what it finds along edges that a witness holds is looked at more closely.
func (w *trailWalk) countNext(ctx context.Context) (int, error) {
	from := w.levels[w.depth]
	h := w.readers[w.hop(w.depth)]
	if !many(w.r, len(from.vertex)) {
		if err := w.extend(ctx); err != nil {
			return 0, err
		}
		return len(w.levels[w.depth].vertex), w.account()
	}
	w.far.Clear()
	found, err := w.reach(ctx, h, from)
	if err != nil {
		return 0, err
	}
	w.doubt = w.doubt[:0]
	for place := range from.vertex {
		for _, v := range w.heldBy(w.depth, int32(place), w.depth) {
			if w.far.Has(v) {
				w.doubt = append(w.doubt, v)
			}
		}
	}
	lost, err := w.settle(ctx)
	return found - lost, err
}

// reach makes far what a hop leads to from the ends of a length, and gives their number.
func (w *trailWalk) reach(ctx context.Context, h *adjacency.Reader, from *trailSet) (int, error) {
	if len(from.vertex) < fewPuts && h.Puts() {
		return h.Put(ctx, from.f.IDs, &w.far)
	}
	var err error
	if h.ByEdge() {
		err = h.StepEdges(ctx, from.f.IDs, &w.far)
	} else {
		err = h.Step(ctx, &from.has, &w.far)
	}
	return w.far.Len(), err
}

// settle takes those of doubt out of far to which no trail leads, and gives their number.
func (w *trailWalk) settle(ctx context.Context) (lost int, err error) {
	from := w.levels[w.depth]
	back := w.back[w.hop(w.depth)]
	slices.Sort(w.doubt)
	w.doubt = slices.Compact(w.doubt)
	for base := 0; base < len(w.doubt); {
		if err := w.r.Alive(ctx); err != nil {
			return 0, err
		}
		back.Edges = false
		err := back.Read(ctx, w.doubt[base:], adjacency.MaxEdges)
		back.Edges = true
		if err != nil {
			return 0, err
		}
		res := &back.Answer
		done := res.Done
		left := w.doubt[base:base]
		for u, v := range w.doubt[base : base+done] {
			free := slices.ContainsFunc(res.Targets[res.Offsets[u]:res.Offsets[u+1]], func(x graph.VertexID) bool {
				return from.has.Has(x) && !slices.Contains(w.heldBy(w.depth, from.place(x), w.depth), v)
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
				w.far.Remove(v)
				lost++
			}
		}
		base += done
	}
	return lost, nil
}
