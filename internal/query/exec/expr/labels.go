package expr

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// LabelTest tests label sets against a label expression, each set once.
type LabelTest struct {
	g     graph.Catalog
	Expr  *plan.LabelExpr
	known []int8 // by label set: 0 untested, 1 true, -1 false
}

// NewLabelTest returns the test of a label expression; nil is true for every vertex.
func NewLabelTest(r *runtime.Run, e *plan.LabelExpr) *LabelTest {
	return &LabelTest{g: r.Graph, Expr: e}
}

// Holds tests a label set. It is false for the set 0, of a vertex that does not exist.
func (t *LabelTest) Holds(ls graph.LabelSet) bool {
	if ls == 0 {
		return false
	}
	if int(ls) < len(t.known) && t.known[ls] != 0 {
		return t.known[ls] > 0
	}
	return t.holdsSlow(ls)
}

func (t *LabelTest) holdsSlow(ls graph.LabelSet) bool {
	for len(t.known) <= int(ls) {
		t.known = append(t.known, 0)
	}
	t.known[ls] = -1
	labels := t.g.Labels(ls)
	ok := t.Expr == nil || holdsLabels(t.Expr, len(labels) > 0, func(name string) bool {
		id, ok := t.g.Label(name)
		if !ok {
			return false
		}
		return slices.Contains(labels, id)
	})
	if ok {
		t.known[ls] = 1
	}
	return ok
}

// holdsLabels evaluates a label expression; any reports whether there are labels, has whether a name is among them.
func holdsLabels(e *plan.LabelExpr, any bool, has func(string) bool) bool {
	switch e.Op {
	case plan.LabelName:
		return has(e.Name)
	case plan.LabelAny:
		return any
	case plan.LabelNot:
		return !holdsLabels(e.Args[0], any, has)
	case plan.LabelOr:
		for _, a := range e.Args {
			if holdsLabels(a, any, has) {
				return true
			}
		}
		return false
	}
	for _, a := range e.Args {
		if !holdsLabels(a, any, has) {
			return false
		}
	}
	return true
}

// LabelSets reads the label sets of the vertices among values in bulk.
type LabelSets struct {
	Run  *runtime.Run
	IDs  []graph.VertexID
	rows runtime.Sel
	Sets []graph.LabelSet // parallel to rows

	reader LabelReader
}

// Read fills rows and Sets with those of s that hold a vertex.
func (l *LabelSets) Read(ctx context.Context, vs []graph.Value, s runtime.Sel) error {
	l.IDs, l.rows = l.IDs[:0], l.rows[:0]
	for _, i := range s {
		if vs[i].Kind() == graph.VertexKind {
			l.IDs, l.rows = append(l.IDs, vs[i].Vertex()), append(l.rows, i)
		}
	}
	if len(l.IDs) == 0 {
		return nil
	}
	if err := l.Run.CheckVertices(l.IDs); err != nil {
		return err
	}
	for len(l.Sets) < len(l.IDs) {
		l.Sets = append(l.Sets, 0)
	}
	return l.reader.Read(ctx, l.Run.Tx, l.IDs, l.Sets[:len(l.IDs)])
}

// LabelReader reads the label sets of vertices in any order, requesting each once and in ascending order.
type LabelReader struct {
	sorted runtime.Frontier
	sets   []graph.LabelSet
}

// Read fills out, parallel to ids.
func (s *LabelReader) Read(ctx context.Context, tx shard.Tx, ids []graph.VertexID, out []graph.LabelSet) error {
	if nearlyAscending(ids) {
		return tx.LabelSets(ctx, ids, out)
	}
	s.sorted.Set(ids)
	n := len(s.sorted.IDs)
	if cap(s.sets) < n {
		s.sets = make([]graph.LabelSet, n, n+n/2)
	}
	s.sets = s.sets[:n]
	if err := tx.LabelSets(ctx, s.sorted.IDs, s.sets); err != nil {
		return err
	}
	for i, at := range s.sorted.Pos {
		out[i] = s.sets[at]
	}
	return nil
}
