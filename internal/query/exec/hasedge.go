package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// hasEdge is a plan.HasEdge.
type hasEdge struct {
	from, to evaluator
	pairs    pairs
	out      []graph.Value
}

// newHasEdge makes the evaluator of a HasEdge over those of its ends.
func newHasEdge(r *run, e *plan.HasEdge, from, to evaluator) evaluator {
	return &hasEdge{
		from: from, to: to,
		pairs: pairs{r: r, hops: [2]*hop{r.newHop(e.Types, e.Dir, nil), r.newHop(e.Types, e.Dir.Reverse(), nil)}},
	}
}

func (x *hasEdge) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	from, err := x.from.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	to, err := x.to.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	x.out = grown(x.out, b.N)
	x.pairs.reset()
	for _, i := range s {
		x.out[i] = graph.BoolValue(false)
		if from[i].IsNull() || to[i].IsNull() {
			continue
		}
		for _, v := range [2]graph.Value{from[i], to[i]} {
			if v.Kind() != graph.VertexKind {
				return nil, notVertex(v)
			}
		}
		x.pairs.add(from[i].Vertex(), to[i].Vertex(), i)
	}
	if err := x.pairs.begin(ctx); err != nil {
		return nil, err
	}
	for {
		more, err := x.pairs.advance(ctx)
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
