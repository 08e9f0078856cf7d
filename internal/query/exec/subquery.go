package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// gather runs a subplan for all rows of a batch and gives one value a row: whether there were rows (Exists), how many
// (CountRows), or the list of an expression over them (Collect).
type gather struct {
	frame *frame
	op    operator
	kind  plan.ApplyKind
	es    *evaluators // of x
	x     evaluator   // for Collect
	acct  account
	// degrees is a shortcut, or nil.
	degrees rowCounter

	done  []bool
	count []int64
	lists [][]graph.Value
	out   []graph.Value
	// nesting is that of what is collected.
	nesting nesting
}

// gather makes the operators of a subplan over batches with the columns outer.
func (r *run) gather(s *subplan, kind plan.ApplyKind, outer []plan.Col) *gather {
	g := &gather{kind: kind, acct: account{r: r, name: "Collect"}, nesting: nesting{r: r}}
	g.frame, g.op = r.buildSub(s, outer)
	g.degrees = r.p.degrees(r, g.frame, kind)
	if kind == plan.Collect {
		g.es = r.evaluators(s.root.cols)
		g.x = g.es.add(s.expr)
	}
	return g
}

// run gives the values for the rows of in. They are valid until the next call.
func (g *gather) run(ctx context.Context, in *batch) ([]graph.Value, error) {
	g.out = grown(g.out, in.N)
	if !g.frame.sub.writes || in.N == 1 {
		return g.out, g.part(ctx, in, g.out)
	}
	var one batch
	for i := range in.N {
		one.slice(in, i, i+1)
		if err := g.part(ctx, &one, g.out[i:i+1]); err != nil {
			return nil, err
		}
	}
	return g.out, nil
}

// part runs the subplan once, over all rows of in.
func (g *gather) part(ctx context.Context, in *batch, out []graph.Value) error {
	g.done = append(g.done[:0], make([]bool, in.N)...)
	g.count = append(g.count[:0], make([]int64, in.N)...)
	if g.degrees != nil {
		if err := g.degrees.counts(ctx, in, g.count); err != nil {
			return err
		}
		for i, n := range g.count {
			g.done[i] = n > 0
		}
		g.give(out)
		return nil
	}
	if g.kind == plan.Collect {
		g.lists = slices.Grow(g.lists[:0], in.N)[:in.N]
		clear(g.lists)
		defer g.acct.release()
	}
	g.frame.in, g.frame.done = in, g.done
	left := in.N
	if err := g.op.open(ctx); err != nil {
		return err
	}
	for left > 0 {
		b, err := g.op.next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		switch g.kind {
		case plan.CountRows:
			for _, row := range b.row {
				g.count[row]++
			}
		case plan.Collect:
			if err := g.collect(ctx, b); err != nil {
				return err
			}
		default:
			for _, row := range b.row {
				if !g.done[row] {
					g.done[row] = true
					left--
				}
			}
			if g.frame.sub.writes {
				left = in.N // a subplan that writes runs to its end
			}
		}
	}
	g.give(out)
	return nil
}

// give makes the values of what was gathered.
func (g *gather) give(out []graph.Value) {
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

func (g *gather) collect(ctx context.Context, b *batch) error {
	s := allRows(b.N)
	g.es.begin(s)
	vs, err := g.x.eval(ctx, b, s)
	if err != nil {
		return err
	}
	size := 0
	for i, row := range b.row {
		g.nesting.begin()
		if err := g.nesting.add(vs[i]); err != nil {
			return err
		}
		g.lists[row] = append(g.lists[row], vs[i])
		size += valueSize(vs[i])
	}
	return g.acct.grow(size)
}

func (g *gather) close() { g.op.close() }

// subquery is a subplan in an expression.
type subquery struct {
	g   *gather
	pos []int // of the subplan's arguments in the batch
	in  batch
	out []graph.Value
}

func (es *evaluators) subquery(e *plan.Subquery) evaluator {
	s := es.r.p.subs[e]
	q := &subquery{g: es.r.gather(s, e.Kind, s.args), pos: make([]int, len(s.args))}
	for k, c := range s.args {
		if q.pos[k] = slices.Index(es.cols, c); q.pos[k] < 0 {
			es.r.fail(es.r.p.unbound(c))
			return &constant{}
		}
	}
	es.r.closers = append(es.r.closers, q.g)
	return q
}

func (q *subquery) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	q.out = grown(q.out, b.N)
	if len(s) == 0 {
		return q.out, nil
	}
	q.in.reset(len(q.pos))
	for k, p := range q.pos {
		appendColumn(&q.in.Cols[k], &b.Cols[p], s)
	}
	q.in.N = len(s)
	vs, err := q.g.run(ctx, &q.in)
	if err != nil {
		return nil, err
	}
	for k, i := range s {
		q.out[i] = vs[k]
	}
	return q.out, nil
}
