package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// traverse is the common part of the operators of a plan.Traverse: they read all starts, expand hop by hop, and write the
// requested columns.
type traverse struct {
	runtime.Input
	kernel
	n    *plan.Traverse
	from int // position in the input
	hops []*cappedReader

	starts []graph.VertexID // in the order of the input, without nulls
	loaded bool
	stop   bool // a budget is exhausted, so the result is partial

	startAt, vertexAt, edgeAt, hopAt, pathAt int // positions in out, or -1

	writer adjacency.EdgeWriter
	out    runtime.Batch
}

// Traverse compiles a Traverse.
func Traverse(c *compile.Compiler, n *plan.Traverse, need plan.ColSet) *runtime.Stage {
	below := plan.NewColSet()
	below.Add(n.From)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.From)
	prefetching := compile.Prefetching(in, n.From)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(nil, need, n.Start, n.Vertex, n.Edge, n.Hop, n.Path)}
	wheres := make([]*adjacency.EdgeFilter, len(n.Hops))
	for i := range n.Hops {
		c.Below(plan.ColSet{}, n.Hops[i].Where...)
		wheres[i] = adjacency.CompileFilter(c, n.Hops[i].Where, n.Edge, n.Vertex)
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &traverse{
			Input: runtime.Input{In: kids[0]}, kernel: newKernel(r, "Traverse", nil), n: n, from: in.Pos(n.From), startAt: s.Pos(n.Start), vertexAt: s.Pos(n.Vertex),
			edgeAt: s.Pos(n.Edge), hopAt: s.Pos(n.Hop), pathAt: s.Pos(n.Path), writer: adjacency.EdgeWriter{SlabSize: r.BatchSize()},
		}
		r.HopCounts = make([]runtime.HopCount, len(n.Hops))
		for i := range n.Hops {
			h := adjacency.NewReader(r, n.Hops[i].Types, n.Hops[i].Dir, nil)
			h.Filter = adjacency.NewEdgeTest(r, wheres[i], nil)
			x.hops = append(x.hops, &cappedReader{Reader: h, caps: &n.Hops[i], seed: n.Seed, count: &r.HopCounts[i]})
		}
		sets := n.Mode == plan.ModeFrontier || n.Mode == plan.ModeNearest || n.Mode == plan.ModeLayers
		if sets && len(x.hops) > 1 && x.hops[0].takesAll() {
			x.hops[0].Next = runtime.Prefetch{Hop: x.hops[1], Limit: adjacency.MaxEdges}
		}
		if p := r.PrefetchOf(prefetching); p != nil {
			*p = runtime.Prefetch{Hop: x.hops[0], Limit: adjacency.MaxEdges}
		}
		if sets {
			return newTraverseSets(x)
		}
		return newTraverseWays(x)
	}
	return s
}

// open restarts the operator.
func (x *traverse) open(ctx context.Context) error {
	x.begin()
	x.loaded, x.stop, x.starts = false, false, x.starts[:0]
	for _, h := range x.hops {
		h.reset()
	}
	return x.Input.Open(ctx)
}

func (x *traverse) Close() {
	x.release()
	x.Input.Close()
}

// load reads the starts.
func (x *traverse) load(ctx context.Context) error {
	x.loaded = true
	for {
		b, err := x.In.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		col := &b.Cols[x.from]
		for i := range b.N {
			switch v := col.Value(i); v.Kind() {
			case graph.VertexKind:
				x.starts = append(x.starts, v.Vertex())
			case graph.Null:
			default:
				return adjacency.NotVertex(v)
			}
		}
	}
}

// width is the number of columns.
func (x *traverse) width() int {
	n := 0
	for _, at := range [...]int{x.startAt, x.vertexAt, x.edgeAt, x.hopAt, x.pathAt} {
		n = max(n, at+1)
	}
	return n
}

// endedBy reports whether an error is the end of a budget that truncates the traversal instead of failing the request.
func (x *traverse) endedBy(err error) bool {
	if !x.r.Truncate(err) {
		return false
	}
	x.stop = true
	return true
}

// addVertex adds the column of the vertex to a row.
func (x *traverse) addVertex(v graph.VertexID) {
	if x.vertexAt >= 0 {
		col := &x.out.Cols[x.vertexAt]
		col.IDs = append(col.IDs, v)
	}
}

// addNoVertex adds a null in the column of the vertex.
func (x *traverse) addNoVertex() {
	if x.vertexAt >= 0 {
		runtime.AppendNulls(&x.out.Cols[x.vertexAt], 1)
	}
}

// addHop adds the number of hops to a row.
func (x *traverse) addHop(n int) {
	if x.hopAt >= 0 {
		col := &x.out.Cols[x.hopAt]
		col.Vals = append(col.Vals, graph.IntValue(int64(n)))
	}
}

// addEdge adds the edge to a row; known is false for a row of no hop.
func (x *traverse) addEdge(e graph.Edge, known bool) {
	if x.edgeAt < 0 {
		return
	}
	col := &x.out.Cols[x.edgeAt]
	if !known {
		col.Vals = append(col.Vals, graph.Value{})
		return
	}
	col.Vals = append(col.Vals, graph.EdgeRefValue(x.writer.Keep(e)))
}
