package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

const (
	overflowBits  = 4 // log2 of the number of parts
	overflowDepth = 8 // bound on recursive splits
)

// overflow keeps rows whose keys do not fit into a GroupTable on disk, partitioned by the hashes of their keys. At the end of
// the input, the parts are read one by one with an empty table, each like the input. A part may overflow again, into parts by
// further bits. All rows of a key are in one part, in order.
type overflow struct {
	table *GroupTable
	width int  // cells of a row
	on    bool // rows of new keys spill to disk
	depth int  // of the parts being written
	parts [1 << overflowBits]*spill.Rows
	todo  []overflowPart
	now   *spill.Reader // of the part being read
	back  runtime.Batch
}

type overflowPart struct {
	rows  *spill.Rows
	depth int
}

// begin spills new keys from now on, if a further split can help.
func (o *overflow) begin() { o.on = o.depth < overflowDepth }

// split appends the rows of s to known or to rest by whether the table has their keys, in cols; it sets dst for the known ones.
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

// next starts to read the next part and reports whether there is one. The caller clears the table.
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

// Close releases the disk space.
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
