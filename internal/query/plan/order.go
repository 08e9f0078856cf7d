package plan

import "slices"

// selOrdered is the share of rows that must pass their conditions for reading an index in order to beat sorting.
const selOrdered = 0.05

// orderByIndex replaces a Sort by one property, nulls at either end, of the rows of a label.
func orderByIndex(o *optimizer, n Node) Node {
	s, ok := n.(*Sort)
	if !ok || o.writes || slices.ContainsFunc(s.Keys, func(k SortKey) bool { return k.Col != 0 }) {
		return nil
	}
	key, missing, ok := oneKey(s.Keys)
	if !ok {
		return nil
	}
	if _, computed := s.Input.(*Project); computed && s.Limit == nil {
		return nil // properties of all rows are read faster in the order of the vertices
	}
	in := o.inOrder(s.Input, key.Expr, key.Desc, missing)
	switch {
	case in == nil:
		return nil
	case s.Skip == nil && s.Limit == nil:
		return in
	}
	return &Slice{Input: in, Skip: s.Skip, Limit: s.Limit}
}

// oneKey returns the expression that rows are sorted by: a single key, which orders nulls above all values, or a key after a
// test for null of itself, as SQL writes it.
func oneKey(keys []SortKey) (key SortKey, missing Missing, ok bool) {
	switch len(keys) {
	case 1:
		missing = MissingLast
		if keys[0].Desc {
			missing = MissingFirst
		}
		return keys[0], missing, true
	case 2:
		test, isOp := keys[0].Expr.(*Op)
		if !isOp || test.Op != IsNull {
			return key, 0, false
		}
		p, isProp := test.Args[0].(*Prop)
		if !isProp {
			return key, 0, false
		}
		if c, isCol := p.X.(*ColRef); !isCol || !propOf(keys[1].Expr, c.Col, p.Key) {
			return key, 0, false
		}
		missing = MissingLast
		if keys[0].Desc {
			missing = MissingFirst
		}
		return keys[1], missing, true
	}
	return key, 0, false
}

// inOrder rewrites n so that its rows arrive in the order of key; nil if no index provides that.
func (o *optimizer) inOrder(n Node, key Expr, desc bool, missing Missing) Node {
	switch n := n.(type) {
	case *Filter:
		labels := map[Col]*LabelExpr{}
		if scan, ok := n.Input.(*Scan); ok {
			labels[scan.Out] = scan.Labels
		}
		part := 1.0
		for _, p := range n.Preds {
			if part *= o.selectivity(p, labels); HasSubquery(p) {
				return nil
			}
		}
		if part < selOrdered {
			return nil
		}
		if in := o.inOrder(n.Input, key, desc, missing); in != nil {
			return &Filter{Input: in, Preds: n.Preds}
		}
	case *Project:
		below := n.below(key)
		if below == nil {
			return nil
		}
		if in := o.inOrder(n.Input, below, desc, missing); in != nil {
			return &Project{Input: in, Items: n.Items, Keep: n.Keep}
		}
	case *Scan:
		if _, ok := n.Input.(*Unit); !ok || n.Labels == nil || n.Labels.Op != LabelName {
			return nil
		}
		for i := range o.indexes {
			ix := &o.indexes[i]
			if ix.Label == n.Labels.Name && ix.Ordered() && ix.Online && propOf(key, n.Out, ix.Props[0]) {
				return &SeekRange{Input: n.Input, Out: n.Out, Index: *ix, Down: desc, Missing: missing}
			}
		}
	case *SeekRange:
		if n.Area != NoArea {
			return nil
		}
		// A range contains no null.
		at := len(n.Equal)
		if _, ok := n.Input.(*Unit); ok && (n.Lo != nil || n.Hi != nil) && propOf(key, n.Out, n.Index.Props[at]) {
			c := *n
			c.Down = desc
			return &c
		}
	}
	return nil
}

// writes reports whether a plan changes the graph: a scan in the order of an index would see the changes, whereas a sort has
// read everything before.
func writes(n Node) bool {
	switch n.(type) {
	case *Create, *Merge, *Set, *Delete, *Foreach, *CallProc, *Transactions:
		return true
	}
	return slices.ContainsFunc(Children(n), writes)
}
