package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

// mergeRuns is the number of sorted runs that one merge combines.
const mergeRuns = 16

// sortedRuns are the spilled rows of a sorter in sorted runs, earlier rows first.
type sortedRuns struct {
	runs []*spill.Rows
	// heap holds a reader of each run during the merge, the one with the first row at its root.
	heap []mergeSource
	// row is the frame's row whose rows are being returned; skipped and given count its rows.
	row            int32
	skipped, given int64
}

// mergeSource is a run. Equal rows are returned in order of their run numbers.
type mergeSource struct {
	*spill.Reader
	number int
}

func (s *sortedRuns) Close() {
	for _, r := range s.runs {
		r.Close()
	}
	*s = sortedRuns{runs: s.runs[:0]}
}

// spillRun writes the buffered rows as another run.
func (o *sorter) spillRun(ctx context.Context) error {
	if err := o.arrange(ctx); err != nil {
		return err
	}
	all := &o.spool.All
	run, err := o.r.Spill(len(all.Cols))
	if err != nil {
		return err
	}
	o.disk.runs = append(o.disk.runs, run)
	for n, i := range o.order {
		if n&0xfff == 0xfff {
			if err := o.r.CheckCancel(ctx); err != nil {
				return err
			}
		}
		run.Begin(all.RowOf(int(i)))
		for k := range all.Cols {
			run.Buf = spill.AppendValue(run.Buf, all.Cols[k].Value(int(i)))
		}
		if err := run.End(); err != nil {
			return err
		}
	}
	if err := run.Flush(); err != nil {
		return err
	}
	o.framed = all.Row != nil
	o.spool.Reset(o.width + len(o.keys))
	return o.mergeLevel(ctx)
}

// mergeLevel merges the last runs if enough of them have the same level.
func (o *sorter) mergeLevel(ctx context.Context) error {
	for {
		all := o.disk.runs
		first := len(all) - mergeRuns
		if first < 0 || all[first].Level != all[len(all)-1].Level {
			return nil
		}
		to, err := o.r.Spill(o.width + len(o.keys))
		if err != nil {
			return err
		}
		to.Level = all[first].Level + 1
		o.disk.runs = append(o.disk.runs, to) // closed with the others if this fails
		if err := o.startMerge(all[first:]); err != nil {
			return err
		}
		for n := 1; len(o.disk.heap) > 0; n++ {
			if n&0xfff == 0 {
				if err := o.r.CheckCancel(ctx); err != nil {
					return err
				}
			}
			r := o.disk.heap[0]
			to.Begin(r.Row)
			for _, v := range r.Cells {
				to.Buf = spill.AppendValue(to.Buf, v)
			}
			if err := to.End(); err != nil {
				return err
			}
			if err := o.advance(); err != nil {
				return err
			}
		}
		if err := to.Flush(); err != nil {
			return err
		}
		for _, r := range all[first:] {
			r.Close()
		}
		o.disk.runs = append(all[:first], to)
	}
}

// startMerge builds the heap of runs.
func (o *sorter) startMerge(runs []*spill.Rows) error {
	o.disk.heap = o.disk.heap[:0]
	for i, run := range runs {
		r := mergeSource{run.Reader(), i}
		ok, err := r.Next()
		if err != nil {
			return err
		}
		if ok {
			o.disk.heap = append(o.disk.heap, r)
		}
	}
	for i := len(o.disk.heap)/2 - 1; i >= 0; i-- {
		o.sift(i)
	}
	return nil
}

// advance removes the first row of the heap.
func (o *sorter) advance() error {
	h := o.disk.heap
	ok, err := h[0].Next()
	if err != nil {
		return err
	}
	if !ok {
		last := len(h) - 1
		h[0], h[last] = h[last], mergeSource{}
		o.disk.heap = h[:last]
	}
	o.sift(0)
	return nil
}

// sift moves the source at i down to its position.
func (o *sorter) sift(i int) {
	h := o.disk.heap
	for {
		least := i
		for kid := 2*i + 1; kid <= 2*i+2 && kid < len(h); kid++ {
			if o.precedes(&h[kid], &h[least]) {
				least = kid
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func (o *sorter) precedes(a, b *mergeSource) bool {
	if a.Row != b.Row {
		return a.Row < b.Row
	}
	for j := range o.keys {
		if c := order(a.Cells[o.width+j], b.Cells[o.width+j]); c != 0 {
			return (c < 0) != o.keys[j].Desc
		}
	}
	return a.number < b.number
}

// merged returns the next batch of the merge.
func (o *sorter) merged() (*runtime.Batch, error) {
	d := &o.disk
	o.out.Reset(len(o.give))
	for o.out.N = 0; o.out.N < o.r.BatchSize() && len(d.heap) > 0; {
		r := d.heap[0]
		if r.Row != d.row {
			d.row, d.skipped, d.given = r.Row, 0, 0
		}
		switch {
		case d.skipped < o.skip:
			d.skipped++
		case o.limit < 0 || d.given < o.limit:
			d.given++
			for k, at := range o.give {
				o.out.Cols[k].Vals = append(o.out.Cols[k].Vals, r.Cells[at])
			}
			if o.framed {
				o.out.Row = append(o.out.Row, r.Row)
			}
			o.out.N++
		case !o.framed:
			d.heap = d.heap[:0] // the limit is reached
			continue
		}
		if err := o.advance(); err != nil {
			return nil, err
		}
	}
	if o.out.N == 0 {
		return nil, nil
	}
	return &o.out, nil
}
