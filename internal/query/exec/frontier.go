package exec

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// frontierCount counts the vertices that are reached from those of all rows over a row of hops, each vertex once at every
// hop.
type frontierCount struct {
	input
	r      *run
	frame  *frame
	from   int // position in the input
	at     int // position of the count in out: 0, or -1
	walk   frontierWalk
	trails *trailWalk // where no edge may repeat
	reach  *reach     // where the hop is made some number of times
	n      *plan.FrontierCount
	all    graph.VertexSet    // for reach
	starts [][]graph.VertexID // by row of the frame
	given  int                // of starts
	loaded bool
	out    batch
}

func (c *compiler) frontierCount(n *plan.FrontierCount, need plan.ColSet) *stage {
	below := plan.ColSet{}
	below.Add(n.From)
	in := c.compile(n.Input, below)
	c.bound(in, n.From)
	wheres := make([]*edgeWhere, len(n.Hops))
	for i, h := range n.Hops {
		c.below(nil, h.Where...)
		wheres[i] = c.hopWhere(h.Where, h.Edge, h.To)
	}
	s := &stage{node: n, kids: []*stage{in}, cols: kept(nil, need, n.Out)}
	s.build = func(r *run, kids []operator) operator {
		x := &frontierCount{
			input: input{kids[0]}, r: r, frame: r.frame, from: in.pos(n.From), at: s.pos(n.Out), walk: frontierWalk{r: r}, n: n,
		}
		for i, h := range n.Hops {
			hop := r.newHop(h.Types, h.Dir, h.Labels)
			hop.where = r.edgeTest(wheres[i], nil)
			x.walk.hops = append(x.walk.hops, hop)
		}
		if n.Trail && len(n.Hops) > 1 {
			x.trails = r.newTrailWalk(x.walk.hops)
		}
		prefetch(kids[0], x.from, x.walk.hops[0], mostEdges)
		return x
	}
	return s
}

// foretell says what the second hop will ask for.
func (x *frontierCount) foretell() {
	first, last := x.walk.hops[0], len(x.walk.hops) == 2
	switch {
	case x.n.Most > 1:
		first.then, first.thenSet, first.thenMax = first, first.where == nil, mostEdges
	case len(x.walk.hops) > 1:
		first.then, first.thenMax = x.walk.hops[1], mostEdges
		first.thenSet = last && first.then.puts() || x.trails == nil && !first.then.byEdge()
	}
}

func (x *frontierCount) open(ctx context.Context) error {
	x.loaded = false
	for _, h := range x.walk.hops {
		h.known = 0
	}
	if x.n.Most > 0 && x.reach == nil {
		h := x.n.Hops[0]
		hop := x.r.newHop(h.Types, h.Dir, nil)
		hop.where = x.walk.hops[0].where
		x.reach = newReach(x.r, hop, &unlike{}, x.walk.hops[0].labels)
		x.reach.min, x.reach.max = x.n.Least, x.n.Most
	}
	if x.reach != nil {
		x.reach.take()
	}
	x.foretell()
	return x.input.open(ctx)
}

// next gives a row for each row of the frame.
func (x *frontierCount) next(ctx context.Context) (*batch, error) {
	x.out.reset(x.at + 1)
	if !x.loaded {
		if err := x.load(ctx); err != nil {
			return nil, err
		}
	}
	for x.given < len(x.starts) && x.out.N < x.r.batchSize() {
		n, err := x.count(ctx, x.starts[x.given])
		if err != nil {
			return nil, err
		}
		if x.at >= 0 {
			col := &x.out.Cols[x.at]
			col.Vals = append(col.Vals, graph.IntValue(int64(n)))
		}
		x.out.N++
		if x.frame != nil {
			x.out.row = append(x.out.row, int32(x.given))
		}
		x.given++
	}
	if x.out.N == 0 {
		return nil, nil
	}
	return &x.out, nil
}

// count gives the number of vertices that the hops lead to.
func (x *frontierCount) count(ctx context.Context, start []graph.VertexID) (int, error) {
	switch {
	case x.reach != nil:
		return x.reachAll(ctx, start)
	case x.trails == nil:
		return x.walk.count(ctx, start)
	}
	x.trails.start(start)
	for range len(x.walk.hops) - 1 {
		if err := x.trails.advance(ctx); err != nil {
			return 0, err
		}
	}
	return x.trails.countNext(ctx)
}

func (x *frontierCount) close() {
	if x.trails != nil {
		x.trails.release()
	}
	if x.reach != nil {
		x.reach.release()
	}
	x.walk.release()
	for _, h := range x.walk.hops {
		h.shrink()
	}
	x.input.close()
}

// load reads the whole input.
func (x *frontierCount) load(ctx context.Context) error {
	x.loaded, x.given = true, 0
	for len(x.starts) < x.frame.rows() {
		x.starts = append(x.starts, nil)
	}
	x.starts = x.starts[:x.frame.rows()]
	for i := range x.starts {
		x.starts[i] = x.starts[i][:0]
	}
	for {
		b, err := x.in.next(ctx)
		if b == nil || err != nil {
			return err
		}
		for i := range b.N {
			switch v := b.Cols[x.from].Value(i); v.Kind() {
			case graph.VertexKind:
				row := b.rowOf(i)
				x.starts[row] = append(x.starts[row], v.Vertex())
			case graph.Null:
			default:
				return notVertex(v)
			}
		}
	}
}

// frontierWalk walks sets of vertices: as sorted lists while they are small, as bitmaps from then on.
type frontierWalk struct {
	r    *run
	hops []*hop
	*walkMemory
}

// walkMemory is what walks of sets need memory for. It goes from one statement to the next, so that a short walk does
// not pay for sets as large as the graph.
type walkMemory struct {
	list       []graph.VertexID
	now, after graph.VertexSet // both empty between counts
	f          frontier
	res        shard.Neighbours
	dirty      bool // a count has not come to its end, so that the sets may not be empty
}

var walkMemories = sync.Pool{New: func() any { return &walkMemory{} }}

// fewPuts is the number of vertices below which a last step is taken list by list: a step of sets, which uses all
// processors, begins by looking through them.
const fewPuts = 2048

// take gives the walk memory, if it has none.
func (w *frontierWalk) take() {
	if w.walkMemory == nil {
		w.walkMemory, _ = walkMemories.Get().(*walkMemory)
	}
}

// release gives the memory to whoever comes next.
func (w *frontierWalk) release() {
	if m := w.walkMemory; m != nil && !m.dirty && cap(m.res.Targets) <= maxKept {
		walkMemories.Put(m)
	}
	w.walkMemory = nil
}

// count gives the number of vertices that the hops lead to from the vertices of start, which may repeat.
func (w *frontierWalk) count(ctx context.Context, start []graph.VertexID) (int, error) {
	w.take()
	w.dirty = true
	n, err := w.walk(ctx, start)
	w.dirty = err != nil
	return n, err
}

func (w *frontierWalk) walk(ctx context.Context, start []graph.VertexID) (int, error) {
	w.f.set(start)
	w.list = append(w.list[:0], w.f.ids...)
	for i, h := range w.hops {
		last := i == len(w.hops)-1
		if last && len(w.list) < fewPuts && w.r.many(len(w.list)) && h.puts() {
			n, err := h.put(ctx, w.list, &w.after)
			w.after.Clear()
			return n, err
		}
		if w.r.many(len(w.list)) {
			for _, v := range w.list {
				w.now.Add(v)
			}
			return w.countMany(ctx, w.hops[i:])
		}
		if err := w.step(ctx, h, last); err != nil {
			return 0, err
		}
	}
	return len(w.list), nil
}

// step replaces the list by the vertices one hop on, which are sorted unless the hop is the last.
func (w *frontierWalk) step(ctx context.Context, h *hop, last bool) error {
	w.f.set(w.list) // its copy is the frontier
	w.list = w.list[:0]
	defer w.lend(h)()
	for done := 0; done < len(w.f.ids); done += h.res.Done {
		if err := w.r.alive(ctx); err != nil {
			return err
		}
		if err := h.read(ctx, w.f.ids[done:], mostEdges); err != nil {
			return err
		}
		if h.oneList(w.f.ids) {
			w.list = slices.Compact(append(w.list, h.res.Targets...))
			return nil
		}
		w.list = w.after.AppendNew(w.list, h.res.Targets)
	}
	for _, v := range w.list {
		w.after.Bitmap(v.Shard())[v.Local()>>6] = 0
	}
	if last {
		return nil
	}
	w.f.set(w.list)
	w.list = append(w.list[:0], w.f.ids...)
	return nil
}

// lend makes a hop answer into the walk's memory until the function is called that it gives.
func (w *frontierWalk) lend(h *hop) (back func()) {
	h.res, w.res = w.res, h.res
	return func() { h.res, w.res = w.res, h.res }
}

// oneList reports whether the answer for these sources is a single list, which is sorted.
func (h *hop) oneList(sources []graph.VertexID) bool {
	return len(sources) == 1 && len(h.types.names) == 1 && h.dir != graph.Both
}

// countMany goes on from the set now.
func (w *frontierWalk) countMany(ctx context.Context, hops []*hop) (int, error) {
	defer w.now.Clear()
	for _, h := range hops {
		back := w.lend(h)
		err := h.step(ctx, &w.now, &w.after)
		back()
		w.now, w.after = w.after, w.now
		w.after.Clear()
		if err != nil {
			return 0, err
		}
	}
	return w.now.Len(), nil
}
