package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// selOrdered is the share of rows that must pass their conditions for reading an index in order to beat sorting.
const selOrdered = 0.05

// orderByIndex replaces a Sort by one property, nulls at either end, of the rows of a label.
func orderByIndex(o *optimizer, n plan.Node) plan.Node {
	s, ok := n.(*plan.Sort)
	if ok && s.Page {
		return o.pageByIndex(s)
	}
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
	in := o.inOrder(s.Input, key.Expr, key.Desc, missing, false)
	switch {
	case in == nil:
		return nil
	case s.Skip == nil && s.Limit == nil:
		return in
	}
	return &plan.Slice{Input: in, Skip: s.Skip, Limit: s.Limit}
}

// pageByIndex has the rows of a page arrive in the order of its first keys, from the last row of the page before, if an index provides that:
// the page still sorts the rows that these keys leave equal.
func (o *optimizer) pageByIndex(s *plan.Sort) plan.Node {
	if s.Sorted > 0 {
		return nil
	}
	at, first, missing := 0, s.Keys[0], plan.MissingLast
	if s.Keys[0].Desc {
		missing = plan.MissingFirst
	}
	if len(s.Keys) > 1 {
		if key, where, ok := oneKey(s.Keys[:2]); ok {
			at, first, missing = 1, key, where
		}
	}
	in := o.inOrder(s.Input, first.Expr, first.Desc, missing, true)
	if in == nil {
		return nil
	}
	c := *s
	c.Input = in
	seek, chain := (*plan.SeekRange)(nil), []*plan.Project{}
	for seek == nil {
		switch n := in.(type) {
		case *plan.Filter:
			in = n.Input
		case *plan.Expand:
			in = n.Input
		case *plan.Project:
			in, chain = n.Input, append(chain, n)
		case *plan.SeekRange:
			seek = n
		}
	}
	// The keys over the rows of the index, as far as they can be told.
	own := make([]plan.Expr, 0, len(s.Keys))
	for _, k := range s.Keys[at:] {
		e := k.Expr
		for _, p := range chain {
			if e != nil {
				e = belowKey(p, e)
			}
		}
		if own = append(own, e); k.Desc != first.Desc {
			own[len(own)-1] = nil
		}
	}
	props := func(ix *graph.Index, from int) (n int) {
		for n < len(own) && from+n < len(ix.Props) && propOf(own[n], seek.Out, ix.Props[from+n]) {
			n++
		}
		return n
	}
	equal := len(seek.Equal)
	if seek.Lo == nil && seek.Hi == nil && equal == 0 {
		for i := range o.Indexes {
			ix := &o.Indexes[i]
			if ix.Label == seek.Index.Label && ix.Ordered() && ix.Online && props(ix, 0) > props(&seek.Index, 0) {
				seek.Index = *ix
			}
		}
	}
	n := props(&seek.Index, equal)
	byID := len(own) == n+1 && equal+n == len(seek.Index.Props) && isID(own[n], seek.Out)
	if c.Sorted = at + n; byID {
		c.Sorted++
	}
	if s.After != nil {
		seek.From, seek.FromID = s.After[at:c.Sorted:c.Sorted], byID
	}
	return &c
}

// belowKey translates a key of an order to the input of a projection; nil if it can not.
func belowKey(p *plan.Project, e plan.Expr) plan.Expr {
	call, ok := e.(*plan.Call)
	if !ok || len(call.Args) != 1 {
		return p.Below(e)
	}
	x := p.Below(call.Args[0])
	if x == nil {
		return nil
	}
	return &plan.Call{Func: call.Func, Args: []plan.Expr{x}, Pos: call.Pos}
}

// isID reports whether an expression is the id of the vertex in a column.
func isID(e plan.Expr, col plan.Col) bool {
	call, ok := e.(*plan.Call)
	if !ok || call.Func != "id" {
		return false
	}
	ref, ok := call.Args[0].(*plan.ColRef)
	return ok && ref.Col == col
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

// inOrder rewrites n so that its rows arrive in the order of key; nil if no index provides that. Those of a page may be expanded.
func (o *optimizer) inOrder(n plan.Node, key plan.Expr, desc bool, missing plan.Missing, page bool) plan.Node {
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
		if in := o.inOrder(n.Input, key, desc, missing, page); in != nil {
			return &plan.Filter{Input: in, Preds: n.Preds}
		}
	case *plan.Expand:
		if in := o.inOrder(n.Input, key, desc, missing, page); page && in != nil {
			c := *n
			c.Input = in
			return &c
		}
	case *plan.Project:
		below := n.Below(key)
		if below == nil {
			return nil
		}
		if in := o.inOrder(n.Input, below, desc, missing, page); in != nil {
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
