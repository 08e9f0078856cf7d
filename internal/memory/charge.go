package memory

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// Charge counts the memory of a request's parameters, or of a load's values, while they are decoded, and until the request ends. It counts towards the memory
// of all statements, and has the limit of one. The nil Charge counts nothing.
type Charge struct {
	pool *Pool           // nil: no limit of all requests
	most int64           // of one request; 0: no limit
	ctx  context.Context //nolint:containedctx // Its end releases the memory.

	bytes, taken int64 // counted, and taken from the pool

	mu   sync.Mutex // release may come from the context's end
	over bool
	stop func() bool
}

// chargeStep is the memory that a Charge takes from the pool at a time. Requests with less take none.
const chargeStep = 64 << 10

// NewCharge returns a Charge that is released when the context ends, or before by Release. It takes its memory from a pool, or from none, and
// at most so many bytes, or any number if most is 0.
func NewCharge(ctx context.Context, pool *Pool, most int64) *Charge {
	return &Charge{pool: pool, most: most, ctx: ctx}
}

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
	if most := c.most; most > 0 && c.bytes > most {
		return graph.BudgetError("the values of the request need more than %d bytes, the budget of query-memory", most)
	}
	p := c.pool
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
		c.pool.Give(c.taken)
		c.taken = 0
	}
}
