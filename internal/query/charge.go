package query

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// Charge counts the memory of a request's parameters, or of a load's values, while they are decoded, and until the request ends. It counts towards the memory
// of all statements, and has the limit of one. The nil Charge counts nothing.
type Charge struct {
	e   *Engine
	ctx context.Context //nolint:containedctx // Its end releases the memory.

	bytes, taken int64 // counted, and taken from the pool

	mu   sync.Mutex // release may come from the context's end
	over bool
	stop func() bool
}

// chargeStep is the memory that a Charge takes from the pool at a time. Requests with less take none.
const chargeStep = 64 << 10

// Charge returns a Charge that is released when the context ends, or before by Release.
func (e *Engine) Charge(ctx context.Context) *Charge { return &Charge{e: e, ctx: ctx} }

// Add counts memory before it is allocated; negative bytes are memory that has been freed. An error says which limit the memory would
// exceed.
func (c *Charge) Add(bytes int) error {
	if c == nil {
		return nil
	}
	c.bytes += int64(bytes)
	if c.bytes < chargeStep || c.bytes <= c.taken {
		return nil
	}
	return c.take()
}

func (c *Charge) take() error {
	if most := c.e.opt.QueryBytes; most > 0 && c.bytes > most {
		return graph.BudgetError("the values of the request need more than %d bytes, the budget of query-memory", most)
	}
	p := c.e.pool
	if p == nil {
		return nil
	}
	if c.bytes+chargeStep > p.Limit { // whatever others hold, so a retry cannot help
		return graph.BudgetError("the values of the request need %d bytes, and all statements together may hold %d", c.bytes, p.Limit)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	more := c.bytes + chargeStep - c.taken
	if c.over || !p.Take(more) {
		return graph.OutOfMemory("the values of the request need %d bytes, and others hold too much of the %d that all statements together may hold", c.bytes, p.Limit)
	}
	c.taken += more
	if c.stop == nil {
		c.stop = context.AfterFunc(c.ctx, c.release)
	}
	return nil
}

// Release returns the memory.
func (c *Charge) Release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	stop := c.stop
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	c.release()
}

func (c *Charge) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = true; c.taken > 0 {
		c.e.pool.Give(c.taken)
		c.taken = 0
	}
}
