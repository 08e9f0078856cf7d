package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// selOrdered is the share of rows that must pass their conditions for reading an index in order to beat sorting.
const selOrdered = 0.05

// orderByIndex replaces a Sort by one property, nulls at either end, of the rows of a label.
func orderByIndex(o *optimizer, n plan.Node) plan.Node {
	s, ok := n.(*plan.Sort)
	if !ok || o.writes || slices.ContainsFunc(s.Keys, func(k plan.SortKey) bool { return k.Col != 0 }) {
		return nil
	}
	key, missing, ok := oneKey(s.Keys)
	if !ok {
		return nil
	}
	if _, computed := s.Input.(*plan.Project); computed && s.Limit == nil {
		return nil // properties of all rows are read faster in the order of the vertices
	}
	in := o.inOrder(s.Input, key.Expr, key.Desc, missing)
	switch {
	case in == nil:
		return nil
	case s.Skip == nil && s.Limit == nil:
		return in
	}
	return &plan.Slice{Input: in, Skip: s.Skip, Limit: s.Limit}
}

// oneKey returns the expression that rows are sorted by: a single key, which orders nulls above all values, or a key after a
// test for null of itself, as SQL writes it.
func oneKey(keys []plan.SortKey) (key plan.SortKey, missing plan.Missing, ok bool) {
	switch len(keys) {
	case 1:
		missing = plan.MissingLast
		if keys[0].Desc {
			missing = plan.MissingFirst
		}
		return keys[0], missing, true
	case 2:
		test, isOp := keys[0].Expr.(*plan.Op)
		if !isOp || test.Op != plan.IsNull {
			return key, 0, false
		}
		p, isProp := test.Args[0].(*plan.Prop)
		if !isProp {
			return key, 0, false
		}
		if c, isCol := p.X.(*plan.ColRef); !isCol || !propOf(keys[1].Expr, c.Col, p.Key) {
			return key, 0, false
		}
		missing = plan.MissingLast
		if keys[0].Desc {
			missing = plan.MissingFirst
		}
		return keys[1], missing, true
	}
	return key, 0, false
}

// inOrder rewrites n so that its rows arrive in the order of key; nil if no index provides that.
func (o *optimizer) inOrder(n plan.Node, key plan.Expr, desc bool, missing plan.Missing) plan.Node {
	switch n := n.(type) {
	case *plan.Filter:
		labels := map[plan.Col]*plan.LabelExpr{}
		if scan, ok := n.Input.(*plan.Scan); ok {
			labels[scan.Out] = scan.Labels
		}
		part := 1.0
		for _, p := range n.Preds {
			if part *= o.Selectivity(p, labels); plan.HasSubquery(p) {
				return nil
			}
		}
		if part < selOrdered {
			return nil
		}
		if in := o.inOrder(n.Input, key, desc, missing); in != nil {
			return &plan.Filter{Input: in, Preds: n.Preds}
		}
	case *plan.Project:
		below := n.Below(key)
		if below == nil {
			return nil
		}
		if in := o.inOrder(n.Input, below, desc, missing); in != nil {
			return &plan.Project{Input: in, Items: n.Items, Keep: n.Keep}
		}
	case *plan.Scan:
		if _, ok := n.Input.(*plan.Unit); !ok || n.Labels == nil || n.Labels.Op != plan.LabelName {
			return nil
		}
		for i := range o.Indexes {
			ix := &o.Indexes[i]
			if ix.Label == n.Labels.Name && ix.Ordered() && ix.Online && propOf(key, n.Out, ix.Props[0]) {
				return &plan.SeekRange{Input: n.Input, Out: n.Out, Index: *ix, Down: desc, Missing: missing}
			}
		}
	case *plan.SeekRange:
		if n.Area != plan.NoArea {
			return nil
		}
		// A range contains no null.
		at := len(n.Equal)
		if _, ok := n.Input.(*plan.Unit); ok && (n.Lo != nil || n.Hi != nil) && propOf(key, n.Out, n.Index.Props[at]) {
			c := *n
			c.Down = desc
			return &c
		}
	}
	return nil
}

// writes reports whether a plan changes the graph: a scan in the order of an index would see the changes, whereas a sort has
// read everything before.
func writes(n plan.Node) bool {
	switch n.(type) {
	case *plan.Create, *plan.Merge, *plan.Set, *plan.Delete, *plan.Foreach, *plan.CallProc, *plan.Transactions:
		return true
	}
	return slices.ContainsFunc(plan.Children(n), writes)
}
