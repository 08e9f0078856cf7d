package bind

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// where keeps the rows that satisfy predicates. A label that predicates compare with rows from above, without an index, is read once
// for a whole level of those rows: by a hash join if a property equals a value from above or is in a list of it, else by a product.
// The rows keep the order of the label, as a scan for each row would produce them.
func (b *Binder) where(lv *level, node plan.Node, preds []plan.Expr) plan.Node {
	if j, ok := node.(*plan.HashJoin); ok && len(j.LeftKeys) == 0 {
		return b.paired(lv, j, preds)
	}
	m, ok := node.(*plan.Match)
	if !ok {
		return filter(node, preds)
	}
	arg, ok := m.Input.(*plan.Argument)
	if !ok || len(m.Pattern.Vertices) != 1 {
		return filter(node, preds)
	}
	preds, m.Pattern.Preds = append(m.Pattern.Preds, preds...), nil // predicates of access rules are already present
	v, label := m.Pattern.Vertices[0].Col, m.Pattern.Vertices[0].Labels.Name
	at, byList := -1, false
	for i, p := range preds {
		key, other, code := comparison(p, v)
		if key == "" || !fromAbove(other, v) {
			continue
		}
		if b.indexed(label, key) {
			return lookedUp(m, preds, i, v)
		}
		listed := code == plan.In
		if (listed || code == plan.Eq) && (at < 0 || byList && !listed) {
			at, byList = i, listed
		}
	}
	var before, inside, above []plan.Expr
	for i, p := range preds {
		switch {
		case i == at:
		case local(p, v):
			inside = append(inside, p)
		case fromAbove(p, v):
			before = append(before, p)
		default:
			above = append(above, p)
		}
	}
	if at < 0 {
		return b.product(lv, m, arg, before, inside, above)
	}
	key, other, _ := comparison(preds[at], v)
	left, right := lv.col("", graph.Null), lv.col("", graph.Null)
	m.Input = &plan.Unit{}
	join := &plan.HashJoin{
		Right:    &plan.Project{Input: filter(m, inside), Items: []plan.Item{{Col: right, Expr: &plan.Prop{X: &plan.ColRef{Col: v}, Key: key}}}, Keep: true},
		LeftKeys: []plan.Col{left}, RightKeys: []plan.Col{right}, RightCols: []plan.Col{v}, Once: b.Req.Root != nil,
	}
	if !byList {
		join.Left = &plan.Project{Input: filter(arg, before), Items: []plan.Item{{Col: left, Expr: other}}, Keep: true}
		return filter(join, above)
	}
	join.Left = &plan.Unwind{Input: filter(arg, before), List: call("sql.distinct", other), Out: left}
	return filter(&plan.Sort{Input: join, Keys: []plan.SortKey{{Expr: &plan.ColRef{Col: v}}}}, above)
}

// lookedUp matches a label by an index that a predicate can use. The other predicates that compare it with rows from above filter
// the look-up, which keeps the order of those rows; a scan would not.
func lookedUp(m *plan.Match, preds []plan.Expr, at int, v plan.Col) plan.Node {
	var inside, above []plan.Expr
	for i, p := range preds {
		if i == at || local(p, v) {
			inside = append(inside, p)
		} else {
			above = append(above, p)
		}
	}
	node := filter(m, inside)
	if len(above) > 0 {
		node = &plan.Filter{Input: node, Preds: above}
	}
	return node
}

// paired joins the rows from above with equal rows of a subquery, if a predicate compares them.
func (b *Binder) paired(lv *level, j *plan.HashJoin, preds []plan.Expr) plan.Node {
	for i, p := range preds {
		e, ok := p.(*plan.Op)
		if !ok || e.Op != plan.Eq {
			continue
		}
		own, ok := e.Args[0].(*plan.ColRef)
		if !ok || !slices.Contains(j.RightCols, own.Col) || usesCol(e.Args[1], j.RightCols) {
			continue
		}
		left := lv.col("", graph.Null)
		j.Left = &plan.Project{Input: j.Left, Items: []plan.Item{{Col: left, Expr: e.Args[1]}}, Keep: true}
		j.LeftKeys, j.RightKeys = []plan.Col{left}, []plan.Col{own.Col}
		return filter(j, slices.Delete(slices.Clone(preds), i, i+1))
	}
	return filter(j, preds)
}

// usesCol reports whether an expression reads one of the columns.
func usesCol(e plan.Expr, cols []plan.Col) bool {
	found := false
	eachCol(e, func(c plan.Col) { found = found || slices.Contains(cols, c) })
	return found
}

// unordered removes the sort that where adds, for rows that are only counted or tested.
func unordered(node plan.Node) plan.Node {
	switch n := node.(type) {
	case *plan.Sort:
		return n.Input
	case *plan.Filter:
		n.Input = unordered(n.Input)
	}
	return node
}

// product pairs the rows from above with the rows of a label that pass the predicates inside. It first reads the properties of the
// label's rows that the predicates above use.
func (b *Binder) product(lv *level, m *plan.Match, arg *plan.Argument, before, inside, above []plan.Expr) plan.Node {
	v := m.Pattern.Vertices[0].Col
	read := &plan.Project{Keep: true}
	cols := []plan.Col{v}
	for i, p := range above {
		above[i] = replaceProps(p, v, func(key string) plan.Expr {
			for _, it := range read.Items {
				if it.Expr.(*plan.Prop).Key == key {
					return &plan.ColRef{Col: it.Col}
				}
			}
			col := lv.col(key, graph.Null)
			read.Items = append(read.Items, plan.Item{Col: col, Expr: &plan.Prop{X: &plan.ColRef{Col: v}, Key: key}})
			cols = append(cols, col)
			return &plan.ColRef{Col: col}
		})
	}
	if len(read.Items) == 0 && (len(inside) == 0 || b.sought(m, inside)) {
		return filter(m, append(before, append(inside, above...)...))
	}
	m.Input = &plan.Unit{}
	right := filter(m, inside)
	if read.Input = right; len(read.Items) > 0 {
		right = read
	}
	return filter(&plan.Product{Left: filter(arg, before), Right: right, RightCols: cols}, above)
}

// sought reports whether an index finds the vertices of a pattern that satisfy predicates about them alone.
func (b *Binder) sought(m *plan.Match, preds []plan.Expr) bool {
	v := m.Pattern.Vertices[0]
	for _, p := range preds {
		if key, _, _ := comparison(p, v.Col); key != "" && b.indexed(v.Labels.Name, key) {
			return true
		}
	}
	return false
}

// indexed reports whether an index finds vertices of a label by a property.
func (b *levels) indexed(label, key string) bool {
	for _, ix := range b.Cat.Indexes() {
		if ix.Label == label && ix.Ordered() && ix.Online && len(ix.Props) > 0 && ix.Props[0] == key {
			return true
		}
	}
	return false
}

// comparison takes the comparison of v.key with another expression apart.
func comparison(e plan.Expr, v plan.Col) (key string, other plan.Expr, code plan.OpCode) {
	o, ok := e.(*plan.Op)
	if !ok {
		return "", nil, 0
	}
	switch o.Op {
	case plan.Eq, plan.In, plan.Lt, plan.Le, plan.Gt, plan.Ge:
		if p, ok := o.Args[0].(*plan.Prop); ok && isCol(p.X, v) {
			return p.Key, o.Args[1], o.Op
		}
	}
	if o.Op == plan.Eq { // of a right join
		if p, ok := o.Args[1].(*plan.Prop); ok && isCol(p.X, v) {
			return p.Key, o.Args[0], o.Op
		}
	}
	return "", nil, 0
}

func isCol(e plan.Expr, v plan.Col) bool {
	c, ok := e.(*plan.ColRef)
	return ok && c.Col == v
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

// local reports whether an expression depends on v only.
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

// replaceProps copies an expression with the properties of v replaced, except for those in subplans and loops.
func replaceProps(e plan.Expr, v plan.Col, by func(key string) plan.Expr) plan.Expr {
	all := func(es []plan.Expr) []plan.Expr {
		out := make([]plan.Expr, len(es))
		for i, a := range es {
			if a != nil {
				out[i] = replaceProps(a, v, by)
			}
		}
		return out
	}
	switch e := e.(type) {
	case *plan.Prop:
		if isCol(e.X, v) {
			return by(e.Key)
		}
	case *plan.Op:
		c := *e
		c.Args = all(e.Args)
		return &c
	case *plan.Call:
		c := *e
		c.Args = all(e.Args)
		return &c
	case *plan.ListLit:
		c := *e
		c.Elems = all(e.Elems)
		return &c
	}
	return e
}
