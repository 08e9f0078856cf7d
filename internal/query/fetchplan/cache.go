package fetchplan

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Cache keeps the programs of fetches and their compiled plans by graph.
type Cache struct {
	Size int // how many programs of a graph are kept
	mu   sync.Mutex
	byG  map[shard.Graph]*Programs
}

// Programs is one generation of a graph's programs. A request keeps the generation that it began with, so each plan, which
// compilation changes, is compiled exactly once. A generation ends when the graph's size has changed, or when it holds too many
// plans.
type Programs struct {
	Cache *fetch.Cache
	size  uint64 // vertices and edges of the graph when the generation began
	mu    sync.Mutex
	plans map[*plan.Query]*entry
}

type entry struct {
	done  chan struct{} // closed once the rest is set
	x     *exec.Prepared
	reads *fresh.Reads
	err   error
}

// plansPerProgram estimates the most plans of one program.
const plansPerProgram = 4

// Of returns the generation for a request that begins now.
func (c *Cache) Of(g shard.Graph, counts *graph.Counts) *Programs {
	size := counts.Vertices + counts.Edges
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.byG[g]
	if p == nil || !SameSize(size, p.size) || p.len() > plansPerProgram*c.Size {
		p = &Programs{Cache: fetch.NewCache(c.Size), size: size, plans: map[*plan.Query]*entry{}}
		if c.byG == nil {
			c.byG = map[shard.Graph]*Programs{}
		}
		c.byG[g] = p
	}
	return p
}

// Forget drops the cached programs of a graph.
func (c *Cache) Forget(g shard.Graph) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byG, g)
}

// Len returns the number of plans.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, p := range c.byG {
		n += p.len()
	}
	return n
}

func (p *Programs) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.plans)
}

// Prepare compiles a plan at its first use and returns the compiled plan; it counts later uses. Those who come while it is compiled
// wait for that, or until their context ends. If the request that compiles it ends first, the plan is incomplete: the
// generation is dropped by drop, and those who wait get its error.
func (p *Programs) Prepare(
	ctx context.Context, q *plan.Query, compile func() (*exec.Prepared, error), hits *atomic.Uint64, drop func() (stale error),
) (*exec.Prepared, error) {
	p.mu.Lock()
	f := p.plans[q]
	if f != nil {
		p.mu.Unlock()
		hits.Add(1)
		select {
		case <-f.done:
			return f.x, f.err
		case <-ctx.Done():
			return nil, graph.DeadlineError(context.Cause(ctx))
		}
	}
	f = &entry{done: make(chan struct{}), err: graph.InternalError("compile a plan", nil)} // err remains if compiling panics
	p.plans[q] = f
	p.mu.Unlock()
	defer close(f.done)
	f.reads = fresh.Of(q) // before it is optimized
	x, err := compile()
	f.x, f.err = x, err
	if err != nil && ctx.Err() != nil {
		f.err = drop()
	}
	return x, err
}

// Reads returns what the rows of plans depend on that Prepare has compiled; nil: on more than the graph.
func (p *Programs) Reads(plans []*plan.Query) *fresh.Reads {
	all := make([]*fresh.Reads, len(plans))
	p.mu.Lock()
	for i, q := range plans {
		all[i] = p.plans[q].reads
	}
	p.mu.Unlock()
	return fresh.Union(all, plans)
}

// SameSize reports whether a graph of a vertices and edges still has about the size b.
func SameSize(a, b uint64) bool { return a <= 2*b+1000 && b <= 2*a+1000 }

// Drop drops a generation, unless it has been replaced already.
func (c *Cache) Drop(g shard.Graph, p *Programs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byG[g] == p {
		delete(c.byG, g)
	}
}
