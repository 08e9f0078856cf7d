package adjacency

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// degrees counts the rows of the subplan Expand(Argument), or tests whether it has any, without running it.
type degrees struct {
	r     *runtime.Run
	node  *plan.Expand
	types EdgeTypes
	pos   int // of the vertex in the frame's batch
	ids   []graph.VertexID
	rows  runtime.Sel
	out   []int
}

// NewDegrees creates the shortcut for a subplan, or returns nil if it does not apply.
func NewDegrees(r *runtime.Run, f *runtime.Frame, kind plan.ApplyKind) runtime.RowCounter {
	x, ok := f.Sub.Root.Node.(*plan.Expand)
	if !ok || kind == plan.Collect || x.Labels != nil || x.Into || len(x.DistinctFrom) > 0 || len(x.Where) > 0 {
		return nil
	}
	if _, ok := x.Input.(*plan.Argument); !ok {
		return nil
	}
	d := &degrees{r: r, node: x, types: NewEdgeTypes(r, x.Types), pos: -1}
	for k, c := range f.Sub.Args {
		if c == x.From {
			d.pos = f.From[k]
		}
	}
	if d.pos < 0 {
		return nil
	}
	return d
}

// Counts sets count for the rows of in. A row without a vertex counts no edges.
func (d *degrees) Counts(ctx context.Context, in *runtime.Batch, count []int64) error {
	types, ok := d.types.Resolve()
	if !ok {
		return nil
	}
	c := &in.Cols[d.pos]
	d.ids, d.rows = d.ids[:0], d.rows[:0]
	for i := range in.N {
		if v := c.Value(i); v.Kind() == graph.VertexKind {
			d.ids, d.rows = append(d.ids, v.Vertex()), append(d.rows, int32(i))
		}
	}
	if len(d.ids) == 0 {
		return nil
	}
	for len(d.out) < len(d.ids) {
		d.out = append(d.out, 0)
	}
	if err := d.r.Tx.Degrees(ctx, d.ids, types, d.node.Dir, d.out[:len(d.ids)]); err != nil {
		return err
	}
	for k, i := range d.rows {
		count[i] = int64(d.out[k])
	}
	return nil
}
