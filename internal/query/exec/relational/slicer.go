package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// limits are the values of SKIP and LIMIT.
type limits struct {
	r           *runtime.Run
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
	v, err := expr.Scalar(ctx, l.r, e)
	if err != nil {
		return 0, err
	}
	n, ok := v.Whole()
	if !ok {
		return 0, graph.RuntimeError("SyntaxError", "InvalidArgumentType", "%s needs an Integer, not %s", clause, notation.Describe(v))
	}
	if n < 0 {
		return 0, graph.RuntimeError("SyntaxError", "NegativeIntegerArgument", "%s needs a number from 0, not %d", clause, n)
	}
	return n, nil
}

// slicer skips rows and stops at the limit; in a subplan, separately for each row of the frame.
type slicer struct {
	runtime.Input
	limits
	frame *runtime.Frame
	from  []int
	// drain reports whether the input writes, so that it must run to its end.
	drain bool
	ended bool
	seen  []int64 // rows so far, by row of the frame
	full  int     // rows of the frame that have reached the limit
	kept  runtime.Sel
	out   runtime.Batch
	whole runtime.Batch
}

// Slice compiles a Slice.
func Slice(c *compile.Compiler, n *plan.Slice, need plan.ColSet) *runtime.Stage {
	outer := c.Wrote
	c.Wrote = false
	c.Below(plan.ColSet{}, n.Skip, n.Limit)
	in := c.Compile(n.Input, need)
	writes := c.Wrote
	c.Wrote = outer || writes
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &slicer{
			Input: runtime.Input{In: kids[0]}, limits: limits{r: r, skipX: n.Skip, limX: n.Limit}, frame: r.Frame,
			from: in.Positions(s.Cols), drain: writes,
		}
	}
	return s
}

func (l *slicer) Open(ctx context.Context) error {
	if err := l.limits.open(ctx); err != nil {
		return err
	}
	l.seen = append(l.seen[:0], make([]int64, l.frame.Rows())...)
	l.full, l.ended = 0, l.limit == 0 && !l.drain
	if l.limit == 0 {
		l.full = len(l.seen)
	}
	return l.In.Open(ctx)
}

func (l *slicer) Next(ctx context.Context) (*runtime.Batch, error) {
	for !l.ended {
		if l.full == len(l.seen) && !l.drain {
			break
		}
		b, err := l.In.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		l.kept = l.kept[:0]
		for i := range b.N {
			row := b.RowOf(i)
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
			l.whole.View(b, l.from)
			return &l.whole, nil
		}
		l.out.Reset(len(l.from))
		l.out.AppendRows(b, l.from, l.kept)
		l.out.N = len(l.kept)
		return &l.out, nil
	}
	l.ended = true
	return nil, nil
}
