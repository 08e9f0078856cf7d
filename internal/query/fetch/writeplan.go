package fetch

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// The plans of writing requests take the parameter rows, a list, and return a row for each vertex or edge. Plans for the same names
// are equal, so a Cache keeps them.

// rowPlan is a plan that runs for each element of rows.
type rowPlan struct {
	q   *plan.Query
	row plan.Col
	n   plan.Node
}

func newRowPlan() *rowPlan {
	p := &rowPlan{q: &plan.Query{}}
	p.row = p.q.NewCol("row", graph.Null)
	p.n = &plan.Unwind{Input: &plan.Unit{}, Out: p.row, List: &plan.Param{Name: "rows"}}
	return p
}

func (p *rowPlan) at(i int64) plan.Expr {
	return bind.Op(plan.Index, &plan.ColRef{Col: p.row}, bind.IntConst(i))
}

// vertex matches the vertex of a label whose key is k.
func (p *rowPlan) vertex(name, label, key string, k plan.Expr) plan.Col {
	col := p.q.NewCol(name, graph.VertexKind)
	m := bind.Scan(p.n, col, label)
	m.Pattern.Preds = []plan.Expr{bind.Op(plan.Eq, &plan.Prop{X: &plan.ColRef{Col: col}, Key: key}, k)}
	p.n = m
	return col
}

// done ends the plan: a row for each of its rows.
func (p *rowPlan) done(writes bool) *plan.Query {
	one := p.q.NewCol("one", graph.Null)
	p.q.Root = &plan.Project{Input: p.n, Items: []plan.Item{{Col: one, Expr: bind.BoolConst(true)}}}
	p.q.Out, p.q.Names, p.q.Writes = []plan.Col{one}, []string{"one"}, writes
	return p.q
}

// findPlan returns the vertices whose key is in rows.
func (c *Cache) findPlan(label, key string) *plan.Query {
	return c.write("find "+label+" "+key, func() *plan.Query {
		p := newRowPlan()
		p.vertex("v", label, key, &plan.ColRef{Col: p.row})
		return p.done(false)
	})
}

// createPlan creates a vertex from each map in rows.
func (c *Cache) createPlan(label string) *plan.Query {
	return c.write("create "+label, func() *plan.Query {
		p := newRowPlan()
		v := p.q.NewCol("v", graph.VertexKind)
		p.n = &plan.Create{Input: p.n, Vertices: []plan.NewVertex{{Out: v, Labels: []string{label}, Props: &plan.ColRef{Col: p.row}}}}
		return p.done(true)
	})
}

// updatePlan changes, for each [key, map] of rows, the properties in the map.
func (c *Cache) updatePlan(label, key string) *plan.Query {
	return c.write("update "+label+" "+key, func() *plan.Query {
		p := newRowPlan()
		v := p.vertex("v", label, key, p.at(0))
		p.n = &plan.Set{Input: &plan.Eager{Input: p.n}, Items: []plan.SetItem{{Op: plan.AddMap, X: &plan.ColRef{Col: v}, Value: p.at(1)}}}
		return p.done(true)
	})
}

// removePlan deletes, for each [key, …] of rows, the vertex with its edges.
func (c *Cache) removePlan(label, key string) *plan.Query {
	return c.write("remove "+label+" "+key, func() *plan.Query {
		p := newRowPlan()
		v := p.vertex("v", label, key, p.at(0))
		p.n = &plan.Delete{Input: &plan.Eager{Input: p.n}, Exprs: []plan.Expr{&plan.ColRef{Col: v}}, Detach: true}
		return p.done(true)
	})
}

// edgeNames identifies the plans that write edges of a type between two labels, from the rows [key, key, map].
type edgeNames struct {
	typ, from, to, fromKey, toKey string
}

// plan returns the plan of post, put or delete, cached if possible.
func (e *edgeNames) plan(c *Cache, method string) *plan.Query {
	key := strings.Join([]string{"edge", method, e.typ, e.from, e.to, e.fromKey, e.toKey}, " ")
	switch method {
	case "post":
		return c.write(key, e.create)
	case "put":
		return c.write(key, e.update)
	}
	return c.write(key, e.remove)
}

func (e *edgeNames) ends(p *rowPlan) (from, to plan.Col) {
	from = p.vertex("from", e.from, e.fromKey, p.at(0))
	to = p.vertex("to", e.to, e.toKey, p.at(1))
	return from, to
}

// edge matches the edges between the ends.
func (e *edgeNames) edge(p *rowPlan) plan.Col {
	from, to := e.ends(p)
	col := p.q.NewCol("e", graph.EdgeKind)
	p.n = &plan.Expand{Input: p.n, From: from, Edge: col, To: to, Types: []string{e.typ}, Dir: graph.Out, Into: true}
	return col
}

func (e *edgeNames) create() *plan.Query {
	p := newRowPlan()
	from, to := e.ends(p)
	p.n = &plan.Create{Input: p.n, Edges: []plan.NewEdge{{Src: from, Dst: to, Type: e.typ, Props: p.at(2)}}}
	return p.done(true)
}

func (e *edgeNames) update() *plan.Query {
	p := newRowPlan()
	col := e.edge(p)
	p.n = &plan.Set{Input: &plan.Eager{Input: p.n}, Items: []plan.SetItem{{Op: plan.AddMap, X: &plan.ColRef{Col: col}, Value: p.at(2)}}}
	return p.done(true)
}

func (e *edgeNames) remove() *plan.Query {
	p := newRowPlan()
	col := e.edge(p)
	p.n = &plan.Delete{Input: &plan.Eager{Input: p.n}, Exprs: []plan.Expr{&plan.ColRef{Col: col}}}
	return p.done(true)
}
