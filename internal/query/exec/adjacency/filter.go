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

// EdgeFilter is a condition on each edge of an expansion. The edge's properties arrive with the edges: the request fills a
// column for each property.
type EdgeFilter struct {
	Preds []plan.Expr
	Keys  []string // properties of the edge that the request fills
	Cols  []plan.Col
	Outer []plan.Col // the input row's columns, at the end of Cols

	Edge, to bool // whether Cols holds the edge and its far end, in this order

	ranges []plan.PropRange // conditions besides Preds that the shards test
	whole  *EdgeFilter      // the condition without ranges, for parameters that cannot be bounds
}

// CompileLocalFilter compiles a condition on the edge in column edge and the vertex in column to (0: none). All other columns
// belong to the input row.
func CompileLocalFilter(c *compile.Compiler, preds []plan.Expr, edge, to plan.Col) *EdgeFilter {
	if len(preds) == 0 {
		return nil
	}
	w := &EdgeFilter{}
	base := plan.Col(len(c.Program.Query.Cols)) // columns beyond those of the plan
	for _, e := range preds {
		w.Preds = append(w.Preds, compile.Rewrite(e, func(e plan.Expr) plan.Expr {
			p, ok := e.(*plan.Prop)
			if !ok {
				return nil
			}
			if ref, ok := p.X.(*plan.ColRef); !ok || ref.Col != edge {
				return nil
			}
			at := slices.Index(w.Keys, p.Key)
			if at < 0 {
				at = len(w.Keys)
				w.Keys = append(w.Keys, p.Key)
			}
			return &plan.ColRef{Col: base + plan.Col(at)}
		}))
	}
	reads := plan.Reads(w.Preds...)
	if w.Edge = reads.Has(edge); w.Edge {
		w.Cols = append(w.Cols, edge)
	}
	if w.to = to != 0 && reads.Has(to); w.to {
		w.Cols = append(w.Cols, to)
	}
	for k := range w.Keys {
		w.Cols = append(w.Cols, base+plan.Col(k))
	}
	for col := range reads.All() {
		if !slices.Contains(w.Cols, col) {
			w.Outer = append(w.Outer, col)
		}
	}
	slices.Sort(w.Outer)
	w.Cols = append(w.Cols, w.Outer...)
	return w
}

// EdgeTest evaluates an EdgeFilter in a run.
type EdgeTest struct {
	w         *EdgeFilter
	r         *runtime.Run
	preds     *expr.Predicates
	needsEdge bool
	ids       []graph.PropID // parallel to w.Keys; 0 for an unknown name
	asked     []int          // by key: the column of the request, or -1
	bounds    Ranges
	outerPos  []int // positions of w.outer in the input's batches

	b     runtime.Batch
	edges []graph.EdgeValue // the column of the edge
	ends  []graph.VertexID  // the column of the far end, where that is the source
	nulls []graph.Value
}

// NewEdgeTest creates the test over an input with the columns cols; w may be nil.
func NewEdgeTest(r *runtime.Run, w *EdgeFilter, cols []plan.Col) *EdgeTest {
	if w == nil {
		return nil
	}
	bounds, ok := NewRanges(r, w.ranges)
	if !ok {
		w = w.whole
	}
	t := &EdgeTest{w: w, r: r, needsEdge: w.Edge, ids: make([]graph.PropID, len(w.Keys)), asked: make([]int, len(w.Keys))}
	t.preds = expr.New(r, w.Cols).Predicates(w.Preds)
	t.bounds = bounds
	t.outerPos = (&runtime.Stage{Cols: cols}).Positions(w.Outer)
	t.b.Reset(len(w.Cols))
	return t
}

// PerRow reports whether the condition depends on the input's row.
func (t *EdgeTest) PerRow() bool { return len(t.w.Outer) > 0 }

// resolve appends the ids of the requested properties to dst.
func (t *EdgeTest) resolve(dst []graph.PropID) []graph.PropID {
	for k := range t.ids {
		if t.ids[k] == 0 {
			t.ids[k], _ = t.r.Graph.Prop(t.w.Keys[k])
		}
		t.asked[k] = -1
		if t.ids[k] != 0 {
			t.asked[k] = len(dst)
			dst = append(dst, t.ids[k])
		}
	}
	return dst
}

// filterPart appends to dst those of edges lo … hi-1 of an answer that satisfy a condition without outer columns. u is the
// source of edge lo or an earlier one; filterPart returns the source of edge hi.
func (t *EdgeTest) filterPart(ctx context.Context, h *Reader, lo, hi, u int, dst runtime.Sel) (int, runtime.Sel, error) {
	n := hi - lo
	b := &t.b
	b.N = n
	at := 0
	if t.w.Edge {
		t.edges = slices.Grow(t.edges[:0], n)[:n]
		vals := expr.Grown(b.Cols[at].Vals, n)
		for i := lo; i < hi; i++ {
			for h.Answer.Offsets[u+1] <= i {
				u++
			}
			t.edges[i-lo].Edge = h.Edge(i, h.Request.Sources[u])
			vals[i-lo] = graph.EdgeRefValue(&t.edges[i-lo])
		}
		b.Cols[at].Vals = vals
		at++
	}
	if t.w.to {
		b.Cols[at].IDs = h.Answer.Targets[lo:hi]
		if h.Back {
			b.Cols[at].IDs = t.sources(h, lo, hi)
		}
		at++
	}
	for k := range t.w.Keys {
		if t.asked[k] < 0 {
			b.Cols[at].Vals = t.null(n)
		} else {
			b.Cols[at].Vals = h.Answer.Props[t.asked[k]][lo:hi]
		}
		at++
	}
	passed, err := t.preds.Select(ctx, b, runtime.AllRows(n))
	if err != nil {
		return u, dst, err
	}
	for _, i := range passed {
		dst = append(dst, i+int32(lo))
	}
	return u, dst, nil
}

// sources returns the sources of edges lo … hi-1 of an answer.
func (t *EdgeTest) sources(h *Reader, lo, hi int) []graph.VertexID {
	t.ends = t.ends[:0]
	for u := range h.Answer.Done {
		for range min(h.Answer.Offsets[u+1], hi) - max(h.Answer.Offsets[u], lo) {
			t.ends = append(t.ends, h.Request.Sources[u])
		}
	}
	return t.ends
}

// filterEnds returns the rows whose vertices satisfy a condition that reads only the far end. The result is valid until the
// next call.
func (t *EdgeTest) filterEnds(ctx context.Context, ids []graph.VertexID, rows runtime.Sel) (runtime.Sel, error) {
	t.b.N = len(ids)
	if t.w.to {
		t.b.Cols[0].IDs = ids
	}
	return t.preds.Select(ctx, &t.b, rows)
}

// null returns n nulls.
func (t *EdgeTest) null(n int) []graph.Value {
	for len(t.nulls) < n {
		t.nulls = append(t.nulls, graph.Value{})
	}
	return t.nulls[:n]
}

// FilterRows returns the candidates that satisfy the condition: candidate k is edge edges[k] of the answer, reached from
// sources[k] for input row rows[k]. The result is valid until the next call.
func (t *EdgeTest) FilterRows(ctx context.Context, h *Reader, edges runtime.Sel, sources []graph.VertexID, in *runtime.Batch, rows runtime.Sel) (runtime.Sel, error) {
	n := len(edges)
	b := &t.b
	b.Reset(len(t.w.Cols))
	b.N = n
	at := 0
	if t.w.Edge {
		t.edges = slices.Grow(t.edges[:0], n)[:n]
		col := &b.Cols[at]
		for k, i := range edges {
			t.edges[k].Edge = h.Edge(int(i), sources[k])
			col.Vals = append(col.Vals, graph.EdgeRefValue(&t.edges[k]))
		}
		at++
	}
	if t.w.to {
		for _, i := range edges {
			b.Cols[at].Vals = append(b.Cols[at].Vals, graph.VertexValue(h.Answer.Targets[i]))
		}
		at++
	}
	for k := range t.w.Keys {
		col := &b.Cols[at]
		if t.asked[k] < 0 || t.asked[k] >= len(h.Answer.Props) {
			runtime.AppendNulls(col, n)
		} else {
			got := h.Answer.Props[t.asked[k]]
			for _, i := range edges {
				col.Vals = append(col.Vals, got[i])
			}
		}
		at++
	}
	for _, p := range t.outerPos {
		runtime.AppendColumn(&b.Cols[at], &in.Cols[p], rows)
		at++
	}
	return t.preds.Select(ctx, b, runtime.AllRows(n))
}
