package compile

import (
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Compiler creates the stages of plan nodes.
type Compiler struct {
	Program *runtime.Program
	// Node creates the stage of a node.
	Node func(c *Compiler, n plan.Node, need plan.ColSet) *runtime.Stage
	// Bounds are the parameters that edge conditions compare with.
	Bounds []string
	// Args collects the columns that the Arguments of the current subplan return.
	Args plan.ColSet
	// EdgeProps are the edge properties with columns of their own.
	EdgeProps []edgeProp
	// found are the subplans in the expressions of the current node.
	found []*runtime.Subplan
	// Wrote reports whether a writing node has been compiled.
	Wrote bool
	Err   error          // the first error
	Steps *steps.Counter // counts stages with their columns, and the parts of expressions
}

// Fail records an error, which ends the compilation. Stages created after it are not used.
func (c *Compiler) Fail(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// Compile creates the stage of a node. It has those columns of need that the node produces, and may have others.
func (c *Compiler) Compile(n plan.Node, need plan.ColSet) *runtime.Stage {
	c.Steps.Add(1 + need.Words()/4)
	outer := c.found
	c.found = nil
	s := c.Node(c, n, need)
	c.Steps.Add(1 + len(s.Cols)/128) // the inputs polled before this stage chose its columns
	s.Subplans = append(s.Subplans, c.found...)
	c.found = outer
	s.ID = len(c.Program.Stages)
	c.Program.Stages = append(c.Program.Stages, s)
	return s
}

// Below returns the columns that an input must have: need, and the columns that the expressions read. It also compiles subplans
// within the expressions.
func (c *Compiler) Below(need plan.ColSet, es ...plan.Expr) plan.ColSet {
	s := need.Clone()
	for _, e := range es {
		if e == nil {
			continue
		}
		c.subplans(e)
		s.AddAll(plan.Reads(e))
	}
	return s
}

// Kept returns the columns of a stage that adds own (0 is skipped) to its input's: those of cols that are needed, then own.
func Kept(cols []plan.Col, need plan.ColSet, own ...plan.Col) []plan.Col {
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

// Bound checks that a stage has a column.
func (c *Compiler) Bound(s *runtime.Stage, cols ...plan.Col) {
	for _, col := range cols {
		if col != 0 && s.Pos(col) < 0 {
			c.Fail(c.Program.Unbound(col))
		}
	}
}

// Sub compiles a subplan whose rows must have the columns need.
func (c *Compiler) Sub(n plan.Node, need plan.ColSet) *runtime.Subplan {
	args, wrote := c.Args, c.Wrote
	c.Args, c.Wrote = plan.NewColSet(), false
	root := c.Compile(n, need)
	s := &runtime.Subplan{Root: root, Writes: c.Wrote}
	for col := range c.Args.All() {
		s.Args = append(s.Args, col)
	}
	c.Args, c.Wrote = args, wrote || s.Writes
	return s
}

// subplans compiles the subplans within an expression and checks the names of functions.
func (c *Compiler) subplans(e plan.Expr) {
	c.Steps.Add(1)
	switch e := e.(type) {
	case *plan.Subquery:
		if c.Program.Subplans[e] != nil {
			return
		}
		need := plan.NewColSet()
		var x plan.Expr
		if e.Kind == plan.Collect {
			x = c.ByEdge(e.Expr, e.Sub)
			need = c.Below(need, x)
		}
		s := c.Sub(e.Sub, need)
		s.Expr = x
		c.Program.Subplans[e] = s
		c.found = append(c.found, s)
		return
	case *plan.Call:
		c.Fail(expr.CheckCall(e))
	}
	plan.Parts(e, func(part *plan.Expr) { c.subplans(*part) })
}

// Plain reports whether all expressions are constants, parameters or columns, or none.
func Plain(es ...plan.Expr) bool {
	for _, e := range es {
		switch e.(type) {
		case nil, *plan.Const, *plan.Param, *plan.ColRef:
		default:
			return false
		}
	}
	return true
}
