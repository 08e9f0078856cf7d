package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// seek compiles a Seek.
func (c *compiler) seek(n *plan.Seek, need plan.ColSet) (*stage, error) {
	return c.find(n, n.Input, n.Out, need, n.Keys, func(r *run, in *stage) finder {
		es := r.evaluators(in.cols)
		return &seeker{r: r, index: n.Index.ID, each: n.Each, es: es, xs: es.addAll(n.Keys)}
	})
}

// seeker looks the keys of all rows of a batch up in one request.
type seeker struct {
	r     *run
	index graph.IndexID
	each  bool // xs[0] gives lists of keys
	es    *evaluators
	xs    []evaluator

	keys    []graph.Value
	first   []int // with each, by row: its first key
	found   shard.Found
	offsets []int
	rows    int
	shared  bool // all rows have the same keys
	done    bool
}

func (s *seeker) begin(ctx context.Context, b *batch, rows sel) error {
	s.rows, s.done = len(rows), len(rows) == 0
	if s.done {
		return nil
	}
	s.es.begin(rows)
	s.shared = true
	cols := make([][]graph.Value, len(s.xs))
	for i, x := range s.xs {
		vs, err := x.eval(ctx, b, rows)
		if err != nil {
			return err
		}
		cols[i] = vs
		if _, ok := isConst(x); !ok {
			s.shared = false
		}
	}
	if s.shared {
		rows = rows[:1]
	}
	s.keys, s.first = s.keys[:0], s.first[:0]
	for _, row := range rows {
		s.first = append(s.first, len(s.keys))
		if !s.each {
			for _, col := range cols {
				s.keys = append(s.keys, col[row])
			}
			continue
		}
		switch v := cols[0][row]; v.Kind() {
		case graph.Null:
		case graph.List:
			s.keys = append(s.keys, v.List()...)
		default:
			return graph.TypeError("InvalidArgumentType", "IN needs a List on its right, not %s", fn.Describe(v))
		}
	}
	s.first = append(s.first, len(s.keys))
	return s.r.tx.Seek(ctx, s.index, s.keys, &s.found)
}

func (s *seeker) more(context.Context) (part, bool, error) {
	if s.done {
		return part{}, false, nil
	}
	s.done = true
	p := part{hi: s.rows, ids: s.found.IDs, offsets: s.found.Offsets}
	if s.each {
		p.ids, p.offsets = s.distinct()
	}
	if s.shared {
		p.offsets = nil
	}
	return p, true, nil
}

// distinct gives each row the vertices of all its keys, sorted and each once: a list may hold a key twice.
func (s *seeker) distinct() ([]graph.VertexID, []int) {
	s.offsets = append(s.offsets[:0], 0)
	out := s.found.IDs[:0]
	for i := range len(s.first) - 1 {
		ids := s.found.IDs[s.found.Offsets[s.first[i]]:s.found.Offsets[s.first[i+1]]]
		slices.Sort(ids)
		out = append(out, slices.Compact(ids)...)
		s.offsets = append(s.offsets, len(out))
	}
	return out, s.offsets
}
