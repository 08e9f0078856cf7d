package cypher

import (
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// set binds SET. If it follows a MERGE for a single row of a subplan, it becomes part of the MERGE, whether that creates or matches,
// so that the two are one clause when the subplan runs for many outer rows.
func (b *binder) set(f *flow, c *ast.Set) {
	items := b.setItems(c.Items)
	if m := f.merge; m != nil && f.node == m &&
		(len(m.OnCreate)+len(m.OnMatch) == 0 || b.setsOwn(m, m.OnCreate) && b.setsOwn(m, m.OnMatch) && b.setsOwn(m, items)) {
		again := b.setItems(c.Items)
		items[0].Then, again[0].Then = true, true
		m.OnCreate, m.OnMatch = append(m.OnCreate, items...), append(m.OnMatch, again...)
		f.merged.add(b.fx)
		f.done.add(b.fx)
		return
	}
	b.admit(f)
	f.node = &plan.Set{Input: f.node, Items: items}
}

// setsOwn reports whether SET items of a MERGE of one vertex change only that vertex and read no other, so that they may run for one
// such vertex after another.
func (b *binder) setsOwn(m *plan.Merge, items []plan.SetItem) bool {
	if len(m.Create.Vertices) != 1 || len(m.Create.Edges) > 0 {
		return len(items) == 0
	}
	v := m.Create.Vertices[0].Out
	for _, i := range items {
		xs := append([]plan.Expr{i.KeyOf, i.Value}, i.LabelsOf...)
		if x, ok := i.X.(*plan.ColRef); !ok || x.Col != v {
			return false
		}
		for _, x := range xs {
			if x != nil && plan.HasSubquery(x) {
				return false
			}
		}
		for col := range plan.Reads(xs...).All() {
			if col != v && !b.scalar[col] {
				return false
			}
		}
	}
	return true
}

func (b *binder) setItems(items []ast.SetItem) []plan.SetItem {
	var out []plan.SetItem
	for _, i := range items {
		switch i := i.(type) {
		case *ast.SetProperty:
			s := b.property(i.Target)
			s.Value = b.expr(i.Value)
			out = append(out, s)
		case *ast.SetProperties:
			s := plan.SetItem{Op: plan.SetMap, X: b.variable(i.Variable), Value: b.expr(i.Value)}
			b.copied(s.Value, i.Value)
			keys := nameSet{all: true}
			if i.Add {
				s.Op, keys = plan.AddMap, keysOf(s.Value)
			}
			b.fx.setKeys.union(&keys)
			b.fx.keys.all = b.fx.keys.all || b.mayHoldEntity(s.Value)
			out = append(out, s)
		case *ast.SetLabels:
			out = append(out, b.relabel(plan.AddLabels, i.Variable, i.Labels))
		}
	}
	return out
}

// property binds the target of SET and REMOVE.
func (b *binder) property(target ast.Expr) plan.SetItem {
	s := plan.SetItem{Op: plan.SetProperty, Value: &plan.Const{}}
	switch t := target.(type) {
	case *ast.Property:
		s.X, s.Key = b.expr(t.Subject), t.Key
	case *ast.Index:
		s.X = b.expr(t.Subject)
		key, ok := t.Index.(*ast.StringLit)
		if !ok {
			s.KeyOf = b.expr(t.Index)
			b.fx.setKeys.all = true
			return s
		}
		s.Key = key.Value
	default:
		b.unsupported(t, "this target is")
	}
	b.fx.setKeys.add(s.Key)
	return s
}

func (b *binder) relabel(op plan.SetOp, v *ast.Variable, labels []ast.LabelExpr) plan.SetItem {
	s := plan.SetItem{Op: op, X: b.variable(v)}
	for _, l := range labels {
		known, of, _ := ast.Named(l)
		s.Labels, s.LabelsOf = append(s.Labels, known...), append(s.LabelsOf, b.exprs(of)...)
	}
	b.fx.relabels.add(s.Labels...)
	b.fx.relabels.all = b.fx.relabels.all || len(s.LabelsOf) > 0
	return s
}

// remove binds REMOVE.
func (b *binder) remove(f *flow, c *ast.Remove) {
	n := &plan.Set{}
	for _, i := range c.Items {
		switch i := i.(type) {
		case *ast.RemoveProperty:
			n.Items = append(n.Items, b.property(i.Target))
		case *ast.RemoveLabels:
			n.Items = append(n.Items, b.relabel(plan.RemoveLabels, i.Variable, i.Labels))
		}
	}
	b.admit(f)
	n.Input = f.node
	f.node = n
}

// delete binds DELETE.
func (b *binder) delete(f *flow, c *ast.Delete) {
	n := &plan.Delete{Exprs: b.exprs(c.Exprs), Detach: c.Detach}
	b.fx.deletes, b.fx.alone = true, b.fx.reads()
	if x, ok := n.Exprs[0].(*plan.ColRef); ok && len(n.Exprs) == 1 {
		b.fx.drops = x.Col
	}
	b.admit(f)
	n.Input = f.node
	f.node = n
}
