package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// seekID compiles a SeekID.
func (c *compiler) seekID(n *plan.SeekID, need plan.ColSet) *stage {
	return c.find(n, n.Input, n.Out, need, []plan.Expr{n.Key}, func(r *run, in *stage) finder {
		es := r.evaluators(in.cols)
		return &idSeeker{r: r, element: n.Element, es: es, key: es.add(n.Key)}
	})
}

// idSeeker finds the vertices with certain ids, if they are there.
type idSeeker struct {
	r       *run
	element bool
	es      *evaluators
	key     evaluator

	ids     []graph.VertexID
	sets    []graph.LabelSet
	offsets []int
	done    bool
}

func (s *idSeeker) begin(ctx context.Context, b *batch, rows sel) error {
	s.done = false
	s.ids, s.offsets = s.ids[:0], append(s.offsets[:0], 0)
	s.es.begin(rows)
	vs, err := s.key.eval(ctx, b, rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if id, ok := s.vertexID(vs[row]); ok {
			s.ids = append(s.ids, id)
		}
		s.offsets = append(s.offsets, len(s.ids))
	}
	if len(s.ids) == 0 {
		return nil
	}
	s.sets = slices.Grow(s.sets[:0], len(s.ids))[:len(s.ids)]
	if err := s.r.tx.LabelSets(ctx, s.ids, s.sets); err != nil {
		return err
	}
	n := 0
	for k := range rows {
		lo, hi := s.offsets[k], s.offsets[k+1]
		s.offsets[k] = n
		if lo < hi && s.sets[lo] != 0 {
			s.ids[n] = s.ids[lo]
			n++
		}
	}
	s.offsets[len(rows)] = n
	return nil
}

// vertexID gives the vertex that a value of id() or elementId() may name.
func (s *idSeeker) vertexID(v graph.Value) (graph.VertexID, bool) {
	if s.element {
		if v.Kind() != graph.String {
			return 0, false
		}
		return fn.ParseVertexElementID(v.Str())
	}
	switch v.Kind() {
	case graph.Int:
		return graph.VertexID(v.Int()), v.Int() >= 0
	case graph.Float:
		f := v.Float()
		if f < 0 || f >= 1<<63 || float64(int64(f)) != f {
			return 0, false
		}
		return graph.VertexID(int64(f)), true
	}
	return 0, false
}

func (s *idSeeker) more(context.Context) (part, bool, error) {
	if s.done || len(s.offsets) == 1 {
		return part{}, false, nil
	}
	s.done = true
	return part{hi: len(s.offsets) - 1, ids: s.ids, offsets: s.offsets}, true, nil
}
