package naive

import (
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// update runs a clause that writes.
func (m *machine) update(c ast.Clause, rows []Row) []Row {
	if c, ok := c.(*ast.Create); ok {
		return m.create(c.Pattern, rows)
	}
	var out []Row
	for _, r := range rows {
		switch c := c.(type) {
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

// stage is a set of elements that CREATE creates together, for all rows.
type stage struct {
	values   []*ast.MapEntry // of properties, computed for all rows before it
	elements []element
}

// element is one element of a path or, after them, the path itself.
type element struct {
	path *ast.PathPattern
	at   int
}

// stages returns the order in which CREATE computes and creates elements. Properties come first, unless they read new elements. An
// element belongs to the stage of those before it unless it reads one of them.
func stages(paths []*ast.PathPattern, bound Row) []stage {
	out := []stage{{}}
	made, latest := map[string]bool{}, map[string]bool{}
	add := func(e element, v *ast.Variable, props ast.Expr) {
		var late []*ast.MapEntry
		if props != nil {
			for _, x := range props.(*ast.MapLit).Entries {
				if reads(x, made) {
					late = append(late, x)
				} else {
					out[0].values = append(out[0].values, x)
				}
			}
		}
		if slices.ContainsFunc(late, func(x *ast.MapEntry) bool { return reads(x, latest) }) {
			out, latest = append(out, stage{}), map[string]bool{}
		}
		s := &out[len(out)-1]
		s.values, s.elements = append(s.values, late...), append(s.elements, e)
		if v != nil {
			if _, ok := bound[v.Name]; !ok {
				made[v.Name], latest[v.Name] = true, true
			}
		}
	}
	for _, p := range paths {
		for i := 0; i < len(p.Elements); i += 2 {
			n := p.Elements[i].(*ast.NodePattern)
			add(element{p, i}, n.Variable, n.Properties)
		}
		for i := 1; i < len(p.Elements); i += 2 {
			r := p.Elements[i].(*ast.RelationshipPattern)
			add(element{p, i}, r.Variable, r.Properties)
		}
		add(element{p, len(p.Elements)}, p.Variable, nil)
	}
	return out
}

// reads reports whether an entry refers to one of the variables.
func reads(x *ast.MapEntry, names map[string]bool) (yes bool) {
	ast.Inspect(x.Value, func(n ast.Node) bool {
		if v, ok := n.(*ast.Variable); ok && names[v.Name] {
			yes = true
		}
		return !yes
	})
	return yes
}

// creating is a row for which CREATE creates elements.
type creating struct {
	row    Row
	values map[*ast.MapEntry]any
	made   map[element]any
}

// create creates paths for all rows.
func (m *machine) create(paths []*ast.PathPattern, rows []Row) []Row {
	var all []*creating
	for _, r := range rows {
		all = append(all, &creating{r, map[*ast.MapEntry]any{}, map[element]any{}})
	}
	if len(rows) == 0 {
		return nil
	}
	for _, s := range stages(paths, rows[0]) {
		for _, c := range all {
			for _, x := range s.values {
				c.values[x] = m.eval(x.Value, c.row)
			}
		}
		for _, c := range all {
			for _, e := range s.elements {
				c.element(m.g, e)
			}
		}
	}
	var out []Row
	for _, c := range all {
		out = append(out, c.row)
	}
	return out
}

// element creates a node unless it exists, a relationship between two nodes, or a path.
func (c *creating) element(g *Graph, e element) {
	if e.at == len(e.path.Elements) {
		path := &Path{}
		for i := range e.at {
			switch x := c.made[element{e.path, i}].(type) {
			case *Node:
				path.Nodes = append(path.Nodes, x)
			case *Rel:
				path.Rels = append(path.Rels, x)
			}
		}
		c.row, _ = bind(c.row, e.path.Variable, path)
		return
	}
	switch x := e.path.Elements[e.at].(type) {
	case *ast.NodePattern:
		if x.Variable != nil {
			if v, ok := c.row[x.Variable.Name]; ok {
				if _, ok := v.(*Node); !ok {
					fail("a relationship of null")
				}
				c.made[e] = v
				return
			}
		}
		labels, _ := ast.Conjunction(x.Labels)
		labels = slices.Clone(labels)
		slices.Sort(labels)
		n := g.addNode(slices.Compact(labels), c.properties(x.Properties))
		c.made[e] = n
		c.row, _ = bind(c.row, x.Variable, n)
	case *ast.RelationshipPattern:
		src, dst := c.made[element{e.path, e.at - 1}].(*Node), c.made[element{e.path, e.at + 1}].(*Node)
		if x.Direction == ast.DirectionIn {
			src, dst = dst, src
		}
		types, _ := ast.Conjunction(x.Types)
		r := g.addRel(types[0], src, dst, c.properties(x.Properties))
		c.made[e] = r
		c.row, _ = bind(c.row, x.Variable, r)
	}
}

// properties returns the entries of a map that are not null.
func (c *creating) properties(e ast.Expr) map[string]any {
	out := map[string]any{}
	if e != nil {
		for _, x := range e.(*ast.MapLit).Entries {
			if v := c.values[x]; v != nil {
				storable(v)
				out[x.Key] = v
			}
		}
	}
	return out
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
		r = m.create([]*ast.PathPattern{c.Path}, []Row{r})[0]
		m.set(c.OnCreate, r)
		found = []Row{r}
	}
	return found
}

// storable returns an error for a value that no property can hold.
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

// propsOf returns the properties to change of a node or relationship; nil for null and for deleted ones.
func propsOf(v any) map[string]any {
	switch v := v.(type) {
	case nil:
		return nil
	case *Node:
		if v.gone {
			return nil
		}
		return v.Props
	case *Rel:
		if v.gone {
			return nil
		}
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

// set computes the values of all items for a row, as they are before the first of them changes anything.
func (m *machine) set(items []ast.SetItem, r Row) {
	values := make([]any, len(items))
	for i, it := range items {
		switch it := it.(type) {
		case *ast.SetProperty:
			values[i] = m.eval(it.Value, r)
		case *ast.SetProperties:
			switch v := m.eval(it.Value, r).(type) {
			case map[string]any:
				values[i] = v
			case *Node:
				values[i] = maps.Clone(v.Props)
			case *Rel:
				values[i] = maps.Clone(v.Props)
			default:
				unknown(it)
			}
		}
	}
	for i, it := range items {
		switch it := it.(type) {
		case *ast.SetProperty:
			p := it.Target.(*ast.Property)
			if props := propsOf(m.eval(p.Subject, r)); props != nil {
				put(props, p.Key, values[i])
			}
		case *ast.SetProperties:
			props := propsOf(r[it.Variable.Name])
			if props == nil {
				continue
			}
			if !it.Add {
				clear(props)
			}
			for k, x := range values[i].(map[string]any) {
				put(props, k, x)
			}
		case *ast.SetLabels:
			if n, ok := r[it.Variable.Name].(*Node); ok && !n.gone {
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
			if n, ok := r[it.Variable.Name].(*Node); ok && !n.gone {
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
