package runtime

import "context"

// FanOut is the part of an operator that gives any number of rows for each row of its input. It copies the columns that
// come from the input once for many rows: when it gives a batch, or has no more to do with the input's.
type FanOut struct {
	Input
	Run   *Run
	Carry []int // by column of out: its position in the input, or -1

	Rows   *Batch // the input batch at work, or nil
	Out    Batch
	Picked Sel // for the rows of out that lack their carried columns: the input's row
	want   int // rows that are worth returning
}

// fanner makes the rows of a fan. It appends the columns of out that are its own, adds the rows to out.N, and their
// rows of the input to picked.
type fanner interface {
	// Begin takes in the input batch b of the fan.
	Begin(ctx context.Context) error
	// Advance adds some rows to out, which is not full, or reads what to make more of; it gives false when there are no
	// more of the input batch.
	Advance(ctx context.Context) (bool, error)
}

// Open implements Operator.
func (x *FanOut) Open(ctx context.Context) error {
	x.Rows, x.want = nil, 1
	return x.Input.Open(ctx)
}

// Give gives the next batch of the rows that f makes. Small batches are given at first, in case no more are wanted.
func (x *FanOut) Give(ctx context.Context, f fanner) (*Batch, error) {
	x.Out.Reset(len(x.Carry))
	for x.Out.N < x.Run.BatchSize() {
		if x.Rows == nil {
			b, err := x.In.Next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			x.Rows = b
			if err := f.Begin(ctx); err != nil {
				return nil, err
			}
		}
		more, err := f.Advance(ctx)
		if err != nil {
			return nil, err
		}
		if more {
			continue
		}
		x.flush()
		x.Rows = nil
		if x.Out.N >= x.want {
			break
		}
	}
	x.flush()
	x.want = min(2*x.want, x.Run.BatchSize())
	if x.Out.N == 0 {
		return nil, nil
	}
	return &x.Out, nil
}

// flush fills the carried columns of the rows that lack them.
func (x *FanOut) flush() {
	if len(x.Picked) == 0 {
		return
	}
	x.Out.AppendRows(x.Rows, x.Carry, x.Picked)
	x.Picked = x.Picked[:0]
}
