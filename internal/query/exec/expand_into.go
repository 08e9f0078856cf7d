package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// expandInto joins each row with the edges between two vertices that it has.
type expandInto struct {
	expand
	to    int // position of To in the input
	pairs pairs
	hits  []int
}

func newExpandInto(x *expand, n *plan.Expand, in *stage) *expandInto {
	// Conditions are on the edge alone, so they hold from either end.
	back := &hop{r: x.r, types: x.hop.types, dir: n.Dir.Reverse(), where: x.hop.where, edges: x.hop.edges}
	// Labels of To are tested where To is bound; a label test here would apply to From on the way back.
	return &expandInto{
		expand: *x, to: in.pos(n.To), pairs: pairs{r: x.r, hops: [2]*hop{x.hop, back}, oneSided: n.Labels != nil},
	}
}

func (x *expandInto) open(ctx context.Context) error {
	x.pairs.reset()
	return x.expand.open(ctx)
}

func (x *expandInto) next(ctx context.Context) (*batch, error) { return x.give(ctx, x) }

func (x *expandInto) advance(ctx context.Context) (bool, error) {
	if x.pairs.k < x.pairs.end {
		x.match()
		return true, nil
	}
	return x.pairs.advance(ctx)
}

func (x *expandInto) begin(ctx context.Context) error {
	x.uses.begin(x.b)
	x.pairs.reset()
	var err error
	if x.src, x.rows, err = sources(x.b, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	to := &x.b.Cols[x.to]
	for k, row := range x.rows {
		v := to.Value(int(row))
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.VertexKind {
			return notVertex(v)
		}
		x.pairs.add(x.src[k], v.Vertex(), row)
	}
	return x.pairs.begin(ctx)
}

// match finds the far ends of rows in the present answer, until the batch is full or the answer ends.
func (x *expandInto) match() {
	p := &x.pairs
	h := p.hop()
	for ; p.k < p.end && x.out.N < x.r.batchSize(); p.k++ {
		row, source, dst, first := p.at()
		if x.hits = p.probe.find(dst, x.hits[:0]); len(x.hits) == 0 {
			continue
		}
		excluded := x.uses.of(row)
		for _, i := range x.hits {
			if i += first; len(excluded) > 0 && slices.Contains(excluded, h.res.Edges[i]) {
				continue
			}
			x.dealt.add(&x.out, h, source, i, i+1)
			x.picked = append(x.picked, row)
			x.out.N++
		}
	}
}
