package exec

import "context"

// hoard gives the rows of its input many batches at once, but for the first, where work for more rows is less for each.
type hoard struct {
	input
	r     *run
	cols  int   // of the input
	from  []int // all positions of the input, once they are needed
	held  spool
	first bool // batch is still to be given
}

// hoarded is how many batches are given at once.
const hoarded = 16

func (r *run) hoard(in operator, cols int) *hoard {
	return &hoard{input: input{in}, r: r, cols: cols, held: spool{acct: account{r: r, name: "FoldCount"}}}
}

func (h *hoard) open(ctx context.Context) error {
	h.first = true
	return h.in.open(ctx)
}

func (h *hoard) next(ctx context.Context) (*batch, error) {
	if h.first {
		h.first = false
		return h.in.next(ctx)
	}
	if h.from == nil {
		h.from = allPositions(h.cols)
	}
	h.held.reset(h.cols)
	for n := hoarded * h.r.batchSize(); h.held.all.N < n; {
		b, err := h.in.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		if err := h.held.add(b, h.from); err != nil {
			return nil, err
		}
	}
	if h.held.all.N == 0 {
		return nil, nil
	}
	return &h.held.all, nil
}

func (h *hoard) close() {
	h.held.acct.release()
	h.in.close()
}
