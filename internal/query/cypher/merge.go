package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// merge binds MERGE: its path once as a pattern to search for and once as a creation, over the same columns.
func (b *binder) merge(f *flow, c *ast.Merge) {
	n := &plan.Merge{}
	before := b.scope
	b.open(before, true)
	m := &plan.Match{Input: b.start()}
	cols := b.mergePattern(m, c.Path)
	b.close()
	if b.err != nil {
		return
	}
	n.Match = m

	b.scope = before
	made := &creation{binder: b, nodes: []*plan.Create{{}}, made: plan.NewColSet()}
	made.path(c.Path, cols)
	if len(made.nodes) > 1 {
		b.fail(graph.SyntaxError("UndefinedVariable", c.Pos, "the properties of MERGE cannot be computed from what it creates"))
		return
	}
	n.Create, n.Cols = made.last(), made.all
	for _, v := range n.Create.Vertices {
		n.Props = appendMap(n.Props, v.Props)
	}
	for _, e := range n.Create.Edges {
		n.Props = appendMap(n.Props, e.Props)
	}
	n.OnCreate, n.OnMatch = b.setItems(c.OnCreate), b.setItems(c.OnMatch)
	one := f.one
	b.admit(f)
	n.Input = f.node
	f.node, f.one = n, false
	f.paths(made.paths)
	if f.merge = nil; one && len(b.frames) > 0 && len(made.paths) == 0 {
		f.merge, f.merged = n, b.fx
	}
}

// mergePattern binds the pattern that MERGE searches for and returns the columns of its elements.
func (b *binder) mergePattern(m *plan.Match, path *ast.PathPattern) []plan.Col {
	p := &patternBinder{binder: b, m: m, fresh: map[plan.Col]bool{}, vertex: map[plan.Col]int{}}
	b.matches = append(b.matches, m)
	cols := p.elements(path.Elements, "")
	p.finish()
	for _, c := range cols {
		b.refs[c]++
	}
	return cols
}

func appendMap(maps []plan.Expr, m plan.Expr) []plan.Expr {
	if m == nil {
		return maps
	}
	return append(maps, m)
}
