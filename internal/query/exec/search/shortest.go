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

// shortest joins each row with the shortest path, or all of them, between two vertices.
type shortest struct {
	runtime.Input
	r        *runtime.Run
	n        *plan.ShortestPath
	from, to int   // positions in the input
	full     []int // by column of wide: its position in the input, or -1
	outOf    []int // by column of out: its position in wide
	pathAt   int   // positions in wide, or -1
	edgesAt  int
	edgeAt   int
	lengthAt int
	where    *expr.Predicates // condition on paths, over wide; nil: none
	paths    pathSearch

	b      *runtime.Batch // the current input batch, or nil
	row    int            // of it
	active bool           // there are more paths of the current length
	found  bool           // the row has a path

	wide     runtime.Batch // rows with all columns, which where filters
	wideRows runtime.Sel   // beside the rows of wide: the input's row
	out      runtime.Batch
}

// ShortestPath compiles a ShortestPath.
func ShortestPath(c *compile.Compiler, n *plan.ShortestPath, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, append(append([]plan.Expr{n.Min, n.Max}, n.Where...), n.PathWhere...)...)
	below.Add(n.From, n.To)
	in := c.Compile(n.Input, below)
	where := adjacency.CompileFilter(c, n.Where, n.EdgeVar, 0)
	if where != nil {
		c.Bound(in, where.Outer...)
	}
	c.Bound(in, n.From, n.To)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, n.Path, n.Edges, n.Edge, n.Length)}
	all := need
	if len(n.PathWhere) > 0 {
		all = below
	}
	wide := &runtime.Stage{Cols: compile.Kept(in.Cols, all, n.Path, n.Edges, n.Edge, n.Length)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &shortest{
			Input: runtime.Input{In: kids[0]}, r: r, n: n, from: in.Pos(n.From), to: in.Pos(n.To), full: in.Positions(wide.Cols),
			outOf: wide.Positions(s.Cols), pathAt: -1, edgesAt: -1, edgeAt: -1, lengthAt: -1,
		}
		for _, c := range []struct {
			col plan.Col
			at  *int
		}{{n.Path, &x.pathAt}, {n.Edges, &x.edgesAt}, {n.Edge, &x.edgeAt}, {n.Length, &x.lengthAt}} {
			if c.col != 0 {
				*c.at = wide.Pos(c.col)
			}
		}
		if len(n.PathWhere) > 0 {
			x.where = expr.New(r, wide.Cols).Predicates(n.PathWhere)
		}
		x.paths.init(r, n, adjacency.NewEdgeTest(r, where, in.Cols), x.where != nil)
		return x
	}
	return s
}

func (x *shortest) Open(ctx context.Context) error {
	x.b, x.active, x.found = nil, false, false
	x.paths.reset()
	var err error
	if x.paths.min, x.paths.max, err = lengths(ctx, x.r, x.n.Min, x.n.Max); err != nil {
		return err
	}
	return x.Input.Open(ctx)
}

func (x *shortest) Close() {
	x.paths.release()
	x.Input.Close()
}

func (x *shortest) Next(ctx context.Context) (*runtime.Batch, error) {
	x.out.Reset(len(x.outOf))
	for x.out.N < x.r.BatchSize() {
		if x.b == nil {
			b, err := x.In.Next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			if err := x.begin(b); err != nil {
				return nil, err
			}
		}
		if x.row == x.b.N {
			x.b = nil
			if x.out.N > 0 {
				break
			}
			continue
		}
		if err := x.advance(ctx); err != nil {
			return nil, err
		}
	}
	if x.out.N == 0 {
		return nil, nil
	}
	return &x.out, nil
}

// advance adds some paths of the current row, or moves to the next row.
func (x *shortest) advance(ctx context.Context) error {
	if !x.active {
		more := false
		if !x.found {
			var err error
			if more, err = x.paths.longer(ctx, x.b, x.row); err != nil {
				return err
			}
		}
		if !more {
			x.row++
			x.found = false
			x.paths.reset()
			return nil
		}
		x.active = true
	}

	// Paths of one length are tested together.
	chunk := x.r.BatchSize() - x.out.N
	switch {
	case !x.n.All && x.where == nil:
		chunk = 1
	case !x.n.All:
		chunk = min(chunk, 64)
	}
	x.wide.Reset(len(x.full))
	x.wideRows = x.wideRows[:0]
	for len(x.wideRows) < chunk {
		ok, err := x.paths.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			x.active = false
			break
		}
		if err := x.add(ctx); err != nil {
			return err
		}
	}
	x.wide.AppendRows(x.b, x.full, x.wideRows)
	x.wide.N = len(x.wideRows)
	passed := runtime.AllRows(x.wide.N)
	if x.where != nil && x.wide.N > 0 {
		var err error
		if passed, err = x.where.Select(ctx, &x.wide, passed); err != nil {
			return err
		}
	}
	if len(passed) > 0 {
		x.found = true
		if !x.n.All {
			passed = passed[:1]
			x.active = false
		}
		x.emit(passed)
	}
	return nil
}

// add adds the current path to wide.
func (x *shortest) add(ctx context.Context) error {
	x.wideRows = append(x.wideRows, int32(x.row))
	if x.lengthAt >= 0 {
		col := &x.wide.Cols[x.lengthAt]
		col.Vals = append(col.Vals, graph.IntValue(int64(x.paths.length)))
	}
	if x.pathAt < 0 && x.edgesAt < 0 && x.edgeAt < 0 {
		return nil
	}
	p, err := x.paths.path(ctx)
	if err != nil {
		return err
	}
	if x.pathAt >= 0 {
		col := &x.wide.Cols[x.pathAt]
		col.Vals = append(col.Vals, graph.PathValue(p))
	}
	if x.edgesAt >= 0 {
		col := &x.wide.Cols[x.edgesAt]
		col.Vals = append(col.Vals, graph.ListValue(p.Edges))
	}
	if x.edgeAt >= 0 {
		col := &x.wide.Cols[x.edgeAt]
		col.Vals = append(col.Vals, p.Edges[0])
	}
	return nil
}

// emit moves rows of wide to the output.
func (x *shortest) emit(rows runtime.Sel) {
	x.out.AppendRows(&x.wide, x.outOf, rows)
	x.out.N += len(rows)
}

// begin sets the input batch.
func (x *shortest) begin(b *runtime.Batch) error {
	x.b, x.row = b, 0
	for i := range b.N {
		for _, p := range [2]int{x.from, x.to} {
			if v := b.Cols[p].Value(i); v.Kind() != graph.VertexKind && !v.IsNull() {
				return adjacency.NotVertex(v)
			}
		}
	}
	x.paths.begin(b, x.from, x.to)
	return nil
}
