package exchange

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// coalescer joins small batches of its input into large ones, except for the first, for consumers whose cost per row falls with
// the size.
type coalescer struct {
	runtime.Input
	r     *runtime.Run
	cols  int   // of the input
	from  []int // all positions of the input; set on demand
	held  runtime.Buffer
	first bool // the next batch is the first
}

// coalescedBatches is how many batches are joined.
const coalescedBatches = 16

// Coalesce returns the rows of an operator, whose batches have that many columns, in larger batches.
func Coalesce(r *runtime.Run, in runtime.Operator, cols int) runtime.Operator {
	return &coalescer{Input: runtime.Input{In: in}, r: r, cols: cols, held: runtime.Buffer{Acct: runtime.Account{Run: r, Name: "MultiplicityCount"}}}
}

func (h *coalescer) Open(ctx context.Context) error {
	h.first = true
	return h.In.Open(ctx)
}

func (h *coalescer) Next(ctx context.Context) (*runtime.Batch, error) {
	if h.first {
		h.first = false
		return h.In.Next(ctx)
	}
	if h.from == nil {
		h.from = runtime.AllPositions(h.cols)
	}
	h.held.Reset(h.cols)
	for n := coalescedBatches * h.r.BatchSize(); h.held.All.N < n; {
		b, err := h.In.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		if err := h.held.Add(b, h.from); err != nil {
			return nil, err
		}
	}
	if h.held.All.N == 0 {
		return nil, nil
	}
	return &h.held.All, nil
}

func (h *coalescer) Close() {
	h.held.Acct.Release()
	h.In.Close()
}
