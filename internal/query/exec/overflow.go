package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

const (
	overflowBits  = 4 // log2 of the parts that rows are split into
	overflowDepth = 8 // how often rows are split
)

// overflow keeps the rows of keys that a groupTable has no room for, on disk, in parts by the keys' hashes. When the
// input is at its end the parts are read one by one, each as if it were the input, with the table empty; a part may
// overflow again, into parts by further bits. Rows of one key are all in one part, in their order.
type overflow struct {
	table *groupTable
	width int  // cells of a row
	on    bool // rows of new keys go to disk
	depth int  // of the parts that they go to
	parts [1 << overflowBits]*spilled
	todo  []overflowPart
	now   *spillReader // of the part that is read
	back  batch
}

type overflowPart struct {
	rows  *spilled
	depth int
}

// begin makes new keys overflow from now on, if that can help.
func (o *overflow) begin() { o.on = o.depth < overflowDepth }

// split appends the rows of s to known or to rest by whether the table has their keys, in cols; it sets dst for those
// that it has.
func (o *overflow) split(b *batch, cols [][]graph.Value, s sel, dst []int32, known, rest sel) (sel, sel, error) {
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

// add puts rows on disk. The table has hashed their keys last.
func (o *overflow) add(s sel, cells ...[][]graph.Value) error {
	for _, i := range s {
		h := o.table.batch[i] * 0x9e3779b97f4a7c15
		p := &o.parts[h>>(64-overflowBits*(o.depth+1))&(1<<overflowBits-1)]
		if *p == nil {
			rows, err := o.table.acct.r.spill(o.width)
			if err != nil {
				return err
			}
			*p = rows
		}
		(*p).begin(0)
		for _, cols := range cells {
			for _, c := range cols {
				(*p).buf = appendSpilled((*p).buf, c[i])
			}
		}
		if err := (*p).end(); err != nil {
			return err
		}
	}
	return nil
}

// next begins to read the next part and reports whether there is one. The caller empties the table.
func (o *overflow) next() (bool, error) {
	if o.now != nil {
		o.now.s.close()
		o.now = nil
	}
	for i, p := range o.parts {
		if p != nil {
			o.parts[i] = nil
			o.todo = append(o.todo, overflowPart{p, o.depth})
			if err := p.flush(); err != nil {
				return false, err
			}
		}
	}
	o.on = false
	if len(o.todo) == 0 {
		return false, nil
	}
	last := len(o.todo) - 1
	o.now, o.depth = o.todo[last].rows.reader(), o.todo[last].depth+1
	o.todo = o.todo[:last]
	return true, nil
}

// read gives the next rows of the part, or nil at its end.
func (o *overflow) read(ctx context.Context) (*batch, error) {
	if err := o.table.acct.r.alive(ctx); err != nil {
		return nil, err
	}
	ok, err := o.back.fill(o.now, o.table.acct.r.batchSize())
	if !ok || err != nil {
		return nil, err
	}
	return &o.back, nil
}

// close gives the disk space back and forgets all rows.
func (o *overflow) close() {
	if o.now != nil {
		o.now.s.close()
	}
	for _, p := range o.parts {
		if p != nil {
			p.close()
		}
	}
	for _, t := range o.todo {
		t.rows.close()
	}
	*o = overflow{table: o.table, width: o.width, back: o.back}
}
