package exec

import (
	"context"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// varExpand joins each row with the trails from a vertex.
type varExpand struct {
	fan
	n         *plan.VarExpand
	frame     *frame
	from, to  int // positions in the input; to is -1 unless it is bound
	toAt      int // positions in out, or -1
	edgesAt   int
	depthAt   int
	lastAt    int
	t         trails
	uses      unlike
	reach     *reach // finds the ends alone; nil: trails are followed
	lists     []graph.Value
	src       []graph.VertexID
	rows      sel
	started   int // of rows
	dst       []graph.VertexID
	seen      graph.VertexSet // ends of the present row, where each comes once
	seenList  []graph.VertexID
	endsGiven int
	perRow    bool // the condition on edges depends on the row
	near      distances
}

func (c *compiler) varExpand(n *plan.VarExpand, need plan.ColSet) *stage {
	below := c.below(need, append([]plan.Expr{n.Min, n.Max}, n.Where...)...)
	below.Add(n.From)
	if n.Into {
		below.Add(n.To)
	}
	c.needUnlike(below, n.Input, n.Unlike)
	in := c.compile(n.Input, below)
	where := c.hopWhere(n.Where, n.EdgeVar, 0)
	if where != nil {
		c.bound(in, where.outer...)
	}
	c.bound(in, n.From)
	own := []plan.Col{n.Edges, n.Depth, n.Last}
	if n.Into {
		c.bound(in, n.To)
	} else {
		own = append(own, n.To)
	}
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, own...)}
	s.build = func(r *run, kids []operator) operator {
		x := &varExpand{
			fan: fan{input: input{kids[0]}, r: r, carry: in.positions(s.cols)}, n: n, frame: r.frame, from: in.pos(n.From), to: -1,
			toAt: -1, edgesAt: -1, depthAt: s.pos(n.Depth), lastAt: s.pos(n.Last), uses: newUnlike(in, n.Unlike),
		}
		if n.Into {
			x.to = in.pos(n.To)
		} else {
			x.toAt = s.pos(n.To)
		}
		if n.Edges != 0 {
			x.edgesAt = s.pos(n.Edges)
		}
		test := r.edgeTest(where, in.cols)
		x.perRow = test != nil && test.perRow()
		x.t = trails{
			r: r, uses: &x.uses, values: x.edgesAt >= 0, dealt: dealt{size: r.batchSize()},
			acct: account{r: r, name: "VarExpand"},
			newHop: func() *hop {
				h := r.newHop(n.Types, n.Dir, nil)
				h.where, h.edges = test, true
				return h
			},
		}
		if n.Labels != nil {
			x.t.ends = r.labelTest(n.Labels)
		}
		return x
	}
	return s
}

func (x *varExpand) open(ctx context.Context) error {
	var err error
	if x.t.min, x.t.max, err = x.r.lengths(ctx, x.n.Min, x.n.Max); err != nil {
		return err
	}
	x.t.sure = !x.r.p.query.Writes && x.r.implied(x.n.Labels, x.n.Types, x.n.Dir)
	if x.n.Ends && (x.t.min <= 1 || len(x.uses.pos) == 0 && !x.perRow) && x.reach == nil {
		x.reach = newReach(x.r, x.t.newHop(), &x.uses, x.t.ends)
		if x.n.Depth != 0 || x.n.Last != 0 {
			x.reach.ways = &reachWays{depthAt: x.depthAt, lastAt: x.lastAt}
		}
	}
	if x.reach != nil {
		x.reach.ends, x.reach.min, x.reach.max, x.endsGiven = x.reach.ends[:0], x.t.min, x.t.max, 0
		if x.t.min <= 1 && x.reach.ways == nil && len(x.uses.pos) == 0 && !x.perRow {
			x.reach.hop.edges = false // as it will be
			if x.reach.max > 1 {
				x.reach.hop.then, x.reach.hop.thenSet, x.reach.hop.thenMax = x.reach.hop, x.reach.hop.where == nil, mostEdges
			}
			prefetch(x.in, x.from, x.reach.hop, mostEdges)
		}
	}
	return x.fan.open(ctx)
}

// lengths computes the bounds of a variable length; without an upper bound it is the largest number.
func (r *run) lengths(ctx context.Context, lo, hi plan.Expr) (int, int, error) {
	bounds := [2]int{1, math.MaxInt}
	for i, e := range [2]plan.Expr{lo, hi} {
		if e == nil {
			continue
		}
		v, err := r.scalar(ctx, e)
		if err != nil {
			return 0, 0, err
		}
		if v.Kind() != graph.Int || v.Int() < 0 {
			return 0, 0, graph.TypeError("InvalidArgumentType", "the length of a path must be an Integer of at least 0")
		}
		bounds[i] = int(v.Int())
	}
	return bounds[0], bounds[1], nil
}

func (x *varExpand) close() {
	x.t.release()
	if x.reach != nil {
		x.reach.release()
		x.reach = nil
	}
	if x.near.s != nil {
		x.near.s.release()
	}
	x.input.close()
}

func (x *varExpand) next(ctx context.Context) (*batch, error) { return x.give(ctx, x) }

func (x *varExpand) advance(ctx context.Context) (bool, error) {
	if x.reach != nil {
		return x.nextEnds(ctx)
	}
	return x.nextTrail(ctx)
}

func (x *varExpand) begin(context.Context) error {
	b := x.b
	x.started = 0
	var err error
	if x.src, x.rows, err = sources(b, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	x.uses.begin(b)
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
				return notVertex(v)
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
		lo, hi, err := x.t.nextRun(ctx, x.r.batchSize()-x.out.N)
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
		if x.n.Ends || x.prunes() && !x.sameEnd() {
			n = 1
		}
		if x.n.Ends {
			for _, v := range x.seenList {
				x.seen.Bitmap(v.Shard())[v.Local()>>6] &^= 1 << (v.Local() & 63)
			}
			x.seenList = x.seenList[:0]
		}
		if x.prunes() {
			if err := x.lookBack(ctx, x.rows[x.started]); err != nil {
				return false, err
			}
		}
		x.t.start(x.b, x.src[x.started:x.started+n], x.rows[x.started:x.started+n])
		x.started += n
	}
}

// prunes reports whether trails are worth being cut short where their end is too far away: the way back from an end is
// looked at for half of the length, which pays for few ends alone.
func (x *varExpand) prunes() bool {
	const fewRows, farthest = 16, 64
	return x.to >= 0 && x.t.max >= 2 && x.t.max <= farthest && len(x.rows) > 0 && (len(x.rows) <= fewRows || x.sameEnd())
}

// sameEnd reports whether all rows of the batch have one end.
func (x *varExpand) sameEnd() bool {
	for _, row := range x.rows {
		if x.dst[row] != x.dst[x.rows[0]] {
			return false
		}
	}
	return !x.perRow
}

// lookBack finds what lies near the end of a row.
func (x *varExpand) lookBack(ctx context.Context, row int32) error {
	if x.near.s == nil {
		h := x.t.newHop()
		h.dir, h.edges = h.dir.Reverse(), false
		x.near.s = &searchSide{hop: h}
	}
	x.t.near = &x.near
	x.near.complete = false
	x.near.s.start(x.b, row, x.dst[row])
	return x.near.within(ctx, x.t.max/2)
}

// add adds the rows of the trails lo … hi-1 of the level at work.
func (x *varExpand) add(lo, hi int) {
	l := x.t.levels[x.t.depth]
	if x.n.Ends {
		for e := lo; e < hi; e++ {
			if v := l.vertex[e]; x.seen.Add(v) {
				x.seenList = append(x.seenList, v)
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
	col := &x.out.Cols[x.edgesAt]
	for e := lo; e < hi; e++ {
		if cap(x.lists)-len(x.lists) < n {
			x.lists = make([]graph.Value, 0, max(n, 2*x.r.batchSize()))
		}
		at := len(x.lists)
		x.lists = x.t.edges(x.lists, e, x.n.Reversed)
		col.Vals = append(col.Vals, graph.ListValue(x.lists[at:len(x.lists):len(x.lists)]))
	}
}

func (x *varExpand) addRows(l *trailLevel, lo, hi int) {
	if x.toAt >= 0 {
		x.out.Cols[x.toAt].IDs = append(x.out.Cols[x.toAt].IDs, l.vertex[lo:hi]...)
	}
	x.picked = append(x.picked, l.row[lo:hi]...)
	x.out.N += hi - lo
}

// nextEnds adds the rows of the next ends; ok is false at the end of the input batch.
func (x *varExpand) nextEnds(ctx context.Context) (ok bool, err error) {
	if x.endsGiven == len(x.reach.ends) {
		if x.started == len(x.rows) {
			x.endsGiven, x.reach.ends = 0, x.reach.ends[:0]
			return false, nil
		}
		x.endsGiven = 0
		row := x.rows[x.started]
		to := graph.NoVertex
		if x.t.to != nil {
			to = x.t.to[row]
		}
		if err := x.reach.from(ctx, x.b, x.src[x.started], row, x.t.to != nil, to); err != nil {
			return false, err
		}
		x.started++
		return true, nil
	}
	ends := x.reach.ends[x.endsGiven:]
	ends = ends[:min(len(ends), x.r.batchSize()-x.out.N)]
	x.endsGiven += len(ends)
	if x.toAt >= 0 {
		x.out.Cols[x.toAt].IDs = append(x.out.Cols[x.toAt].IDs, ends...)
	}
	x.picked = appendRepeated(x.picked, x.rows[x.started-1], len(ends))
	x.describe(len(ends))
	x.out.N += len(ends)
	return true, nil
}
