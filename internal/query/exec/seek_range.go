package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// seekRange compiles a SeekRange.
func (c *compiler) seekRange(n *plan.SeekRange, need plan.ColSet) (*stage, error) {
	return c.find(n, n.Input, n.Out, need, []plan.Expr{n.Lo, n.Hi}, func(r *run, in *stage) finder {
		s := &rangeSeeker{r: r, n: n, es: r.evaluators(in.cols)}
		if n.Lo != nil {
			s.lo = s.es.add(n.Lo)
		}
		if n.Hi != nil {
			s.hi = s.es.add(n.Hi)
		}
		return s
	})
}

// rangeSeeker walks through a range of an index for each row, or once a batch if all rows have the same bounds.
type rangeSeeker struct {
	r      *run
	n      *plan.SeekRange
	es     *evaluators
	lo, hi evaluator // nil: open

	ranges  []shard.Range // one a row, or one for all
	none    []bool        // beside ranges: nothing can be in it
	shared  bool
	rows, k int
	started bool // range k has been asked for
	cursor  []byte
	buf     []graph.VertexID
}

func (s *rangeSeeker) begin(ctx context.Context, b *batch, rows sel) error {
	s.rows, s.k, s.started, s.cursor = len(rows), 0, false, nil
	s.ranges, s.none = s.ranges[:0], s.none[:0]
	if len(rows) == 0 {
		return nil
	}
	s.es.begin(rows)
	s.shared = true
	var bounds [2][]graph.Value
	for i, x := range [2]evaluator{s.lo, s.hi} {
		if x == nil {
			continue
		}
		vs, err := x.eval(ctx, b, rows)
		if err != nil {
			return err
		}
		bounds[i] = vs
		if _, ok := isConst(x); !ok {
			s.shared = false
		}
	}
	if s.shared {
		rows = rows[:1]
	}
	for _, row := range rows {
		r := shard.Range{LoOpen: s.n.LoOpen, HiOpen: s.n.HiOpen, Prefix: s.n.Prefix}
		none := false
		if bounds[0] != nil {
			r.Lo = bounds[0][row]
			none = r.Lo.IsNull() || r.Prefix && r.Lo.Kind() != graph.String
		}
		if bounds[1] != nil {
			r.Hi = bounds[1][row]
			none = none || r.Hi.IsNull()
		}
		if bounds[0] != nil && bounds[1] != nil {
			same := r.Lo.Kind() == r.Hi.Kind() || r.Lo.IsNumber() && r.Hi.IsNumber()
			none = none || !same
		}
		s.ranges, s.none = append(s.ranges, r), append(s.none, none)
	}
	return nil
}

func (s *rangeSeeker) more(ctx context.Context) (part, bool, error) {
	if s.buf == nil {
		s.buf = make([]graph.VertexID, 0, graph.BatchSize)
	}
	for s.k < len(s.ranges) {
		if s.none[s.k] || s.started && s.cursor == nil {
			s.k++
			s.started, s.cursor = false, nil
			continue
		}
		s.started = true
		ids, err := s.r.tx.SeekRange(ctx, s.n.Index.ID, s.ranges[s.k], &s.cursor, s.buf[:0])
		if err != nil {
			return part{}, false, err
		}
		if len(ids) == 0 {
			continue
		}
		p := part{lo: s.k, hi: s.k + 1, ids: ids}
		if s.shared {
			p.lo, p.hi = 0, s.rows
		}
		return p, true, nil
	}
	return part{}, false, nil
}
