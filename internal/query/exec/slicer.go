package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// limits are the values of SKIP and LIMIT.
type limits struct {
	r           *run
	skipX, limX plan.Expr
	skip, limit int64 // limit -1: none
}

// open computes the values; they may not be negative.
func (l *limits) open(ctx context.Context) (err error) {
	l.skip, l.limit = 0, -1
	if l.skipX != nil {
		if l.skip, err = l.value(ctx, "SKIP", l.skipX); err != nil {
			return err
		}
	}
	if l.limX != nil {
		l.limit, err = l.value(ctx, "LIMIT", l.limX)
	}
	return err
}

func (l *limits) value(ctx context.Context, clause string, e plan.Expr) (int64, error) {
	v, err := l.r.scalar(ctx, e)
	if err != nil {
		return 0, err
	}
	if v.Kind() != graph.Int {
		return 0, graph.RuntimeError("SyntaxError", "InvalidArgumentType", "%s needs an Integer, not %s", clause, fn.Describe(v))
	}
	if v.Int() < 0 {
		return 0, graph.RuntimeError("SyntaxError", "NegativeIntegerArgument", "%s needs a number from 0, not %d", clause, v.Int())
	}
	return v.Int(), nil
}

// slicer drops the first rows and ends after some more; in a subplan, for each row of the frame by itself.
type slicer struct {
	input
	limits
	frame *frame
	from  []int
	// drain says that the input writes and so must run to its end in any case.
	drain bool
	ended bool
	seen  []int64 // rows so far, by row of the frame
	full  int     // rows of the frame that have all their rows
	kept  sel
	out   batch
	whole batch
}

func (c *compiler) slice(n *plan.Slice, need plan.ColSet) *stage {
	outer := c.wrote
	c.wrote = false
	c.below(nil, n.Skip, n.Limit)
	in := c.compile(n.Input, need)
	writes := c.wrote
	c.wrote = outer || writes
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		return &slicer{
			input: input{kids[0]}, limits: limits{r: r, skipX: n.Skip, limX: n.Limit}, frame: r.frame,
			from: in.positions(s.cols), drain: writes,
		}
	}
	return s
}

func (l *slicer) open(ctx context.Context) error {
	if err := l.limits.open(ctx); err != nil {
		return err
	}
	l.seen = append(l.seen[:0], make([]int64, l.frame.rows())...)
	l.full, l.ended = 0, l.limit == 0 && !l.drain
	if l.limit == 0 {
		l.full = len(l.seen)
	}
	return l.in.open(ctx)
}

func (l *slicer) next(ctx context.Context) (*batch, error) {
	for !l.ended {
		if l.full == len(l.seen) && !l.drain {
			break
		}
		b, err := l.in.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		l.kept = l.kept[:0]
		for i := range b.N {
			row := b.rowOf(i)
			n := l.seen[row]
			l.seen[row]++
			if n >= l.skip && (l.limit < 0 || n < l.skip+l.limit) {
				l.kept = append(l.kept, int32(i))
			}
			if n+1 == l.skip+l.limit && l.limit > 0 {
				l.full++
			}
		}
		switch len(l.kept) {
		case 0:
			continue
		case b.N:
			l.whole.view(b, l.from)
			return &l.whole, nil
		}
		l.out.reset(len(l.from))
		l.out.appendRows(b, l.from, l.kept)
		l.out.N = len(l.kept)
		return &l.out, nil
	}
	l.ended = true
	return nil, nil
}
