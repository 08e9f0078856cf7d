package exec

import (
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Options are settings of compilation.
type Options struct {
	// BatchSize is the number of rows that operators aim at; default graph.BatchSize.
	BatchSize int
}

// EnsureDefaults fills in what is not set.
func (o *Options) EnsureDefaults() {
	if o.BatchSize <= 0 {
		o.BatchSize = graph.BatchSize
	}
}

// Prepared is a compiled plan. It is never changed but for SetLongRunning, and serves any number of runs at the same time.
type Prepared struct {
	Query   *plan.Query
	program runtime.Program
	out     []int // positions of the result columns in the root's batches

	longRunning atomic.Bool
	bounds      []string    // parameters that conditions on edges compare with, so that shards test them if their values can be bounds
	ended       sync.Pool   // of *execution
	nothing     runtime.Run // what there is to say of such a run after its end
}

// LongRunning reports whether a run of the plan is expected to take long.
func (p *Prepared) LongRunning() bool { return p.longRunning.Load() }

// SetLongRunning says whether a run of the plan is to be expected to take long.
func (p *Prepared) SetLongRunning(long bool) { p.longRunning.Store(long) }

// Compile makes a plan ready to run. The plan must not be changed any more.
func Compile(q *plan.Query, opt Options) (*Prepared, error) {
	opt.EnsureDefaults()
	p := &Prepared{Query: q}
	g := &p.program
	g.Query, g.BatchSize, g.Subplans = q, opt.BatchSize, map[*plan.Subquery]*runtime.Subplan{}
	g.HasEdge, g.Degrees = adjacency.NewHasEdge, adjacency.NewDegrees
	c := &compile.Compiler{Program: g, Args: plan.ColSet{}, Node: compileNode}
	need := plan.ColSet{}
	need.Add(q.Out...)
	g.Root = c.Compile(q.Root, need)
	if c.Err != nil {
		return nil, c.Err
	}
	p.bounds = c.Bounds
	p.out = g.Root.Positions(q.Out)
	for i, at := range p.out {
		if at < 0 {
			return nil, g.Unbound(q.Out[i])
		}
	}
	exchange.Mark(g, g.Root)
	g.Reusable = reusable(g.Root, true)
	p.nothing = runtime.Run{Program: g, Stats: make([]runtime.Stat, len(g.Stages))}
	return p, nil
}
