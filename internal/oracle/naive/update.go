package naive

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// update runs a clause that writes.
func (m *machine) update(c ast.Clause, rows []Row) []Row {
	var out []Row
	var early []map[ast.Expr]map[string]any
	if c, ok := c.(*ast.Create); ok {
		early = m.before(c, rows)
	}
	for i, r := range rows {
		switch c := c.(type) {
		case *ast.Create:
			m.early = early[i]
			for _, p := range c.Pattern {
				r = m.create(p, r)
			}
			m.early = nil
		case *ast.Merge:
			out = append(out, m.merge(c, r)...)
			continue
		case *ast.Set:
			m.set(c.Items, r)
		case *ast.Remove:
			m.remove(c, r)
		case *ast.Delete:
			m.delete(c, r)
		case *ast.Foreach:
			if list, ok := m.list(c.List, r); ok {
				for _, v := range list {
					m.single(c.Clauses, []Row{with(r, c.Variable.Name, v)}, nil)
				}
			}
		default:
			unknown(c)
		}
		out = append(out, r)
	}
	return out
}

// before computes, by row, the properties that CREATE takes from patterns: it reads the graph as it was before it.
func (m *machine) before(c *ast.Create, rows []Row) []map[ast.Expr]map[string]any {
	out := make([]map[ast.Expr]map[string]any, len(rows))
	var look []ast.Expr
	made := map[string]bool{}
	element := func(v *ast.Variable, props ast.Expr) {
		if v != nil && len(rows) > 0 {
			if _, bound := rows[0][v.Name]; !bound {
				made[v.Name] = true
			}
		}
		if props != nil {
			look = append(look, props)
		}
	}
	for _, p := range c.Pattern {
		element(p.Variable, nil)
		for _, e := range p.Elements {
			switch e := e.(type) {
			case *ast.NodePattern:
				element(e.Variable, e.Properties)
			case *ast.RelationshipPattern:
				element(e.Variable, e.Properties)
			}
		}
	}
	for _, props := range look {
		patterns, later := false, false
		ast.Inspect(props, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.PathPattern:
				patterns = true
			case *ast.Variable:
				later = later || made[n.Name]
			}
			return true
		})
		switch {
		case !patterns:
		case later: // what is made beside it is a matter of the order in which things are made
			unknown(c)
		default:
			for i, r := range rows {
				if out[i] == nil {
					out[i] = map[ast.Expr]map[string]any{}
				}
				out[i][props] = m.properties(props, r)
			}
		}
	}
	return out
}

// properties gives the entries of a map that are not null.
func (m *machine) properties(e ast.Expr, r Row) map[string]any {
	if props, ok := m.early[e]; ok {
		return props
	}
	out := map[string]any{}
	if e != nil {
		for k, v := range m.mapLit(e.(*ast.MapLit), r) {
			if storable(v); v != nil {
				out[k] = v
			}
		}
	}
	return out
}

func (m *machine) create(p *ast.PathPattern, r Row) Row {
	path := &Path{}
	node := func(i int) *Node {
		e := p.Elements[i].(*ast.NodePattern)
		if e.Variable != nil {
			if v, ok := r[e.Variable.Name]; ok {
				n, ok := v.(*Node)
				if !ok {
					fail("a relationship of null")
				}
				return n
			}
		}
		labels, _ := ast.Conjunction(e.Labels)
		labels = slices.Clone(labels)
		slices.Sort(labels)
		n := m.g.addNode(slices.Compact(labels), m.properties(e.Properties, r))
		r, _ = bind(r, e.Variable, n)
		return n
	}
	path.Nodes = append(path.Nodes, node(0))
	for i := 1; i < len(p.Elements); i += 2 {
		e := p.Elements[i].(*ast.RelationshipPattern)
		props := m.properties(e.Properties, r)
		at, to := path.Nodes[i/2], node(i+1)
		src, dst := at, to
		if e.Direction == ast.DirectionIn {
			src, dst = to, at
		}
		types, _ := ast.Conjunction(e.Types)
		x := m.g.addRel(types[0], src, dst, props)
		r, _ = bind(r, e.Variable, x)
		path.Nodes, path.Rels = append(path.Nodes, to), append(path.Rels, x)
	}
	r, _ = bind(r, p.Variable, path)
	return r
}

func (m *machine) merge(c *ast.Merge, r Row) []Row {
	for _, e := range c.Path.Elements {
		var props ast.Expr
		switch e := e.(type) {
		case *ast.NodePattern:
			props = e.Properties
		case *ast.RelationshipPattern:
			props = e.Properties
		}
		if props == nil {
			continue
		}
		for _, v := range m.mapLit(props.(*ast.MapLit), r) {
			if v == nil {
				fail("MERGE with a null property")
			}
		}
	}
	found := m.match([]*ast.PathPattern{c.Path}, nil, r)
	for _, f := range found {
		m.set(c.OnMatch, f)
	}
	if len(found) == 0 {
		r = m.create(c.Path, r)
		m.set(c.OnCreate, r)
		found = []Row{r}
	}
	return found
}

// storable fails for what no property can hold.
func storable(v any) {
	switch v := v.(type) {
	case *Node, *Rel, *Path, map[string]any:
		fail("%T in a property", v)
	case []any:
		for _, e := range v {
			if e == nil {
				fail("a list with null in a property")
			}
			storable(e)
		}
	}
}

// propsOf gives the properties of a node or relationship, or nil of null.
func propsOf(v any) map[string]any {
	alive(v)
	switch v := v.(type) {
	case nil:
		return nil
	case *Node:
		return v.Props
	case *Rel:
		return v.Props
	}
	fail("properties of %T", v)
	return nil
}

func put(props map[string]any, k string, v any) {
	storable(v)
	if v == nil {
		delete(props, k)
	} else {
		props[k] = v
	}
}

func labelOf(l ast.LabelExpr) string {
	name, ok := ast.Constant(l)
	if !ok {
		unknown(l)
	}
	return name
}

func (m *machine) set(items []ast.SetItem, r Row) {
	for _, it := range items {
		switch it := it.(type) {
		case *ast.SetProperty:
			p := it.Target.(*ast.Property)
			v := m.eval(it.Value, r)
			if props := propsOf(m.eval(p.Subject, r)); props != nil {
				put(props, p.Key, v)
			}
		case *ast.SetProperties:
			v := m.eval(it.Value, r)
			props := propsOf(r[it.Variable.Name])
			if props == nil {
				continue
			}
			if !it.Add {
				clear(props)
			}
			for k, x := range v.(map[string]any) {
				put(props, k, x)
			}
		case *ast.SetLabels:
			if n, ok := r[it.Variable.Name].(*Node); ok {
				alive(n)
				for _, l := range it.Labels {
					n.Labels = append(slices.Clone(n.Labels), labelOf(l))
				}
				slices.Sort(n.Labels)
				n.Labels = slices.Compact(n.Labels)
			}
		}
	}
}

func (m *machine) remove(c *ast.Remove, r Row) {
	for _, it := range c.Items {
		switch it := it.(type) {
		case *ast.RemoveProperty:
			p := it.Target.(*ast.Property)
			if props := propsOf(m.eval(p.Subject, r)); props != nil {
				delete(props, p.Key)
			}
		case *ast.RemoveLabels:
			if n, ok := r[it.Variable.Name].(*Node); ok {
				alive(n)
				n.Labels = slices.DeleteFunc(slices.Clone(n.Labels), func(have string) bool {
					return slices.ContainsFunc(it.Labels, func(l ast.LabelExpr) bool { return labelOf(l) == have })
				})
			}
		}
	}
}

func (m *machine) delete(c *ast.Delete, r Row) {
	for _, e := range c.Exprs {
		m.deleteValue(m.eval(e, r), c.Detach)
	}
}

func (m *machine) deleteValue(v any, detach bool) {
	switch v := v.(type) {
	case nil:
	case *Node:
		m.g.removeNode(v, detach)
	case *Rel:
		m.g.removeRel(v)
	case *Path:
		for _, e := range v.Rels {
			m.g.removeRel(e)
		}
		for _, n := range v.Nodes {
			m.g.removeNode(n, detach)
		}
	default:
		fail("DELETE of %T", v)
	}
}
