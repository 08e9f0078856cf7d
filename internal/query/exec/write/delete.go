package write

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// remove deletes vertices, edges and paths and passes on its rows.
type remove struct {
	runtime.Input
	r      *runtime.Run
	detach bool
	es     *expr.Evaluators
	xs     []runtime.Evaluator
	from   []int
	// The deletions of a batch: new entries of Run.Deleted.
	vertices []graph.VertexID
	edges    []graph.Edge
	m        mutations
	req      shard.Expand
	res      shard.Neighbours
	marked   runtime.Account // of what the run keeps of the deletions
	room     runtime.Account // of edges
	out      runtime.Batch
}

const (
	// mostChanges is how many deletions are applied together.
	mostChanges = 64 * graph.BatchSize
	// deletedBytes is about what the run keeps of an edge or a vertex that was deleted, and attachedBytes what an edge of a
	// vertex that is to be deleted takes besides.
	deletedBytes, attachedBytes = 24, 64
)

// Delete compiles a Delete.
func Delete(c *compile.Compiler, n *plan.Delete, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, n.Exprs...)
	in := c.Compile(n.Input, below)
	c.Wrote = true
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		d := &remove{Input: runtime.Input{In: kids[0]}, r: r, detach: n.Detach, es: expr.New(r, in.Cols), from: in.Positions(s.Cols), m: mutations{r: r}, marked: runtime.Account{Run: r, Name: "Delete"}, room: runtime.Account{Run: r, Name: "Delete"}}
		d.xs = d.es.AddAll(n.Exprs)
		return d
	}
	return s
}

func (d *remove) Next(ctx context.Context) (*runtime.Batch, error) {
	b, err := d.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	d.vertices, d.edges = d.vertices[:0], d.edges[:0]
	s := runtime.AllRows(b.N)
	d.es.Begin(s)
	for _, x := range d.xs {
		vs, err := x.Eval(ctx, b, s)
		if err != nil {
			return nil, err
		}
		for _, i := range s {
			if err := d.mark(vs[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := d.apply(ctx); err != nil {
		return nil, err
	}
	d.out.View(b, d.from)
	return &d.out, nil
}

func (d *remove) Close() {
	d.marked.Release()
	d.room.Release()
	d.In.Close()
}

// mark collects the entities of a value that have not been deleted before.
func (d *remove) mark(v graph.Value) error {
	switch v.Kind() {
	case graph.Null:
	case graph.VertexKind:
		if d.r.Deleted.AddVertex(v.Vertex()) {
			d.vertices = append(d.vertices, v.Vertex())
		}
	case graph.EdgeKind:
		if d.r.Deleted.AddEdge(v.EdgeID()) {
			d.edges = append(d.edges, v.Edge().Edge)
		}
	case graph.PathKind:
		for _, e := range v.Path().Edges {
			if err := d.mark(e); err != nil {
				return err
			}
		}
		for _, n := range v.Path().Vertices {
			if err := d.mark(n); err != nil {
				return err
			}
		}
	case graph.List:
		for _, e := range v.List() {
			if err := d.mark(e); err != nil {
				return err
			}
		}
	default:
		return graph.TypeError("InvalidArgumentType", "DELETE needs a Node, a Relationship or a Path, not %s", notation.Describe(v))
	}
	return nil
}

func (d *remove) apply(ctx context.Context) error {
	if d.detach && len(d.vertices) > 0 {
		if err := d.attached(ctx); err != nil {
			return err
		}
	}
	if err := d.marked.Grow(deletedBytes * (len(d.edges) + len(d.vertices))); err != nil {
		return err
	}
	d.r.Counters.NodesDeleted += int64(len(d.vertices))
	d.r.Counters.RelationshipsDeleted += int64(len(d.edges))
	for edges, vertices := d.edges, d.vertices; len(edges) > 0 || len(vertices) > 0; {
		d.m.reset()
		n := min(len(edges), mostChanges)
		for _, e := range edges[:n] {
			d.m.ms = append(d.m.ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
		k := min(len(vertices), mostChanges-n)
		for _, v := range vertices[:k] {
			d.m.ms = append(d.m.ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: v})
		}
		if err := d.m.apply(ctx); err != nil {
			return err
		}
		edges, vertices = edges[n:], vertices[k:]
	}
	return nil
}

// attached collects the edges of the collected vertices.
func (d *remove) attached(ctx context.Context) error {
	sources := slices.Clone(d.vertices)
	slices.Sort(sources)
	d.req = shard.Expand{Dir: graph.Both, Edges: true, MaxEdges: mostChanges}
	for len(sources) > 0 {
		d.req.Sources = sources
		if err := d.r.Tx.Expand(ctx, &d.req, &d.res); err != nil {
			return err
		}
		if err := d.room.GrowTo(attachedBytes * (len(d.edges) + len(d.res.Edges))); err != nil {
			return err
		}
		d.edges = slices.Grow(d.edges, len(d.res.Edges))
		for k, src := range sources[:d.res.Done] {
			for j := d.res.Offsets[k]; j < d.res.Offsets[k+1]; j++ {
				if !d.r.Deleted.AddEdge(d.res.Edges[j]) {
					continue
				}
				e := graph.Edge{ID: d.res.Edges[j], Src: src, Dst: d.res.Targets[j], Type: d.res.Types[j]}
				if d.res.Reverse[j] {
					e.Src, e.Dst = e.Dst, e.Src
				}
				d.edges = append(d.edges, e)
			}
		}
		sources = sources[d.res.Done:]
	}
	return nil
}
