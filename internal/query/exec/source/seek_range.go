package source

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// SeekRange compiles a SeekRange.
func SeekRange(c *compile.Compiler, n *plan.SeekRange, need plan.ColSet) *runtime.Stage {
	return compileFind(c, n, n.Input, n.Out, need, append(slices.Clip(n.Equal), n.Lo, n.Hi), func(r *runtime.Run, in *runtime.Stage) finder {
		return newRangeSeeker(r, in, n, false)
	})
}

// SeekEdgeRange compiles a SeekEdgeRange.
func SeekEdgeRange(c *compile.Compiler, n *plan.SeekEdgeRange, need plan.ColSet) *runtime.Stage {
	return compileFind(c, n, n.Input, n.Out, need, append(slices.Clip(n.Equal), n.Lo, n.Hi), func(r *runtime.Run, in *runtime.Stage) finder {
		same := plan.SeekRange(*n)
		return newRangeSeeker(r, in, &same, true)
	})
}

func newRangeSeeker(r *runtime.Run, in *runtime.Stage, n *plan.SeekRange, edges bool) *rangeSeeker {
	s := &rangeSeeker{r: r, n: n, edges: edges, es: expr.New(r, in.Cols)}
	s.equal = s.es.AddAll(n.Equal)
	if n.Lo != nil {
		s.lo = s.es.Add(n.Lo)
	}
	if n.Hi != nil {
		s.hi = s.es.Add(n.Hi)
	}
	if n.Missing != plan.MissingNowhere {
		s.missing = &missing{r: r, index: &n.Index}
	}
	return s
}

// rangeSeeker scans a range of an index for each row, or once a batch if all rows have the same bounds.
type rangeSeeker struct {
	r      *runtime.Run
	n      *plan.SeekRange
	edges  bool // the index is one over edges
	es     *expr.Evaluators
	equal  []runtime.Evaluator
	lo, hi runtime.Evaluator // nil: open

	ranges  []shard.Range // one for each row, or one for all
	none    []bool        // parallel to ranges: the range is empty
	areas   []area        // parallel to ranges, of a point index
	shared  bool
	rows, k int
	started bool // range k has been requested
	cursor  []byte
	beyond  bool // the range is before n.From; only what is missing remains
	buf     []graph.VertexID
	arcs    []graph.Edge
	vals    []graph.Value // values to compare again
	missing *missing      // nil: not requested
}

func (s *rangeSeeker) begin(ctx context.Context, b *runtime.Batch, rows runtime.Sel) error {
	s.rows, s.k, s.started, s.cursor, s.beyond = len(rows), 0, false, nil, false
	s.ranges, s.none, s.areas = s.ranges[:0], s.none[:0], s.areas[:0]
	if len(rows) == 0 {
		return nil
	}
	if s.missing != nil {
		s.missing.begin()
	}
	s.es.Begin(rows)
	s.shared = true
	var bounds [2][]graph.Value
	for i, x := range [2]runtime.Evaluator{s.lo, s.hi} {
		if x == nil {
			continue
		}
		vs, err := x.Eval(ctx, b, rows)
		if err != nil {
			return err
		}
		bounds[i] = vs
		if _, ok := expr.IsConst(x); !ok {
			s.shared = false
		}
	}
	equal := make([][]graph.Value, len(s.equal))
	for i, x := range s.equal {
		var err error
		if equal[i], err = x.Eval(ctx, b, rows); err != nil {
			return err
		}
		if _, ok := expr.IsConst(x); !ok {
			s.shared = false
		}
	}
	if s.shared {
		rows = rows[:1]
	}
	if s.n.From != nil {
		if err := s.start(ctx, equal, rows[0]); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if s.n.Area != plan.NoArea {
			s.addArea(bounds[0][row], bounds[1], row)
			continue
		}
		r := shard.Range{LoOpen: s.n.LoOpen, HiOpen: s.n.HiOpen, Prefix: s.n.Prefix, Down: s.n.Down}
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
		for _, vs := range equal {
			r.Equal = append(r.Equal, vs[row])
		}
		s.ranges, s.none = append(s.ranges, r), append(s.none, none)
	}
	return nil
}

// start moves the start of the range to the values of n.From.
func (s *rangeSeeker) start(ctx context.Context, equal [][]graph.Value, row int32) error {
	var tuple []graph.Value
	for _, vs := range equal {
		tuple = append(tuple, vs[row])
	}
	for _, e := range s.n.From {
		v, err := expr.Scalar(ctx, s.r, e)
		if err != nil {
			return err
		}
		tuple = append(tuple, v)
	}
	var id *graph.VertexID
	if last := len(tuple) - 1; s.n.FromID {
		n, ok := tuple[last].Whole()
		if tuple = tuple[:last]; ok && n >= 0 {
			id = new(graph.VertexID(n))
		}
	}
	if first := tuple[len(equal)]; first.IsNull() {
		s.beyond = s.n.Missing == plan.MissingLast
		return nil
	}
	if s.missing != nil && s.n.Missing == plan.MissingFirst {
		s.missing.done = true
	}
	if p := s.r.Tx.Features().Positions; p != nil { // without, the rows before are read, too
		s.cursor, _ = p.CursorAt(tuple, id, s.n.Down)
	}
	return nil
}

func (s *rangeSeeker) more(ctx context.Context) (part, bool, error) {
	if s.n.Missing == plan.MissingFirst {
		if p, ok, err := s.without(ctx); ok || err != nil {
			return p, ok, err
		}
	}
	for s.k < len(s.ranges) && !s.beyond {
		if s.none[s.k] || s.started && s.cursor == nil {
			s.k++
			s.started, s.cursor = false, nil
			continue
		}
		s.started = true
		p := part{lo: s.k, hi: s.k + 1}
		if s.shared {
			p.lo, p.hi = 0, s.rows
		}
		some, err := s.some(ctx, &p)
		if err != nil {
			return part{}, false, err
		}
		if some {
			return p, true, nil
		}
	}
	if s.n.Missing == plan.MissingLast {
		return s.without(ctx)
	}
	return part{}, false, nil
}

// without returns the next vertices that lack the property; they belong to all rows.
func (s *rangeSeeker) without(ctx context.Context) (part, bool, error) {
	if s.rows == 0 {
		return part{}, false, nil
	}
	ids, err := s.missing.more(ctx)
	return part{hi: s.rows, ids: ids}, len(ids) > 0, err
}

// some fills p with the next part of the current range and reports whether there is one.
func (s *rangeSeeker) some(ctx context.Context, p *part) (bool, error) {
	r := &s.ranges[s.k]
	again := s.n.Area != plan.NoArea || r.Lo.Kind() == graph.List || r.Hi.Kind() == graph.List
	var err error
	if s.edges {
		if s.arcs == nil {
			s.arcs = make([]graph.Edge, 0, graph.BatchSize)
		}
		p.edges, err = s.r.Tx.SeekEdgeRange(ctx, s.n.Index.ID, *r, &s.cursor, s.arcs[:0])
		if err == nil && again {
			p.edges, err = keepWithin(ctx, s, p.edges, s.r.Tx.EdgeProperties)
		}
		return len(p.edges) > 0, err
	}
	if s.buf == nil {
		s.buf = make([]graph.VertexID, 0, graph.BatchSize)
	}
	p.ids, err = s.r.Tx.SeekRange(ctx, s.n.Index.ID, *r, &s.cursor, s.buf[:0])
	if err == nil && again {
		p.ids, err = keepWithin(ctx, s, p.ids, s.r.Tx.Properties)
	}
	return len(p.ids) > 0, err
}

// keepWithin rechecks the answer of an index for bounds that are lists, or for an area: the index orders all lists, but [1] and
// ['a'] do not compare, and the cells that cover an area hold other points too.
func keepWithin[T any](
	ctx context.Context, s *rangeSeeker, found []T, read func(context.Context, []T, []graph.PropID, [][]graph.Value) error,
) ([]T, error) {
	prop, ok := s.r.Graph.Prop(s.n.Index.Props[len(s.equal)])
	if !ok {
		return found[:0], nil
	}
	s.vals = slices.Grow(s.vals[:0], len(found))[:len(found)]
	if err := read(ctx, found, []graph.PropID{prop}, [][]graph.Value{s.vals}); err != nil {
		return nil, err
	}
	n := 0
	for i, v := range s.vals {
		if s.passes(v) {
			found[n] = found[i]
			n++
		}
	}
	return found[:n], nil
}

// passes reports whether a value lies in the current range.
func (s *rangeSeeker) passes(v graph.Value) bool {
	if s.n.Area != plan.NoArea {
		return s.areas[s.k].holds(s.n.Area, v)
	}
	r := &s.ranges[s.k]
	lo, hi := fn.GreaterEqual(v, r.Lo), fn.LessEqual(v, r.Hi)
	if r.LoOpen {
		lo = fn.Greater(v, r.Lo)
	}
	if r.HiOpen {
		hi = fn.Less(v, r.Hi)
	}
	return (r.Lo.IsNull() || lo == fn.True) && (r.Hi.IsNull() || hi == fn.True)
}
