package compile

import (
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Compiler makes stages of plan nodes.
type Compiler struct {
	Program *runtime.Program
	// Node makes the stage of a node.
	Node func(c *Compiler, n plan.Node, need plan.ColSet) *runtime.Stage
	// Bounds are the parameters that conditions on edges compare with.
	Bounds []string
	// Args collects the columns that the Arguments of the subplan being compiled give.
	Args plan.ColSet
	// EdgeProps are the edge properties that have columns of their own.
	EdgeProps []edgeProp
	// found are the subplans in the expressions of the node being compiled.
	found []*runtime.Subplan
	// Wrote says that a node that writes has been compiled.
	Wrote bool
	Err   error // the first that was met
}

// Fail notes an error, which ends the compilation. What is made after it is not used.
func (c *Compiler) Fail(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// Compile makes the stage of a node. The stage has the columns of need that the node's rows have, and may have others.
func (c *Compiler) Compile(n plan.Node, need plan.ColSet) *runtime.Stage {
	outer := c.found
	c.found = nil
	s := c.Node(c, n, need)
	s.Subplans = append(s.Subplans, c.found...)
	c.found = outer
	s.ID = len(c.Program.Stages)
	c.Program.Stages = append(c.Program.Stages, s)
	return s
}

// Below returns the columns that an input must have: those of need and those that the expressions read. Subplans within
// the expressions are compiled on the way.
func (c *Compiler) Below(need plan.ColSet, es ...plan.Expr) plan.ColSet {
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

// Kept returns those of cols that are needed, then those of own (0 is left out): the columns of a stage that adds own to
// its input's.
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
	c.Args, c.Wrote = plan.ColSet{}, false
	root := c.Compile(n, need)
	s := &runtime.Subplan{Root: root, Writes: c.Wrote}
	for col := range c.Args {
		s.Args = append(s.Args, col)
	}
	c.Args, c.Wrote = args, wrote || s.Writes
	return s
}

// subplans compiles the subplans that stand in an expression, and checks the names of functions.
func (c *Compiler) subplans(e plan.Expr) {
	switch e := e.(type) {
	case *plan.Subquery:
		if c.Program.Subplans[e] != nil {
			return
		}
		need := plan.ColSet{}
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
