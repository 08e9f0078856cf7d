package exec

import "context"

// fan is the part of an operator that gives any number of rows for each row of its input. It copies the columns that
// come from the input once for many rows: when it gives a batch, or has no more to do with the input's.
type fan struct {
	input
	r     *run
	carry []int // by column of out: its position in the input, or -1

	b      *batch // the input batch at work, or nil
	out    batch
	picked sel // for the rows of out that lack their carried columns: the input's row
	want   int // rows that are worth returning
}

// fanned makes the rows of a fan. It appends the columns of out that are its own, adds the rows to out.N, and their
// rows of the input to picked.
type fanned interface {
	// begin takes in the input batch b of the fan.
	begin(ctx context.Context) error
	// advance adds some rows to out, which is not full, or reads what to make more of; it gives false when there are no
	// more of the input batch.
	advance(ctx context.Context) (bool, error)
}

func (x *fan) open(ctx context.Context) error {
	x.b, x.want = nil, 1
	return x.input.open(ctx)
}

// give gives the next batch of the rows that f makes. Small batches are given at first, in case that nobody wants more.
func (x *fan) give(ctx context.Context, f fanned) (*batch, error) {
	x.out.reset(len(x.carry))
	for x.out.N < x.r.batchSize() {
		if x.b == nil {
			b, err := x.in.next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			x.b = b
			if err := f.begin(ctx); err != nil {
				return nil, err
			}
		}
		more, err := f.advance(ctx)
		if err != nil {
			return nil, err
		}
		if more {
			continue
		}
		x.flush()
		x.b = nil
		if x.out.N >= x.want {
			break
		}
	}
	x.flush()
	x.want = min(2*x.want, x.r.batchSize())
	if x.out.N == 0 {
		return nil, nil
	}
	return &x.out, nil
}

// flush fills the carried columns of the rows that lack them.
func (x *fan) flush() {
	if len(x.picked) == 0 {
		return
	}
	x.out.appendRows(x.b, x.carry, x.picked)
	x.picked = x.picked[:0]
}
