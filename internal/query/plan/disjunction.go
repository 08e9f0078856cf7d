package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
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
func (o *optimizer) expandOr(input Node, p *Pattern, whole *choice) Node {
	if _, ok := input.(*Unit); !ok || o.q.Writes || o.off(orExpansion) || slices.ContainsFunc(p.Preds, volatile) {
		return nil
	}
	if slices.ContainsFunc(p.Edges, func(e PatEdge) bool {
		return e.Shortest != "" || e.Walk != nil || slices.ContainsFunc(e.Where, volatile)
	}) {
		return nil // conditions may decide which path is the shortest
	}
	tried := 0
	for i, e := range p.Preds {
		or, ok := e.(*Op)
		if !ok || or.Op != Or || len(or.Args) > maxBranches {
			continue
		}
		if tried++; tried > maxDisjunctions {
			return nil
		}
		branches := make([]*choice, len(or.Args))
		cost := 0.0
		for j := range branches {
			branches[j] = o.choose(p.branch(i, or.Args[j], or.Args[:j]))
			cost += branches[j].cost()
		}
		if cost > whole.cost()*unionCost {
			continue
		}
		o.fired(orExpansion)
		u := &Union{Out: p.columns(), All: true}
		for _, c := range branches {
			u.Inputs, u.Cols = append(u.Inputs, c.build(&Unit{})), append(u.Cols, u.Out)
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
			cost += c.m.o.vertices(c.m.p.Vertices[s.vertex].Labels) * edgeCost
		}
	}
	return cost
}

// branch returns p with a condition instead of its predicate i, for the rows that those before do not satisfy.
func (p *Pattern) branch(i int, cond Expr, before []Expr) *Pattern {
	b := *p
	b.Preds = append(slices.Delete(slices.Clone(p.Preds), i, i+1), conjuncts(cond)...)
	for _, e := range before {
		known := &Call{Func: "coalesce", Args: []Expr{e, &Const{Value: graph.BoolValue(false)}}}
		b.Preds = append(b.Preds, &Op{Op: Not, Args: []Expr{known}})
	}
	return &b
}

// columns returns the columns of a pattern that others may read.
func (p *Pattern) columns() (cols []Col) {
	for _, v := range p.Vertices {
		cols = append(cols, v.Col)
	}
	for _, e := range p.Edges {
		if e.Named {
			cols = append(cols, e.Col)
		}
	}
	for _, path := range p.Paths {
		cols = append(cols, path.Col)
	}
	return cols
}

// alternatives returns the consequences of a disjunction whose branches all fix the same property, or an id: (v.k = a AND …) OR
// (v.k = b AND …) implies v.k IN [a, b].
func alternatives(e Expr) (ins []Expr) {
	or, ok := e.(*Op)
	if !ok || or.Op != Or {
		return nil
	}
	for _, first := range conjuncts(or.Args[0]) {
		term, _, ok := equation(first)
		if !ok {
			continue
		}
		var values []Expr
		for _, branch := range or.Args {
			for _, c := range conjuncts(branch) {
				if p, value, ok := equation(c); ok && sameTerm(p, term) {
					values = append(values, value)
					break
				}
			}
		}
		if len(values) == len(or.Args) {
			ins = append(ins, &Op{Op: In, Args: []Expr{term, &ListLit{Elems: values}}})
		}
	}
	return ins
}

func conjuncts(e Expr) []Expr {
	and, ok := e.(*Op)
	if !ok || and.Op != And {
		return []Expr{e}
	}
	var all []Expr
	for _, a := range and.Args {
		all = append(all, conjuncts(a)...)
	}
	return all
}
