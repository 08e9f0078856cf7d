package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// The numbers of edges that an expansion asks for at once: few at first, in case that nobody wants more.
const (
	firstEdges = 4 * graph.BatchSize
	mostEdges  = 64 * graph.BatchSize
)

// expand joins each row with the edges of a vertex. It reads the lists of all vertices of an input batch in one
// request (or in a few, if they are long), tests the edges once, and then deals them out to the rows.
type expand struct {
	fan
	frame *frame
	hop   *hop
	from  int // position of From in the input
	dealt dealt
	uses  unlike

	src     []graph.VertexID
	rows    sel // beside src
	f       frontier
	base    int  // sources answered before the present answer
	inOrder bool // the present answer has all sources, so that rows can come in the order of the input
	k, end  int  // the entries of the present answer that are still to be dealt
	off     int  // edges of entry k that are dealt
	limit   int

	once  bool            // ends that were given before are left out
	seen  graph.VertexSet // the ends that were given, if so
	seenN int             // bytes of seen that are accounted
	acct  account
}

// expand compiles an Expand.
func (c *compiler) expand(n *plan.Expand, need plan.ColSet) *stage {
	if rest := c.rowConditions(n); len(rest) > 0 {
		inner := *n
		inner.Where = slices.DeleteFunc(slices.Clone(n.Where), func(e plan.Expr) bool { return slices.Contains(rest, e) })
		return c.node(c, &plan.Filter{Input: &inner, Preds: rest}, need)
	}
	below := c.below(need, n.Where...)
	below.Add(n.From)
	if n.Into {
		below.Add(n.To)
	}
	c.needUnlike(below, n.Input, n.Unlike)
	in := c.compile(n.Input, below)
	c.bound(in, n.From)
	own := []plan.Col{n.Edge, -n.Edge}
	if n.Into {
		c.bound(in, n.To)
	} else {
		own = append(own, n.To)
	}
	brought, broughtCols := c.brought(n.Edge, need)
	own = append(own, broughtCols...)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, own...)}
	where := c.hopWhere(n.Where, n.Edge, n.To)
	s.build = func(r *run, kids []operator) operator {
		x := expand{
			fan:   fan{input: input{kids[0]}, r: r, carry: in.positions(s.cols)},
			frame: r.frame, hop: r.newHop(n.Types, n.Dir, n.Labels), from: in.pos(n.From), uses: newUnlike(in, n.Unlike), limit: firstEdges,
			once: s.once && r.frame == nil, acct: account{r: r, name: "Expand"},
		}
		x.hop.where = r.edgeTest(where, in.cols)
		x.hop.bring = brought
		x.dealt = dealt{to: -1, edge: s.pos(n.Edge), id: s.pos(-n.Edge), size: r.batchSize()}
		for _, col := range broughtCols {
			x.dealt.props = append(x.dealt.props, s.pos(col))
		}
		if n.Edge == 0 {
			x.dealt.edge, x.dealt.id = -1, -1
		}
		if !n.Into {
			x.dealt.to = s.pos(n.To)
		}
		x.hop.edges = x.dealt.edge >= 0 || x.dealt.id >= 0 || len(x.uses.pos) > 0
		if n.Into {
			return newExpandInto(&x, n, in)
		}
		prefetch(kids[0], x.from, x.hop, firstEdges)
		x.goOn(kids[0])
		return &x
	}
	return s
}

// goOn tells the expansion whose far ends this one begins with, if one does.
func (x *expand) goOn(op operator) {
	if e, ok := unmetered(op).(*expand); ok && e.dealt.to == x.from {
		e.hop.then, e.hop.thenMax = x.hop, firstEdges
	}
}

// rowConditions gives the conditions that read more than the edge and its far end, so that they cannot be tested
// beside the list.
func (c *compiler) rowConditions(n *plan.Expand) []plan.Expr {
	var rest []plan.Expr
	for _, e := range n.Where {
		for col := range plan.Reads(e) {
			if col != n.Edge && (col != n.To || n.Into) {
				rest = append(rest, e)
				break
			}
		}
	}
	return rest
}

func (x *expand) open(ctx context.Context) error {
	x.limit = firstEdges
	x.seen.Clear()
	x.hop.known = 0
	return x.fan.open(ctx)
}

func (x *expand) close() {
	x.acct.release()
	x.seenN = 0
	if cap(x.hop.res.Targets) > firstEdges { // too many to be kept for another run
		x.hop.res = shard.Neighbours{}
	}
	x.hop.shrink()
	x.input.close()
}

func (x *expand) next(ctx context.Context) (*batch, error) { return x.give(ctx, x) }

func (x *expand) advance(ctx context.Context) (bool, error) {
	switch {
	case x.k < x.end:
		x.deal()
		return true, nil
	case x.base+x.hop.res.Done < len(x.f.ids):
		return true, x.read(ctx)
	}
	return false, nil
}

func (x *expand) begin(context.Context) error {
	var err error
	if x.src, x.rows, err = sources(x.b, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	x.f.set(x.src)
	x.uses.begin(x.b)
	x.base, x.k, x.end, x.off = 0, 0, 0, 0
	x.hop.res.Done = 0
	return nil
}

// sources appends the vertices of a column, and the rows that they stand in, to src and rows. Nulls are left out, and
// rows of the frame that nobody waits for.
func sources(b *batch, pos int, f *frame, src []graph.VertexID, rows sel) ([]graph.VertexID, sel, error) {
	col := &b.Cols[pos]
	all := f == nil || f.done == nil
	if col.IDs != nil && all {
		return append(src, col.IDs...), append(rows, allRows(b.N)...), nil
	}
	for i := range b.N {
		if !all && f.done[b.rowOf(i)] {
			continue
		}
		v := col.Value(i)
		switch v.Kind() {
		case graph.Null:
			continue
		case graph.VertexKind:
		default:
			return src, rows, notVertex(v)
		}
		src, rows = append(src, v.Vertex()), append(rows, int32(i))
	}
	return src, rows, nil
}

func notVertex(v graph.Value) error {
	return graph.TypeError("InvalidArgumentType", "a pattern needs a Node here, not a value of type %s", v.Kind())
}

// read gets the next part of the lists.
func (x *expand) read(ctx context.Context) error {
	x.base += x.hop.res.Done
	if err := growSet(&x.acct, &x.seen, &x.seenN); err != nil {
		return err
	}
	if err := x.hop.read(ctx, x.f.ids[x.base:], x.limit); err != nil {
		return err
	}
	x.limit = min(4*x.limit, mostEdges)
	done := x.hop.res.Done
	x.inOrder = x.base == 0 && done == len(x.f.ids)
	x.k, x.end, x.off = int(x.f.first[x.base]), int(x.f.first[x.base+done]), 0
	return nil
}

// deal gives edges of the present answer to rows until the batch is full or the answer ends.
func (x *expand) deal() {
	res := &x.hop.res
	room := x.r.batchSize() - x.out.N
	for x.k < x.end && room > 0 {
		place := int32(x.k)
		if !x.inOrder {
			place = x.f.order[x.k]
		}
		u := int(x.f.pos[place]) - x.base
		lo, hi := res.Offsets[u]+x.off, res.Offsets[u+1]
		if hi-lo > room {
			hi = lo + room
			x.off += room
		} else {
			x.k++
			x.off = 0
		}
		if lo == hi {
			continue
		}
		row := x.rows[place]
		n := 0
		excluded := x.uses.of(row)
		switch {
		case x.once:
			n = x.dealNew(lo, hi, excluded)
		case len(excluded) > 0 && containsAny(res.Edges[lo:hi], excluded):
			for i := lo; i < hi; i++ {
				if !slices.Contains(excluded, res.Edges[i]) {
					x.dealt.add(&x.out, x.hop, x.src[place], i, i+1)
					n++
				}
			}
		default:
			x.dealt.add(&x.out, x.hop, x.src[place], lo, hi)
			n = hi - lo
		}
		x.picked = appendRepeated(x.picked, row, n)
		x.out.N += n
		room -= n
	}
}

// dealNew gives a row for each end of edges lo … hi-1 of the answer that no row was given for. The end is all there is
// in a row.
func (x *expand) dealNew(lo, hi int, excluded []graph.EdgeID) int {
	res := &x.hop.res
	ids := x.out.Cols[x.dealt.to].IDs
	before := len(ids)
	for i, v := range res.Targets[lo:hi] {
		if x.seen.Has(v) || len(excluded) > 0 && slices.Contains(excluded, res.Edges[lo+i]) {
			continue
		}
		x.seen.Add(v)
		ids = append(ids, v)
	}
	x.out.Cols[x.dealt.to].IDs = ids
	return len(ids) - before
}

// dealt fills the columns that an expansion adds.
type dealt struct {
	to, edge, id int   // positions in the result, or -1: the far end, the edge, the edge's id alone
	props        []int // likewise the properties of the edge that the hop brings
	size         int   // of a slab
	slab         []graph.EdgeValue
}

// add appends edges lo … hi-1 of the hop's answer, which belong to source.
func (d *dealt) add(out *batch, h *hop, source graph.VertexID, lo, hi int) {
	if d.to >= 0 {
		col := &out.Cols[d.to]
		col.IDs = append(col.IDs, h.res.Targets[lo:hi]...)
	}
	if d.id >= 0 {
		col := &out.Cols[d.id]
		for _, id := range h.res.Edges[lo:hi] {
			col.IDs = append(col.IDs, graph.VertexID(id))
		}
	}
	for k, pos := range d.props {
		col := &out.Cols[pos]
		if p := h.brought[k]; p >= 0 {
			col.Vals = append(col.Vals, h.res.Props[p][lo:hi]...)
		} else {
			appendNulls(col, hi-lo)
		}
	}
	if d.edge >= 0 {
		col := &out.Cols[d.edge]
		for i := lo; i < hi; i++ {
			col.Vals = append(col.Vals, graph.EdgeRefValue(d.new(h.edge(i, source))))
		}
	}
}

// new makes an edge for a row. Its memory is not used again: rows may be kept.
func (d *dealt) new(e graph.Edge) *graph.EdgeValue {
	if len(d.slab) == cap(d.slab) {
		d.slab = make([]graph.EdgeValue, 0, d.size)
	}
	d.slab = append(d.slab, graph.EdgeValue{Edge: e})
	return &d.slab[len(d.slab)-1]
}
