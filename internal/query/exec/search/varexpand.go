package search

import (
	"context"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// varExpand joins each row with the trails from a vertex.
type varExpand struct {
	runtime.FanOut
	n          *plan.VarExpand
	frame      *runtime.Frame
	from, to   int // positions in the input; to is -1 unless it is bound
	toAt       int // positions in out, or -1
	edgesAt    int
	depthAt    int
	lastAt     int
	t          trails
	uniqueness adjacency.Uniqueness
	reach      *reach // finds only the ends; nil: enumerate trails
	lists      []graph.Value
	src        []graph.VertexID
	rows       runtime.Sel
	started    int // of rows
	dst        []graph.VertexID
	seen       kernel // ends of the current row, if each is returned once
	endsGiven  int
	perRow     bool // the condition on edges depends on the row
	near       distances
	prefetch   *runtime.Prefetch // of the operator that looks up where the trails begin; nil: there is none
}

// VarExpand compiles a VarExpand.
func VarExpand(c *compile.Compiler, n *plan.VarExpand, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, append([]plan.Expr{n.Min, n.Max}, n.Where...)...)
	below.Add(n.From)
	if n.Into {
		below.Add(n.To)
	}
	adjacency.NeedUnique(c, below, n.Input, n.DistinctFrom)
	in := c.Compile(n.Input, below)
	where := adjacency.CompileFilter(c, n.Where, n.EdgeVar, 0)
	if where != nil {
		c.Bound(in, where.Outer...)
	}
	c.Bound(in, n.From)
	prefetching := compile.Prefetching(in, n.From)
	own := []plan.Col{n.Edges, n.Depth, n.Last}
	if n.Into {
		c.Bound(in, n.To)
	} else {
		own = append(own, n.To)
	}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, own...)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &varExpand{
			FanOut: runtime.FanOut{Input: runtime.Input{In: kids[0]}, Run: r, Carry: in.Positions(s.Cols)}, n: n, frame: r.Frame, from: in.Pos(n.From), to: -1,
			toAt: -1, edgesAt: -1, depthAt: s.Pos(n.Depth), lastAt: s.Pos(n.Last), uniqueness: adjacency.NewUniqueness(in, n.DistinctFrom),
		}
		if n.Into {
			x.to = in.Pos(n.To)
		} else {
			x.toAt = s.Pos(n.To)
		}
		if n.Edges != 0 {
			x.edgesAt = s.Pos(n.Edges)
		}
		x.prefetch = r.PrefetchOf(prefetching)
		test := adjacency.NewEdgeTest(r, where, in.Cols)
		x.perRow = test != nil && test.PerRow()
		x.seen = newKernel(r, "VarExpand", nil)
		x.t = trails{
			r: r, uniqueness: &x.uniqueness, values: x.edgesAt >= 0, writer: adjacency.EdgeWriter{SlabSize: r.BatchSize()},
			acct: runtime.Account{Run: r, Name: "VarExpand"},
			newReader: func() *adjacency.Reader {
				h := adjacency.NewReader(r, n.Types, n.Dir, nil)
				h.Filter, h.Edges = test, true
				return h
			},
		}
		if n.Labels != nil {
			x.t.ends = expr.NewLabelTest(r, n.Labels)
		}
		return x
	}
	return s
}

func (x *varExpand) Open(ctx context.Context) error {
	var err error
	if x.t.min, x.t.max, err = lengths(ctx, x.Run, x.n.Min, x.n.Max); err != nil {
		return err
	}
	x.t.sure = !x.Run.Program.Query.Writes && adjacency.Implied(x.Run, x.n.Labels, x.n.Types, x.n.Dir)
	if x.n.Ends && (x.t.min <= 1 || len(x.uniqueness.Pos) == 0 && !x.perRow) && x.reach == nil {
		x.reach = newReach(x.Run, "VarExpand", x.t.newReader(), &x.uniqueness, x.t.ends)
		if x.n.Depth != 0 || x.n.Last != 0 {
			x.reach.ways = &reachWays{depthAt: x.depthAt, lastAt: x.lastAt}
		}
	}
	if x.reach != nil {
		x.reach.begin()
		x.reach.min, x.reach.max, x.endsGiven = x.t.min, x.t.max, 0
		if x.t.min <= 1 && x.reach.ways == nil && len(x.uniqueness.Pos) == 0 && !x.perRow {
			h := x.reach.reader
			if h.Edges = false; x.reach.max > 1 { // as it will be
				h.Next = runtime.Prefetch{Hop: h, Limit: adjacency.MaxEdges, Set: h.Filter == nil}
			}
			if x.prefetch != nil {
				*x.prefetch = runtime.Prefetch{Hop: h, Limit: adjacency.MaxEdges}
			}
		}
	}
	return x.FanOut.Open(ctx)
}

// lengths computes the bounds of a variable length; without an upper bound it is the largest number.
func lengths(ctx context.Context, r *runtime.Run, lo, hi plan.Expr) (int, int, error) {
	bounds := [2]int{1, math.MaxInt}
	for i, e := range [2]plan.Expr{lo, hi} {
		if e == nil {
			continue
		}
		v, err := expr.Scalar(ctx, r, e)
		if err != nil {
			return 0, 0, err
		}
		n, ok := v.Whole()
		if !ok || n < 0 {
			return 0, 0, graph.TypeError("InvalidArgumentType", "the length of a path must be an Integer of at least 0")
		}
		bounds[i] = int(n)
	}
	return bounds[0], bounds[1], nil
}

func (x *varExpand) Close() {
	x.t.release()
	x.seen.release()
	if x.reach != nil {
		x.reach.release()
		x.reach = nil
		if x.prefetch != nil {
			*x.prefetch = runtime.Prefetch{}
		}
	}
	if x.near.s != nil {
		x.near.s.release()
	}
	x.Input.Close()
}

func (x *varExpand) Next(ctx context.Context) (*runtime.Batch, error) { return x.Give(ctx, x) }

func (x *varExpand) Advance(ctx context.Context) (bool, error) {
	if x.reach != nil {
		return x.nextEnds(ctx)
	}
	return x.nextTrail(ctx)
}

func (x *varExpand) Begin(context.Context) error {
	b := x.Rows
	x.started = 0
	if x.endsGiven = 0; x.reach != nil {
		x.reach.ids = x.reach.ids[:0]
	}
	var err error
	if x.src, x.rows, err = adjacency.Sources(b, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	x.uniqueness.Begin(b)
	x.t.to = nil
	x.t.near = nil
	if x.to >= 0 {
		x.dst = x.dst[:0]
		for i := range b.N {
			v := b.Cols[x.to].Value(i)
			switch v.Kind() {
			case graph.VertexKind:
				x.dst = append(x.dst, v.Vertex())
			case graph.Null:
				x.dst = append(x.dst, graph.NoVertex)
			default:
				return adjacency.NotVertex(v)
			}
		}
		x.t.to = x.dst
		n := 0
		for k, row := range x.rows {
			if x.dst[row] != graph.NoVertex {
				x.src[n], x.rows[n] = x.src[k], row
				n++
			}
		}
		x.src, x.rows = x.src[:n], x.rows[:n]
	}
	x.t.start(b, nil, nil)
	return nil
}

// nextTrail adds the rows of some trails; ok is false at the end of the input batch.
func (x *varExpand) nextTrail(ctx context.Context) (ok bool, err error) {
	for {
		lo, hi, err := x.t.nextRun(ctx, x.Run.BatchSize()-x.Out.N)
		if err != nil {
			return false, err
		}
		if lo < hi {
			x.add(lo, hi)
			return true, nil
		}
		if x.started == len(x.rows) {
			return false, nil
		}
		n := len(x.rows)
		if x.n.Ends || x.shouldPrune() && !x.sameEnd() {
			n = 1
		}
		if x.n.Ends {
			x.seen.begin()
		}
		if x.shouldPrune() {
			if err := x.searchBackward(ctx, x.rows[x.started]); err != nil {
				return false, err
			}
		}
		x.t.start(x.Rows, x.src[x.started:x.started+n], x.rows[x.started:x.started+n])
		x.started += n
	}
}

// shouldPrune reports whether it pays to cut trails that are too far from their end: that takes a backward search from the end
// over half of the length, so it pays only for few ends.
func (x *varExpand) shouldPrune() bool {
	const fewRows, farthest = 16, 64
	return x.to >= 0 && x.t.max >= 2 && x.t.max <= farthest && len(x.rows) > 0 && (len(x.rows) <= fewRows || x.sameEnd())
}

// sameEnd reports whether all rows of the batch have the same end.
func (x *varExpand) sameEnd() bool {
	for _, row := range x.rows {
		if x.dst[row] != x.dst[x.rows[0]] {
			return false
		}
	}
	return !x.perRow
}

// searchBackward finds the vertices near the end of a row.
func (x *varExpand) searchBackward(ctx context.Context, row int32) error {
	if x.near.s == nil {
		h := x.t.newReader()
		h.Dir, h.Edges = h.Dir.Reverse(), false
		x.near.s = &searchSide{kernel: newKernel(x.Run, "VarExpand", h)}
	}
	x.t.near = &x.near
	x.near.complete = false
	x.near.s.start(x.Rows, row, x.dst[row])
	return x.near.within(ctx, x.t.max/2)
}

// add adds the rows of the trails lo … hi-1 of the current level.
func (x *varExpand) add(lo, hi int) {
	l := x.t.levels[x.t.depth]
	if x.n.Ends {
		for e := lo; e < hi; e++ {
			if x.seen.add(l.ids[e]) {
				x.addRows(l, e, e+1)
			}
		}
		return
	}
	x.addRows(l, lo, hi)
	if x.edgesAt < 0 {
		return
	}
	n := x.t.depth
	col := &x.Out.Cols[x.edgesAt]
	for e := lo; e < hi; e++ {
		if cap(x.lists)-len(x.lists) < n {
			x.lists = make([]graph.Value, 0, max(n, 2*x.Run.BatchSize()))
		}
		at := len(x.lists)
		x.lists = x.t.edges(x.lists, e, x.n.Reversed)
		col.Vals = append(col.Vals, graph.ListValue(x.lists[at:len(x.lists):len(x.lists)]))
	}
}

func (x *varExpand) addRows(l *trailLevel, lo, hi int) {
	if x.toAt >= 0 {
		x.Out.Cols[x.toAt].IDs = append(x.Out.Cols[x.toAt].IDs, l.ids[lo:hi]...)
	}
	x.Picked = append(x.Picked, l.row[lo:hi]...)
	x.Out.N += hi - lo
}

// nextEnds adds the rows of the next ends; ok is false at the end of the input batch.
func (x *varExpand) nextEnds(ctx context.Context) (ok bool, err error) {
	if x.endsGiven == len(x.reach.ids) {
		if x.started == len(x.rows) {
			x.endsGiven, x.reach.ids = 0, x.reach.ids[:0]
			return false, nil
		}
		x.endsGiven = 0
		row := x.rows[x.started]
		to := graph.NoVertex
		if x.t.to != nil {
			to = x.t.to[row]
		}
		if err := x.reach.from(ctx, x.Rows, x.src[x.started], row, x.t.to != nil, to); err != nil {
			return false, err
		}
		x.started++
		return true, nil
	}
	ends := x.reach.ids[x.endsGiven:]
	ends = ends[:min(len(ends), x.Run.BatchSize()-x.Out.N)]
	x.endsGiven += len(ends)
	if x.toAt >= 0 {
		x.Out.Cols[x.toAt].IDs = append(x.Out.Cols[x.toAt].IDs, ends...)
	}
	x.Picked = runtime.AppendRepeated(x.Picked, x.rows[x.started-1], len(ends))
	x.describe(len(ends))
	x.Out.N += len(ends)
	return true, nil
}
