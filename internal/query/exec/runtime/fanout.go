package runtime

import "context"

// FanOut is the part of an operator that produces any number of rows for each input row. It copies the carried columns once for
// many rows: when a batch is complete or the input batch is exhausted.
type FanOut struct {
	Input
	Run   *Run
	Carry []int // by column of out: its position in the input, or -1

	Rows   *Batch // the current input batch, or nil
	Out    Batch
	Picked Sel // the input rows of those rows of Out that lack their carried columns
	want   int // rows that suffice to return a batch
	late   Late
	part   Batch  // the input rows before one that fails
	given  bool   // rows of Rows have been written
	whole  *Batch // an input batch with a row that fails, which is read row by row; or nil
	row    int    // the next of its rows
	single Batch  // the one before
}

// fanOutSource produces the rows. It appends its own columns to Out, adds the rows to Out.N, and their input rows to Picked.
type fanOutSource interface {
	// Begin starts on the input batch Rows. After an error, of Advance too, it may be called for a part of the same batch.
	Begin(ctx context.Context) error
	// Advance adds rows to Out, which is not full, or reads what it needs to produce more. It returns false when the input
	// batch is exhausted.
	Advance(ctx context.Context) (bool, error)
}

// Open implements Operator.
func (x *FanOut) Open(ctx context.Context) error {
	x.Rows, x.whole, x.want, x.late = nil, nil, 1, Late{}
	return x.Input.Open(ctx)
}

// Give returns the next batch of rows from f. The first batches are small, in case the consumer wants no more.
func (x *FanOut) Give(ctx context.Context, f fanOutSource) (*Batch, error) {
	x.Out.Reset(len(x.Carry))
	for x.Out.N < x.Run.BatchSize() {
		if x.Rows == nil {
			if x.whole == nil && x.late.Waits() {
				break
			}
			if err := x.begin(ctx, f); err != nil {
				if x.Rows, x.whole = nil, nil; x.Out.N > 0 && x.late.Hold(x.Run, err) {
					break
				}
				return nil, err
			}
			if x.Rows == nil {
				break
			}
		}
		n := x.Out.N
		more, err := f.Advance(ctx)
		x.given = x.given || x.Out.N > n
		if err != nil {
			if x.split(err) {
				continue
			}
			if x.Out.N == 0 || !x.late.Hold(x.Run, err) {
				return nil, err
			}
			x.whole = nil
		} else if more {
			continue
		}
		x.flush()
		if x.Rows = nil; x.Out.N >= x.want {
			break
		}
	}
	x.flush()
	x.want = min(2*x.want, x.Run.BatchSize())
	if x.Out.N == 0 {
		return nil, x.late.Take()
	}
	return &x.Out, nil
}

// split has the input batch, from which there are no rows yet, read row by row, so that those before the row with an error are not lost. It
// reports false if the error is that of one row.
func (x *FanOut) split(err error) bool {
	if x.given || x.Rows.N < 2 || !canWait(x.Run, err) {
		return false
	}
	x.whole, x.row, x.Rows = x.Rows, 0, nil
	return true
}

// Late returns where to hold an error back after some rows of Rows. It is nil while the input rows could still be read one by one.
func (x *FanOut) Late() *Late {
	if x.given || x.Rows.N < 2 {
		return &x.late
	}
	return nil
}

// Stop drops the rows of the input batch behind Rows, as an error that Late holds precedes them.
func (x *FanOut) Stop() { x.whole = nil }

// begin starts on the next input batch, or on its rows before one that fails; Rows is nil if there is none.
func (x *FanOut) begin(ctx context.Context, f fanOutSource) error {
	x.given = false
	if x.whole != nil {
		x.single.Slice(x.whole, x.row, x.row+1)
		x.Rows = &x.single
		if x.row++; x.row == x.whole.N {
			x.whole = nil
		}
		return f.Begin(ctx)
	}
	b, err := x.In.Next(ctx)
	if x.Rows = b; b == nil || err != nil {
		return err
	}
	if err = f.Begin(ctx); err == nil {
		return nil
	}
	_, err = x.late.Before(x.Run, b.N, err, func(k int) error {
		x.part.Slice(b, 0, k)
		x.Rows = &x.part
		return f.Begin(ctx)
	})
	return err
}

// flush fills the carried columns of rows that lack them.
func (x *FanOut) flush() {
	if len(x.Picked) == 0 {
		return
	}
	x.Out.AppendRows(x.Rows, x.Carry, x.Picked)
	x.Picked = x.Picked[:0]
}
