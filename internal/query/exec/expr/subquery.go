package expr

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Gather runs a subplan for all rows of a batch and computes one value for each: whether there were rows (Exists), how many
// (CountRows), or the list of an expression over them (Collect).
type Gather struct {
	frame *runtime.Frame
	op    runtime.Operator
	kind  plan.ApplyKind
	es    *Evaluators       // of x
	x     runtime.Evaluator // for Collect
	acct  runtime.Account
	// degrees is a shortcut, or nil.
	degrees runtime.RowCounter

	done  []bool
	count []int64
	lists [][]graph.Value
	out   []graph.Value
	// nesting checks the collected values.
	nesting runtime.Nesting
}

// NewGather creates the operators of a subplan over batches with the columns outer.
func NewGather(r *runtime.Run, s *runtime.Subplan, kind plan.ApplyKind, outer []plan.Col) *Gather {
	g := &Gather{kind: kind, acct: runtime.Account{Run: r, Name: "Collect"}, nesting: runtime.Nesting{Run: r}}
	g.frame, g.op = r.BuildSub(s, outer)
	g.degrees = r.Program.Degrees(r, g.frame, kind)
	if kind == plan.Collect {
		g.es = New(r, s.Root.Cols)
		g.x = g.es.Add(s.Expr)
	}
	return g
}

// Run returns the values for the rows of in. They are valid until the next call.
func (g *Gather) Run(ctx context.Context, in *runtime.Batch) ([]graph.Value, error) {
	g.out = Grown(g.out, in.N)
	if !g.frame.Sub.Writes || in.N == 1 {
		return g.out, g.part(ctx, in, g.out)
	}
	var one runtime.Batch
	for i := range in.N {
		one.Slice(in, i, i+1)
		if err := g.part(ctx, &one, g.out[i:i+1]); err != nil {
			return nil, err
		}
	}
	return g.out, nil
}

// part runs the subplan once, over all rows of in.
func (g *Gather) part(ctx context.Context, in *runtime.Batch, out []graph.Value) error {
	g.done = append(g.done[:0], make([]bool, in.N)...)
	g.count = append(g.count[:0], make([]int64, in.N)...)
	if g.degrees != nil {
		if err := g.degrees.Counts(ctx, in, g.count); err != nil {
			return err
		}
		for i, n := range g.count {
			g.done[i] = n > 0
		}
		g.scatter(out)
		return nil
	}
	if g.kind == plan.Collect {
		g.lists = slices.Grow(g.lists[:0], in.N)[:in.N]
		clear(g.lists)
		defer g.acct.Release()
	}
	g.frame.In, g.frame.Done = in, g.done
	left := in.N
	if err := g.op.Open(ctx); err != nil {
		return err
	}
	for left > 0 {
		b, err := g.op.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		switch g.kind {
		case plan.CountRows:
			for _, row := range b.Row {
				g.count[row]++
			}
		case plan.Collect:
			if err := g.collect(ctx, b); err != nil {
				return err
			}
		default:
			for _, row := range b.Row {
				if !g.done[row] {
					g.done[row] = true
					left--
				}
			}
			if g.frame.Sub.Writes {
				left = in.N // a subplan that writes runs to its end
			}
		}
	}
	g.scatter(out)
	return nil
}

// scatter computes the values of the rows gathered.
func (g *Gather) scatter(out []graph.Value) {
	for i := range out {
		switch g.kind {
		case plan.CountRows:
			out[i] = graph.IntValue(g.count[i])
		case plan.Collect:
			out[i] = graph.ListValue(g.lists[i])
		default:
			out[i] = graph.BoolValue(g.done[i])
		}
	}
}

func (g *Gather) collect(ctx context.Context, b *runtime.Batch) error {
	s := runtime.AllRows(b.N)
	g.es.Begin(s)
	vs, err := g.x.Eval(ctx, b, s)
	if err != nil {
		return err
	}
	size := 0
	for i, row := range b.Row {
		g.nesting.Begin()
		if err := g.nesting.Add(vs[i]); err != nil {
			return err
		}
		g.lists[row] = append(g.lists[row], vs[i])
		size += memory.ValueSize(vs[i])
	}
	return g.acct.Grow(size)
}

// Close closes the subplan.
func (g *Gather) Close() { g.op.Close() }

// subquery is a subplan in an expression.
type subquery struct {
	g   *Gather
	pos []int // of the subplan's arguments in the batch
	in  runtime.Batch
	out []graph.Value
}

func (es *Evaluators) subquery(e *plan.Subquery) runtime.Evaluator {
	s := es.r.Program.Subplans[e]
	q := &subquery{g: NewGather(es.r, s, e.Kind, s.Args), pos: make([]int, len(s.Args))}
	for k, c := range s.Args {
		if q.pos[k] = slices.Index(es.cols, c); q.pos[k] < 0 {
			es.r.Fail(es.r.Program.Unbound(c))
			return &Constant{}
		}
	}
	es.r.Closers = append(es.r.Closers, q.g)
	return q
}

func (q *subquery) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	q.out = Grown(q.out, b.N)
	if len(s) == 0 {
		return q.out, nil
	}
	q.in.Reset(len(q.pos))
	for k, p := range q.pos {
		runtime.AppendColumn(&q.in.Cols[k], &b.Cols[p], s)
	}
	q.in.N = len(s)
	vs, err := q.g.Run(ctx, &q.in)
	if err != nil {
		return nil, err
	}
	for k, i := range s {
		q.out[i] = vs[k]
	}
	return q.out, nil
}
