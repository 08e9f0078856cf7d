package exec

import "github.com/hopgate/hopgate/internal/query/plan"

// Operator is a compiled operator as a tree: ID is its place in Rows.Stats, and its subplans come after its inputs.
type Operator struct {
	ID       int
	Node     plan.Node
	Children []*Operator
}

// Explain gives the operators of the plan.
func (p *Prepared) Explain() *Operator { return p.root.explain() }

func (s *stage) explain() *Operator {
	op := &Operator{ID: s.id, Node: s.node}
	for _, k := range s.kids {
		op.Children = append(op.Children, k.explain())
	}
	for _, sub := range s.subs {
		op.Children = append(op.Children, sub.root.explain())
	}
	return op
}
