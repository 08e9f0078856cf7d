package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// distinct keeps the first of the rows that are equivalent in the key columns.
type distinct struct {
	input
	key   []int // input positions
	from  []int // input position of each column of the output
	table *groupTable
	seen  graph.VertexSet // in place of the table, for one column of vertices at the top level
	seenN int             // bytes of seen that are accounted
	cols  [][]graph.Value
	bufs  [][]graph.Value
	group []int32
	fresh sel
	out   batch
}

func (c *compiler) distinct(n *plan.Distinct, need plan.ColSet) (*stage, error) {
	below := plan.ColSet{}
	below.Add(n.Cols...)
	in, err := c.compile(n.Input, below)
	if err != nil {
		return nil, err
	}
	if err := c.bound(in, n.Cols...); err != nil {
		return nil, err
	}
	s := &stage{node: n, kids: []*stage{in}, cols: kept(n.Cols, need)}
	s.build = func(r *run, kids []operator) operator {
		return newDistinct(r, kids[0], in.positions(n.Cols), in.positions(s.cols))
	}
	return s, nil
}

func newDistinct(r *run, in operator, key, from []int) *distinct {
	return &distinct{
		input: input{in}, key: key, from: from, table: newGroupTable(r, "Distinct", len(key)),
		cols: make([][]graph.Value, len(key)), bufs: make([][]graph.Value, len(key)),
	}
}

func (d *distinct) open(ctx context.Context) error {
	d.table.reset()
	d.seen.Clear()
	d.seenN = 0
	return d.in.open(ctx)
}

func (d *distinct) next(ctx context.Context) (*batch, error) {
	for {
		b, err := d.in.next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		d.fresh = d.fresh[:0]
		if len(d.key) == 1 && b.row == nil && b.Cols[d.key[0]].IDs != nil {
			err = d.vertices(b.Cols[d.key[0]].IDs)
		} else {
			err = d.values(b)
		}
		if err != nil {
			return nil, err
		}
		if len(d.fresh) == 0 {
			continue
		}
		d.out.reset(len(d.from))
		d.out.appendRows(b, d.from, d.fresh)
		d.out.N = len(d.fresh)
		return &d.out, nil
	}
}

func (d *distinct) vertices(ids []graph.VertexID) error {
	for i, id := range ids {
		if d.seen.Add(id) {
			d.fresh = append(d.fresh, int32(i))
		}
	}
	return growSet(&d.table.acct, &d.seen, &d.seenN)
}

// growSet accounts for what a vertex set has grown; counted is what has been accounted before.
func growSet(a *account, s *graph.VertexSet, counted *int) error {
	n := 0
	for i := range s.Shards() {
		n += 8 * len(s.Bitmap(i))
	}
	grown := n - *counted
	*counted = n
	return a.grow(grown)
}

func (d *distinct) values(b *batch) error {
	for k, p := range d.key {
		d.cols[k], d.bufs[k] = columnValues(&b.Cols[p], b.N, d.bufs[k])
	}
	for len(d.group) < b.N {
		d.group = append(d.group, 0)
	}
	known := int32(d.table.len())
	s := allRows(b.N)
	if err := d.table.numbers(b, d.cols, s, d.group); err != nil {
		return err
	}
	alone := len(d.key) == 1 && b.row == nil
	for _, i := range s {
		if d.group[i] != known {
			continue
		}
		known++
		if alone && d.cols[0][i].Kind() == graph.VertexKind && !d.seen.Add(d.cols[0][i].Vertex()) {
			continue // a batch of ids brought it
		}
		d.fresh = append(d.fresh, i)
	}
	return nil
}

func (d *distinct) close() {
	d.table.acct.release()
	d.in.close()
}
