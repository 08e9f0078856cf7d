package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
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
		slices.ContainsFunc(f.p.Edges, func(e PatEdge) bool { return e.Length != nil || e.Bound || e.Shortest != "" }) {
		return nil
	}
	m := f.matcher()
	var alike []Col // edges that may coincide with another
	for i, e := range f.p.Edges {
		if !m.exempt[i] {
			alike = append(alike, e.Col)
		}
	}
	if len(alike) > maxPartitioned || len(alike) > 0 && !f.blockedByUniqueness() {
		return nil
	}
	same := func(a, b Col) bool {
		return m.mayBeSame(f.p.edge(a), f.p.edge(b))
	}
	var terms []term
	var place func(blocks [][]Col, rest []Col) bool
	place = func(blocks [][]Col, rest []Col) bool {
		f.o.steps.Add(1)
		if len(rest) == 0 {
			p, factor := f.p.clone(), 1
			for _, b := range blocks {
				for n, e := range b[1:] {
					factor *= -(n + 1)
					if !p.mergeEdges(b[0], e) {
						return false
					}
				}
			}
			for i := range p.Edges {
				p.Edges[i].Group = i
			}
			terms = append(terms, term{&countPushdown{o: f.o, p: p, branches: map[Col][]Branch{}}, factor})
			return true
		}
		e := rest[0]
		for i, b := range blocks {
			if slices.ContainsFunc(b, func(c Col) bool { return !same(c, e) }) {
				continue
			}
			with := slices.Clone(blocks)
			with[i] = append(slices.Clone(b), e)
			if !place(with, rest[1:]) {
				return false
			}
		}
		return place(append(slices.Clone(blocks), []Col{e}), rest[1:])
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
	with := &countPushdown{o: f.o, p: f.p.clone(), branches: map[Col][]Branch{}}
	with.pushLeaves()
	without := &countPushdown{o: f.o, p: f.p.clone(), branches: map[Col][]Branch{}}
	for i := range without.p.Edges {
		without.p.Edges[i].Group = i
	}
	without.pushLeaves()
	return len(without.p.Edges) < len(with.p.Edges)
}

// edge returns the index of an edge.
func (p *Pattern) edge(c Col) int {
	return slices.IndexFunc(p.Edges, func(e PatEdge) bool { return e.Col == c })
}

// mergeEdges makes edge b of the pattern the same edge as a. It fails if the result is not one pattern: two edges without
// direction that share no vertex coincide in two ways.
func (p *Pattern) mergeEdges(a, b Col) bool {
	i, j := p.edge(a), p.edge(b)
	ea, eb := p.Edges[i], p.Edges[j]
	var pairs [][2]Col // vertices that coincide
	if ea.Dir != graph.Both && eb.Dir != graph.Both {
		as, at := ea.ends()
		bs, bt := eb.ends()
		pairs = [][2]Col{{as, bs}, {at, bt}}
	} else {
		switch { // a self-loop has one row, so a common end decides the direction of the other edge
		case ea.Left == eb.Left:
			pairs = [][2]Col{{ea.Right, eb.Right}}
		case ea.Left == eb.Right:
			pairs = [][2]Col{{ea.Right, eb.Left}}
		case ea.Right == eb.Left:
			pairs = [][2]Col{{ea.Left, eb.Right}}
		case ea.Right == eb.Right:
			pairs = [][2]Col{{ea.Left, eb.Left}}
		default:
			return false
		}
		if ea.Dir == graph.Both {
			// The direction is b's, which may be written from the other end.
			ea.Dir = eb.Dir
			if ea.Left == eb.Right || ea.Right == eb.Left {
				ea.Dir = eb.Dir.Reverse()
			}
		}
	}
	switch {
	case len(ea.Types) == 0:
		ea.Types = eb.Types
	case len(eb.Types) > 0:
		ea.Types = slices.DeleteFunc(slices.Clone(ea.Types), func(t string) bool { return !slices.Contains(eb.Types, t) })
	}
	p.Edges[i] = ea
	p.Edges = slices.Delete(p.Edges, j, j+1)
	as := map[Col]Col{b: a}
	for len(pairs) > 0 {
		x, y := pairs[0][0], pairs[0][1]
		if pairs = pairs[1:]; x == y {
			continue
		}
		p.mergeVertices(x, y)
		for k := range pairs {
			for l := range pairs[k] {
				if pairs[k][l] == y {
					pairs[k][l] = x
				}
			}
		}
		for from, to := range as {
			if to == y {
				as[from] = x
			}
		}
		as[y] = x
	}
	p.Preds = slices.Clone(p.Preds)
	for k, e := range p.Preds {
		var ok bool
		if p.Preds[k], ok = renamed(e, as); !ok {
			return false
		}
	}
	return true
}

// renamed returns an expression with other columns; ok is false for kinds of expressions that it does not copy.
func renamed(e Expr, as map[Col]Col) (_ Expr, ok bool) {
	reads := Reads(e)
	touched := false
	for from := range as {
		touched = touched || reads.Has(from)
	}
	if !touched {
		return e, true
	}
	switch x := e.(type) {
	case *ColRef:
		return &ColRef{Col: as[x.Col]}, true
	case *Prop:
		c := *x
		e = &c
	case *Op:
		c := *x
		c.Args = slices.Clone(x.Args)
		e = &c
	case *Call:
		c := *x
		c.Args = slices.Clone(x.Args)
		e = &c
	case *Case:
		c := *x
		c.When, c.Then = slices.Clone(x.When), slices.Clone(x.Then)
		e = &c
	case *ListLit:
		e = &ListLit{Elems: slices.Clone(x.Elems)}
	case *HasLabels:
		c := *x
		e = &c
	case *HasEdge:
		c := *x
		e = &c
	case *IsType:
		c := *x
		e = &c
	default:
		return nil, false
	}
	ok = true
	subexprs(e, func(p *Expr) {
		var one bool
		*p, one = renamed(*p, as)
		ok = ok && one
	})
	return e, ok
}
