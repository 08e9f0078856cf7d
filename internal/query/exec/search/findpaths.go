package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// findPaths joins each row with the paths of a walk. Its search does not use the kernel: it visits states of the product of
// graph and automaton, keeps all links between them, and reuses them for later rows, whereas the kernel's memory is indexed by
// vertex and empty between searches. Storing the states in the kernel's tree would need a second numbering and save no code.
type findPaths struct {
	runtime.Input
	r          *runtime.Run
	n          *plan.FindPaths
	frame      *runtime.Frame
	from, to   int   // positions in the input; to is -1 unless it is bound
	carry      []int // by column of out: its position in the input, or -1
	out, all   pathColumns
	where      *expr.Predicates // on whole paths, over all; nil: none
	allCarry   []int            // as carry, for all
	uniqueness adjacency.Uniqueness
	g          *walkGraph
	perRow     bool
	trails     walkTrails
	search     walkSearch

	b      *runtime.Batch // the current input batch, or nil
	src    []graph.VertexID
	rows   runtime.Sel
	row    int  // of rows
	active bool // the row has more trails
	found  foundPaths
	given  int // of found
	picked runtime.Sel
	writer adjacency.EdgeWriter
}

// pathColumns are the columns that paths are written to, and the positions of their parts, or -1.
type pathColumns struct {
	b            runtime.Batch
	to, edges    int
	parts, nodes []int
}

// FindPaths compiles a FindPaths.
func FindPaths(c *compile.Compiler, n *plan.FindPaths, need plan.ColSet) *runtime.Stage {
	w := n.Walk
	var es []plan.Expr
	reads := w.Reads()
	reads.Remove(n.To)
	es = append(es, w.Count)
	es = append(es, w.Where...)
	for i := range w.Parts {
		es = append(append(es, w.Parts[i].Min, w.Parts[i].Max), w.Parts[i].Where...)
	}
	for i := range w.Nodes {
		es = append(es, w.Nodes[i].Where...)
	}
	below := c.Below(need, es...)
	own := append([]plan.Col{n.Edges}, w.Binds()...)
	below.Add(n.From)
	if n.Into {
		below.Add(n.To)
	} else {
		own = append(own, n.To)
	}
	all := plan.NewColSet()
	all.AddAll(below)
	adjacency.NeedUnique(c, below, n.Input, n.DistinctFrom)
	in := c.Compile(n.Input, below)
	for col := range reads.All() {
		c.Bound(in, col)
	}
	c.Bound(in, n.From)
	if n.Into {
		c.Bound(in, n.To)
	}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: unique(compile.Kept(in.Cols, need, own...))}
	wide := &runtime.Stage{Cols: unique(compile.Kept(in.Cols, all, own...))}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &findPaths{
			Input: runtime.Input{In: kids[0]}, r: r, n: n, frame: r.Frame, from: in.Pos(n.From), to: -1, carry: in.Positions(s.Cols),
			allCarry: in.Positions(wide.Cols), uniqueness: adjacency.NewUniqueness(in, n.DistinctFrom), out: newPathColumns(n, s), all: newPathColumns(n, wide),
			writer: adjacency.EdgeWriter{SlabSize: r.BatchSize()},
		}
		if n.Into {
			x.to = in.Pos(n.To)
		}
		x.g = newWalkGraph(r, walkStages(w, n.Reversed), in.Cols)
		x.perRow = x.g.perRow()
		x.trails.g, x.search.g = x.g, x.g
		x.search.acct = runtime.Account{Run: r, Name: "FindPaths"}
		x.search.groups = w.Select == plan.SelectGroups
		if len(w.Where) > 0 {
			x.where = expr.New(r, wide.Cols).Predicates(w.Where)
			x.search.accept = x.accept
		}
		return x
	}
	return s
}

// unique drops repeated columns: a part that occurs once has its edge both as a column and in the list of all edges.
func unique(cols []plan.Col) []plan.Col {
	var out []plan.Col
	for _, c := range cols {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func newPathColumns(n *plan.FindPaths, s *runtime.Stage) pathColumns {
	p := pathColumns{to: -1, edges: -1}
	if !n.Into {
		p.to = s.Pos(n.To)
	}
	if n.Edges != 0 {
		p.edges = s.Pos(n.Edges)
	}
	for i := range n.Walk.Parts {
		at := -1
		if c := n.Walk.Parts[i].Edges; c != n.Edges {
			at = s.Pos(c)
		}
		p.parts = append(p.parts, at)
	}
	for i := range n.Walk.Nodes {
		p.nodes = append(p.nodes, s.Pos(n.Walk.Nodes[i].Col))
	}
	return p
}

func (x *findPaths) Open(ctx context.Context) error {
	x.b, x.active, x.given = nil, false, 0
	x.found.reset()
	x.g.forget()
	for i := range x.g.stages {
		p := x.g.stages[i].part
		x.g.lo[i], x.g.hi[i] = 1, 1
		if !p.Repeat {
			continue
		}
		lo, hi, err := lengths(ctx, x.r, p.Min, p.Max)
		if err != nil {
			return err
		}
		if x.g.lo[i], x.g.hi[i] = lo, hi; p.Max == nil {
			x.g.hi[i] = -1
		}
	}
	x.search.want = 1
	if e := x.n.Walk.Count; e != nil {
		v, err := expr.Scalar(ctx, x.r, e)
		if err != nil {
			return err
		}
		want, ok := v.Whole()
		if !ok || want < 1 {
			return graph.RuntimeError("ArgumentError", "NumberOutOfRange", "the number of paths must be an Integer of at least 1")
		}
		x.search.want = int(want)
	}
	return x.Input.Open(ctx)
}

func (x *findPaths) Close() {
	x.g.release()
	x.search.acct.Release()
	x.Input.Close()
}

func (x *findPaths) Next(ctx context.Context) (*runtime.Batch, error) {
	x.out.b.Reset(len(x.carry))
	for x.out.b.N < x.r.BatchSize() {
		if x.given < x.found.len() {
			n := min(x.found.len()-x.given, x.r.BatchSize()-x.out.b.N)
			x.emit(x.given, x.given+n)
			x.given += n
			continue
		}
		if x.b == nil || x.row == len(x.rows) && !x.active {
			if x.out.b.N > 0 {
				break
			}
			b, err := x.In.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			if err := x.begin(b); err != nil {
				return nil, err
			}
			continue
		}
		if err := x.advance(ctx); err != nil {
			return nil, err
		}
	}
	return &x.out.b, nil
}

// begin sets the input batch.
func (x *findPaths) begin(b *runtime.Batch) error {
	x.b, x.row, x.active = b, 0, false
	var err error
	if x.src, x.rows, err = adjacency.Sources(b, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	if x.to >= 0 {
		for i := range b.N {
			if v := b.Cols[x.to].Value(i); v.Kind() != graph.VertexKind && !v.IsNull() {
				return adjacency.NotVertex(v)
			}
		}
	}
	x.uniqueness.Begin(b)
	return nil
}

// advance finds some paths of the current row, or all requested ones, or moves to the next row.
func (x *findPaths) advance(ctx context.Context) error {
	x.found.reset()
	x.given = 0
	if x.active {
		return x.more(ctx)
	}
	from, row := x.src[x.row], x.rows[x.row]
	x.row++
	const most = 1 << 18 // bound on points that are kept for later rows
	if x.perRow || len(x.g.points) > most {
		x.g.forget()
	}
	x.g.b, x.g.row = x.b, row
	to := graph.NoVertex
	if x.to >= 0 {
		if to = vertexOrNone(x.b.Cols[x.to].Value(int(row))); to == graph.NoVertex {
			return nil
		}
	}
	if x.n.Walk.Select != plan.SelectAll {
		return x.search.find(ctx, from, to, x.uniqueness.Excluded(row), &x.found)
	}
	x.active = true
	if err := x.trails.start(ctx, from, to, x.uniqueness.Excluded(row)); err != nil {
		return err
	}
	return x.more(ctx)
}

// more fetches trails of the current row, few at first, in case the consumer needs no more.
func (x *findPaths) more(ctx context.Context) error {
	for x.found.len() < x.r.BatchSize()/4+1 {
		ok, err := x.trails.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			x.active = false
			break
		}
		x.trails.add(&x.found)
	}
	if x.where == nil || x.found.len() == 0 {
		return nil
	}
	passed, err := x.accept(ctx, &x.found)
	if err != nil {
		return err
	}
	var kept foundPaths
	for _, i := range passed {
		kept.copy(&x.found, int(i))
	}
	x.found = kept
	return nil
}

// accept selects the paths that satisfy the conditions on the whole path.
func (x *findPaths) accept(ctx context.Context, paths *foundPaths) (runtime.Sel, error) {
	b := &x.all.b
	b.Reset(len(x.allCarry))
	x.write(&x.all, x.allCarry, paths, 0, paths.len())
	return x.where.Select(ctx, b, runtime.AllRows(b.N))
}

// emit writes paths lo … hi-1 to the result.
func (x *findPaths) emit(lo, hi int) { x.write(&x.out, x.carry, &x.found, lo, hi) }

// write appends rows of the current input row with paths lo … hi-1.
func (x *findPaths) write(p *pathColumns, carry []int, paths *foundPaths, lo, hi int) {
	x.picked = runtime.AppendRepeated(x.picked[:0], x.g.row, hi-lo)
	for i := lo; i < hi; i++ {
		x.writePath(p, paths, i)
	}
	p.b.AppendRows(x.b, carry, x.picked)
	p.b.N += hi - lo
}

func (x *findPaths) writePath(p *pathColumns, paths *foundPaths, i int) {
	points, edges := paths.at(i)
	put := func(at int, v graph.Value) {
		if at >= 0 {
			p.b.Cols[at].Vals = append(p.b.Cols[at].Vals, v)
		}
	}
	put(p.to, graph.VertexValue(x.g.points[points[len(points)-1]].vertex))
	n := len(x.g.stages)
	all := make([]graph.Value, 0, len(edges))
	bounds := make([]int, n+1) // of the parts in all
	for k := 1; k < len(points); k++ {
		if edges[k] >= 0 {
			all = append(all, graph.EdgeRefValue(x.writer.Keep(x.g.edges[edges[k]])))
			continue
		}
		// A step of the automaton: the part of the point before it is done.
		part := int(x.g.points[points[k-1]].part)
		bounds[part+1] = len(all)
		if part < n-1 {
			node := part
			if x.n.Reversed {
				node = n - 2 - part
			}
			put(p.nodes[node], graph.VertexValue(x.g.points[points[k]].vertex))
		}
	}
	if x.n.Reversed {
		slices.Reverse(all)
		mirrored := make([]int, n+1)
		for k := range bounds {
			mirrored[k] = len(all) - bounds[n-k]
		}
		bounds = mirrored
	}
	put(p.edges, graph.ListValue(all))
	for k, at := range p.parts {
		if at < 0 {
			continue
		}
		lo, hi := bounds[k], bounds[k+1]
		if x.n.Walk.Parts[k].Repeat {
			put(at, graph.ListValue(all[lo:hi:hi]))
		} else {
			put(at, all[lo])
		}
	}
}
