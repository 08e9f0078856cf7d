package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/plan"
)

const (
	// maxDisjunctions bounds the disjunctions of a pattern that are tried, each of which costs as much as planning the pattern.
	maxDisjunctions = 8
	// maxBranches bounds the branches of a disjunction, each of which is planned.
	maxBranches = 8
	// unionCost is the share of a pattern's cost that all branches of its union may have together.
	unionCost = 0.5
)

// expandOr is the rule OrExpansion: a disjunction becomes a union, each branch of which may start at another vertex. A branch leaves
// out the rows of those before it, so that each row comes once (the OR expansion of Oracle, whose negation is LNNVL):
//
//	Match … WHERE a.k = 1 OR b.k = 2      UnionAll
//	                                        Match … WHERE a.k = 1
//	                                        Match … WHERE b.k = 2 AND NOT coalesce(a.k = 1, false)
//
// It returns nil unless that costs much less than the pattern as a whole. The input must be a single row, and nothing may change the
// graph between the branches.
func (o *optimizer) expandOr(input plan.Node, p *plan.Pattern, whole *choice) plan.Node {
	if _, ok := input.(*plan.Unit); !ok || o.Query.Writes || o.off(orExpansion) || slices.ContainsFunc(p.Preds, plan.Volatile) {
		return nil
	}
	if slices.ContainsFunc(p.Edges, func(e plan.PatEdge) bool {
		return e.Shortest != "" || e.Walk != nil || slices.ContainsFunc(e.Where, plan.Volatile)
	}) {
		return nil // conditions may decide which path is the shortest
	}
	tried := 0
	for i, e := range p.Preds {
		or, ok := e.(*plan.Op)
		if !ok || or.Op != plan.Or || len(or.Args) > maxBranches {
			continue
		}
		if tried++; tried > maxDisjunctions {
			return nil
		}
		branches := make([]*choice, len(or.Args))
		cost := 0.0
		for j := range branches {
			branches[j] = o.choose(p.Branch(i, or.Args[j], or.Args[:j]))
			cost += branches[j].cost()
		}
		if cost > whole.cost()*unionCost {
			continue
		}
		o.fired(orExpansion)
		u := &plan.Union{Out: p.Columns(), All: true}
		for _, c := range branches {
			u.Inputs, u.Cols = append(u.Inputs, c.build(&plan.Unit{})), append(u.Cols, u.Out)
		}
		return u
	}
	return nil
}

// cost is the cost of a plan and of reading the vertices of its scans, of which few may pass their conditions.
func (c *choice) cost() float64 {
	cost := c.best.cost
	for _, s := range c.best.steps {
		if s.kind == stepScan {
			cost += c.m.o.Vertices(c.m.p.Vertices[s.vertex].Labels) * plan.EdgeCost
		}
	}
	return cost
}

// alternatives returns the consequences of a disjunction whose branches all fix the same property, or an id: (v.k = a AND …) OR
// (v.k = b AND …) implies v.k IN [a, b].
func alternatives(e plan.Expr) (ins []plan.Expr) {
	or, ok := e.(*plan.Op)
	if !ok || or.Op != plan.Or {
		return nil
	}
	for _, first := range plan.Conjuncts(or.Args[0]) {
		term, _, ok := equation(first)
		if !ok {
			continue
		}
		var values []plan.Expr
		for _, branch := range or.Args {
			for _, c := range plan.Conjuncts(branch) {
				if p, value, ok := equation(c); ok && sameTerm(p, term) {
					values = append(values, value)
					break
				}
			}
		}
		if len(values) == len(or.Args) {
			ins = append(ins, &plan.Op{Op: plan.In, Args: []plan.Expr{term, &plan.ListLit{Elems: values}}})
		}
	}
	return ins
}
