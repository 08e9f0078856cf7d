package exec

import (
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Operator is one operator of a prepared plan, for EXPLAIN and PROFILE.
type Operator struct {
	ID         int    // index in Rows.Stats
	Name, Args string // as plan.Describe gives them
	Node       plan.Node
	Columns    []string // the names of the variables in its rows, sorted
	Inputs     []*Operator
	Estimate   float64     // of rows; negative if there is none
	Subplans   []*Operator // run for each row, also within expressions
}

// Explain returns the operators.
func (p *Prepared) Explain() *Operator { return p.operator(p.program.Root) }

func (p *Prepared) operator(s *runtime.Stage) *Operator {
	o := &Operator{ID: s.ID, Node: s.Node}
	o.Name, o.Args = plan.Describe(p.Query, s.Node)
	o.Columns = plan.Variables(p.Query, s.Cols)
	o.Estimate = -1
	if rows, ok := p.Query.Estimates[s.Node]; ok {
		o.Estimate = rows
	}
	for _, k := range s.Inputs {
		o.Inputs = append(o.Inputs, p.operator(k))
	}
	for _, sub := range s.Subplans {
		o.Subplans = append(o.Subplans, p.operator(sub.Root))
	}
	return o
}
