package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// cheapest joins each row with the cheapest paths between two vertices.
type cheapest struct {
	runtime.Input
	r          *runtime.Run
	n          *plan.CheapestPaths
	from, to   int   // positions in the input
	carry      []int // by column of out: its position in the input, or -1
	pathAt     int   // positions in out, or -1
	sumAt      int
	search     *cheapestSearch
	b          *runtime.Batch // the current input batch, or nil
	row        int            // of it
	found      []foundPath
	given      int // of found
	writer     adjacency.EdgeWriter
	out        runtime.Batch
	picked     [1]int32
	unweighted bool
}

// CheapestPaths compiles a CheapestPaths.
func CheapestPaths(c *compile.Compiler, n *plan.CheapestPaths, need plan.ColSet) *runtime.Stage {
	below := c.Below(need)
	c.Below(plan.ColSet{}, append([]plan.Expr{n.Weight}, n.Where...)...)
	below.Add(n.From, n.To)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.From, n.To)
	where := adjacency.CompileFilter(c, n.Where, n.EdgeVar, n.VertexVar)
	var weight *adjacency.EdgeFilter
	if n.Weight != nil {
		weight = adjacency.CompileLocalFilter(c, []plan.Expr{n.Weight}, n.EdgeVar, 0)
	}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, n.Path, n.Sum)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &cheapest{
			Input: runtime.Input{In: kids[0]}, r: r, n: n, from: in.Pos(n.From), to: in.Pos(n.To), carry: in.Positions(s.Cols),
			pathAt: s.Pos(n.Path), sumAt: s.Pos(n.Sum), writer: adjacency.EdgeWriter{SlabSize: 64}, unweighted: n.Weight == nil,
		}
		h := adjacency.NewReader(r, n.Types, n.Dir, nil)
		h.Filter, h.Edges = adjacency.NewEdgeTest(r, where, nil), true
		x.search = &cheapestSearch{kernel: newKernel(r, "CheapestPaths", h)}
		if weight != nil {
			h.Props = weight.Keys
			x.search.weights = &edgeWeights{w: weight, x: expr.New(r, weight.Cols).Add(weight.Preds[0])}
		}
		return x
	}
	return s
}

func (x *cheapest) Open(ctx context.Context) error {
	x.b, x.found, x.given = nil, nil, 0
	return x.Input.Open(ctx)
}

func (x *cheapest) Close() {
	x.search.release()
	x.Input.Close()
}

func (x *cheapest) Next(ctx context.Context) (*runtime.Batch, error) {
	x.out.Reset(len(x.carry))
	for x.out.N < x.r.BatchSize() {
		if x.given < len(x.found) {
			x.emit()
			continue
		}
		if x.b == nil || x.row == x.b.N {
			if x.b != nil && x.out.N > 0 {
				break // the rows so far show the batch
			}
			b, err := x.In.Next(ctx)
			if err != nil {
				return nil, err
			}
			if x.b, x.row = b, 0; b == nil {
				break
			}
		}
		if err := x.find(ctx); err != nil {
			return nil, err
		}
	}
	if x.out.N == 0 {
		return nil, nil
	}
	return &x.out, nil
}

// find finds the paths of the next row.
func (x *cheapest) find(ctx context.Context) (err error) {
	x.found, x.given = nil, 0
	x.picked[0] = int32(x.row)
	from, to := x.b.Cols[x.from].Value(x.row), x.b.Cols[x.to].Value(x.row)
	x.row++
	for _, v := range [2]graph.Value{from, to} {
		if v.IsNull() {
			return nil
		}
		if v.Kind() != graph.VertexKind {
			return adjacency.NotVertex(v)
		}
	}
	x.found, err = x.search.paths(ctx, from.Vertex(), to.Vertex(), x.n.MaxHops, x.n.K, x.n.All)
	return err
}

// emit adds a row for the next path.
func (x *cheapest) emit() {
	p := &x.found[x.given]
	x.given++
	x.out.AppendRows(x.b, x.carry, x.picked[:])
	if x.pathAt >= 0 {
		path := &graph.Path{Vertices: []graph.Value{graph.VertexValue(p.start)}}
		for _, e := range p.edges {
			expr.AppendEdge(path, graph.EdgeRefValue(x.writer.Keep(e)))
		}
		col := &x.out.Cols[x.pathAt]
		col.Vals = append(col.Vals, graph.PathValue(path))
	}
	if x.sumAt >= 0 {
		v := graph.FloatValue(p.sum)
		if x.unweighted {
			v = graph.IntValue(int64(len(p.edges)))
		}
		col := &x.out.Cols[x.sumAt]
		col.Vals = append(col.Vals, v)
	}
	x.out.N++
}

// edgeWeights computes the weights of edges.
type edgeWeights struct {
	w    *adjacency.EdgeFilter
	x    runtime.Evaluator
	b    runtime.Batch
	edge []graph.EdgeValue
}

// of returns the weights of the edges of an answer.
func (g *edgeWeights) of(ctx context.Context, h *adjacency.Reader) ([]graph.Value, error) {
	n := len(h.Answer.Targets)
	if n == 0 {
		return nil, nil // no request is needed
	}
	g.b.Reset(len(g.w.Cols))
	g.b.N = n
	at := 0
	if g.w.Edge {
		g.edge = make([]graph.EdgeValue, 0, n)
		for u := range h.Answer.Done {
			for i := h.Answer.Offsets[u]; i < h.Answer.Offsets[u+1]; i++ {
				g.edge = append(g.edge, graph.EdgeValue{Edge: h.Edge(i, h.Request.Sources[u])})
				g.b.Cols[at].Vals = append(g.b.Cols[at].Vals, graph.EdgeRefValue(&g.edge[i]))
			}
		}
		at++
	}
	for k := range g.w.Keys {
		if p := h.PropCols[k]; p >= 0 {
			g.b.Cols[at].Vals = append(g.b.Cols[at].Vals, h.Answer.Props[p]...)
		} else {
			runtime.AppendNulls(&g.b.Cols[at], n)
		}
		at++
	}
	return g.x.Eval(ctx, &g.b, runtime.AllRows(n))
}

// weightOf returns a weight as a number.
func weightOf(v graph.Value) (float64, error) {
	if !v.IsNumber() {
		return 0, graph.TypeError("InvalidArgumentType", "a weight must be a number, was %s; each edge needs one", v.Kind())
	}
	w := v.Number()
	if !(w >= 0) {
		return 0, graph.RuntimeError("ArgumentError", "NegativeWeight", "a weight must not be negative, was %v", w)
	}
	return w, nil
}
