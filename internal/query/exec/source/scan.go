package source

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// finder finds vertices, or edges, for the rows of an input batch, a part at a time.
type finder interface {
	// begin reads the rows of b for which vertices are requested.
	begin(ctx context.Context, b *runtime.Batch, rows runtime.Sel) error
	// more returns the next part, valid until the next call; ok is false at the end.
	more(ctx context.Context) (p part, ok bool, err error)
}

// part assigns vertices, or edges if it has any, to entries lo … hi-1 of the rows: all to each, or, if offsets is set, those at
// offsets[k] … offsets[k+1]-1 to entry lo+k.
type part struct {
	lo, hi  int
	ids     []graph.VertexID
	edges   []graph.Edge
	offsets []int
}

// of returns the range of an entry's vertices or edges.
func (p *part) of(k int) (lo, hi int) {
	if p.offsets == nil {
		return 0, max(len(p.ids), len(p.edges))
	}
	return p.offsets[k-p.lo], p.offsets[k-p.lo+1]
}

// find joins each row with the vertices or edges that a finder returns for it.
type find struct {
	runtime.FanOut
	frame  *runtime.Frame
	finder finder
	at     int // position of the vertices or edges in out, or -1

	rows   runtime.Sel
	part   part
	k, off int // entry of part, and how many of its vertices or edges are written
	slab   []graph.EdgeValue
}

// compileFind compiles an operator that joins rows with vertices; es are its expressions.
func compileFind(c *compile.Compiler,
	n, source plan.Node, out plan.Col, need plan.ColSet, es []plan.Expr, build func(r *runtime.Run, in *runtime.Stage) finder,
) *runtime.Stage {
	below := c.Below(need, es...)
	in := c.Compile(source, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, out)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &find{
			FanOut: runtime.FanOut{Input: runtime.Input{In: kids[0]}, Run: r, Carry: in.Positions(s.Cols)},
			frame:  r.Frame, finder: build(r, in), at: s.Pos(out),
		}
	}
	return s
}

func (x *find) Next(ctx context.Context) (*runtime.Batch, error) { return x.Give(ctx, x) }

func (x *find) Advance(ctx context.Context) (bool, error) {
	if x.k < x.part.hi {
		x.writeRows()
		return true, nil
	}
	p, ok, err := x.finder.more(ctx)
	if ok {
		x.part, x.k, x.off = p, p.lo, 0
	}
	return ok, err
}

func (x *find) Begin(ctx context.Context) error {
	x.part, x.k = part{}, 0
	x.rows = x.rows[:0]
	if x.frame == nil || x.frame.Done == nil {
		x.rows = append(x.rows, runtime.AllRows(x.Rows.N)...)
	} else {
		for i := range x.Rows.N {
			if x.frame.Wants(x.Rows.RowOf(i)) {
				x.rows = append(x.rows, int32(i))
			}
		}
	}
	return x.finder.begin(ctx, x.Rows, x.rows)
}

// writeRows writes rows with vertices of the part until the batch is full or the part ends.
func (x *find) writeRows() {
	room := x.Run.BatchSize() - x.Out.N
	for x.k < x.part.hi && room > 0 {
		lo, hi := x.part.of(x.k)
		lo += x.off
		row := x.rows[x.k]
		if hi-lo > room {
			hi = lo + room
			x.off += room
		} else {
			x.k++
			x.off = 0
		}
		if x.at >= 0 {
			col := &x.Out.Cols[x.at]
			if x.part.edges != nil {
				x.writeEdges(col, x.part.edges[lo:hi])
			} else {
				col.IDs = append(col.IDs, x.part.ids[lo:hi]...)
			}
		}
		x.Picked = runtime.AppendRepeated(x.Picked, row, hi-lo)
		x.Out.N += hi - lo
		room -= hi - lo
	}
}

func (x *find) writeEdges(col *graph.Column, edges []graph.Edge) {
	if cap(x.slab)-len(x.slab) < len(edges) {
		x.slab = make([]graph.EdgeValue, 0, max(len(edges), 64))
	}
	for _, e := range edges {
		x.slab = append(x.slab, graph.EdgeValue{Edge: e})
		col.Vals = append(col.Vals, graph.EdgeRefValue(&x.slab[len(x.slab)-1]))
	}
}

// Scan compiles a Scan.
func Scan(c *compile.Compiler, n *plan.Scan, need plan.ColSet) *runtime.Stage {
	return compileFind(c, n, n.Input, n.Out, need, nil, func(r *runtime.Run, _ *runtime.Stage) finder {
		return &scanner{r: r, expr: n.Labels, rules: n.Rules, acct: runtime.Account{Run: r, Name: "LabelScan"}}
	})
}

// scanner returns the vertices with certain labels, the same for every row.
type scanner struct {
	r     *runtime.Run
	expr  *plan.LabelExpr
	rules *plan.RuleScan
	rows  int

	passes []scanPass
	now    int
	from   graph.VertexID
	cursor []byte
	ended  bool // the current pass
	buf    []graph.VertexID
	sets   []graph.LabelSet

	seen  *graph.VertexSet // by passes that may find a vertex again; nil: none do
	seenN int              // bytes of seen that are accounted
	acct  runtime.Account
	fresh []graph.VertexID
}

// scanPass is a scan of one label (0: all vertices), or of a range, and the test that its vertices must pass (nil: none).
type scanPass struct {
	label graph.LabelID
	by    *shard.RuleRange // instead of the label
	test  *expr.LabelTest
}

// begin sets the rows of b to find vertices for.
func (s *scanner) begin(_ context.Context, _ *runtime.Batch, rows runtime.Sel) error {
	s.rows = len(rows)
	var byRules bool
	if s.passes, byRules = rulePasses(s.r, s.passes[:0], s.expr, s.rules); !byRules {
		s.passes = scanPasses(s.r, s.passes, s.expr)
	}
	s.now, s.from, s.cursor, s.ended = 0, 0, nil, false
	s.acct.Release()
	s.seen, s.seenN = nil, 0
	if byRules && len(s.passes) > 1 {
		s.seen = &graph.VertexSet{}
	}
	if len(rows) == 0 {
		s.now = len(s.passes)
	}
	return nil
}

func (s *scanner) more(ctx context.Context) (part, bool, error) {
	if s.buf == nil {
		s.buf = make([]graph.VertexID, 0, graph.BatchSize)
	}
	for s.now < len(s.passes) {
		if s.ended {
			s.now, s.from, s.ended = s.now+1, 0, false
			continue
		}
		pass := &s.passes[s.now]
		ids, err := s.read(ctx, pass)
		if err != nil {
			return part{}, false, err
		}
		if pass.test != nil {
			if ids, err = s.filter(ctx, ids, pass.test); err != nil {
				return part{}, false, err
			}
		}
		if len(ids) > 0 {
			return part{hi: s.rows, ids: ids}, true, nil
		}
	}
	return part{}, false, nil
}

// read returns the next vertices of a pass.
func (s *scanner) read(ctx context.Context, pass *scanPass) (ids []graph.VertexID, err error) {
	if pass.by == nil {
		s.buf, s.from, s.ended, err = s.r.Tx.Scan(ctx, pass.label, s.from, s.buf[:0])
		return s.buf, err
	}
	if s.buf, err = s.r.ScanRange(ctx, pass.by, &s.cursor, s.buf[:0]); err != nil {
		return nil, err
	}
	if s.ended = s.cursor == nil; s.seen == nil {
		return s.buf, nil
	}
	s.fresh = s.seen.AppendNew(s.fresh[:0], s.buf)
	return s.fresh, runtime.GrowSet(&s.acct, s.seen, &s.seenN)
}

// filter keeps the vertices that pass a test, in place.
func (s *scanner) filter(ctx context.Context, ids []graph.VertexID, test *expr.LabelTest) ([]graph.VertexID, error) {
	if cap(s.sets) < len(ids) {
		s.sets = make([]graph.LabelSet, cap(s.buf))
	}
	sets := s.sets[:len(ids)]
	if err := s.r.Tx.LabelSets(ctx, ids, sets); err != nil {
		return nil, err
	}
	n := 0
	for i, id := range ids {
		if test.Holds(sets[i]) {
			ids[n] = id
			n++
		}
	}
	return ids[:n], nil
}
