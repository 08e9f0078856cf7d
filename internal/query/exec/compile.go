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
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Options are settings of compilation.
type Options struct {
	// BatchSize is the number of rows that operators aim at; default graph.BatchSize, writtenRows if the plan writes.
	BatchSize int
	// Steps counts the work, and may end it; nil: nobody does.
	Steps *steps.Counter
}

// writtenRows is the number of rows that operators aim at if the plan writes: what they find and change goes through the store in the order
// of its keys, so that neighbours share more of it in a larger batch.
const writtenRows = 4 * graph.BatchSize

// EnsureDefaults sets options that are zero to their defaults for a plan.
func (o *Options) EnsureDefaults(q *plan.Query) {
	switch {
	case o.BatchSize > 0:
	case q.Writes:
		o.BatchSize = writtenRows
	default:
		o.BatchSize = graph.BatchSize
	}
}

// Prepared is a compiled plan. It never changes except for SetLongRunning, and serves any number of concurrent runs.
type Prepared struct {
	Query   *plan.Query
	program runtime.Program
	out     []int // positions of the result columns in the root's batches

	longRunning atomic.Bool
	bounds      []string    // parameters that edge conditions compare with; shards test the conditions whose values can be bounds
	ended       sync.Pool   // of *execution
	nothing     runtime.Run // stands for an ended run in Rows
}

// LongRunning reports whether runs of the plan are expected to be long-running.
func (p *Prepared) LongRunning() bool { return p.longRunning.Load() }

// SetLongRunning sets whether runs of the plan are expected to be long-running.
func (p *Prepared) SetLongRunning(long bool) { p.longRunning.Store(long) }

// Compile compiles a plan. The caller must not change the plan afterwards.
func Compile(q *plan.Query, opt Options) (_ *Prepared, err error) {
	defer steps.Catch(&err)
	opt.EnsureDefaults(q)
	p := &Prepared{Query: q}
	g := &p.program
	g.Query, g.BatchSize, g.Subplans = q, opt.BatchSize, map[*plan.Subquery]*runtime.Subplan{}
	g.HasEdge, g.Degrees = adjacency.NewHasEdge, adjacency.NewDegrees
	c := &compile.Compiler{Program: g, Args: plan.NewColSet(), Node: compileNode, Steps: opt.Steps}
	need := plan.NewColSet()
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
