package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// foldCount is the rule FoldCount, on count(*) and count(x) of something that a pattern binds, directly above a MATCH or
// a MATCH with OPTIONAL MATCHes that hang on one vertex each.
func foldCount(o *optimizer, n Node) Node {
	a, ok := n.(*Aggregate)
	if !ok || len(a.Keys) > 0 || len(a.Aggs) != 1 || a.Aggs[0].Func != "count" || a.Aggs[0].Distinct {
		return nil
	}
	var optional []*Match
	at := a.Input
	for {
		m, ok := at.(*Match)
		if !ok {
			return nil
		}
		if !m.Optional {
			break
		}
		optional = append(optional, m)
		at = m.Input
	}
	m, _ := at.(*Match)
	if len(a.Aggs[0].Args) == 1 {
		ref, ok := a.Aggs[0].Args[0].(*ColRef)
		if !ok || !m.Pattern.binds(ref.Col) {
			return nil
		}
	}
	if len(optional) == 0 && m.Pattern.oneBareEdge() {
		return nil // CountStore knows
	}
	f := &folder{o: o, p: m.Pattern.clone(), branches: map[Col][]Branch{}}
	for _, opt := range optional {
		if !f.optional(&opt.Pattern) {
			return nil
		}
	}
	if at := f.inequality(); at >= 0 && len(optional) == 0 {
		if _, ok := m.Input.(*Unit); !ok {
			return nil
		}
		return f.difference(a.Aggs[0].Col, at)
	}
	if !f.fold() && len(optional) == 0 {
		return nil
	}
	return f.count(m.Input, a.Aggs[0].Col)
}

func (p *Pattern) binds(c Col) bool {
	return slices.ContainsFunc(p.Vertices, func(v PatVertex) bool { return v.Col == c && !v.Bound }) ||
		slices.ContainsFunc(p.Edges, func(e PatEdge) bool { return e.Col == c && !e.Bound })
}

// oneBareEdge reports whether the pattern is ()-[:T]->().
func (p *Pattern) oneBareEdge() bool {
	return len(p.Edges) == 1 && len(p.Edges[0].Types) <= 1 && p.Edges[0].Dir != graph.Both && p.Edges[0].Length == nil && len(p.Preds) == 0 &&
		!slices.ContainsFunc(p.Vertices, func(v PatVertex) bool { return v.Bound || v.Labels != nil })
}

func (p *Pattern) clone() *Pattern {
	return &Pattern{
		Vertices: slices.Clone(p.Vertices), Edges: slices.Clone(p.Edges), Paths: slices.Clone(p.Paths), Preds: slices.Clone(p.Preds),
	}
}

// folder takes leaves off a pattern.
type folder struct {
	o        *optimizer
	p        *Pattern
	branches map[Col][]Branch
}

// matcher looks at the pattern as it is now.
func (f *folder) matcher() *matcher {
	m := &matcher{o: f.o, p: f.p}
	for _, e := range f.p.Preds {
		m.preds = append(m.preds, matchPred{e: e})
	}
	m.findAlone()
	return m
}

// optional turns an optional pattern into a branch of the vertex that it hangs on.
func (f *folder) optional(p *Pattern) bool {
	g := &folder{o: f.o, p: p.clone(), branches: map[Col][]Branch{}}
	root := slices.IndexFunc(p.Vertices, func(v PatVertex) bool { return v.Bound })
	if root < 0 || len(p.Preds) > 0 || len(p.Paths) > 0 || p.Vertices[root].Labels != nil {
		return false
	}
	col := p.Vertices[root].Col
	on := slices.ContainsFunc(f.p.Vertices, func(v PatVertex) bool { return v.Col == col })
	if !on || !g.fold() || len(g.p.Edges) > 0 || len(g.p.Vertices) != 1 || g.p.Vertices[0].Col != col || len(g.branches[col]) != 1 {
		return false
	}
	b := g.branches[col][0]
	b.Optional = true
	f.branches[col] = append(f.branches[col], b)
	return true
}

// fold takes off all leaves that it may, the most numerous first, and reports whether there was one.
func (f *folder) fold() bool {
	some := false
	m := f.matcher()
	alone := map[Col]bool{}
	for i, e := range f.p.Edges {
		alone[e.Col] = m.alone[i]
	}
	read := Reads(f.p.Preds...)
	for _, p := range f.p.Paths {
		read.Add(p.Cols...)
	}
	for {
		leaf, edge := -1, -1
		for i, v := range f.p.Vertices {
			if v.Bound || read.Has(v.Col) {
				continue
			}
			e, ok := f.onlyEdge(v.Col)
			if !ok || !alone[f.p.Edges[e].Col] || read.Has(f.p.Edges[e].Col) {
				continue
			}
			if leaf < 0 || f.o.vertices(v.Labels) > f.o.vertices(f.p.Vertices[leaf].Labels) {
				leaf, edge = i, e
			}
		}
		if leaf < 0 {
			return some
		}
		some = true
		v, e := f.p.Vertices[leaf], f.p.Edges[edge]
		parent, dir := e.Left, e.Dir
		if parent == v.Col {
			parent, dir = e.Right, e.Dir.Reverse()
		}
		f.branches[parent] = append(f.branches[parent], Branch{Types: e.Types, Dir: dir, Labels: v.Labels, Branches: f.branches[v.Col]})
		delete(f.branches, v.Col)
		f.p.Vertices = slices.Delete(f.p.Vertices, leaf, leaf+1)
		f.p.Edges = slices.Delete(f.p.Edges, edge, edge+1)
	}
}

// onlyEdge gives the one plain edge that a vertex has in the pattern.
func (f *folder) onlyEdge(c Col) (at int, ok bool) {
	at = -1
	for i, e := range f.p.Edges {
		if e.Left != c && e.Right != c {
			continue
		}
		if at >= 0 || e.Left == e.Right || e.Length != nil || e.Bound || e.Shortest != "" {
			return 0, false
		}
		at = i
	}
	return at, at >= 0
}

// inequality finds the one predicate a <> b of two vertices that nothing else reads.
func (f *folder) inequality() int {
	found := -1
	for i, e := range f.p.Preds {
		if _, _, ok := unequal(e); !ok {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	if found < 0 || len(f.p.Paths) > 0 {
		return -1
	}
	// It is worth two counts only if it stands in the way of a leaf, and right only if no other edge could be the same.
	x, y, _ := unequal(f.p.Preds[found])
	if x == y {
		return -1
	}
	for _, c := range []Col{x, y} {
		if !f.p.binds(c) || !slices.ContainsFunc(f.p.Vertices, func(v PatVertex) bool { return v.Col == c }) {
			return -1
		}
	}
	m := f.matcher()
	if slices.Contains(m.alone, false) || slices.ContainsFunc(f.p.Edges, func(e PatEdge) bool { return e.Length != nil || e.Bound }) {
		return -1
	}
	return found
}

// difference counts the pattern without predicate at, and takes away what it counts with an equality in its place. The
// edges are known to differ wherever the predicate holds; without it their being the same must not be asked about.
func (f *folder) difference(out Col, at int) Node {
	pred := f.p.Preds[at]
	x, y, _ := unequal(pred)
	for i := range f.p.Edges {
		f.p.Edges[i].Group = i
	}
	f.p.Preds = slices.Delete(f.p.Preds, at, at+1)
	same := &folder{o: f.o, p: f.p.clone(), branches: map[Col][]Branch{}}
	if Reads(same.p.Preds...).Has(y) {
		same.p.Preds = append(same.p.Preds, &Op{Op: Eq, Args: []Expr{&ColRef{Col: x}, &ColRef{Col: y}}})
	} else {
		same.p.unify(x, y)
	}
	f.fold()
	same.fold()
	all, equal := f.o.q.NewCol("", graph.Null), f.o.q.NewCol("", graph.Null)
	return &Project{
		Input: &Apply{Input: f.count(&Unit{}, all), Sub: same.count(&Argument{}, equal), Kind: Inner, Cols: []Col{equal}},
		Items: []Item{{Col: out, Expr: &Op{Op: Sub, Args: []Expr{&ColRef{Col: all}, &ColRef{Col: equal}}}}},
	}
}

// unify puts vertex x in the place of vertex y.
func (p *Pattern) unify(x, y Col) {
	at := slices.IndexFunc(p.Vertices, func(v PatVertex) bool { return v.Col == y })
	labels := p.Vertices[at].Labels
	p.Vertices = slices.Delete(p.Vertices, at, at+1)
	for i := range p.Vertices {
		if v := &p.Vertices[i]; v.Col == x {
			v.Labels = andLabels(v.Labels, labels)
		}
	}
	for i := range p.Edges {
		if e := &p.Edges[i]; e.Left == y {
			e.Left = x
		}
		if e := &p.Edges[i]; e.Right == y {
			e.Right = x
		}
	}
}

// count sums what is left of the pattern.
func (f *folder) count(input Node, out Col) Node {
	c := &FoldCount{Input: &Match{Input: input, Pattern: *f.p}, Out: out}
	for _, v := range f.p.Vertices {
		if bs := f.branches[v.Col]; len(bs) > 0 {
			c.Weights = append(c.Weights, Weight{Col: v.Col, Branches: bs})
		}
	}
	return c
}
