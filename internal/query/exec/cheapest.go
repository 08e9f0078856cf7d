package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// cheapest joins each row with the cheapest paths between two vertices.
type cheapest struct {
	input
	r          *run
	n          *plan.CheapestPaths
	from, to   int   // positions in the input
	carry      []int // by column of out: its position in the input, or -1
	pathAt     int   // positions in out, or -1
	sumAt      int
	search     *cheapestSearch
	b          *batch // the input batch at work, or nil
	row        int    // of it
	found      []foundPath
	given      int // of found
	dealt      dealt
	out        batch
	picked     [1]int32
	unweighted bool
}

func (c *compiler) cheapestPaths(n *plan.CheapestPaths, need plan.ColSet) *stage {
	below := c.below(need)
	c.below(nil, append([]plan.Expr{n.Weight}, n.Where...)...)
	below.Add(n.From, n.To)
	in := c.compile(n.Input, below)
	c.bound(in, n.From, n.To)
	where := c.hopWhere(n.Where, n.EdgeVar, n.VertexVar)
	var weight *edgeWhere
	if n.Weight != nil {
		weight = c.edgeWhere([]plan.Expr{n.Weight}, n.EdgeVar, 0)
	}
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, n.Path, n.Sum)}
	s.build = func(r *run, kids []operator) operator {
		x := &cheapest{
			input: input{kids[0]}, r: r, n: n, from: in.pos(n.From), to: in.pos(n.To), carry: in.positions(s.cols),
			pathAt: s.pos(n.Path), sumAt: s.pos(n.Sum), dealt: dealt{size: 64}, unweighted: n.Weight == nil,
		}
		h := r.newHop(n.Types, n.Dir, nil)
		h.where, h.edges = r.edgeTest(where, nil), true
		x.search = &cheapestSearch{r: r, hop: h, best: map[graph.VertexID]float64{}, acct: account{r: r, name: "CheapestPaths"}}
		if weight != nil {
			h.bring = weight.keys
			x.search.weigher = &edgeWeigher{w: weight, x: r.evaluators(weight.cols).add(weight.preds[0])}
		}
		return x
	}
	return s
}

func (x *cheapest) open(ctx context.Context) error {
	x.b, x.found, x.given = nil, nil, 0
	return x.input.open(ctx)
}

func (x *cheapest) close() {
	x.search.acct.release()
	x.input.close()
}

func (x *cheapest) next(ctx context.Context) (*batch, error) {
	x.out.reset(len(x.carry))
	for x.out.N < x.r.batchSize() {
		if x.given < len(x.found) {
			x.give()
			continue
		}
		if x.b == nil || x.row == x.b.N {
			if x.b != nil && x.out.N > 0 {
				break // the rows so far show the batch
			}
			b, err := x.in.next(ctx)
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
			return notVertex(v)
		}
	}
	x.found, err = x.search.paths(ctx, from.Vertex(), to.Vertex(), x.n.MaxHops, x.n.K, x.n.All)
	return err
}

// give adds a row for the next path.
func (x *cheapest) give() {
	p := &x.found[x.given]
	x.given++
	x.out.appendRows(x.b, x.carry, x.picked[:])
	if x.pathAt >= 0 {
		path := &graph.Path{Vertices: []graph.Value{graph.VertexValue(p.start)}}
		for _, e := range p.edges {
			walk(path, graph.EdgeRefValue(x.dealt.new(e)))
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

// edgeWeigher computes the weights of edges.
type edgeWeigher struct {
	w    *edgeWhere
	x    evaluator
	b    batch
	edge []graph.EdgeValue
}

// weigh gives the weights of the edges of an answer.
func (g *edgeWeigher) weigh(ctx context.Context, h *hop) ([]graph.Value, error) {
	n := len(h.res.Targets)
	if n == 0 {
		return nil, nil // nothing need have been asked for
	}
	g.b.reset(len(g.w.cols))
	g.b.N = n
	at := 0
	if g.w.edge {
		g.edge = make([]graph.EdgeValue, 0, n)
		for u := range h.res.Done {
			for i := h.res.Offsets[u]; i < h.res.Offsets[u+1]; i++ {
				g.edge = append(g.edge, graph.EdgeValue{Edge: h.edge(i, h.req.Sources[u])})
				g.b.Cols[at].Vals = append(g.b.Cols[at].Vals, graph.EdgeRefValue(&g.edge[i]))
			}
		}
		at++
	}
	for k := range g.w.keys {
		if p := h.brought[k]; p >= 0 {
			g.b.Cols[at].Vals = append(g.b.Cols[at].Vals, h.res.Props[p]...)
		} else {
			appendNulls(&g.b.Cols[at], n)
		}
		at++
	}
	return g.x.eval(ctx, &g.b, allRows(n))
}

// weightOf gives a weight as a number.
func weightOf(v graph.Value) (float64, error) {
	if !v.IsNumber() {
		return 0, graph.TypeError("InvalidArgumentType", "a weight must be a number, is of type %s; an edge without one cannot be weighed", v.Kind())
	}
	w := v.Number()
	if !(w >= 0) {
		return 0, graph.RuntimeError("ArgumentError", "NegativeWeight", "a weight must not be negative, is %v", w)
	}
	return w, nil
}
