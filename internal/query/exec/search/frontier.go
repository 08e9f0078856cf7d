package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// frontierCount counts the vertices that a sequence of hops reaches from those of all rows, each vertex once at every hop.
// BenchmarkHops3Frontier and BenchmarkHops3Trail against BenchmarkHops3Distinct, and BenchmarkRewrites in bench/traversal,
// compare it with expansions below a count of distinct ends.
type frontierCount struct {
	runtime.Input
	r      *runtime.Run
	frame  *runtime.Frame
	from   int // position in the input
	at     int // position of the count in out: 0, or -1
	walk   frontierWalk
	trails *trailWalk // set if no edge may repeat
	reach  *reach     // set for a variable length
	n      *plan.FrontierCount
	starts [][]graph.VertexID // by row of the frame
	given  int                // of starts
	loaded bool
	out    runtime.Batch
}

// FrontierCount compiles a FrontierCount.
func FrontierCount(c *compile.Compiler, n *plan.FrontierCount, need plan.ColSet) *runtime.Stage {
	below := plan.NewColSet()
	below.Add(n.From)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.From)
	prefetching := compile.Prefetching(in, n.From)
	wheres := make([]*adjacency.EdgeFilter, len(n.Hops))
	for i, h := range n.Hops {
		c.Below(plan.ColSet{}, h.Where...)
		wheres[i] = adjacency.CompileFilter(c, h.Where, h.Edge, h.To)
	}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(nil, need, n.Out)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &frontierCount{
			Input: runtime.Input{In: kids[0]}, r: r, frame: r.Frame, from: in.Pos(n.From), at: s.Pos(n.Out), walk: frontierWalk{kernel: newKernel(r, "FrontierCount", nil)}, n: n,
		}
		for i, h := range n.Hops {
			hop := adjacency.NewReader(r, h.Types, h.Dir, h.Labels)
			hop.Filter = adjacency.NewEdgeTest(r, wheres[i], nil)
			x.walk.readers = append(x.walk.readers, hop)
		}
		if n.Trail && len(n.Hops) > 1 {
			x.trails = newTrailWalk(r, "FrontierCount", x.walk.readers)
		}
		if p := r.PrefetchOf(prefetching); p != nil {
			*p = runtime.Prefetch{Hop: x.walk.readers[0], Limit: adjacency.MaxEdges}
		}
		return x
	}
	return s
}

// prefetchSecond prefetches the second hop.
func (x *frontierCount) prefetchSecond() {
	first, last := x.walk.readers[0], len(x.walk.readers) == 2
	switch {
	case x.n.Most > 1:
		first.Next = runtime.Prefetch{Hop: first, Limit: adjacency.MaxEdges, Set: first.Filter == nil}
	case len(x.walk.readers) > 1:
		second := x.walk.readers[1]
		set := last && second.Puts() || x.trails == nil && !second.ByEdge()
		first.Next = runtime.Prefetch{Hop: second, Limit: adjacency.MaxEdges, Set: set}
	}
}

func (x *frontierCount) Open(ctx context.Context) error {
	x.loaded = false
	for _, h := range x.walk.readers {
		h.Known = 0
	}
	if x.n.Most > 0 && x.reach == nil {
		h := x.n.Hops[0]
		hop := adjacency.NewReader(x.r, h.Types, h.Dir, nil)
		hop.Filter = x.walk.readers[0].Filter
		x.reach = newReach(x.r, "FrontierCount", hop, &adjacency.Uniqueness{}, x.walk.readers[0].Labels)
		x.reach.min, x.reach.max = x.n.Least, x.n.Most
	}
	if x.reach != nil {
		x.reach.begin()
	}
	x.prefetchSecond()
	return x.Input.Open(ctx)
}

// Next returns a row for each row of the frame.
func (x *frontierCount) Next(ctx context.Context) (*runtime.Batch, error) {
	x.out.Reset(x.at + 1)
	if !x.loaded {
		if err := x.load(ctx); err != nil {
			return nil, err
		}
	}
	for x.given < len(x.starts) && x.out.N < x.r.BatchSize() {
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
			x.out.Row = append(x.out.Row, int32(x.given))
		}
		x.given++
	}
	if x.out.N == 0 {
		return nil, nil
	}
	return &x.out, nil
}

// count returns the number of vertices that the hops lead to.
func (x *frontierCount) count(ctx context.Context, start []graph.VertexID) (int, error) {
	switch {
	case x.reach != nil:
		return x.reachAll(ctx, start)
	case x.trails == nil:
		return x.walk.count(ctx, start)
	}
	x.trails.start(start)
	for range len(x.walk.readers) - 1 {
		if err := x.trails.advance(ctx); err != nil {
			return 0, err
		}
	}
	return x.trails.countNext(ctx)
}

func (x *frontierCount) Close() {
	if x.trails != nil {
		x.trails.release()
	}
	if x.reach != nil {
		x.reach.release()
	}
	x.walk.release()
	for _, h := range x.walk.readers {
		h.Shrink()
	}
	x.Input.Close()
}

// load reads the whole input.
func (x *frontierCount) load(ctx context.Context) error {
	x.loaded, x.given = true, 0
	for len(x.starts) < x.frame.Rows() {
		x.starts = append(x.starts, nil)
	}
	x.starts = x.starts[:x.frame.Rows()]
	for i := range x.starts {
		x.starts[i] = x.starts[i][:0]
	}
	for {
		b, err := x.In.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		for i := range b.N {
			switch v := b.Cols[x.from].Value(i); v.Kind() {
			case graph.VertexKind:
				row := b.RowOf(i)
				x.starts[row] = append(x.starts[row], v.Vertex())
			case graph.Null:
			default:
				return adjacency.NotVertex(v)
			}
		}
	}
}

// frontierWalk walks sets of vertices: sorted lists while they are small, then bitmaps.
type frontierWalk struct {
	kernel
	readers []*adjacency.Reader
}

// minSetStep is the number of vertices from which a last step is a step of sets. Such a step uses all cores but starts by
// scanning the sources.
const minSetStep = 2048

// count returns the number of vertices that the hops lead to from the vertices of start, which may repeat.
func (w *frontierWalk) count(ctx context.Context, start []graph.VertexID) (int, error) {
	w.begin()
	w.frontier.Set(start)
	w.ids = append(w.ids, w.frontier.IDs...)
	for i, h := range w.readers {
		last := i == len(w.readers)-1
		if last && len(w.ids) < minSetStep && useBitmap(w.r, len(w.ids)) && h.Puts() {
			w.hidden = true
			return h.Put(ctx, w.ids, &w.set)
		}
		if useBitmap(w.r, len(w.ids)) {
			return w.countMany(ctx, w.readers[i:])
		}
		if err := w.step(ctx, h, last); err != nil {
			return 0, err
		}
	}
	return len(w.ids), nil
}

// step replaces the list by the vertices one hop further, sorted unless the hop is the last.
func (w *frontierWalk) step(ctx context.Context, h *adjacency.Reader, last bool) error {
	w.swapAnswer(h)
	defer w.swapAnswer(h)
	for rest := w.ids; len(rest) > 0; rest = rest[h.Answer.Done:] {
		if err := w.r.CheckCancel(ctx); err != nil {
			return err
		}
		if err := h.Read(ctx, rest, adjacency.MaxEdges); err != nil {
			return err
		}
		if oneList(h, w.ids) {
			w.ids = slices.Compact(append(w.ids[:0], h.Answer.Targets...))
			return nil
		}
		w.addAll(h.Answer.Targets)
	}
	w.ids = w.drain(w.ids)
	if !last {
		w.frontier.SortOnly(w.ids)
	}
	return w.account()
}

// oneList reports whether the answer for these sources is a single list, which is sorted.
func oneList(h *adjacency.Reader, sources []graph.VertexID) bool {
	return len(sources) == 1 && len(h.Types.Names) == 1 && h.Dir != graph.Both
}

// countMany continues from a large frontier.
func (w *frontierWalk) countMany(ctx context.Context, hops []*adjacency.Reader) (int, error) {
	w.stepFrom(w.ids)
	for _, h := range hops {
		w.swapAnswer(h)
		err := h.Step(ctx, &w.now, &w.next)
		w.swapAnswer(h)
		if err != nil {
			return 0, err
		}
		w.now, w.next = w.next, w.now
		w.next.Clear()
	}
	return w.now.Len(), nil
}
