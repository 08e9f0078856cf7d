package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// distinct keeps the first of the rows that are equivalent in the key columns. When memory runs short, rows with new keys spill
// to disk and follow the others.
type distinct struct {
	runtime.Input
	key    []int // input positions
	from   []int // input position of each column of the output
	table  *GroupTable
	seen   graph.VertexSet // instead of the table, for one column of vertices at the top level
	seenN  int             // bytes of seen that are accounted
	r      *runtime.Run
	uniq   *plan.UniqueKey // nil: none
	keyAt  int             // its position in key
	keyed  bool            // the unique key is in use
	cols   [][]graph.Value
	bufs   [][]graph.Value
	group  []int32
	unseen runtime.Sel
	sure   runtime.Sel // rows with the unique key, and rows that may lack it
	unsure runtime.Sel
	rest   runtime.Sel
	over   *overflow // nil in a subplan, and without a disk
	cells  [][]graph.Value
	out    runtime.Batch
	whole  runtime.Batch // a view of the input, if all rows are kept
}

// Distinct compiles a Distinct.
func Distinct(c *compile.Compiler, n *plan.Distinct, need plan.ColSet) *runtime.Stage {
	below := plan.NewColSet()
	below.Add(n.Cols...)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.Cols...)
	markOnce(in)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(n.Cols, need)}
	build := func(r *runtime.Run, rows runtime.Operator, from []int) *distinct {
		d := newDistinct(r, rows, in.Positions(n.Cols), from)
		if n.Key != nil {
			d.uniq, d.keyAt = n.Key, slices.Index(n.Cols, n.Key.Col)
		}
		return d
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return build(r, kids[0], in.Positions(s.Cols))
	}
	in.Above = func(r *runtime.Run, rows runtime.Operator, _ int) runtime.Operator {
		s := &preDistinct{*build(r, rows, runtime.AllPositions(len(in.Cols)))}
		s.keyed = s.holds()
		return s
	}
	return s
}

// markOnce lets an expansion return each far end once if a DISTINCT reads only far ends. Operators between them may compute only
// functions of the far end.
func markOnce(in *runtime.Stage) {
	var between []plan.Expr
	for {
		switch n := in.Node.(type) {
		case *plan.Project:
			for _, it := range n.Items {
				between = append(between, it.Expr)
			}
		case *plan.Filter:
			between = append(between, n.Preds...)
		case *plan.Expand:
			in.Once = !n.Into && slices.Equal(in.Cols, []plan.Col{n.To}) && plan.OfHop(between, 0, n.To)
			return
		default:
			return
		}
		in = in.Inputs[0]
	}
}

func newDistinct(r *runtime.Run, in runtime.Operator, key, from []int) *distinct {
	d := &distinct{
		Input: runtime.Input{In: in}, r: r, key: key, from: from, table: NewGroupTable(r, "Distinct", len(key)),
		cols: make([][]graph.Value, len(key)), bufs: make([][]graph.Value, len(key)+len(from)),
	}
	if r.Frame == nil && r.Env.Spill != nil {
		d.over = &overflow{table: d.table, width: len(key) + len(from)}
	}
	return d
}

func (d *distinct) Open(ctx context.Context) error {
	d.table.Reset()
	d.seen.Clear()
	d.seenN = 0
	d.keyed = d.holds()
	if d.over != nil {
		d.over.Close()
	}
	return d.In.Open(ctx)
}

// preDistinct is the part of a distinct that a worker runs: it drops most of the rows that repeat.
type preDistinct struct{ distinct }

// maxPreDistinct is how many batches of rows a preDistinct remembers.
const maxPreDistinct = 16

func (s *preDistinct) Open(ctx context.Context) error { return s.In.Open(ctx) }

func (s *preDistinct) Next(ctx context.Context) (*runtime.Batch, error) {
	if s.table.len() > maxPreDistinct*s.r.BatchSize() {
		s.table.Reset()
		s.seenN = 0 // accounted for again
		if err := runtime.GrowSet(&s.table.Acct, &s.seen, &s.seenN); err != nil {
			return nil, err
		}
	}
	return s.distinct.Next(ctx)
}

// holds reports whether the unique key is unique in the snapshot of the run.
func (d *distinct) holds() bool {
	if d.uniq == nil || !d.r.Env.Committed {
		return false
	}
	x := d.uniq.From
	return x == nil || d.r.Tx.Counts().FarEnds(x.Types, x.Dir, d.uniq.Label)
}

func (d *distinct) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		b, key, from, err := d.take(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		d.unseen = d.unseen[:0]
		switch {
		case len(key) == 1 && b.Row == nil && b.Cols[key[0]].IDs != nil:
			err = d.vertices(b.Cols[key[0]].IDs)
		case d.keyed:
			err = d.byKey(b, key, from)
		default:
			err = d.values(b, key, from, runtime.AllRows(b.N))
		}
		if err != nil {
			return nil, err
		}
		if len(d.unseen) == 0 {
			continue
		}
		if len(d.unseen) == b.N {
			d.whole.View(b, from)
			return &d.whole, nil
		}
		d.out.Reset(len(from))
		d.out.AppendRows(b, from, d.unseen)
		d.out.N = len(d.unseen)
		return &d.out, nil
	}
}

// take returns the next rows, of the input and then of the disk, and the positions of their key and output columns.
func (d *distinct) take(ctx context.Context) (b *runtime.Batch, key, from []int, err error) {
	if d.over == nil || d.over.now == nil {
		if b, err = d.In.Next(ctx); b != nil || err != nil || d.over == nil {
			return b, d.key, d.from, err
		}
	}
	for {
		if d.over.now != nil {
			if b, err = d.over.read(ctx); b != nil || err != nil {
				at := runtime.AllPositions(d.over.width)
				return b, at[:len(d.key)], at[len(d.key):], err
			}
		}
		ok, err := d.over.next()
		if !ok || err != nil {
			return nil, nil, nil, err
		}
		d.table.Reset()
		d.seenN = 0 // accounted for again
		if err := runtime.GrowSet(&d.table.Acct, &d.seen, &d.seenN); err != nil {
			return nil, nil, nil, err
		}
	}
}

func (d *distinct) vertices(ids []graph.VertexID) error {
	for i, id := range ids {
		if d.seen.Add(id) {
			d.unseen = append(d.unseen, int32(i))
		}
	}
	return runtime.GrowSet(&d.table.Acct, &d.seen, &d.seenN)
}

// byKey keeps the rows that have the unique key and looks up the others in the table.
func (d *distinct) byKey(b *runtime.Batch, key, from []int) error {
	d.sure, d.unsure = d.sure[:0], d.unsure[:0]
	for i, v := range b.Cols[key[d.keyAt]].Vals[:b.N] {
		if k := v.Kind(); k == graph.Int || k == graph.String {
			d.sure = append(d.sure, int32(i))
		} else { // null, or a value that may not equal itself
			d.unsure = append(d.unsure, int32(i))
		}
	}
	if len(d.unsure) > 0 {
		if err := d.values(b, key, from, d.unsure); err != nil {
			return err
		}
	}
	d.unseen = append(d.unseen, d.sure...)
	if len(d.unsure) > 0 {
		slices.Sort(d.unseen)
	}
	return nil
}

// values looks up the rows of s in the table.
func (d *distinct) values(b *runtime.Batch, key, from []int, s runtime.Sel) error {
	for k, p := range key {
		d.cols[k], d.bufs[k] = ColumnValues(&b.Cols[p], b.N, d.bufs[k])
	}
	for len(d.group) < b.N {
		d.group = append(d.group, 0)
	}
	if d.over != nil && d.over.on {
		var err error
		if d.unseen, d.rest, err = d.over.split(b, d.cols, s, d.group, d.unseen, d.rest[:0]); err != nil {
			return err
		}
		d.unseen = d.unseen[:0] // those are known
		d.cells = d.cells[:0]
		for k, p := range from {
			var c []graph.Value
			c, d.bufs[len(key)+k] = ColumnValues(&b.Cols[p], b.N, d.bufs[len(key)+k])
			d.cells = append(d.cells, c)
		}
		return d.over.add(d.rest, d.cols, d.cells)
	}
	known := int32(d.table.len())
	if err := d.table.Numbers(b, d.cols, s, d.group); err != nil {
		return err
	}
	alone := len(key) == 1 && b.Row == nil
	for _, i := range s {
		if d.group[i] != known {
			continue
		}
		known++
		if alone && d.cols[0][i].Kind() == graph.VertexKind && !d.seen.Add(d.cols[0][i].Vertex()) {
			continue // a batch of ids brought it
		}
		d.unseen = append(d.unseen, i)
	}
	if d.over != nil && d.table.Acct.ShouldSpill() {
		d.over.begin()
	}
	return nil
}

func (d *distinct) Close() {
	d.table.Acct.Release()
	if d.over != nil {
		d.over.Close()
	}
	d.In.Close()
}
