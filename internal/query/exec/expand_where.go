package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// edgeWhere is the condition on each edge of an expansion, compiled so that the edge's properties come with the edges
// themselves: each property is a column of its own, which the request fills.
type edgeWhere struct {
	preds []plan.Expr
	keys  []string // properties of the edge that the request brings
	cols  []plan.Col
	outer []plan.Col // of cols those of the input row, at the end

	edge, to bool // the edge itself, its far end: where in cols, if at all, in this order

	ranges []edgeRange // beside preds, for the shards to test
	whole  *edgeWhere  // the condition without ranges, for parameters that cannot be bounds
}

// edgeWhere compiles a condition on the edge in column edge and the vertex in column to (0: none). Columns beyond these
// are those of the input's row.
func (c *compiler) edgeWhere(preds []plan.Expr, edge, to plan.Col) *edgeWhere {
	if len(preds) == 0 {
		return nil
	}
	w := &edgeWhere{}
	base := plan.Col(len(c.p.query.Cols)) // columns beyond those of the plan
	for _, e := range preds {
		w.preds = append(w.preds, rewrite(e, func(e plan.Expr) plan.Expr {
			p, ok := e.(*plan.Prop)
			if !ok {
				return nil
			}
			if ref, ok := p.X.(*plan.ColRef); !ok || ref.Col != edge {
				return nil
			}
			at := slices.Index(w.keys, p.Key)
			if at < 0 {
				at = len(w.keys)
				w.keys = append(w.keys, p.Key)
			}
			return &plan.ColRef{Col: base + plan.Col(at)}
		}))
	}
	reads := plan.Reads(w.preds...)
	if w.edge = reads.Has(edge); w.edge {
		w.cols = append(w.cols, edge)
	}
	if w.to = to != 0 && reads.Has(to); w.to {
		w.cols = append(w.cols, to)
	}
	for k := range w.keys {
		w.cols = append(w.cols, base+plan.Col(k))
	}
	for col := range reads {
		if !slices.Contains(w.cols, col) {
			w.outer = append(w.outer, col)
		}
	}
	slices.Sort(w.outer)
	w.cols = append(w.cols, w.outer...)
	return w
}

// edgeTest runs an edgeWhere.
type edgeTest struct {
	w         *edgeWhere
	r         *run
	preds     *predicates
	needsEdge bool
	ids       []graph.PropID // beside w.keys; 0 for a name that no property has had
	asked     []int          // by key: the column of the request, or -1
	bounds    []edgeBound
	outerPos  []int // positions of w.outer in the input's batches

	b     batch
	edges []graph.EdgeValue // what stands in the column of the edge
	ends  []graph.VertexID  // what stands in the column of the far end, where that is the source
	nulls []graph.Value
	out   sel
}

// edgeTest makes the test over an input with the columns cols; w may be nil.
func (r *run) edgeTest(w *edgeWhere, cols []plan.Col) *edgeTest {
	if w == nil {
		return nil
	}
	if !bounded(w.ranges, r.env.Params) {
		w = w.whole
	}
	t := &edgeTest{w: w, r: r, needsEdge: w.edge, ids: make([]graph.PropID, len(w.keys)), asked: make([]int, len(w.keys))}
	t.preds = r.evaluators(w.cols).predicates(w.preds)
	t.bounds = r.bounds(w.ranges)
	t.outerPos = (&stage{cols: cols}).positions(w.outer)
	t.b.reset(len(w.cols))
	return t
}

// perRow reports whether the condition depends on the input's row.
func (t *edgeTest) perRow() bool { return len(t.w.outer) > 0 }

// resolve appends the properties to ask for to dst.
func (t *edgeTest) resolve(dst []graph.PropID) []graph.PropID {
	for k := range t.ids {
		if t.ids[k] == 0 {
			t.ids[k], _ = t.r.g.Prop(t.w.keys[k])
		}
		t.asked[k] = -1
		if t.ids[k] != 0 {
			t.asked[k] = len(dst)
			dst = append(dst, t.ids[k])
		}
	}
	return dst
}

// filterPart appends to dst those of the edges lo … hi-1 of an answer that satisfy a condition without outer columns.
// u is the source that edge lo belongs to, or one before it; that of edge hi is given back.
func (t *edgeTest) filterPart(ctx context.Context, h *hop, lo, hi, u int, dst sel) (int, sel, error) {
	n := hi - lo
	b := &t.b
	b.N = n
	at := 0
	if t.w.edge {
		t.edges = slices.Grow(t.edges[:0], n)[:n]
		vals := grown(b.Cols[at].Vals, n)
		for i := lo; i < hi; i++ {
			for h.res.Offsets[u+1] <= i {
				u++
			}
			t.edges[i-lo].Edge = h.edge(i, h.req.Sources[u])
			vals[i-lo] = graph.EdgeRefValue(&t.edges[i-lo])
		}
		b.Cols[at].Vals = vals
		at++
	}
	if t.w.to {
		b.Cols[at].IDs = h.res.Targets[lo:hi]
		if h.back {
			b.Cols[at].IDs = t.sources(h, lo, hi)
		}
		at++
	}
	for k := range t.w.keys {
		if t.asked[k] < 0 {
			b.Cols[at].Vals = t.null(n)
		} else {
			b.Cols[at].Vals = h.res.Props[t.asked[k]][lo:hi]
		}
		at++
	}
	out, err := t.preds.filter(ctx, b, allRows(n), t.out[:0])
	if err != nil {
		return u, dst, err
	}
	t.out = out
	for _, i := range out {
		dst = append(dst, i+int32(lo))
	}
	return u, dst, nil
}

// sources gives the sources of the edges lo … hi-1 of an answer.
func (t *edgeTest) sources(h *hop, lo, hi int) []graph.VertexID {
	t.ends = t.ends[:0]
	for u := range h.res.Done {
		for range min(h.res.Offsets[u+1], hi) - max(h.res.Offsets[u], lo) {
			t.ends = append(t.ends, h.req.Sources[u])
		}
	}
	return t.ends
}

// filterEnds gives those of the rows whose vertices satisfy a condition that reads nothing but the far end. It is valid
// until the next call.
func (t *edgeTest) filterEnds(ctx context.Context, ids []graph.VertexID, rows sel) (sel, error) {
	t.b.N = len(ids)
	if t.w.to {
		t.b.Cols[0].IDs = ids
	}
	out, err := t.preds.filter(ctx, &t.b, rows, t.out[:0])
	t.out = out
	return out, err
}

// null gives n nulls.
func (t *edgeTest) null(n int) []graph.Value {
	for len(t.nulls) < n {
		t.nulls = append(t.nulls, graph.Value{})
	}
	return t.nulls[:n]
}

// filterRows gives those of the candidates that satisfy the condition: candidate k is edge edges[k] of the answer, found
// from sources[k] for the input's row rows[k]. The result is valid until the next call.
func (t *edgeTest) filterRows(ctx context.Context, h *hop, edges sel, sources []graph.VertexID, in *batch, rows sel) (sel, error) {
	n := len(edges)
	b := &t.b
	b.reset(len(t.w.cols))
	b.N = n
	at := 0
	if t.w.edge {
		t.edges = slices.Grow(t.edges[:0], n)[:n]
		col := &b.Cols[at]
		for k, i := range edges {
			t.edges[k].Edge = h.edge(int(i), sources[k])
			col.Vals = append(col.Vals, graph.EdgeRefValue(&t.edges[k]))
		}
		at++
	}
	if t.w.to {
		for _, i := range edges {
			b.Cols[at].Vals = append(b.Cols[at].Vals, graph.VertexValue(h.res.Targets[i]))
		}
		at++
	}
	for k := range t.w.keys {
		col := &b.Cols[at]
		if t.asked[k] < 0 || t.asked[k] >= len(h.res.Props) {
			appendNulls(col, n)
		} else {
			got := h.res.Props[t.asked[k]]
			for _, i := range edges {
				col.Vals = append(col.Vals, got[i])
			}
		}
		at++
	}
	for _, p := range t.outerPos {
		appendColumn(&b.Cols[at], &in.Cols[p], rows)
		at++
	}
	out, err := t.preds.filter(ctx, b, allRows(n), t.out[:0])
	t.out = out
	return out, err
}
