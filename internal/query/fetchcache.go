package query

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// fetchCache keeps the programs of fetches and their compiled plans by graph.
type fetchCache struct {
	size int
	mu   sync.Mutex
	byG  map[shard.Graph]*fetchPrograms
}

// fetchPrograms is one generation of a graph's programs. A request keeps the generation that it began with, so each plan, which
// compilation changes, is compiled exactly once. A generation ends when the graph's size has changed, or when it holds too many
// plans.
type fetchPrograms struct {
	cache *fetch.Cache
	size  uint64 // vertices and edges of the graph when the generation began
	mu    sync.Mutex
	plans map[*plan.Query]*fetchPlan
}

type fetchPlan struct {
	done chan struct{} // closed once x and err are set
	x    *exec.Prepared
	err  error
}

// plansPerProgram estimates the most plans of one program.
const plansPerProgram = 4

// of returns the generation for a request that begins now.
func (c *fetchCache) of(g shard.Graph, counts *graph.Counts) *fetchPrograms {
	size := counts.Vertices + counts.Edges
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.byG[g]
	if p == nil || !sameSize(size, p.size) || p.len() > plansPerProgram*c.size {
		p = &fetchPrograms{cache: fetch.NewCache(c.size), size: size, plans: map[*plan.Query]*fetchPlan{}}
		if c.byG == nil {
			c.byG = map[shard.Graph]*fetchPrograms{}
		}
		c.byG[g] = p
	}
	return p
}

// forget drops the cached programs of a graph.
func (c *fetchCache) forget(g shard.Graph) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byG, g)
}

func (c *fetchCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, p := range c.byG {
		n += p.len()
	}
	return n
}

func (p *fetchPrograms) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.plans)
}

// prepare compiles a plan at its first use and returns the compiled plan; it counts later uses. Those who come while it is compiled
// wait for that, or until their context ends. If the request that compiles it ends first, the plan is incomplete: the
// generation is dropped by drop, and those who wait begin again with another.
func (p *fetchPrograms) prepare(
	ctx context.Context, q *plan.Query, compile func() (*exec.Prepared, error), hits *atomic.Uint64, drop func(),
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
	f = &fetchPlan{done: make(chan struct{}), err: graph.InternalError("compile a plan", nil)} // err remains if compiling panics
	p.plans[q] = f
	p.mu.Unlock()
	defer close(f.done)
	x, err := compile()
	f.x, f.err = x, err
	if err != nil && ctx.Err() != nil {
		drop()
		f.err = errStalePlan
	}
	return x, err
}

// drop drops a generation, unless it has been replaced already.
func (c *fetchCache) drop(g shard.Graph, p *fetchPrograms) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byG[g] == p {
		delete(c.byG, g)
	}
}
