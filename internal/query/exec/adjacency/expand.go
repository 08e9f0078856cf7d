package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// How many edges an expansion requests at once: few at first, in case the consumer needs no more.
const (
	firstEdges = 4 * graph.BatchSize
	MaxEdges   = 64 * graph.BatchSize
)

// expand joins each row with the edges of a vertex. It reads the neighbour lists of an input batch in one request, or in
// several if they are long, tests each edge once, and writes rows.
type expand struct {
	runtime.FanOut
	frame      *runtime.Frame
	reader     *Reader
	from       int // position of From in the input
	writer     EdgeWriter
	uniqueness Uniqueness

	src     []graph.VertexID
	rows    runtime.Sel // parallel to src
	f       runtime.Frontier
	base    int  // sources answered before the current answer
	inOrder bool // the current answer covers all sources, so rows keep the order of the input
	k, end  int  // the unwritten entries of the current answer
	off     int  // written edges of entry k
	limit   int

	once  bool            // each end is written once
	seen  graph.VertexSet // the written ends, if once is set
	seenN int             // bytes of seen that are accounted for
	acct  runtime.Account
}

// Expand compiles an Expand.
func Expand(c *compile.Compiler, n *plan.Expand, need plan.ColSet) *runtime.Stage {
	if rest := rowConditions(n); len(rest) > 0 {
		inner := *n
		inner.Where = slices.DeleteFunc(slices.Clone(n.Where), func(e plan.Expr) bool { return slices.Contains(rest, e) })
		return c.Node(c, &plan.Filter{Input: &inner, Preds: rest}, need)
	}
	below := c.Below(need, n.Where...)
	below.Add(n.From)
	if n.Into {
		below.Add(n.To)
	}
	NeedUnique(c, below, n.Input, n.DistinctFrom)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.From)
	own := []plan.Col{n.Edge, -n.Edge}
	if n.Into {
		c.Bound(in, n.To)
	} else {
		own = append(own, n.To)
	}
	prefetching, follows := compile.Prefetching(in, n.From), compile.PrefetchingHop(in, n.From)
	brought, broughtCols := c.Brought(n.Edge, need)
	own = append(own, broughtCols...)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, own...)}
	where := CompileFilter(c, n.Where, n.Edge, n.To)
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := expand{
			FanOut: runtime.FanOut{Input: runtime.Input{In: kids[0]}, Run: r, Carry: in.Positions(s.Cols)},
			frame:  r.Frame, reader: NewReader(r, n.Types, n.Dir, n.Labels), from: in.Pos(n.From), uniqueness: NewUniqueness(in, n.DistinctFrom), limit: firstEdges,
			once: s.Once && r.Frame == nil, acct: runtime.Account{Run: r, Name: "Expand"},
		}
		x.reader.Filter = NewEdgeTest(r, where, in.Cols)
		x.reader.Props = brought
		x.writer = EdgeWriter{toAt: -1, edgeAt: s.Pos(n.Edge), idAt: s.Pos(-n.Edge), SlabSize: r.BatchSize()}
		for _, col := range broughtCols {
			x.writer.props = append(x.writer.props, s.Pos(col))
		}
		if n.Edge == 0 {
			x.writer.edgeAt, x.writer.idAt = -1, -1
		}
		if !n.Into {
			x.writer.toAt = s.Pos(n.To)
		}
		x.reader.Edges = x.writer.edgeAt >= 0 || x.writer.idAt >= 0 || len(x.uniqueness.Pos) > 0
		if n.Into {
			return newExpandInto(&x, n, in)
		}
		r.AcceptPrefetch(s, &x.reader.Next)
		for _, below := range [2]*runtime.Stage{prefetching, follows} {
			if p := r.PrefetchOf(below); p != nil {
				*p = runtime.Prefetch{Hop: x.reader, Limit: firstEdges}
			}
		}
		return &x
	}
	return s
}

// rowConditions returns the conditions that read more than the edge and its far end, so the neighbour list alone cannot decide
// them.
func rowConditions(n *plan.Expand) []plan.Expr {
	var rest []plan.Expr
	for _, e := range n.Where {
		for col := range plan.Reads(e).All() {
			if col != n.Edge && (col != n.To || n.Into) {
				rest = append(rest, e)
				break
			}
		}
	}
	return rest
}

func (x *expand) Open(ctx context.Context) error {
	x.limit = firstEdges
	x.seen.Clear()
	x.reader.Known = 0
	return x.FanOut.Open(ctx)
}

func (x *expand) Close() {
	x.acct.Release()
	x.seenN = 0
	if cap(x.reader.Answer.Targets) > firstEdges { // too many to keep for another run
		x.reader.Answer = shard.Neighbours{}
	}
	x.reader.Shrink()
	x.Input.Close()
}

func (x *expand) Next(ctx context.Context) (*runtime.Batch, error) { return x.Give(ctx, x) }

func (x *expand) Advance(ctx context.Context) (bool, error) {
	switch {
	case x.k < x.end:
		x.writeRows()
		return true, nil
	case x.base+x.reader.Answer.Done < len(x.f.IDs):
		return true, x.read(ctx)
	}
	return false, nil
}

func (x *expand) Begin(context.Context) error {
	var err error
	if x.src, x.rows, err = Sources(x.Rows, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	x.f.Set(x.src)
	x.uniqueness.Begin(x.Rows)
	x.base, x.k, x.end, x.off = 0, 0, 0, 0
	x.reader.Answer.Done = 0
	return nil
}

// Sources appends the vertices of a column and their rows to src and rows. It skips nulls, and rows of the frame that no
// operator waits for.
func Sources(b *runtime.Batch, pos int, f *runtime.Frame, src []graph.VertexID, rows runtime.Sel) ([]graph.VertexID, runtime.Sel, error) {
	col := &b.Cols[pos]
	all := f == nil || f.Done == nil
	if col.IDs != nil && all {
		return append(src, col.IDs...), append(rows, runtime.AllRows(b.N)...), nil
	}
	for i := range b.N {
		if !all && f.Done[b.RowOf(i)] {
			continue
		}
		v := col.Value(i)
		switch v.Kind() {
		case graph.Null:
			continue
		case graph.VertexKind:
		default:
			return src, rows, NotVertex(v)
		}
		src, rows = append(src, v.Vertex()), append(rows, int32(i))
	}
	return src, rows, nil
}

// NotVertex is the error for a value that a pattern needs to be a vertex.
func NotVertex(v graph.Value) error {
	return graph.TypeError("InvalidArgumentType", "a pattern needs a Node here, not a value of type %s", v.Kind())
}

// read fetches the next part of the lists.
func (x *expand) read(ctx context.Context) error {
	x.base += x.reader.Answer.Done
	if err := runtime.GrowSet(&x.acct, &x.seen, &x.seenN); err != nil {
		return err
	}
	x.reader.Late = x.Late()
	if err := x.reader.Read(ctx, x.f.IDs[x.base:], x.limit); err != nil {
		return err
	}
	x.limit = min(4*x.limit, MaxEdges)
	done := x.reader.Answer.Done
	if x.reader.Cut {
		x.f.IDs = x.f.IDs[:x.base+done]
		x.Stop()
	}
	x.inOrder = x.base == 0 && done == len(x.f.IDs)
	x.k, x.end, x.off = int(x.f.First[x.base]), int(x.f.First[x.base+done]), 0
	return nil
}

// writeRows writes edges of the current answer until the batch is full or the answer ends.
func (x *expand) writeRows() {
	res := &x.reader.Answer
	room := x.Run.BatchSize() - x.Out.N
	for x.k < x.end && room > 0 {
		place := int32(x.k)
		if !x.inOrder {
			place = x.f.Order[x.k]
		}
		u := int(x.f.Pos[place]) - x.base
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
		excluded := x.uniqueness.Excluded(row)
		switch {
		case x.once:
			n = x.writeUnseen(lo, hi, excluded)
		case len(excluded) > 0 && ContainsAny(res.Edges[lo:hi], excluded):
			for i := lo; i < hi; i++ {
				if !slices.Contains(excluded, res.Edges[i]) {
					x.writer.add(&x.Out, x.reader, x.src[place], i, i+1)
					n++
				}
			}
		default:
			x.writer.add(&x.Out, x.reader, x.src[place], lo, hi)
			n = hi - lo
		}
		x.Picked = runtime.AppendRepeated(x.Picked, row, n)
		x.Out.N += n
		room -= n
	}
}

// writeUnseen writes a row for each end of edges lo … hi-1 of the answer that has no row yet. The row holds nothing but the
// end.
func (x *expand) writeUnseen(lo, hi int, excluded []graph.EdgeID) int {
	res := &x.reader.Answer
	ids := x.Out.Cols[x.writer.toAt].IDs
	before := len(ids)
	for i, v := range res.Targets[lo:hi] {
		if x.seen.Has(v) || len(excluded) > 0 && slices.Contains(excluded, res.Edges[lo+i]) {
			continue
		}
		x.seen.Add(v)
		ids = append(ids, v)
	}
	x.Out.Cols[x.writer.toAt].IDs = ids
	return len(ids) - before
}

// EdgeWriter fills the columns that an expansion adds.
type EdgeWriter struct {
	toAt, edgeAt, idAt int   // positions in the result, or -1: the far end, the edge, the edge's id alone
	props              []int // likewise the edge properties that the reader fetches
	SlabSize           int   // edges in a slab
	slab               []graph.EdgeValue
}

// add appends edges lo … hi-1 of the reader's answer, which belong to source.
func (d *EdgeWriter) add(out *runtime.Batch, h *Reader, source graph.VertexID, lo, hi int) {
	if d.toAt >= 0 {
		col := &out.Cols[d.toAt]
		col.IDs = append(col.IDs, h.Answer.Targets[lo:hi]...)
	}
	if d.idAt >= 0 {
		col := &out.Cols[d.idAt]
		for _, id := range h.Answer.Edges[lo:hi] {
			col.IDs = append(col.IDs, graph.VertexID(id))
		}
	}
	for k, pos := range d.props {
		col := &out.Cols[pos]
		if p := h.PropCols[k]; p >= 0 {
			col.Vals = append(col.Vals, h.Answer.Props[p][lo:hi]...)
		} else {
			runtime.AppendNulls(col, hi-lo)
		}
	}
	if d.edgeAt >= 0 {
		col := &out.Cols[d.edgeAt]
		for i := lo; i < hi; i++ {
			col.Vals = append(col.Vals, graph.EdgeRefValue(d.Keep(h.Edge(i, source))))
		}
	}
}

// Keep allocates an edge for a row. Its memory is never reused, so rows may be kept.
func (d *EdgeWriter) Keep(e graph.Edge) *graph.EdgeValue {
	if len(d.slab) == cap(d.slab) {
		d.slab = make([]graph.EdgeValue, 0, d.SlabSize)
	}
	d.slab = append(d.slab, graph.EdgeValue{Edge: e})
	return &d.slab[len(d.slab)-1]
}
