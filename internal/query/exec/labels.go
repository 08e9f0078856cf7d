package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// labelTest tests label sets against a label expression, each set once.
type labelTest struct {
	g     graph.Catalog
	expr  *plan.LabelExpr
	known []int8 // by label set: 0 not yet tested, 1 holds, -1 does not
}

// labelTest makes the test of an expression; nil holds for every vertex.
func (r *run) labelTest(e *plan.LabelExpr) *labelTest { return &labelTest{g: r.g, expr: e} }

// holds tests a label set. The set 0, of a vertex that is not there, never holds.
func (t *labelTest) holds(ls graph.LabelSet) bool {
	if ls == 0 {
		return false
	}
	if int(ls) < len(t.known) && t.known[ls] != 0 {
		return t.known[ls] > 0
	}
	return t.holdsSlow(ls)
}

func (t *labelTest) holdsSlow(ls graph.LabelSet) bool {
	for len(t.known) <= int(ls) {
		t.known = append(t.known, 0)
	}
	t.known[ls] = -1
	labels := t.g.Labels(ls)
	ok := t.expr == nil || holdsLabels(t.expr, len(labels) > 0, func(name string) bool {
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

// holdsLabels tests a label expression; any says whether there are labels at all, has whether a name is among them.
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

// labelSets reads the label sets of the vertices among values in bulk.
type labelSets struct {
	r    *run
	ids  []graph.VertexID
	rows sel
	sets []graph.LabelSet // beside rows

	reader setReader
}

// read fills rows and sets with those of s that hold a vertex.
func (l *labelSets) read(ctx context.Context, vs []graph.Value, s sel) error {
	l.ids, l.rows = l.ids[:0], l.rows[:0]
	for _, i := range s {
		if vs[i].Kind() == graph.VertexKind {
			l.ids, l.rows = append(l.ids, vs[i].Vertex()), append(l.rows, i)
		}
	}
	if len(l.ids) == 0 {
		return nil
	}
	if err := l.r.checkVertices(l.ids); err != nil {
		return err
	}
	for len(l.sets) < len(l.ids) {
		l.sets = append(l.sets, 0)
	}
	return l.reader.read(ctx, l.r.tx, l.ids, l.sets[:len(l.ids)])
}

// setReader reads the label sets of vertices in any order, asking for each once and in ascending order.
type setReader struct {
	sorted frontier
	sets   []graph.LabelSet
}

// read fills out beside ids.
func (s *setReader) read(ctx context.Context, tx shard.Tx, ids []graph.VertexID, out []graph.LabelSet) error {
	if nearlyAscending(ids) {
		return tx.LabelSets(ctx, ids, out)
	}
	s.sorted.set(ids)
	n := len(s.sorted.ids)
	if cap(s.sets) < n {
		s.sets = make([]graph.LabelSet, n, n+n/2)
	}
	s.sets = s.sets[:n]
	if err := tx.LabelSets(ctx, s.sorted.ids, s.sets); err != nil {
		return err
	}
	for i, at := range s.sorted.pos {
		out[i] = s.sets[at]
	}
	return nil
}
