package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// intersect joins each row with the vertices that edges of both legs lead to. For a part of a batch, it reads the lists of both
// sides in one request each. It marks the lists of one side in a bitmap, one after another, and looks up the other side's
// there. The cheaper side is marked: a vertex that repeats from row to row is marked once. Rows with a vertex without edges are
// dropped before any list is read. If few vertices are marked and the other side's lists are long, it reads these edges from
// the marked vertices' end.
type intersect struct {
	runtime.FanOut
	frame         *runtime.Frame
	legs          [2]leg
	exists        bool // the second leg only tests for an edge
	distinctEdges bool // the edges of the legs must differ
	to            int  // position of To in out, or -1
	labels        *expr.LabelTest

	rows   runtime.Sel         // rows with two vertices
	src    [2][]graph.VertexID // parallel to rows
	ids    []graph.VertexID
	known  bool // the degrees of all rows have been read
	lo, hi int  // the rows whose lists have been read
	marked int  // the leg whose lists are marked
	i, j   int  // the current row and entry of its list
	last   int  // the source whose list is in probe, or -1
	probe  probe
	hits   []int

	// The far ends of the marked lists and their edges along the other leg.
	ends runtime.Frontier
	revs []int
	puts []int // by vertex of the other leg: the position of its next edge
}

type leg struct {
	reader     *Reader
	back       *Reader // reads the same edges from their far ends
	from       int     // position in the input
	uniqueness Uniqueness
	writer     EdgeWriter
	f          runtime.Frontier
	degrees    []int
}

// list returns the range of the leg's answer that holds the edges of the k-th row of the part.
func (l *leg) list(k int) (lo, hi int) {
	u := int(l.f.Pos[k])
	if u >= l.reader.Answer.Done {
		return 0, 0
	}
	return l.reader.Answer.Offsets[u], l.reader.Answer.Offsets[u+1]
}

// Intersect compiles an Intersect.
func Intersect(c *compile.Compiler, n *plan.Intersect, need plan.ColSet) *runtime.Stage {
	below := c.Below(need)
	apart := slices.Contains(n.Legs[1].DistinctFrom, n.Legs[0].Edge)
	var uses [2][]plan.Col
	own := []plan.Col{n.To}
	for i, l := range n.Legs {
		below.Add(l.From)
		uses[i] = slices.DeleteFunc(slices.Clone(l.DistinctFrom), func(col plan.Col) bool { return i == 1 && col == n.Legs[0].Edge })
		NeedUnique(c, below, n.Input, uses[i])
		own = append(own, l.Edge, -l.Edge)
	}
	in := c.Compile(n.Input, below)
	c.Bound(in, n.Legs[0].From, n.Legs[1].From)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, own...)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &intersect{
			FanOut: runtime.FanOut{Input: runtime.Input{In: kids[0]}, Run: r, Carry: in.Positions(s.Cols)},
			frame:  r.Frame, exists: n.Legs[1].Exists, distinctEdges: apart, to: s.Pos(n.To),
		}
		if n.Labels != nil {
			x.labels = expr.NewLabelTest(r, n.Labels)
		}
		for i, l := range n.Legs {
			d := EdgeWriter{toAt: -1, edgeAt: -1, idAt: -1, SlabSize: r.BatchSize()}
			if l.Edge != 0 {
				d.edgeAt, d.idAt = s.Pos(l.Edge), s.Pos(-l.Edge)
			}
			x.legs[i] = leg{reader: NewReader(r, l.Types, l.Dir, nil), from: in.Pos(l.From), uniqueness: NewUniqueness(in, uses[i]), writer: d}
			h := x.legs[i].reader
			h.Edges = d.edgeAt >= 0 || d.idAt >= 0 || len(uses[i]) > 0 || apart
			x.legs[i].back = &Reader{Run: r, Types: h.Types, Dir: l.Dir.Reverse(), Edges: h.Edges}
		}
		return x
	}
	return s
}

func (x *intersect) Open(ctx context.Context) error {
	x.probe.clear()
	return x.FanOut.Open(ctx)
}

func (x *intersect) Next(ctx context.Context) (*runtime.Batch, error) { return x.Give(ctx, x) }

func (x *intersect) Advance(ctx context.Context) (bool, error) {
	switch {
	case x.i < x.hi:
		x.match()
		return true, nil
	case x.hi < len(x.rows):
		return true, x.read(ctx)
	}
	return false, nil
}

func (x *intersect) Begin(ctx context.Context) error {
	var err error
	if x.src[0], x.rows, err = Sources(x.Rows, x.legs[0].from, x.frame, x.src[0][:0], x.rows[:0]); err != nil {
		return err
	}
	x.src[1] = x.src[1][:0]
	other := &x.Rows.Cols[x.legs[1].from]
	n := 0
	for k, row := range x.rows {
		v := other.Value(int(row))
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.VertexKind {
			return NotVertex(v)
		}
		x.src[0][n], x.rows[n] = x.src[0][k], row
		x.src[1] = append(x.src[1], v.Vertex())
		n++
	}
	x.src[0], x.rows = x.src[0][:n], x.rows[:n]
	x.lo, x.hi, x.i, x.j, x.known = 0, 0, 0, 0, false
	for i := range x.legs {
		x.legs[i].uniqueness.Begin(x.Rows)
	}
	return x.dropIsolated(ctx)
}

// dropIsolated drops the rows that have a vertex without edges, if there are many of them.
func (x *intersect) dropIsolated(ctx context.Context) error {
	if len(x.rows) == 0 {
		return nil
	}
	for _, i := range [...]int{1, 0} {
		if err := x.readDegrees(ctx, i, 0, len(x.rows)); err != nil {
			return err
		}
		l := &x.legs[i]
		n := 0
		for _, u := range l.f.Pos {
			n += min(l.degrees[u], 1)
		}
		if n >= len(x.rows)*7/8 {
			continue
		}
		n = 0
		for k, u := range l.f.Pos {
			if l.degrees[u] > 0 {
				x.src[0][n], x.src[1][n], x.rows[n] = x.src[0][k], x.src[1][k], x.rows[k]
				n++
			}
		}
		x.src[0], x.src[1], x.rows = x.src[0][:n], x.src[1][:n], x.rows[:n]
		if x.keepDegrees(i); i == 0 {
			x.keepDegrees(1)
		}
	}
	x.known = true
	return nil
}

// keepDegrees restricts a leg's degrees to the remaining rows.
func (x *intersect) keepDegrees(i int) {
	l := &x.legs[i]
	x.ids = append(x.ids[:0], l.f.IDs...)
	l.f.Set(x.src[i])
	at := 0
	for u, id := range l.f.IDs {
		for x.ids[at] != id {
			at++
		}
		l.degrees[u] = l.degrees[at]
	}
	l.degrees = l.degrees[:len(l.f.IDs)]
}

// readDegrees reads the degrees of a leg's vertices for rows lo … hi-1.
func (x *intersect) readDegrees(ctx context.Context, i, lo, hi int) error {
	l := &x.legs[i]
	l.f.Set(x.src[i][lo:hi])
	l.degrees = slices.Grow(l.degrees[:0], len(l.f.IDs))[:len(l.f.IDs)]
	types, ok := l.reader.Types.Resolve()
	if !ok {
		clear(l.degrees)
		return nil
	}
	return x.Run.DegreeBounds(ctx, l.f.IDs, types, l.reader.Dir, l.degrees)
}

// read reads the lists of the next rows: as many as have at most MaxEdges edges together, at least one.
func (x *intersect) read(ctx context.Context) error {
	x.probe.clear()
	x.last = -1
	x.lo, x.i, x.j = x.hi, x.hi, 0
	for n := len(x.rows) - x.lo; ; n = (n + 1) / 2 {
		x.hi = x.lo + n
		var totals [2]int
		for i := range x.legs {
			if !x.known {
				if err := x.readDegrees(ctx, i, x.lo, x.hi); err != nil {
					return err
				}
			}
			for _, d := range x.legs[i].degrees {
				totals[i] += d
			}
		}
		x.known = false
		x.marked = 1
		if !x.exists && x.cost(0) < x.cost(1) {
			x.marked = 0
		}
		if x.hi == len(x.rows) {
			if found, err := x.readBack(ctx, totals[x.marked], totals[1-x.marked]); found || err != nil {
				return err
			}
		}
		if n == 1 || totals[0]+totals[1] <= MaxEdges {
			break
		}
	}
	for i := range x.legs {
		h := x.legs[i].reader
		if h.Labels = nil; i != x.marked {
			h.Labels = x.labels
		}
		if err := h.Read(ctx, x.legs[i].f.IDs, 0); err != nil {
			return err
		}
	}
	return nil
}

// minFar is the number of edges from which on lists are read from the far end, if that reads fewer.
const minFar = 256

// readBack reads the lists of the marked side, and then the other side's edges from those far ends, if these edges are far
// fewer than far, the whole.
func (x *intersect) readBack(ctx context.Context, near, far int) (bool, error) {
	if far < minFar || 4*near > far || near > MaxEdges {
		return false, nil
	}
	m, e := &x.legs[x.marked], &x.legs[1-x.marked]
	m.reader.Labels = x.labels
	if err := m.reader.Read(ctx, m.f.IDs, 0); err != nil {
		return false, err
	}
	x.ends.Set(m.reader.Answer.Targets)
	types, ok := e.back.Types.Resolve()
	if !ok {
		return false, nil
	}
	x.revs = slices.Grow(x.revs[:0], len(x.ends.IDs))[:len(x.ends.IDs)]
	if err := x.Run.DegreeBounds(ctx, x.ends.IDs, types, e.back.Dir, x.revs); err != nil {
		return false, err
	}
	back := 0
	for _, d := range x.revs {
		back += d
	}
	if 4*back > far {
		return false, nil
	}
	if err := e.back.Read(ctx, x.ends.IDs, 0); err != nil {
		return false, err
	}
	x.reverse(e)
	return true, nil
}

// reverse builds the answer of a leg from edges that were read from their far ends.
func (x *intersect) reverse(l *leg) {
	from, to := &l.back.Answer, &l.reader.Answer
	n := len(l.f.IDs)
	x.puts = slices.Grow(x.puts[:0], n+1)[:n+1]
	clear(x.puts)
	edges := 0
	for _, v := range from.Targets {
		if u, ok := slices.BinarySearch(l.f.IDs, v); ok {
			x.puts[u+1]++
			edges++
		}
	}
	for u := range n {
		x.puts[u+1] += x.puts[u]
	}
	to.Done, to.Offsets = n, append(to.Offsets[:0], x.puts...)
	to.Targets = slices.Grow(to.Targets[:0], edges)[:edges]
	to.Edges, to.Types, to.Reverse = to.Edges[:0], to.Types[:0], to.Reverse[:0]
	if l.reader.Edges {
		to.Edges = slices.Grow(to.Edges, edges)[:edges]
		to.Types = slices.Grow(to.Types, edges)[:edges]
		if l.reader.Dir == graph.Both {
			to.Reverse = slices.Grow(to.Reverse, edges)[:edges]
		}
	}
	for i := range from.Done {
		for at := from.Offsets[i]; at < from.Offsets[i+1]; at++ {
			u, ok := slices.BinarySearch(l.f.IDs, from.Targets[at])
			if !ok {
				continue
			}
			put := x.puts[u]
			x.puts[u]++
			to.Targets[put] = x.ends.IDs[i]
			if l.reader.Edges {
				to.Edges[put], to.Types[put] = from.Edges[at], from.Types[at]
				if l.reader.Dir == graph.Both {
					to.Reverse[put] = !from.Reverse[at]
				}
			}
		}
	}
}

// cost estimates the steps for the part if a leg is marked.
func (x *intersect) cost(marked int) int {
	m, e := &x.legs[marked], &x.legs[1-marked]
	n := 0
	for k := range x.hi - x.lo {
		n += e.degrees[e.f.Pos[k]]
		if k == 0 || m.f.Pos[k] != m.f.Pos[k-1] {
			n += 2 * m.degrees[m.f.Pos[k]]
		}
	}
	return n
}

// match looks up the entries of the rows' lists until the batch is full or the part ends.
func (x *intersect) match() {
	m, e := &x.legs[x.marked], &x.legs[1-x.marked]
	for ; x.i < x.hi; x.i, x.j = x.i+1, 0 {
		k := x.i - x.lo
		lo, hi := e.list(k)
		if lo == hi {
			continue
		}
		first, end := m.list(k)
		if u := int(m.f.Pos[k]); u != x.last {
			x.last = u
			x.probe.set(m.reader.Answer.Targets[first:end], x.lookups(k))
		}
		if first == end {
			continue
		}
		row := x.rows[x.i]
		for at := lo + x.j; at < hi; at++ {
			v := e.reader.Answer.Targets[at]
			if !x.probe.has(v) {
				continue
			}
			if x.Out.N >= x.Run.BatchSize() {
				x.j = at - lo
				return
			}
			x.pair(row, at, first, v)
		}
	}
}

// lookups counts the look-ups in the list of the k-th row's marked vertex before that vertex changes.
func (x *intersect) lookups(k int) int {
	m, e := &x.legs[x.marked], &x.legs[1-x.marked]
	n := 0
	for u := m.f.Pos[k]; k < x.hi-x.lo && m.f.Pos[k] == u; k++ {
		lo, hi := e.list(k)
		n += hi - lo
	}
	return n
}

// pair writes the rows that combine an edge to v with the marked edges to v.
func (x *intersect) pair(row int32, at, first int, v graph.VertexID) {
	m, e := &x.legs[x.marked], &x.legs[1-x.marked]
	if used := e.uniqueness.Excluded(row); len(used) > 0 && slices.Contains(used, e.reader.Answer.Edges[at]) {
		return
	}
	if x.exists {
		x.add(row, v)
		e.writer.add(&x.Out, e.reader, x.src[1-x.marked][x.i], at, at+1)
		return
	}
	used := m.uniqueness.Excluded(row)
	x.hits = x.probe.find(v, x.hits[:0])
	for _, h := range x.hits {
		h += first
		if len(used) > 0 && slices.Contains(used, m.reader.Answer.Edges[h]) || x.distinctEdges && m.reader.Answer.Edges[h] == e.reader.Answer.Edges[at] {
			continue
		}
		x.add(row, v)
		e.writer.add(&x.Out, e.reader, x.src[1-x.marked][x.i], at, at+1)
		m.writer.add(&x.Out, m.reader, x.src[x.marked][x.i], h, h+1)
	}
}

// add appends a row to out.
func (x *intersect) add(row int32, v graph.VertexID) {
	if x.to >= 0 {
		x.Out.Cols[x.to].IDs = append(x.Out.Cols[x.to].IDs, v)
	}
	x.Picked = append(x.Picked, row)
	x.Out.N++
}
