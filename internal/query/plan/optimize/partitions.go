package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// maxPartitioned bounds the edges of a pattern that may coincide: three have five partitions.
const maxPartitioned = 3

// partitionTerms returns patterns without relationship uniqueness whose counts add up to that of f. Rows in which all edges
// differ are the signed sum over all partitions of the edges, where the edges of a block coincide. A partition has the factor
// (-1)^(n-1) (n-1)! for each block of n edges: the Möbius function of the lattice of partitions (Rota 1964, On the Foundations
// of Combinatorial Theory I). It returns none if the pattern does not allow it.
//
// BenchmarkRewrites/CountPushdown/uniqueness in bench/traversal compares it with enumeration.
func (f *countPushdown) partitionTerms() []term {
	if len(f.p.Paths) > 0 ||
		slices.ContainsFunc(f.p.Edges, func(e plan.PatEdge) bool { return e.Length != nil || e.Bound || e.Shortest != "" }) {
		return nil
	}
	m := f.matcher()
	var alike []plan.Col // edges that may coincide with another
	for i, e := range f.p.Edges {
		if !m.exempt[i] {
			alike = append(alike, e.Col)
		}
	}
	if len(alike) > maxPartitioned || len(alike) > 0 && !f.blockedByUniqueness() {
		return nil
	}
	same := func(a, b plan.Col) bool {
		return m.mayBeSame(f.p.Edge(a), f.p.Edge(b))
	}
	var terms []term
	var place func(blocks [][]plan.Col, rest []plan.Col) bool
	place = func(blocks [][]plan.Col, rest []plan.Col) bool {
		f.o.Steps.Add(1)
		if len(rest) == 0 {
			p, factor := f.p.Clone(), 1
			for _, b := range blocks {
				for n, e := range b[1:] {
					factor *= -(n + 1)
					if !p.MergeEdges(b[0], e) {
						return false
					}
				}
			}
			for i := range p.Edges {
				p.Edges[i].Group = i
			}
			terms = append(terms, term{&countPushdown{o: f.o, p: p, branches: map[plan.Col][]plan.Branch{}}, factor})
			return true
		}
		e := rest[0]
		for i, b := range blocks {
			if slices.ContainsFunc(b, func(c plan.Col) bool { return !same(c, e) }) {
				continue
			}
			with := slices.Clone(blocks)
			with[i] = append(slices.Clone(b), e)
			if !place(with, rest[1:]) {
				return false
			}
		}
		return place(append(slices.Clone(blocks), []plan.Col{e}), rest[1:])
	}
	if !place(nil, alike) {
		return nil
	}
	// The pattern without any constraint comes first, so no partial sum is negative.
	slices.Reverse(terms)
	return terms
}

// blockedByUniqueness reports whether more leaves are removable without relationship uniqueness.
func (f *countPushdown) blockedByUniqueness() bool {
	with := &countPushdown{o: f.o, p: f.p.Clone(), branches: map[plan.Col][]plan.Branch{}}
	with.pushLeaves()
	without := &countPushdown{o: f.o, p: f.p.Clone(), branches: map[plan.Col][]plan.Branch{}}
	for i := range without.p.Edges {
		without.p.Edges[i].Group = i
	}
	without.pushLeaves()
	return len(without.p.Edges) < len(with.p.Edges)
}
