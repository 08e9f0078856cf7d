package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// pathSearch gives the paths between two vertices in the order of their lengths:
//
//	for longer() { for next() { path() } }
//
// The shortest ones come from a search from both ends at once. If longer ones are requested, because a condition on the
// path as a whole holds for none of these or because a path must have at least two edges, trails are enumerated length
// by length, pruned where the end is too far away.
type pathSearch struct {
	min, max int

	fwd, bwd   *searchSide
	ways       shortestWays
	join       *pathEdges // finds the edges of a path that was searched without them; nil: the search keeps them
	t          trails
	near       distances
	uniqueness adjacency.Uniqueness // nothing

	b        *runtime.Batch // the input batch
	from, to []graph.VertexID
	stage    pathStage
	length   int // of the paths that next returns
	entry    int // of t: the current trail
	pending  bool

	writer   adjacency.EdgeWriter
	vertices []graph.VertexID
	edges    []graph.Edge
}

// pathStage identifies the search that produces the current paths.
type pathStage uint8

const (
	pathsNotBegun pathStage = iota
	pathsByWays
	pathsByTrails
	pathsEnded
)

// init prepares a search for a plan node; longer reports whether longer paths may be requested too.
func (p *pathSearch) init(r *runtime.Run, n *plan.ShortestPath, test *adjacency.EdgeTest, longer bool) {
	p.writer = adjacency.EdgeWriter{SlabSize: r.BatchSize()}
	newSide := func(h *adjacency.Reader, all bool) *searchSide {
		return &searchSide{kernel: newKernel(r, "ShortestPath", h), all: all}
	}
	newReader := func(dir graph.Direction, edges bool) *adjacency.Reader {
		h := adjacency.NewReader(r, n.Types, dir, nil)
		h.Filter, h.Edges = test, edges
		return h
	}
	all := n.All || longer
	p.fwd = newSide(newReader(n.Dir, all), all)
	p.bwd = newSide(newReader(n.Dir.Reverse(), all), all)
	if !all {
		p.join = &pathEdges{r: r, fwd: newReader(n.Dir, true), bwd: newReader(n.Dir.Reverse(), true)}
	}
	p.near.s = newSide(newReader(n.Dir.Reverse(), false), false)
	p.t = trails{
		r: r, uniqueness: &p.uniqueness, values: true, near: &p.near, writer: adjacency.EdgeWriter{SlabSize: r.BatchSize()},
		acct: runtime.Account{Run: r, Name: "ShortestPath"}, newReader: func() *adjacency.Reader { return newReader(n.Dir, true) },
	}
}

// begin sets the input batch with the ends at the given positions.
func (p *pathSearch) begin(b *runtime.Batch, from, to int) {
	p.b = b
	p.from, p.to = p.from[:0], p.to[:0]
	for i := range b.N {
		p.from = append(p.from, vertexOrNone(b.Cols[from].Value(i)))
		p.to = append(p.to, vertexOrNone(b.Cols[to].Value(i)))
	}
	p.t.to = p.to
}

func vertexOrNone(v graph.Value) graph.VertexID {
	if v.IsNull() {
		return graph.NoVertex
	}
	return v.Vertex()
}

// reset restarts the search for longer paths with a row.
func (p *pathSearch) reset() { p.stage = pathsNotBegun }

// release returns the memory.
func (p *pathSearch) release() {
	p.t.release()
	for _, s := range [3]*searchSide{p.fwd, p.bwd, p.near.s} {
		s.release()
	}
}

// longer moves to the next length that has paths between the ends of a row.
func (p *pathSearch) longer(ctx context.Context, b *runtime.Batch, row int) (bool, error) {
	from, to := p.from[row], p.to[row]
	if p.stage == pathsNotBegun {
		p.stage = pathsEnded
		if from == graph.NoVertex || to == graph.NoVertex || p.max < p.min {
			return false, nil
		}
		if from == to && p.min > 0 {
			return false, errSameEnds()
		}
		if p.min <= 1 {
			return p.shortest(ctx, b, row, from, to)
		}
		p.length = p.min - 1
		p.stage = pathsByWays
	}
	if p.stage == pathsByWays {
		p.stage = pathsByTrails
		p.near.complete = false
		p.near.s.start(b, int32(row), to)
	} else if p.stage == pathsByTrails && !p.t.truncated {
		p.stage = pathsEnded
	}
	for p.stage == pathsByTrails && p.length < p.max {
		p.length++
		if err := p.near.within(ctx, p.length); err != nil {
			return false, err
		}
		p.t.min, p.t.max = p.length, p.length
		p.t.start(b, []graph.VertexID{from}, runtime.Sel{int32(row)})
		var err error
		if p.entry, p.pending, err = p.t.next(ctx); err != nil || p.pending {
			return p.pending, err
		}
		if !p.t.truncated {
			p.stage = pathsEnded
		}
	}
	return false, nil
}

// errSameEnds is the error that Neo4j returns for a shortest path from a vertex to itself.
func errSameEnds() error {
	return graph.RuntimeError("ArgumentError", "SameStartAndEndNode",
		"a shortest path of at least one edge needs a start and an end that differ; begin the length at 0 if they may be the same")
}

// shortest finds the shortest paths.
func (p *pathSearch) shortest(ctx context.Context, b *runtime.Batch, row int, from, to graph.VertexID) (bool, error) {
	p.fwd.start(b, int32(row), from)
	p.bwd.start(b, int32(row), to)
	meets, swapped := []searchMeet{{}}, false
	if from != to {
		var err error
		if meets, swapped, err = meet(ctx, p.fwd, p.bwd, p.max); err != nil {
			return false, err
		}
	}
	if len(meets) == 0 {
		return false, nil
	}
	p.stage = pathsByWays
	p.ways.set(p.fwd, p.bwd, meets, swapped)
	p.length = int(p.fwd.tree.dist[p.ways.number(p.fwd)] + p.bwd.tree.dist[p.ways.number(p.bwd)])
	return true, nil
}

// next moves to the next path of the current length.
func (p *pathSearch) next(ctx context.Context) (bool, error) {
	if p.stage == pathsByWays {
		return p.ways.next(), nil
	}
	if p.pending {
		p.pending = false
		return true, nil
	}
	var ok bool
	var err error
	p.entry, ok, err = p.t.next(ctx)
	return ok, err
}

// path returns the current path.
func (p *pathSearch) path(ctx context.Context) (*graph.Path, error) {
	n := p.length
	values := make([]graph.Value, 0, 2*n+1)
	if p.stage == pathsByTrails {
		values = p.t.vertices(values, p.entry)
		values = p.t.edges(values, p.entry, false)
		return &graph.Path{Vertices: values[: n+1 : n+1], Edges: values[n+1:]}, nil
	}
	p.vertices, p.edges = p.ways.appendTo(p.vertices[:0], p.edges[:0])
	if p.join != nil {
		if err := p.join.find(ctx, p.b, p.fwd.row, p.vertices, p.edges); err != nil {
			return nil, err
		}
	}
	for _, v := range p.vertices {
		values = append(values, graph.VertexValue(v))
	}
	for _, e := range p.edges {
		values = append(values, graph.EdgeRefValue(p.writer.Keep(e)))
	}
	return &graph.Path{Vertices: values[: n+1 : n+1], Edges: values[n+1:]}, nil
}

// pathEdges finds an edge for each step of a path, in the list of the step's end with the smaller degree.
type pathEdges struct {
	r        *runtime.Run
	fwd, bwd *adjacency.Reader

	allowed adjacency.RowEdges
	degrees [2][]int
	list    []graph.VertexID
	f       runtime.Frontier
}

// find fills edges[i] with an edge from vertices[i] to vertices[i+1].
func (j *pathEdges) find(ctx context.Context, b *runtime.Batch, row int32, vertices []graph.VertexID, edges []graph.Edge) error {
	n := len(edges)
	if n == 0 {
		return nil
	}
	types, _ := j.fwd.Types.Resolve()
	for i, h := range [2]*adjacency.Reader{j.fwd, j.bwd} {
		j.degrees[i] = append(j.degrees[i][:0], make([]int, n)...)
		if err := j.r.Tx.Degrees(ctx, vertices[i:i+n], types, h.Dir, j.degrees[i]); err != nil {
			return err
		}
	}
	for side, h := range [2]*adjacency.Reader{j.fwd, j.bwd} {
		j.list = j.list[:0]
		for i := range n {
			if j.backward(i) == (side == 1) {
				j.list = append(j.list, vertices[i+side])
			}
		}
		j.f.Set(j.list)
		done := 0
		for done < len(j.f.IDs) {
			if err := h.Read(ctx, j.f.IDs[done:], adjacency.MaxEdges); err != nil {
				return err
			}
			if err := j.allowed.Keep(ctx, h, b, row, nil); err != nil {
				return err
			}
			j.match(h, side, vertices, edges)
			done += h.Answer.Done
		}
	}
	return nil
}

// backward reports whether step i is looked up from its far end.
func (j *pathEdges) backward(i int) bool { return j.degrees[1][i] < j.degrees[0][i] }

// match looks the steps of one side up in an answer.
func (j *pathEdges) match(h *adjacency.Reader, side int, vertices []graph.VertexID, edges []graph.Edge) {
	for u := range h.Answer.Done {
		source := h.Request.Sources[u]
		for i := range edges {
			if j.backward(i) != (side == 1) || vertices[i+side] != source {
				continue
			}
			for k := h.Answer.Offsets[u]; k < h.Answer.Offsets[u+1]; k++ {
				if h.Answer.Targets[k] == vertices[i+1-side] {
					edges[i] = h.Edge(k, source)
					break
				}
			}
		}
	}
}
