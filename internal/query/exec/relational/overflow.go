package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

const (
	overflowBits  = 4 // log2 of the parts that rows are split into
	overflowDepth = 8 // how often rows are split
)

// overflow keeps the rows of keys that a GroupTable has no room for, on disk, in parts by the keys' hashes. When the
// input is at its end the parts are read one by one, each as if it were the input, with the table empty; a part may
// overflow again, into parts by further bits. Rows of one key are all in one part, in their order.
type overflow struct {
	table *GroupTable
	width int  // cells of a row
	on    bool // rows of new keys spill to disk
	depth int  // of the parts that they go to
	parts [1 << overflowBits]*spill.Rows
	todo  []overflowPart
	now   *spill.Reader // of the part that is read
	back  runtime.Batch
}

type overflowPart struct {
	rows  *spill.Rows
	depth int
}

// begin makes new keys overflow from now on, if that can help.
func (o *overflow) begin() { o.on = o.depth < overflowDepth }

// split appends the rows of s to known or to rest by whether the table has their keys, in cols; it sets dst for those
// that it has.
func (o *overflow) split(b *runtime.Batch, cols [][]graph.Value, s runtime.Sel, dst []int32, known, rest runtime.Sel) (runtime.Sel, runtime.Sel, error) {
	if err := o.table.lookup(b, cols, s, dst); err != nil {
		return known, rest, err
	}
	for _, i := range s {
		if dst[i] >= 0 {
			known = append(known, i)
		} else {
			rest = append(rest, i)
		}
	}
	return known, rest, nil
}

// add spills rows. The table has hashed their keys last.
func (o *overflow) add(s runtime.Sel, cells ...[][]graph.Value) error {
	for _, i := range s {
		h := o.table.batch[i] * 0x9e3779b97f4a7c15
		p := &o.parts[h>>(64-overflowBits*(o.depth+1))&(1<<overflowBits-1)]
		if *p == nil {
			rows, err := o.table.Acct.Run.Spill(o.width)
			if err != nil {
				return err
			}
			*p = rows
		}
		(*p).Begin(0)
		for _, cols := range cells {
			for _, c := range cols {
				(*p).Buf = spill.AppendValue((*p).Buf, c[i])
			}
		}
		if err := (*p).End(); err != nil {
			return err
		}
	}
	return nil
}

// next begins to read the next part and reports whether there is one. The caller empties the table.
func (o *overflow) next() (bool, error) {
	if o.now != nil {
		o.now.Rows.Close()
		o.now = nil
	}
	for i, p := range o.parts {
		if p != nil {
			o.parts[i] = nil
			o.todo = append(o.todo, overflowPart{p, o.depth})
			if err := p.Flush(); err != nil {
				return false, err
			}
		}
	}
	o.on = false
	if len(o.todo) == 0 {
		return false, nil
	}
	last := len(o.todo) - 1
	o.now, o.depth = o.todo[last].rows.Reader(), o.todo[last].depth+1
	o.todo = o.todo[:last]
	return true, nil
}

// read returns the next rows of the part, or nil at its end.
func (o *overflow) read(ctx context.Context) (*runtime.Batch, error) {
	if err := o.table.Acct.Run.CheckCancel(ctx); err != nil {
		return nil, err
	}
	ok, err := o.back.Fill(o.now, o.table.Acct.Run.BatchSize())
	if !ok || err != nil {
		return nil, err
	}
	return &o.back, nil
}

// Close returns the disk space and removes all rows.
func (o *overflow) Close() {
	if o.now != nil {
		o.now.Rows.Close()
	}
	for _, p := range o.parts {
		if p != nil {
			p.Close()
		}
	}
	for _, t := range o.todo {
		t.rows.Close()
	}
	*o = overflow{table: o.table, width: o.width, back: o.back}
}
