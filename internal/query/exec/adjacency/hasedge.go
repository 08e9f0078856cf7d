package adjacency

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// hasEdge evaluates a plan.HasEdge.
type hasEdge struct {
	from, to runtime.Evaluator
	pairs    pairs
	out      []graph.Value
}

// NewHasEdge creates the evaluator of a HasEdge from the evaluators of its ends.
func NewHasEdge(r *runtime.Run, e *plan.HasEdge, from, to runtime.Evaluator) runtime.Evaluator {
	return &hasEdge{
		from: from, to: to,
		pairs: pairs{r: r, readers: [2]*Reader{NewReader(r, e.Types, e.Dir, nil), NewReader(r, e.Types, e.Dir.Reverse(), nil)}},
	}
}

func (x *hasEdge) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	from, err := x.from.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	to, err := x.to.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	x.out = expr.Grown(x.out, b.N)
	x.pairs.reset()
	for _, i := range s {
		x.out[i] = graph.BoolValue(false)
		if from[i].IsNull() || to[i].IsNull() {
			continue
		}
		for _, v := range [2]graph.Value{from[i], to[i]} {
			if v.Kind() != graph.VertexKind {
				return nil, NotVertex(v)
			}
		}
		x.pairs.add(from[i].Vertex(), to[i].Vertex(), i)
	}
	if err := x.pairs.Begin(ctx); err != nil {
		return nil, err
	}
	for {
		more, err := x.pairs.Advance(ctx)
		if err != nil || !more {
			return x.out, err
		}
		for p := &x.pairs; p.k < p.end; p.k++ {
			if row, _, dst, _ := p.at(); p.probe.has(dst) {
				x.out[row] = graph.BoolValue(true)
			}
		}
	}
}
