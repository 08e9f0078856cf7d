package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// traverse is what the operators of a plan.Traverse have in common: they read all starts, then go hop by hop, and fill
// rows of the columns that are wanted.
type traverse struct {
	input
	r    *run
	n    *plan.Traverse
	from int // position in the input
	hops []*cappedHop

	starts []graph.VertexID // in the order of the input, without nulls
	loaded bool
	stop   bool // a budget has ended, and what was found is the answer

	startAt, vertexAt, edgeAt, hopAt, pathAt int // positions in out, or -1

	dealt dealt
	acct  account
	out   batch
}

func (c *compiler) traverse(n *plan.Traverse, need plan.ColSet) *stage {
	below := plan.ColSet{}
	below.Add(n.From)
	in := c.compile(n.Input, below)
	c.bound(in, n.From)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(nil, need, n.Start, n.Vertex, n.Edge, n.Hop, n.Path)}
	wheres := make([]*edgeWhere, len(n.Hops))
	for i := range n.Hops {
		c.below(nil, n.Hops[i].Where...)
		wheres[i] = c.hopWhere(n.Hops[i].Where, n.Edge, n.Vertex)
	}
	s.build = func(r *run, kids []operator) operator {
		x := &traverse{
			input: input{kids[0]}, r: r, n: n, from: in.pos(n.From), startAt: s.pos(n.Start), vertexAt: s.pos(n.Vertex),
			edgeAt: s.pos(n.Edge), hopAt: s.pos(n.Hop), pathAt: s.pos(n.Path), dealt: dealt{size: r.batchSize()},
			acct: account{r: r, name: "Traverse"},
		}
		r.hopCounts = make([]HopCount, len(n.Hops))
		for i := range n.Hops {
			h := r.newHop(n.Hops[i].Types, n.Hops[i].Dir, nil)
			h.where = r.edgeTest(wheres[i], nil)
			x.hops = append(x.hops, &cappedHop{hop: h, caps: &n.Hops[i], seed: n.Seed, count: &r.hopCounts[i]})
		}
		sets := n.Mode == plan.ModeFrontier || n.Mode == plan.ModeNearest || n.Mode == plan.ModeLayers
		if sets && len(x.hops) > 1 && x.hops[0].takesAll() {
			x.hops[0].then, x.hops[0].thenMax = x.hops[1].hop, mostEdges
		}
		prefetch(kids[0], x.from, x.hops[0], mostEdges)
		if sets {
			return newTraverseSets(x)
		}
		return newTraverseWays(x)
	}
	return s
}

// open makes the operator start over.
func (x *traverse) open(ctx context.Context) error {
	x.loaded, x.stop, x.starts = false, false, x.starts[:0]
	for _, h := range x.hops {
		h.reset()
	}
	return x.input.open(ctx)
}

func (x *traverse) close() {
	x.acct.release()
	x.input.close()
}

// load reads the starts.
func (x *traverse) load(ctx context.Context) error {
	x.loaded = true
	for {
		b, err := x.in.next(ctx)
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
				return notVertex(v)
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

// endedBy reports whether an error is the end of a budget that is to end the traversal, not the request.
func (x *traverse) endedBy(err error) bool {
	if !x.r.truncate(err) {
		return false
	}
	x.stop = true
	return true
}

// hold accounts for what the operator has come to hold, in bytes.
func (x *traverse) hold(bytes int) error {
	if more := bytes - int(x.acct.held); more > 0 {
		return x.acct.grow(more)
	}
	return nil
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
		appendNulls(&x.out.Cols[x.vertexAt], 1)
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
	col.Vals = append(col.Vals, graph.EdgeRefValue(x.dealt.new(e)))
}
