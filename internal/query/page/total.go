package page

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// total finds out whether keys tell the rows of a plan apart, before the plan is optimized.
//
// The rows of a pattern differ in one of its vertices and edges, those of groups in a key of the groups, those of DISTINCT in a column: these
// are the goals. A key determines a vertex or an edge if it is its id, or if the keys are all properties of a unique constraint of it; an
// edge determines its ends; what is compared with a constant is determined, too.
type total struct {
	q       *plan.Query
	indexes []graph.Index

	keys     []plan.Expr // determined expressions, over any columns
	patterns []*plan.Match
	equal    [][2]plan.Expr // the sides of equations that hold for all rows
	there    []*plan.Prop   // properties that no row lacks
	cols     []plan.Col     // goals: vertices and edges
	exprs    []goal         // goals: values
	err      error

	known    map[plan.Col]bool
	nullable []plan.Col // vertices that only a constraint that allows nulls tells apart
}

// goal is an expression to be determined, and the column that has its value at the top.
type goal struct {
	expr plan.Expr
	col  plan.Col
}

// of collects what a node says. facts says that its rows need not differ, because a node above removes repeats.
func (t *total) of(n plan.Node, keys []plan.Expr, facts bool) {
	t.keys = append(t.keys, keys...)
	plan.EachPlan(n, func(sub *plan.Node) { t.limits(*sub) })
	switch n := n.(type) {
	case *plan.Unit, *plan.Argument:
	case *plan.Filter:
		t.conditions(n.Preds)
		t.of(n.Input, keys, facts)
	case *plan.Project:
		t.of(n.Input, below(n.Items, n.Keep, keys), facts)
	case *plan.Match:
		t.pattern(n, facts)
		t.of(n.Input, keys, facts)
	case *plan.Distinct:
		if !facts {
			for _, c := range n.Cols {
				t.exprs = append(t.exprs, goal{&plan.ColRef{Col: c}, c})
			}
		}
		t.of(n.Input, keys, true)
	case *plan.Aggregate:
		if !facts {
			for _, k := range n.Keys {
				t.exprs = append(t.exprs, goal{k.Expr, k.Col})
			}
		}
		t.of(n.Input, below(n.Keys, false, keys), true)
	case *plan.Union:
		if n.All && !facts {
			t.fail("the rows of UNION ALL may repeat; use UNION")
		}
		if !facts {
			for _, c := range n.Out {
				t.exprs = append(t.exprs, goal{&plan.ColRef{Col: c}, c})
			}
		}
		for _, in := range n.Inputs {
			t.limits(in)
		}
	case *plan.Apply:
		t.of(n.Input, keys, facts)
		if n.Kind == plan.Inner || n.Kind == plan.Optional {
			t.of(n.Sub, keys, facts)
		} else {
			t.limits(n.Sub)
		}
	case *plan.HashJoin:
		for i := range n.LeftKeys {
			t.equal = append(t.equal, [2]plan.Expr{&plan.ColRef{Col: n.LeftKeys[i]}, &plan.ColRef{Col: n.RightKeys[i]}})
		}
		t.of(n.Left, keys, facts)
		t.of(n.Right, keys, facts)
	case *plan.Product:
		t.of(n.Left, keys, facts)
		t.of(n.Right, keys, facts)
	case *plan.Sort:
		if n.Limit != nil || n.Skip != nil {
			t.cut(n.Input, n.Keys)
		}
		t.of(n.Input, keys, facts)
	case *plan.Slice:
		if s, ok := n.Input.(*plan.Sort); ok {
			t.cut(s.Input, s.Keys)
		} else {
			t.fail("a SKIP or LIMIT before the last RETURN takes any rows; give it an ORDER BY that ends in a key")
		}
		t.of(n.Input, keys, facts)
	case *plan.Unwind:
		if !facts {
			t.fail("the rows of UNWIND may repeat; use DISTINCT, and order by all columns")
		}
		t.of(n.Input, keys, facts)
	default:
		t.fail("rows that are found by a procedure, a path search or LOAD CSV may repeat; use DISTINCT, and order by all columns")
	}
}

// limits checks what nodes below leave out.
func (t *total) limits(n plan.Node) {
	switch s := n.(type) {
	case *plan.Slice:
		if sort, ok := s.Input.(*plan.Sort); ok {
			t.cut(sort.Input, sort.Keys)
		} else if c, isConst := s.Limit.(*plan.Const); !isConst || c.Value.Kind() != graph.Int || c.Value.Int() > 1 {
			t.fail("a SKIP or LIMIT before the last RETURN takes any rows; give it an ORDER BY that ends in a key")
		}
	case *plan.Sort:
		if s.Limit != nil || s.Skip != nil {
			t.cut(s.Input, s.Keys)
		}
	}
	for _, c := range plan.Children(n) {
		t.limits(c)
	}
}

// cut checks that it is certain which rows a SKIP or LIMIT further down leaves.
func (t *total) cut(in plan.Node, keys []plan.SortKey) {
	if add, err := missing(t.q, t.indexes, in, keys, false); err != nil || len(add) > 0 {
		t.fail("a SKIP or LIMIT before the last RETURN takes any of the rows that are equal in all keys; end its ORDER BY in a key, such as elementId()")
	}
}

func (t *total) fail(msg string) {
	if t.err == nil {
		t.err = refuse(OrderNotTotal, "%s", msg)
	}
}

// below translates expressions to the input of a node that computes items.
func below(items []plan.Item, keep bool, keys []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, 0, len(keys))
	for _, e := range keys {
		if b := translate(items, keep, e); b != nil {
			out = append(out, b)
		}
	}
	return out
}

// translate translates a column, or a property or a function of one; nil for other expressions.
func translate(items []plan.Item, keep bool, e plan.Expr) plan.Expr {
	switch e := e.(type) {
	case *plan.ColRef:
		for _, i := range items {
			if i.Col == e.Col {
				return i.Expr
			}
		}
		if keep {
			return e
		}
	case *plan.Prop:
		if x := translate(items, keep, e.X); x != nil {
			return &plan.Prop{X: x, Key: e.Key}
		}
	case *plan.Call:
		if len(e.Args) == 1 {
			if x := translate(items, keep, e.Args[0]); x != nil {
				return &plan.Call{Func: e.Func, Args: []plan.Expr{x}}
			}
		}
	}
	return nil
}

// conditions takes what conditions on all rows say.
func (t *total) conditions(preds []plan.Expr) {
	for _, p := range preds {
		for _, e := range plan.Conjuncts(p) {
			op, ok := e.(*plan.Op)
			if !ok {
				continue
			}
			switch op.Op {
			case plan.Eq:
				t.equal = append(t.equal, [2]plan.Expr{op.Args[0], op.Args[1]})
			case plan.Lt, plan.Le, plan.Gt, plan.Ge, plan.In, plan.StartsWith, plan.EndsWith, plan.Contains, plan.IsNotNull:
			default:
				continue
			}
			for _, a := range op.Args {
				if prop, ok := a.(*plan.Prop); ok {
					t.there = append(t.there, prop)
				}
			}
		}
	}
}

func (t *total) pattern(m *plan.Match, facts bool) {
	t.patterns = append(t.patterns, m)
	if !m.Optional {
		t.conditions(m.Pattern.Preds)
	}
	if facts {
		return
	}
	for i := range m.Pattern.Vertices {
		if v := &m.Pattern.Vertices[i]; !v.Bound {
			t.cols = append(t.cols, v.Col)
		}
	}
	for i := range m.Pattern.Edges {
		switch e := &m.Pattern.Edges[i]; {
		case e.Length != nil || e.Walk != nil || e.Shortest != "":
			t.fail("paths of variable length have no key; use DISTINCT, and order by a key of the vertices that they lead to")
		case !e.Bound:
			t.cols = append(t.cols, e.Col)
		}
	}
}

// solve determines what can be determined.
func (t *total) solve() {
	t.known = map[plan.Col]bool{}
	for again := true; again; {
		again = false
		learn := func(c plan.Col) {
			if c != 0 && !t.known[c] {
				t.known[c], again = true, true
			}
		}
		for _, k := range t.keys {
			learn(identity(k))
		}
		for _, eq := range t.equal {
			for i, side := range eq {
				if t.determined(eq[1-i]) {
					learn(identity(side))
				}
			}
		}
		for _, m := range t.patterns {
			for i := range m.Pattern.Vertices {
				v := &m.Pattern.Vertices[i]
				t.unique(v.Col, v.Labels.Names(), nil, learn)
			}
			for i := range m.Pattern.Edges {
				e := &m.Pattern.Edges[i]
				if e.Length != nil || e.Walk != nil || e.Shortest != "" {
					continue
				}
				if len(e.Types) == 1 {
					t.unique(e.Col, nil, e.Types, learn)
				}
				if t.known[e.Col] && (e.Dir != graph.Both || t.known[e.Left] || t.known[e.Right]) {
					learn(e.Left)
					learn(e.Right)
				}
			}
		}
	}
}

// identity returns the column of an element that an expression tells apart from all others, or 0.
func identity(e plan.Expr) plan.Col {
	if c, ok := e.(*plan.Call); ok && len(c.Args) == 1 && (c.Func == "id" || c.Func == "elementid") {
		e = c.Args[0]
	}
	if r, ok := e.(*plan.ColRef); ok {
		return r.Col
	}
	return 0
}

// unique learns that an element is determined if the properties of a unique constraint of it are.
func (t *total) unique(c plan.Col, labels, types []string, learn func(plan.Col)) {
	if c == 0 || t.known[c] {
		return
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		if !ix.Unique || !ix.Online || !slices.Contains(labels, ix.Label) && !slices.Contains(types, ix.Type) {
			continue
		}
		all, there := true, true
		for _, p := range ix.Props {
			is := func(e plan.Expr) bool {
				prop, ok := e.(*plan.Prop)
				return ok && prop.Key == p && identity(prop.X) == c
			}
			all = all && (slices.ContainsFunc(t.keys, is) || slices.ContainsFunc(t.equal, func(eq [2]plan.Expr) bool {
				return is(eq[0]) && t.determined(eq[1]) || is(eq[1]) && t.determined(eq[0])
			}))
			there = there && (ix.Required || slices.ContainsFunc(t.there, func(x *plan.Prop) bool { return is(x) }))
		}
		switch {
		case all && there:
			learn(c)
			return
		case all && !slices.Contains(t.nullable, c):
			t.nullable = append(t.nullable, c)
		}
	}
}

// determined reports whether the keys determine the value of an expression.
func (t *total) determined(e plan.Expr) bool {
	if plan.Volatile(e) {
		return false
	}
	if slices.ContainsFunc(t.keys, func(k plan.Expr) bool { return same(k, e) }) {
		return true
	}
	for c := range plan.Reads(e).All() {
		if !t.known[c] && !slices.ContainsFunc(t.keys, func(k plan.Expr) bool { return same(k, &plan.ColRef{Col: c}) }) {
			return false
		}
	}
	return true
}

// same reports whether expressions are the same column, or property or function of one.
func same(a, b plan.Expr) bool {
	switch a := a.(type) {
	case *plan.ColRef:
		b, ok := b.(*plan.ColRef)
		return ok && a.Col == b.Col
	case *plan.Prop:
		b, ok := b.(*plan.Prop)
		return ok && a.Key == b.Key && same(a.X, b.X)
	case *plan.Call:
		b, ok := b.(*plan.Call)
		return ok && a.Func == b.Func && len(a.Args) == 1 && len(b.Args) == 1 && same(a.Args[0], b.Args[0])
	}
	return false
}

// missing returns the columns whose values, or whose ids, the keys of an order have to have, too, so that they tell all rows of a node apart.
// With all, these are all that are missing; else only those of vertices and edges that lack a property by which a constraint tells the others
// apart. The error says why that is not enough.
func missing(q *plan.Query, indexes []graph.Index, n plan.Node, keys []plan.SortKey, all bool) (add []plan.Col, err error) {
	t := &total{q: q, indexes: indexes}
	exprs := make([]plan.Expr, len(keys))
	for i, k := range keys {
		exprs[i] = k.Expr
	}
	if t.of(n, exprs, false); t.err != nil {
		return nil, t.err
	}
	for {
		t.solve()
		c := t.next()
		if c == 0 {
			return add, nil
		}
		if !all && !slices.Contains(t.nullable, c) || !visible(n, c) {
			return nil, t.unknown(c)
		}
		add = append(add, c)
		t.keys = append(t.keys, &plan.ColRef{Col: c})
	}
}

// next returns a column that is to be determined yet, 0 if there is none: one that may lack a key's property first, and edges before
// their ends.
func (t *total) next() (next plan.Col) {
	rank := func(c plan.Col) int {
		switch {
		case slices.Contains(t.nullable, c):
			return 0
		case t.q.Cols[c].Kind == graph.EdgeKind:
			return 1
		}
		return 2
	}
	for _, c := range t.cols {
		if !t.known[c] && (next == 0 || rank(c) < rank(next)) {
			next = c
		}
	}
	for _, g := range t.exprs {
		if next == 0 && !t.determined(g.expr) && !t.determined(&plan.ColRef{Col: g.col}) {
			next = g.col
		}
	}
	return next
}

// unknown is the error of an order that does not tell a column apart.
func (t *total) unknown(c plan.Col) error {
	info, what := t.q.Cols[c], "column"
	switch info.Kind {
	case graph.VertexKind:
		what = "node"
	case graph.EdgeKind:
		what = "relationship"
	}
	switch {
	case what == "column" || slices.ContainsFunc(t.exprs, func(g goal) bool { return g.col == c }):
		return refuse(OrderNotTotal, "the order of the rows is not total: rows that differ in %s may be equal in all keys of ORDER BY; add %s to ORDER BY", info.Name, info.Name)
	case info.Name == "":
		return refuse(OrderNotTotal, "the order of the rows is not total: rows that differ in a %s without a name may be equal in all keys of ORDER BY; give it a name, such as x, and add elementId(x) to ORDER BY, or use DISTINCT", what)
	}
	return refuse(OrderNotTotal, "the order of the rows is not total: rows that differ in the %s %s may be equal in all keys of ORDER BY; add elementId(%s) to ORDER BY, or the properties of a unique constraint of it", what, info.Name, info.Name)
}

// visible reports whether the rows of a node have a column that one below binds.
func visible(n plan.Node, c plan.Col) bool {
	at := func(items []plan.Item) bool {
		return slices.ContainsFunc(items, func(i plan.Item) bool { return i.Col == c })
	}
	switch n := n.(type) {
	case *plan.Project:
		return at(n.Items) || n.Keep && visible(n.Input, c)
	case *plan.Aggregate:
		return at(n.Keys)
	case *plan.Distinct:
		return slices.Contains(n.Cols, c)
	case *plan.Filter:
		return visible(n.Input, c)
	case *plan.Sort:
		return visible(n.Input, c)
	case *plan.Slice:
		return visible(n.Input, c)
	case *plan.Apply:
		return visible(n.Input, c) || visible(n.Sub, c)
	}
	return true
}
