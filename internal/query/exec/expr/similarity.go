package expr

import (
	"context"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// similarity compares a vector property of vertices with a vector that is the same for many rows, in the process that keeps the
// vectors. Rows without a score fall back to the function itself, which returns null or the error of each.
type similarity struct {
	r      *runtime.Run
	by     graph.Similarity
	pos    int // of the column with the vertices
	key    string
	prop   graph.PropID // 0: the name is of no property yet
	vector runtime.Evaluator

	probe    vector.Probe
	ids      []graph.VertexID
	rows     runtime.Sel
	sorted   runtime.Frontier
	scores   []float64
	rest     runtime.Sel
	function runtime.Evaluator
	es       *Evaluators // of function
	out      []graph.Value
}

// similarity returns the evaluator of a similarity of vectors: one of them is a property of a column, and the other a column or the
// same for all rows. It returns nil otherwise.
func (es *Evaluators) similarity(e *plan.Call) runtime.Evaluator {
	name, ok := strings.CutPrefix(e.Func, "vector.similarity.")
	if !ok {
		name, ok = strings.CutPrefix(e.Func, "cypher.near.")
	}
	if !ok || len(e.Args) != 2 {
		return nil
	}
	by, ok := graph.ParseSimilarity(name)
	if !ok {
		return nil
	}
	for i, a := range e.Args {
		p, ok := a.(*plan.Prop)
		if !ok {
			continue
		}
		c, ok := p.X.(*plan.ColRef)
		if !ok {
			continue
		}
		pos := slices.Index(es.cols, c.Col)
		if _, alike := e.Args[1-i].(*plan.Prop); pos < 0 || alike {
			continue
		}
		x := &similarity{r: es.r, by: by, pos: pos, key: p.Key, es: New(es.r, es.cols)}
		x.vector = x.es.Add(e.Args[1-i])
		if _, isCol := x.vector.(*Column); !isCol && !isFixed(x.vector) {
			return nil
		}
		x.function = x.es.function(e)
		return x
	}
	return nil
}

// Eval implements runtime.Evaluator.
func (x *similarity) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	x.out = Grown(x.out, b.N)
	if len(s) == 0 {
		return x.out, nil
	}
	qs, err := x.vector.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	x.rest = x.rest[:0]
	for len(s) > 0 {
		q := qs[s[0]]
		n := 1
		for n < len(s) && sameVector(q, qs[s[n]]) {
			n++
		}
		if ok, err := x.compare(ctx, b, q, s[:n]); err != nil {
			return nil, err
		} else if !ok {
			x.rest = append(x.rest, s[:n]...)
		}
		s = s[n:]
	}
	if len(x.rest) == 0 {
		return x.out, nil
	}
	slices.Sort(x.rest)
	x.es.Begin(x.rest)
	vs, err := x.function.Eval(ctx, b, x.rest)
	if err != nil {
		return nil, err
	}
	for _, i := range x.rest {
		x.out[i] = vs[i]
	}
	return x.out, nil
}

// sameVector reports whether two values are one in memory.
func sameVector(a, b graph.Value) bool {
	if a.Kind() == graph.VectorKind && b.Kind() == graph.VectorKind {
		x, y := a.Vector(), b.Vector()
		return x.Type == y.Type && len(x.Data) == len(y.Data) && unsafe.SliceData(x.Data) == unsafe.SliceData(y.Data)
	}
	return a.Kind() == graph.List && b.Kind() == graph.List && len(a.List()) == len(b.List()) && unsafe.SliceData(a.List()) == unsafe.SliceData(b.List())
}

// compare compares the rows of s with q. It sets x.out for rows with scores, and adds the others to x.rest. It returns false, and
// changes nothing, if q is no vector.
func (x *similarity) compare(ctx context.Context, b *runtime.Batch, q graph.Value, s runtime.Sel) (bool, error) {
	if x.prop == 0 {
		x.prop, _ = x.r.Graph.Prop(x.key)
	}
	if x.prop == 0 || vector.Dimensions(q) < 0 || !x.probe.Set(x.by, q) {
		return false, nil
	}
	col := &b.Cols[x.pos]
	x.ids, x.rows = x.ids[:0], x.rows[:0]
	for _, i := range s {
		switch {
		case col.IDs != nil:
			x.ids, x.rows = append(x.ids, col.IDs[i]), append(x.rows, i)
		case col.Vals[i].Kind() == graph.VertexKind && !col.Vals[i].Virtual():
			x.ids, x.rows = append(x.ids, col.Vals[i].Vertex()), append(x.rows, i)
		default:
			x.rest = append(x.rest, i)
		}
	}
	if len(x.ids) == 0 {
		return true, nil
	}
	if err := x.r.CheckVertices(x.ids); err != nil {
		return false, err
	}
	ids, at := x.ids, []int32(nil)
	if !nearlyAscending(ids) {
		x.sorted.Set(ids)
		ids, at = x.sorted.IDs, x.sorted.Pos
	}
	x.scores = slices.Grow(x.scores[:0], len(ids))[:len(ids)]
	if _, err := x.r.Tx.Compare(ctx, x.prop, &x.probe, ids, x.scores); err != nil {
		return false, err
	}
	for j, i := range x.rows {
		if at != nil {
			j = int(at[j])
		}
		if score := x.scores[j]; math.IsNaN(score) {
			x.rest = append(x.rest, i)
		} else {
			x.out[i] = graph.FloatValue(score)
		}
	}
	return true, nil
}
