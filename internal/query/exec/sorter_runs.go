package exec

import (
	"context"
)

// mergeRuns is the number of sorted runs that are merged to one before there are too many to be read at one time.
const mergeRuns = 16

// sortedRuns are the rows of a sorter that lie on disk, in runs that are sorted by themselves, the earlier rows first.
type sortedRuns struct {
	runs []*spilled
	// heap holds a reader of each run while they are merged, the one with the first row at its root.
	heap []mergeSource
	// row, skipped and given are those of the frame's row whose rows are given now.
	row            int32
	skipped, given int64
}

// mergeSource is a run; of equal rows, those of the lower number go first.
type mergeSource struct {
	*spillReader
	number int
}

func (s *sortedRuns) close() {
	for _, r := range s.runs {
		r.close()
	}
	*s = sortedRuns{runs: s.runs[:0]}
}

// spillRun puts the rows held on disk, as one more run.
func (o *sorter) spillRun(ctx context.Context) error {
	if err := o.arrange(ctx); err != nil {
		return err
	}
	all := &o.spool.all
	run, err := o.r.spill(len(all.Cols))
	if err != nil {
		return err
	}
	o.disk.runs = append(o.disk.runs, run)
	for n, i := range o.order {
		if n&0xfff == 0xfff {
			if err := o.r.alive(ctx); err != nil {
				return err
			}
		}
		run.begin(all.rowOf(int(i)))
		for k := range all.Cols {
			run.buf = appendSpilled(run.buf, all.Cols[k].Value(int(i)))
		}
		if err := run.end(); err != nil {
			return err
		}
	}
	if err := run.flush(); err != nil {
		return err
	}
	o.framed = all.row != nil
	o.spool.reset(o.width + len(o.keys))
	return o.mergeLevel(ctx)
}

// mergeLevel merges the last runs while enough of them have been merged equally often.
func (o *sorter) mergeLevel(ctx context.Context) error {
	for {
		all := o.disk.runs
		first := len(all) - mergeRuns
		if first < 0 || all[first].level != all[len(all)-1].level {
			return nil
		}
		to, err := o.r.spill(o.width + len(o.keys))
		if err != nil {
			return err
		}
		to.level = all[first].level + 1
		o.disk.runs = append(o.disk.runs, to) // closed with the others if this fails
		if err := o.startMerge(all[first:]); err != nil {
			return err
		}
		for n := 1; len(o.disk.heap) > 0; n++ {
			if n&0xfff == 0 {
				if err := o.r.alive(ctx); err != nil {
					return err
				}
			}
			r := o.disk.heap[0]
			to.begin(r.row)
			for _, v := range r.vals {
				to.buf = appendSpilled(to.buf, v)
			}
			if err := to.end(); err != nil {
				return err
			}
			if err := o.advance(); err != nil {
				return err
			}
		}
		if err := to.flush(); err != nil {
			return err
		}
		for _, r := range all[first:] {
			r.close()
		}
		o.disk.runs = append(all[:first], to)
	}
}

// startMerge makes the heap of some runs.
func (o *sorter) startMerge(runs []*spilled) error {
	o.disk.heap = o.disk.heap[:0]
	for i, run := range runs {
		r := mergeSource{run.reader(), i}
		ok, err := r.next()
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

// advance drops the first row of the heap.
func (o *sorter) advance() error {
	h := o.disk.heap
	ok, err := h[0].next()
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

// sift moves the source at i down to where it belongs.
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
	if a.row != b.row {
		return a.row < b.row
	}
	for j := range o.keys {
		if c := order(a.vals[o.width+j], b.vals[o.width+j]); c != 0 {
			return (c < 0) != o.keys[j].Desc
		}
	}
	return a.number < b.number
}

// merged gives the next batch of what the runs hold together.
func (o *sorter) merged() (*batch, error) {
	d := &o.disk
	o.out.reset(len(o.give))
	for o.out.N = 0; o.out.N < o.r.batchSize() && len(d.heap) > 0; {
		r := d.heap[0]
		if r.row != d.row {
			d.row, d.skipped, d.given = r.row, 0, 0
		}
		switch {
		case d.skipped < o.skip:
			d.skipped++
		case o.limit < 0 || d.given < o.limit:
			d.given++
			for k, at := range o.give {
				o.out.Cols[k].Vals = append(o.out.Cols[k].Vals, r.vals[at])
			}
			if o.framed {
				o.out.row = append(o.out.row, r.row)
			}
			o.out.N++
		case !o.framed:
			d.heap = d.heap[:0] // all that are wanted have been given
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
