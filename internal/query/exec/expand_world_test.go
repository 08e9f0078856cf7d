package exec

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// world is a small random graph, in the oracle and as plain slices for the reference interpreter.
type world struct {
	g        shard.Graph
	tx       shard.Tx
	vertices []worldVertex
	edges    []worldEdge
	vid      []graph.VertexID
	vnum     map[graph.VertexID]int
	enum     map[graph.EdgeID]int
	stored   bool // the graph is kept in a store, not by the oracle
}

type worldVertex struct {
	labels []string
	n      graph.Value // property n
}

type worldEdge struct {
	src, dst int
	typ      string
	w        graph.Value // property w
}

var ctx = context.Background()

// newWorld builds a graph of n vertices and m edges, with loops and parallel edges.
func newWorld(t testing.TB, rng *rand.Rand, shards, n, m int) *world {
	return makeWorld(t, &world{}, rng, shards, n, m)
}

// newStoredWorld is newWorld over a store.
func newStoredWorld(t testing.TB, rng *rand.Rand, shards, n, m int) *world {
	return makeWorld(t, &world{stored: true}, rng, shards, n, m)
}

func makeWorld(t testing.TB, w *world, rng *rand.Rand, shards, n, m int) *world {
	w.vnum, w.enum = map[graph.VertexID]int{}, map[graph.EdgeID]int{}
	for i := range n {
		var v worldVertex
		for _, l := range []string{"A", "B", "C"} {
			if rng.IntN(2) == 0 {
				v.labels = append(v.labels, l)
			}
		}
		if rng.IntN(4) > 0 {
			v.n = graph.IntValue(int64(i % 5))
		}
		w.vertices = append(w.vertices, v)
	}
	for range m {
		e := worldEdge{src: rng.IntN(n), dst: rng.IntN(n), typ: []string{"R", "S", "T"}[rng.IntN(3)]}
		if rng.IntN(4) > 0 {
			e.w = graph.IntValue(rng.Int64N(10))
		}
		w.edges = append(w.edges, e)
	}
	w.load(t, shards)
	return w
}

// load builds the graph in the oracle and opens a transaction on it.
func (w *world) load(t testing.TB, shards int) {
	w.g = oracle.NewGraph(shards)
	if w.stored {
		store, err := local.Open(local.Options{FS: vfs.NewMem(), Dir: "data", Shards: shards})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		w.g, err = store.Graph(local.DefaultGraph)
		require.NoError(t, err)
	}
	tx, err := w.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	props := func(name string, v graph.Value) []graph.Property {
		id, _ := tx.Prop(name)
		if v.IsNull() {
			return nil
		}
		return []graph.Property{{ID: id, Value: v}}
	}
	for i, v := range w.vertices {
		var labels []graph.LabelID
		for _, l := range v.labels {
			id, _ := tx.Label(l)
			labels = append(labels, id)
		}
		set, _ := tx.LabelSet(labels)
		ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: props("n", v.n)}}
		require.NoError(t, tx.Apply(ctx, ms))
		w.vid = append(w.vid, ms[0].Vertex)
		w.vnum[ms[0].Vertex] = i
	}
	ms := make([]shard.Mutation, len(w.edges))
	for i, e := range w.edges {
		typ, _ := tx.Type(e.typ)
		ms[i] = shard.Mutation{
			Op: shard.CreateEdge, Edge: graph.Edge{Src: w.vid[e.src], Dst: w.vid[e.dst], Type: typ}, Props: props("w", e.w),
		}
	}
	require.NoError(t, tx.Apply(ctx, ms))
	for i := range ms {
		w.enum[ms[i].Edge.ID] = i
	}
	require.NoError(t, tx.Commit(ctx))
	w.tx, err = w.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	t.Cleanup(w.tx.Rollback)
}

// reload recreates the oracle's graph from the slices, after a change.
func (w *world) reload(t testing.TB) {
	shards := 1
	for _, v := range w.vid {
		shards = max(shards, v.Shard()+1)
	}
	w.vid, w.vnum, w.enum = nil, map[graph.VertexID]int{}, map[graph.EdgeID]int{}
	w.load(t, shards)
}

// show prints a value with the numbers of the slices.
func (w *world) show(v graph.Value) string {
	switch v.Kind() {
	case graph.Null:
		return "null"
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.String:
		return v.Str()
	case graph.VertexKind:
		return fmt.Sprintf("v%d", w.vnum[v.Vertex()])
	case graph.EdgeKind:
		e, i := v.Edge(), w.enum[v.EdgeID()]
		if e.Src != w.vid[w.edges[i].src] || e.Dst != w.vid[w.edges[i].dst] || w.g.TypeName(e.Type) != w.edges[i].typ {
			return fmt.Sprintf("e%d with wrong ends", i)
		}
		return fmt.Sprintf("e%d", i)
	case graph.List:
		return "[" + w.showAll(v.List()) + "]"
	case graph.PathKind:
		p := v.Path()
		s := "<" + w.show(p.Vertices[0])
		for i, e := range p.Edges {
			s += " " + w.show(e) + " " + w.show(p.Vertices[i+1])
		}
		return s + ">"
	}
	return v.Kind().String()
}

func (w *world) showAll(vs []graph.Value) string {
	var parts []string
	for _, v := range vs {
		parts = append(parts, w.show(v))
	}
	return strings.Join(parts, " ")
}

// run executes a plan and returns its rows in sorted order.
func (w *world) run(t testing.TB, q *plan.Query, batch int) []string {
	t.Helper()
	out := []string{}
	for _, row := range w.inOrder(t, q, batch) {
		out = append(out, w.showAll(row))
	}
	slices.Sort(out)
	return out
}

// inOrder executes a plan and returns its rows in their order.
func (w *world) inOrder(t testing.TB, q *plan.Query, batch int) (out [][]graph.Value) {
	t.Helper()
	p, err := Compile(q, Options{BatchSize: batch})
	require.NoError(t, err)
	rows, err := p.Run(ctx, w.g, w.tx, runtime.Env{})
	require.NoError(t, err)
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		require.NoError(t, err)
		if b == nil {
			break
		}
		require.NotZero(t, b.N)
		for i := range b.N {
			var row []graph.Value
			for c := range b.Cols {
				row = append(row, b.Cols[c].Value(i))
			}
			out = append(out, row)
		}
	}
	return out
}

// runInSubplan executes a plan whose topmost node runs once for each of its input's rows, which must return the same.
func (w *world) runInSubplan(t testing.TB, q *plan.Query, batch int) []string {
	t.Helper()
	var input plan.Node
	sub := *q
	arg := &plan.Argument{}
	for c := range q.Cols[1:] {
		arg.Cols = append(arg.Cols, plan.Col(c+1))
	}
	var own []plan.Col
	switch n := q.Root.(type) {
	case *plan.Expand:
		c := *n
		input, own, c.Input = n.Input, []plan.Col{n.Edge, n.To}, arg
		sub.Root = &c
	case *plan.VarExpand:
		c := *n
		input, own, c.Input = n.Input, []plan.Col{n.Edges, n.To}, arg
		sub.Root = &c
	case *plan.ShortestPath:
		c := *n
		input, own, c.Input = n.Input, []plan.Col{n.Path, n.Edges, n.Edge}, arg
		sub.Root = &c
	case *plan.FrontierCount:
		c := *n
		input, own, c.Input = n.Input, []plan.Col{n.Out}, arg
		sub.Root = &c
	default:
		return w.run(t, q, batch)
	}
	bound := w.binds(input)
	arg.Cols = slices.DeleteFunc(arg.Cols, func(c plan.Col) bool { return !bound[c] })
	own = slices.DeleteFunc(own, func(c plan.Col) bool { return c == 0 || bound[c] })
	sub.Root = &plan.Apply{Input: input, Sub: sub.Root, Kind: plan.Inner, Cols: own}
	return w.run(t, &sub, batch)
}

// binds returns the columns of a node's rows.
func (w *world) binds(n plan.Node) map[plan.Col]bool {
	cols := map[plan.Col]bool{}
	for n != nil {
		switch x := n.(type) {
		case *plan.Scan:
			cols[x.Out], n = true, x.Input
		case *plan.Expand:
			cols[x.To], cols[x.Edge], n = true, true, x.Input
		case *plan.VarExpand:
			cols[x.To], cols[x.Edges], n = true, true, x.Input
		case *plan.Filter:
			n = x.Input
		default:
			n = nil
		}
	}
	delete(cols, 0)
	return cols
}

// want interprets a plan and returns its rows in sorted order.
func (w *world) want(q *plan.Query) []string {
	out := []string{}
	for _, r := range w.rows(q.Root) {
		var row []string
		for _, c := range q.Out {
			row = append(row, r.show(c))
		}
		out = append(out, strings.Join(row, " "))
	}
	slices.Sort(out)
	return out
}

// naiveRow is a row of the interpreter: numbers of vertices, of edges, and trails.
type naiveRow struct {
	v, e  map[plan.Col]int
	trail map[plan.Col]naiveTrail
}

// naiveTrail is a path by its numbers.
type naiveTrail struct {
	path         bool
	start        int
	edges, heads []int
}

func (r naiveRow) show(c plan.Col) string {
	if v, ok := r.v[c]; ok {
		return fmt.Sprintf("v%d", v)
	}
	if e, ok := r.e[c]; ok {
		return fmt.Sprintf("e%d", e)
	}
	tr, ok := r.trail[c]
	if !ok {
		return "null"
	}
	if tr.path {
		s := fmt.Sprintf("<v%d", tr.start)
		for i := range tr.edges {
			s += fmt.Sprintf(" e%d v%d", tr.edges[i], tr.heads[i])
		}
		return s + ">"
	}
	var parts []string
	for _, e := range tr.edges {
		parts = append(parts, fmt.Sprintf("e%d", e))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func (r naiveRow) clone() naiveRow {
	c := naiveRow{v: map[plan.Col]int{}, e: map[plan.Col]int{}, trail: map[plan.Col]naiveTrail{}}
	maps.Copy(c.v, r.v)
	maps.Copy(c.e, r.e)
	maps.Copy(c.trail, r.trail)
	return c
}

// has reports whether one of the columns contains an edge.
func (r naiveRow) has(cols []plan.Col, e int) bool {
	for _, c := range cols {
		if x, ok := r.e[c]; ok && x == e {
			return true
		}
		if slices.Contains(r.trail[c].edges, e) {
			return true
		}
	}
	return false
}

// labelled tests a vertex against a label expression.
func (w *world) labelled(v int, e *plan.LabelExpr) bool {
	if e == nil {
		return true
	}
	switch e.Op {
	case plan.LabelName:
		return slices.Contains(w.vertices[v].labels, e.Name)
	case plan.LabelAnd:
		return w.labelled(v, e.Args[0]) && w.labelled(v, e.Args[1])
	case plan.LabelOr:
		return w.labelled(v, e.Args[0]) || w.labelled(v, e.Args[1])
	case plan.LabelNot:
		return !w.labelled(v, e.Args[0])
	}
	return len(w.vertices[v].labels) > 0
}

// heads returns the far end of edge e seen from v, if v may be left along it.
func (w *world) head(e, v int, types []string, dir graph.Direction) (int, bool) {
	x := w.edges[e]
	if len(types) > 0 && !slices.Contains(types, x.typ) {
		return 0, false
	}
	if dir != graph.In && x.src == v {
		return x.dst, true
	}
	if dir != graph.Out && x.dst == v {
		return x.src, true
	}
	return 0, false
}

// satisfies tests conditions of the forms e.w > constant, e.w > a.n and not e = x on edge e.
func (w *world) satisfies(r naiveRow, e int, preds []plan.Expr) bool {
	for _, p := range preds {
		op := p.(*plan.Op)
		var limit graph.Value
		switch y := op.Args[1].(type) {
		case *plan.Const:
			limit = y.Value
		case *plan.Prop:
			limit = w.vertices[r.v[y.X.(*plan.ColRef).Col]].n
		}
		x := w.edges[e].w
		if x.IsNull() || limit.IsNull() || x.Int() <= limit.Int() {
			return false
		}
	}
	return true
}

func constInt(e plan.Expr, none int) int {
	if c, ok := e.(*plan.Const); ok {
		return int(c.Value.Int())
	}
	return none
}

// rows interprets a plan.
func (w *world) rows(n plan.Node) []naiveRow {
	var out []naiveRow
	switch n := n.(type) {
	case *plan.Unit:
		return []naiveRow{naiveRow{}.clone()}

	case *plan.Scan:
		for _, r := range w.rows(n.Input) {
			for v := range w.vertices {
				if w.labelled(v, n.Labels) {
					c := r.clone()
					c.v[n.Out] = v
					out = append(out, c)
				}
			}
		}

	case *plan.Expand:
		for _, r := range w.rows(n.Input) {
			from, ok := r.v[n.From]
			if !ok {
				continue
			}
			for e := range w.edges {
				to, ok := w.head(e, from, n.Types, n.Dir)
				if !ok || !w.labelled(to, n.Labels) || r.has(n.DistinctFrom, e) || !w.satisfies(r, e, n.Where) {
					continue
				}
				if n.Into && r.v[n.To] != to {
					continue
				}
				c := r.clone()
				c.v[n.To] = to
				if n.Edge != 0 {
					c.e[n.Edge] = e
				}
				out = append(out, c)
			}
		}

	case *plan.VarExpand:
		for _, r := range w.rows(n.Input) {
			from, ok := r.v[n.From]
			if !ok {
				continue
			}
			ends := map[int]bool{}
			w.trails(r, from, n.Types, n.Dir, constInt(n.Min, 1), constInt(n.Max, 1<<30), n.DistinctFrom, n.Where, func(tr naiveTrail) {
				to := from
				if len(tr.heads) > 0 {
					to = tr.heads[len(tr.heads)-1]
				}
				if !w.labelled(to, n.Labels) || n.Into && r.v[n.To] != to || n.Ends && ends[to] {
					return
				}
				ends[to] = true
				c := r.clone()
				c.v[n.To] = to
				if n.Edges != 0 {
					if n.Reversed {
						tr.edges = slices.Clone(tr.edges)
						slices.Reverse(tr.edges)
					}
					c.trail[n.Edges] = tr
				}
				out = append(out, c)
			})
		}

	case *plan.Filter: // a <> b
		op := n.Preds[0].(*plan.Op)
		for _, r := range w.rows(n.Input) {
			if r.v[op.Args[0].(*plan.ColRef).Col] != r.v[op.Args[1].(*plan.ColRef).Col] {
				out = append(out, r)
			}
		}

	case *plan.ShortestPath:
		for _, r := range w.rows(n.Input) {
			out = append(out, w.shortest(r, n)...)
		}
	}
	return out
}

// shortest returns all shortest paths, whether or not one alone is requested. A condition on the path is length(p) > k.
func (w *world) shortest(r naiveRow, n *plan.ShortestPath) []naiveRow {
	var out []naiveRow
	longer := -1
	for _, e := range n.PathWhere {
		longer = constInt(e.(*plan.Op).Args[1], 0)
	}
	best := 1 << 30
	w.trails(r, r.v[n.From], n.Types, n.Dir, constInt(n.Min, 1), constInt(n.Max, 1<<30), nil, n.Where, func(tr naiveTrail) {
		to, length := tr.start, len(tr.edges)
		if length > 0 {
			to = tr.heads[length-1]
		}
		if to != r.v[n.To] || length <= longer || length > best {
			return
		}
		if length < best {
			out, best = nil, length
		}
		c := r.clone()
		tr.path = true
		c.trail[n.Path] = tr
		tr.path = false
		c.trail[n.Edges] = tr
		if length == 1 {
			c.e[n.Edge] = tr.edges[0]
		}
		out = append(out, c)
	})
	return out
}

// trails calls f for each trail of min to max edges.
func (w *world) trails(
	r naiveRow, from int, types []string, dir graph.Direction, min, max int, unlike []plan.Col, where []plan.Expr, f func(naiveTrail),
) {
	var walk func(v int, tr naiveTrail)
	walk = func(v int, tr naiveTrail) {
		if len(tr.edges) >= min {
			f(naiveTrail{start: from, edges: slices.Clone(tr.edges), heads: slices.Clone(tr.heads)})
		}
		if len(tr.edges) == max {
			return
		}
		for e := range w.edges {
			to, ok := w.head(e, v, types, dir)
			if ok && !slices.Contains(tr.edges, e) && !r.has(unlike, e) && w.satisfies(r, e, where) {
				walk(to, naiveTrail{edges: append(slices.Clone(tr.edges), e), heads: append(slices.Clone(tr.heads), to)})
			}
		}
	}
	walk(from, naiveTrail{})
}

// Random parts of plans.

func someTypes(rng *rand.Rand) []string {
	return [][]string{nil, {"R"}, {"R", "S"}, {"Nowhere"}, {"S", "Nowhere"}, {"T", "T"}, nil, {"R"}}[rng.IntN(8)]
}

func someLabels(rng *rand.Rand) *plan.LabelExpr {
	name := func(s string) *plan.LabelExpr { return &plan.LabelExpr{Op: plan.LabelName, Name: s} }
	of := func(op plan.LabelOp, args ...*plan.LabelExpr) *plan.LabelExpr {
		return &plan.LabelExpr{Op: op, Args: args}
	}
	return []*plan.LabelExpr{
		nil, nil, nil, name("A"), name("B"), name("Nowhere"),
		of(plan.LabelAnd, name("A"), name("B")), of(plan.LabelOr, name("A"), name("C")), of(plan.LabelNot, name("A")),
		of(plan.LabelAnd, name("B"), of(plan.LabelNot, name("A"))), of(plan.LabelAny), of(plan.LabelOr, name("A"), of(plan.LabelNot, name("B"))),
		of(plan.LabelOr, name("A"), of(plan.LabelOr, name("B"), name("Nowhere"))),
	}[rng.IntN(13)]
}

func someDirection(rng *rand.Rand) graph.Direction { return graph.Direction(rng.IntN(3)) }

func intConst(i int) plan.Expr { return &plan.Const{Value: graph.IntValue(int64(i))} }

// heavier is edge.w > limit.
func heavier(edge plan.Col, limit plan.Expr) plan.Expr {
	return &plan.Op{Op: plan.Gt, Args: []plan.Expr{&plan.Prop{X: &plan.ColRef{Col: edge}, Key: "w"}, limit}}
}

// worlds calls f with random graphs over several numbers of shards and sizes of batches.
func worlds(t *testing.T, rounds int, f func(t *testing.T, rng *rand.Rand, w *world, batch int)) {
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 7))
		shards := []int{1, 3}[rng.IntN(2)]
		batch := []int{1, 3, 1024}[rng.IntN(3)]
		n := 2 + rng.IntN(7)
		w := newWorld(t, rng, shards, n, rng.IntN(2*n+1))
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d, %d shards, batches of %d", seed, shards, batch)
				}
			}()
			f(t, rng, w, batch)
		}()
	}
}
