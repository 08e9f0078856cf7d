package fetch

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// where keeps the rows that satisfy predicates. A label that is matched with rows from above by a property without an
// index becomes a hash join: the label is read once for a whole batch of those rows, not once a row.
func (b *binder) where(lv *level, node plan.Node, preds []plan.Expr) plan.Node {
	m, ok := node.(*plan.Match)
	if !ok {
		return filter(node, preds)
	}
	arg, ok := m.Input.(*plan.Argument)
	if !ok || len(m.Pattern.Vertices) != 1 || len(m.Pattern.Preds) > 0 {
		return filter(node, preds)
	}
	v := m.Pattern.Vertices[0].Col
	at := -1
	for i, p := range preds {
		key, other := equality(p, v)
		if key == "" || !fromAbove(other, v) {
			continue
		}
		if b.indexed(m.Pattern.Vertices[0].Labels.Name, key) {
			return filter(node, preds)
		}
		if at < 0 {
			at = i
		}
	}
	if at < 0 {
		return filter(node, preds)
	}
	var inside, above []plan.Expr
	for i, p := range preds {
		switch {
		case i == at:
		case local(p, v):
			inside = append(inside, p)
		default:
			above = append(above, p)
		}
	}
	key, other := equality(preds[at], v)
	left, right := lv.col("", graph.Null), lv.col("", graph.Null)
	m.Input = &plan.Unit{}
	join := &plan.HashJoin{
		Left:     &plan.Project{Input: arg, Items: []plan.Item{{Col: left, Expr: other}}, Keep: true},
		Right:    &plan.Project{Input: filter(m, inside), Items: []plan.Item{{Col: right, Expr: &plan.Prop{X: &plan.ColRef{Col: v}, Key: key}}}, Keep: true},
		LeftKeys: []plan.Col{left}, RightKeys: []plan.Col{right}, RightCols: []plan.Col{v}, Once: b.req.root != nil,
	}
	return filter(join, above)
}

// indexed reports whether an index finds vertices of a label by a property.
func (b *binder) indexed(label, key string) bool {
	for _, ix := range b.cat.Indexes() {
		if ix.Label == label && ix.Indexed && ix.Online && len(ix.Props) > 0 && ix.Props[0] == key {
			return true
		}
	}
	return false
}

// equality takes v.key = other apart.
func equality(e plan.Expr, v plan.Col) (key string, other plan.Expr) {
	o, ok := e.(*plan.Op)
	if !ok || o.Op != plan.Eq {
		return "", nil
	}
	p, ok := o.Args[0].(*plan.Prop)
	if !ok {
		return "", nil
	}
	if c, ok := p.X.(*plan.ColRef); !ok || c.Col != v {
		return "", nil
	}
	return p.Key, o.Args[1]
}

// fromAbove reports whether an expression is about rows from above and not about v.
func fromAbove(e plan.Expr, v plan.Col) bool {
	outer := false
	ok := columnsOf(e, func(c plan.Col) bool {
		outer = outer || c != v
		return c != v
	})
	return ok && outer
}

// local reports whether an expression is about v alone.
func local(e plan.Expr, v plan.Col) bool {
	return columnsOf(e, func(c plan.Col) bool { return c == v })
}

// columnsOf reports whether all columns of an expression pass; it is false for an expression that it does not know.
func columnsOf(e plan.Expr, pass func(plan.Col) bool) bool {
	all := func(es []plan.Expr) bool {
		for _, a := range es {
			if a != nil && !columnsOf(a, pass) {
				return false
			}
		}
		return true
	}
	switch e := e.(type) {
	case *plan.Const, *plan.Param:
		return true
	case *plan.ColRef:
		return pass(e.Col)
	case *plan.Prop:
		return columnsOf(e.X, pass)
	case *plan.Op:
		return all(e.Args)
	case *plan.Call:
		return all(e.Args)
	case *plan.ListLit:
		return all(e.Elems)
	}
	return false
}
