package exec

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
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

// Prepared is a compiled plan. It is never changed but for SetCostly, and serves any number of runs at the same time.
type Prepared struct {
	Query   *plan.Query
	program program
	out     []int // positions of the result columns in the root's batches

	costly  atomic.Bool
	bounds  []string  // parameters that conditions on edges compare with, so that shards test them if their values can be bounds
	ended   sync.Pool // of *execution
	nothing run       // what there is to say of such a run after its end
}

// Costly reports whether a run of the plan is expected to take long.
func (p *Prepared) Costly() bool { return p.costly.Load() }

// SetCostly says whether a run of the plan is to be expected to take long.
func (p *Prepared) SetCostly(costly bool) { p.costly.Store(costly) }

// Compile makes a plan ready to run. The plan must not be changed any more.
func Compile(q *plan.Query, opt Options) (*Prepared, error) {
	opt.EnsureDefaults()
	p := &Prepared{Query: q}
	g := &p.program
	g.query, g.batchSize, g.subs = q, opt.BatchSize, map[*plan.Subquery]*subplan{}
	g.hasEdge, g.degrees = newHasEdge, newDegrees
	c := &compiler{p: g, args: plan.ColSet{}, node: compileNode}
	need := plan.ColSet{}
	need.Add(q.Out...)
	g.root = c.compile(q.Root, need)
	if c.err != nil {
		return nil, c.err
	}
	p.bounds = c.bounds
	p.out = g.root.positions(q.Out)
	for i, at := range p.out {
		if at < 0 {
			return nil, g.unbound(q.Out[i])
		}
	}
	markSpreads(g, g.root)
	g.reusable = g.root.reusable(true)
	p.nothing = run{p: g, stats: make([]Stat, len(g.stages))}
	return p, nil
}

// compiler makes stages of plan nodes.
type compiler struct {
	p *program
	// node makes the stage of a node.
	node func(c *compiler, n plan.Node, need plan.ColSet) *stage
	// bounds are the parameters that conditions on edges compare with.
	bounds []string
	// args collects the columns that the Arguments of the subplan being compiled give.
	args plan.ColSet
	// edgeProps are the edge properties that have columns of their own.
	edgeProps []edgeProp
	// found are the subplans in the expressions of the node being compiled.
	found []*subplan
	// wrote says that a node that writes has been compiled.
	wrote bool
	err   error // the first that was met
}

// fail notes an error, which ends the compilation. What is made after it is not used.
func (c *compiler) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// compile makes the stage of a node. The stage has the columns of need that the node's rows have, and may have others.
func (c *compiler) compile(n plan.Node, need plan.ColSet) *stage {
	outer := c.found
	c.found = nil
	s := c.node(c, n, need)
	s.subs = append(s.subs, c.found...)
	c.found = outer
	s.id = len(c.p.stages)
	c.p.stages = append(c.p.stages, s)
	return s
}

// compileNode makes the stage of a node.
func compileNode(c *compiler, n plan.Node, need plan.ColSet) *stage {
	switch n := n.(type) {
	case *plan.Unit:
		return c.argument(n, nil, need)
	case *plan.Argument:
		return c.argument(n, n.Cols, need)
	case *plan.Scan:
		return c.scan(n, need)
	case *plan.Seek:
		return c.seek(n, need)
	case *plan.SeekRange:
		return c.seekRange(n, need)
	case *plan.SeekEdges:
		return c.seekEdges(n, need)
	case *plan.SeekEdgeRange:
		return c.seekEdgeRange(n, need)
	case *plan.SeekID:
		return c.seekID(n, need)
	case *plan.Expand:
		return c.expand(n, need)
	case *plan.Intersect:
		return c.intersect(n, need)
	case *plan.VarExpand:
		return c.varExpand(n, need)
	case *plan.FindPaths:
		return c.findPaths(n, need)
	case *plan.ShortestPath:
		return c.shortestPath(n, need)
	case *plan.FoldCount:
		return c.foldCount(n, need)
	case *plan.Weigh:
		return c.weigh(n, need)
	case *plan.FrontierCount:
		return c.frontierCount(n, need)
	case *plan.Traverse:
		return c.traverse(n, need)
	case *plan.CheapestPaths:
		return c.cheapestPaths(n, need)
	case *plan.Filter:
		return c.filter(n, need)
	case *plan.Project:
		return c.project(n, need)
	case *plan.Aggregate:
		return c.aggregate(n, need)
	case *plan.Distinct:
		return c.distinct(n, need)
	case *plan.Sort:
		return c.sort(n, need)
	case *plan.Slice:
		return c.slice(n, need)
	case *plan.Unwind:
		return c.unwind(n, need)
	case *plan.Apply:
		return c.apply(n, need)
	case *plan.Transactions:
		return c.transactions(n, need)
	case *plan.HashJoin:
		return c.hashJoin(n, need)
	case *plan.Product:
		return c.product(n, need)
	case *plan.Union:
		return c.union(n, need)
	case *plan.Eager:
		return c.eager(n, need)
	case *plan.Drain:
		return c.drain(n)
	case *plan.CountStore:
		return c.countStore(n, need)
	case *plan.Create:
		return c.create(n, need)
	case *plan.Merge:
		return c.merge(n, need)
	case *plan.Set:
		return c.set(n, need)
	case *plan.Delete:
		return c.delete(n, need)
	case *plan.Foreach:
		return c.foreach(n, need)
	case *plan.CallProc:
		return c.callProc(n, need)
	case *plan.LoadCSV:
		return c.loadCSV(n, need)
	}
	c.fail(graph.InternalError("compile", fmt.Errorf("no operator for %T", n)))
	return &stage{}
}

// below gives the columns that an input must have: those of need and those that the expressions read. Subplans within
// the expressions are compiled on the way.
func (c *compiler) below(need plan.ColSet, es ...plan.Expr) plan.ColSet {
	s := plan.ColSet{}
	for col := range need {
		s.Add(col)
	}
	for _, e := range es {
		if e == nil {
			continue
		}
		c.subplans(e)
		for col := range plan.Reads(e) {
			s.Add(col)
		}
	}
	return s
}

// kept gives those of cols that are needed, then those of own (0 is left out): the columns of a stage that adds own to
// its input's.
func kept(cols []plan.Col, need plan.ColSet, own ...plan.Col) []plan.Col {
	var out []plan.Col
	for _, c := range cols {
		if need.Has(c) {
			out = append(out, c)
		}
	}
	for _, c := range own {
		if c != 0 && need.Has(c) {
			out = append(out, c)
		}
	}
	return out
}

// bound checks that a stage has a column.
func (c *compiler) bound(s *stage, cols ...plan.Col) {
	for _, col := range cols {
		if col != 0 && s.pos(col) < 0 {
			c.fail(c.p.unbound(col))
		}
	}
}

// sub compiles a subplan whose rows must have the columns need.
func (c *compiler) sub(n plan.Node, need plan.ColSet) *subplan {
	args, wrote := c.args, c.wrote
	c.args, c.wrote = plan.ColSet{}, false
	root := c.compile(n, need)
	s := &subplan{root: root, writes: c.wrote}
	for col := range c.args {
		s.args = append(s.args, col)
	}
	c.args, c.wrote = args, wrote || s.writes
	return s
}

// subplans compiles the subplans that stand in an expression, and checks the names of functions.
func (c *compiler) subplans(e plan.Expr) {
	switch e := e.(type) {
	case *plan.Subquery:
		if c.p.subs[e] != nil {
			return
		}
		need := plan.ColSet{}
		var x plan.Expr
		if e.Kind == plan.Collect {
			x = c.byEdge(e.Expr, e.Sub)
			need = c.below(need, x)
		}
		s := c.sub(e.Sub, need)
		s.expr = x
		c.p.subs[e] = s
		c.found = append(c.found, s)
		return
	case *plan.Call:
		c.fail(checkCall(e))
	}
	plan.Parts(e, func(part *plan.Expr) { c.subplans(*part) })
}
