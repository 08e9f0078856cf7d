package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// expandInto joins each row with the edges between two of its vertices.
type expandInto struct {
	expand
	to    int // position of To in the input
	pairs pairs
	hits  []int
	loop  bool // From is To
}

func newExpandInto(x *expand, n *plan.Expand, in *runtime.Stage) *expandInto {
	// Conditions read only the edge, so they hold from either end.
	back := &Reader{Run: x.Run, Types: x.reader.Types, Dir: n.Dir.Reverse(), Filter: x.reader.Filter, Edges: x.reader.Edges}
	// The operator that binds To tests its labels. A test here would apply to From on the way back.
	loop := n.From == n.To
	x.reader.Request.Loops = loop
	return &expandInto{
		expand: *x, to: in.Pos(n.To), loop: loop, pairs: pairs{r: x.Run, readers: [2]*Reader{x.reader, back}, oneSided: loop || n.Labels != nil},
	}
}

func (x *expandInto) Open(ctx context.Context) error {
	x.pairs.reset()
	return x.expand.Open(ctx)
}

func (x *expandInto) Next(ctx context.Context) (*runtime.Batch, error) { return x.Give(ctx, x) }

func (x *expandInto) Advance(ctx context.Context) (bool, error) {
	if x.pairs.k < x.pairs.end {
		x.match()
		return true, nil
	}
	return x.pairs.Advance(ctx)
}

func (x *expandInto) Begin(ctx context.Context) error {
	x.uniqueness.Begin(x.Rows)
	x.pairs.reset()
	var err error
	if x.src, x.rows, err = Sources(x.Rows, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	to := &x.Rows.Cols[x.to]
	if x.loop {
		x.pairs.froms, x.pairs.tos = append(x.pairs.froms, x.src...), append(x.pairs.tos, x.src...)
		x.pairs.rows = append(x.pairs.rows, x.rows...)
		return x.pairs.Begin(ctx)
	}
	for k, row := range x.rows {
		v := to.Value(int(row))
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.VertexKind {
			return NotVertex(v)
		}
		x.pairs.add(x.src[k], v.Vertex(), row)
	}
	return x.pairs.Begin(ctx)
}

// match finds the far ends of rows in the current answer until the batch is full or the answer ends.
func (x *expandInto) match() {
	p := &x.pairs
	h := p.hop()
	if len(h.Answer.Targets) == 0 {
		p.k = p.end
	}
	for ; p.k < p.end && x.Out.N < x.Run.BatchSize(); p.k++ {
		row, source, dst, first := p.at()
		if x.hits = p.probe.find(dst, x.hits[:0]); len(x.hits) == 0 {
			continue
		}
		excluded := x.uniqueness.Excluded(row)
		for _, i := range x.hits {
			if i += first; len(excluded) > 0 && slices.Contains(excluded, h.Answer.Edges[i]) {
				continue
			}
			x.writer.add(&x.Out, h, source, i, i+1)
			x.Picked = append(x.Picked, row)
			x.Out.N++
		}
	}
}
