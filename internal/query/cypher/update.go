package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// creation collects the elements that a CREATE or MERGE creates.
type creation struct {
	*binder
	nodes []*plan.Create // in order: a property may depend on an earlier element
	made  plan.ColSet    // by the last of nodes
	all   []plan.Col
	paths []plan.Item                  // of all nodes
	ahead map[*plan.Create][]plan.Item // paths that a node reads
}

func (c *creation) last() *plan.Create { return c.nodes[len(c.nodes)-1] }

// create binds CREATE.
func (b *binder) create(f *flow, paths []*ast.PathPattern) {
	c := b.creation(paths)
	b.admit(f)
	sees := b.fx.touches(b.fx)
	b.fx.alone = sees
	if sees {
		made := plan.NewColSet()
		made.Add(c.all...)
		for _, items := range c.ahead {
			for _, p := range items {
				made.Add(p.Col)
			}
		}
		c.compute(f, made, c.nodes...)
	}
	for i, n := range c.nodes {
		f.paths(c.ahead[n])
		if sees && i > 0 {
			c.compute(f, plan.ColSet{}, n)
		}
		n.Input = f.node
		f.node = n
	}
	f.paths(c.paths)
}

// compute evaluates properties with subqueries, except those that read columns of without, for all rows before any node is created:
// the clause does not see its own elements there, and the answer does not depend on the number of rows in a batch.
func (c *creation) compute(f *flow, without plan.ColSet, nodes ...*plan.Create) {
	var items []plan.Item
	take := func(e *plan.Expr) {
		if *e == nil || !plan.HasSubquery(*e) {
			return
		}
		for col := range plan.Reads(*e).All() {
			if without.Has(col) {
				return
			}
		}
		col := c.newCol("", graph.Null)
		items = append(items, plan.Item{Col: col, Expr: *e})
		*e = &plan.ColRef{Col: col}
	}
	props := func(e *plan.Expr) {
		m, ok := (*e).(*plan.MapLit)
		if !ok {
			take(e)
			return
		}
		for i := range m.Elems {
			take(&m.Elems[i])
		}
	}
	for _, n := range nodes {
		for i := range n.Vertices {
			props(&n.Vertices[i].Props)
			for k := range n.Vertices[i].LabelsOf {
				take(&n.Vertices[i].LabelsOf[k])
			}
		}
		for i := range n.Edges {
			props(&n.Edges[i].Props)
			take(&n.Edges[i].TypeOf)
		}
	}
	if len(items) == 0 {
		return
	}
	if without == (plan.ColSet{}) && !f.one { // earlier elements are created for all rows
		f.node = &plan.Eager{Input: f.node, Why: whyOwn}
	}
	f.node = &plan.Project{Input: f.node, Items: items, Keep: true}
	if !f.one {
		f.node = &plan.Eager{Input: f.node, Why: whyOwn}
	}
}

const whyOwn = "the clause reads what it writes"

// creation binds paths that are to be made and declares their variables.
func (b *binder) creation(paths []*ast.PathPattern) *creation {
	c := &creation{binder: b, nodes: []*plan.Create{{}}, made: plan.NewColSet(), ahead: map[*plan.Create][]plan.Item{}}
	for _, p := range paths {
		c.path(p, nil)
	}
	return c
}

// paths computes path variables on top of f.
func (f *flow) paths(items []plan.Item) {
	if len(items) > 0 {
		f.node = &plan.Project{Input: f.node, Items: items, Keep: true}
	}
}

// path binds one path. given has the columns of its elements, or is nil: they are made.
func (c *creation) path(p *ast.PathPattern, given []plan.Col) {
	if given == nil {
		given = make([]plan.Col, len(p.Elements))
	}
	cols := make([]plan.Col, len(p.Elements))
	for i, el := range p.Elements {
		switch el := el.(type) {
		case *ast.NodePattern:
			cols[i] = c.vertex(el, given[i])
		case *ast.SubpathPattern:
			c.fail(graph.SyntaxError("CreatingVarLength", el.Pos, "a quantified path cannot be created"))
			return
		}
	}
	for i, el := range p.Elements {
		if r, ok := el.(*ast.RelationshipPattern); ok {
			cols[i] = c.edge(r, cols[i-1], cols[i+1], given[i])
		}
	}
	if p.Variable != nil {
		col := c.newCol(p.Variable.Name, graph.PathKind)
		for _, x := range cols {
			c.use(x)
		}
		c.paths = append(c.paths, plan.Item{Col: col, Expr: &plan.MakePath{Cols: cols}})
		c.declare(p.Variable.Name, col)
		c.made.Add(col)
	}
}

// vertex returns the column of a node pattern, and has its vertex made if it is new.
func (c *creation) vertex(n *ast.NodePattern, given plan.Col) plan.Col {
	if n.Variable != nil {
		if c.scope.find(n.Variable.Name) != nil {
			return c.resolve(n.Variable)
		}
	}
	labels, of, ok := ast.Named(n.Labels)
	if !ok {
		c.fail(graph.SyntaxError("UnexpectedSyntax", n.Pos, "a new node needs the names of its labels"))
	}
	v := plan.NewVertex{Out: given, Labels: labels, LabelsOf: c.names(of), Props: c.props(n.Properties)}
	if v.Out == 0 {
		v.Out = c.newCol(name(n.Variable), graph.VertexKind)
	}
	if n.Variable != nil {
		c.declare(n.Variable.Name, v.Out)
	}
	c.fx.created = append(c.fx.created, vertexWrite{labels: labels, more: len(of) > 0, keys: keysOf(v.Props)})
	c.last().Vertices = append(c.last().Vertices, v)
	c.put(v.Out)
	return v.Out
}

// edge has the edge of a relationship pattern made and returns its column.
func (c *creation) edge(r *ast.RelationshipPattern, left, right, given plan.Col) plan.Col {
	types, of, ok := ast.Named(r.Types)
	switch {
	case r.Length != nil || r.Quantifier != nil:
		c.fail(graph.SyntaxError("CreatingVarLength", r.Pos, "a variable length relationship cannot be created"))
		return left
	case !ok || len(types)+len(of) != 1:
		c.fail(graph.SyntaxError("NoSingleRelationshipType", r.Pos, "a new relationship needs one type"))
		return left
	}
	e := plan.NewEdge{Out: given, Src: left, Dst: right, Props: c.props(r.Properties)}
	if len(of) == 1 {
		e.TypeOf = c.names(of)[0]
		c.fx.newEdges.all = true
	} else {
		e.Type = types[0]
		c.fx.newEdges.add(e.Type)
	}
	if r.Direction == ast.DirectionIn {
		e.Src, e.Dst = right, left
	}
	c.use(left)
	c.use(right)
	if e.Out == 0 {
		e.Out = c.newCol(name(r.Variable), graph.EdgeKind)
	}
	if r.Variable != nil {
		c.declare(r.Variable.Name, e.Out)
	}
	c.last().Edges = append(c.last().Edges, e)
	c.put(e.Out)
	return e.Out
}

func (c *creation) put(col plan.Col) {
	c.made.Add(col)
	c.all = append(c.all, col)
}

// props binds a property map. If it reads what is made beside it, it is made after that.
func (c *creation) props(e ast.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	x := c.expr(e)
	c.after(x)
	return x
}

// names binds the expressions of labels or a type.
func (c *creation) names(of []ast.Expr) []plan.Expr {
	xs := c.exprs(of)
	c.after(xs...)
	return xs
}

// after delays the creation of elements with expressions until the elements that they read exist.
func (c *creation) after(xs ...plan.Expr) {
	for col := range plan.Reads(xs...).All() {
		if c.made.Has(col) {
			c.nodes = append(c.nodes, &plan.Create{})
			c.ahead[c.last()], c.paths = c.paths, nil
			c.made = plan.NewColSet()
			return
		}
	}
}

// keysOf returns the keys that a map may have.
func keysOf(e plan.Expr) nameSet {
	var s nameSet
	switch e := e.(type) {
	case nil:
	case *plan.MapLit:
		s.add(e.Keys...)
	default:
		s.all = true
	}
	return s
}
