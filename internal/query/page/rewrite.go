package page

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Statement makes the plan of a statement, which is not optimized yet, that of a page. It changes the plan. A command, if it is not nil, has none.
func (p *Page) Statement(q *plan.Query, command any, indexes []graph.Index) error {
	if command != nil || q.Writes || q.Calls {
		return refuse(ReadOnly, "only a statement that reads has pages")
	}
	if p.Token != "" {
		q.AsOf = nil // the token's commit is of that moment
	}
	r := rewriting{p: p, q: q, indexes: indexes}
	if err := r.pure(); err != nil {
		return err
	}
	at := r.find()
	sort, ok := (*at).(*plan.Sort)
	if !ok || sort.Limit != nil || sort.Skip != nil {
		return refuse(NeedsOrder, "pages need a total order: end the statement with RETURN … ORDER BY, and that in a key, such as elementId() or the properties of a unique constraint")
	}
	above := total{q: q, indexes: indexes}
	for _, n := range r.projects {
		plan.EachPlan(n, func(sub *plan.Node) { above.limits(*sub) })
	}
	if above.err != nil {
		return above.err
	}
	add, err := missing(q, indexes, sort.Input, sort.Keys, false)
	if err != nil {
		return err
	}
	r.cut(at, sort, add)
	return nil
}

// Fetch makes the plan of the one array of a fetch, which is not optimized yet, that of a page. Its order ends in the ids of what its rows
// are of. With whole, the array has no count of its own. It changes the plan.
func (p *Page) Fetch(q *plan.Query, indexes []graph.Index, whole bool) error {
	r := rewriting{p: p, q: q, indexes: indexes}
	if err := r.pure(); err != nil {
		return err
	}
	at := r.find()
	if whole && r.slice != nil {
		*r.sliceAt = r.slice.Input
		if at == &r.slice.Input {
			at = r.sliceAt
		}
		r.slice = nil
	}
	sort, ok := (*at).(*plan.Sort)
	if !ok {
		sort = &plan.Sort{Input: *at}
	}
	if !ok && ordered(*at) || sort.Limit != nil || sort.Skip != nil {
		return refuse(NeedsArray, "the rows of the array have no pages: they are cut by something else already")
	}
	add, err := missing(q, indexes, sort.Input, sort.Keys, true)
	if err != nil {
		return refuse(NeedsArray, "the rows of the array have no pages: %v", err)
	}
	r.cut(at, sort, add)
	return nil
}

// ordered reports whether the rows of a node have an order already.
func ordered(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Sort:
		return true
	case *plan.Filter:
		return ordered(n.Input)
	case *plan.Slice:
		return ordered(n.Input)
	case *plan.Apply:
		return ordered(n.Input)
	}
	return false
}

// rewriting is the rewriting of a plan.
type rewriting struct {
	p        *Page
	q        *plan.Query
	indexes  []graph.Index
	projects []*plan.Project // above the order, the upper first
	slice    *plan.Slice     // SKIP and LIMIT of the whole result, or nil
	sliceAt  *plan.Node
}

func (r *rewriting) pure() error {
	prefix := r.q.Prefix
	r.q.Prefix = ""
	reads := fresh.Of(r.q)
	if r.q.Prefix = prefix; reads == nil {
		return refuse(NotRepeatable, "pages of the rows may differ from each other: the answer depends on more than the graph, such as the time, a random number, a file, a procedure or a search; give values of that kind as parameters")
	}
	return nil
}

// find returns where the order of the result is, or where it would be.
func (r *rewriting) find() *plan.Node {
	at := &r.q.Root
	for {
		switch n := (*at).(type) {
		case *plan.Project:
			r.projects = append(r.projects, n)
			at = &n.Input
		case *plan.Apply:
			if n.Kind == plan.Inner || n.Kind == plan.Optional || r.slice != nil {
				return at
			}
			at = &n.Input
		case *plan.Slice:
			if r.slice != nil {
				return at
			}
			r.slice, r.sliceAt = n, at
			at = &n.Input
		default:
			return at
		}
	}
}

// cut puts a page in the place of an order, with more keys.
func (r *rewriting) cut(at *plan.Node, sort *plan.Sort, add []plan.Col) {
	page := &plan.Sort{Input: sort.Input, Keys: slices.Clone(sort.Keys), Page: true, Limit: &plan.Param{Name: sizeParam}}
	for _, c := range add {
		r.named(sort.Input, c)
		page.Keys = append(page.Keys, plan.SortKey{Expr: &plan.ColRef{Col: c}})
	}
	first := r.p.Token == ""
	for i := range page.Keys {
		k := &page.Keys[i]
		if ref, ok := k.Expr.(*plan.ColRef); ok {
			if kind := r.q.Cols[ref.Col].Kind; kind == graph.VertexKind || kind == graph.EdgeKind {
				k.Expr = &plan.Call{Func: "id", Args: []plan.Expr{ref}}
			}
		}
		k.Col = r.out(keyName(i))
		if !first {
			page.After = append(page.After, &plan.Param{Name: keyName(i)})
		}
	}
	*at = page
	if r.slice == nil {
		return
	}
	if first {
		page.Skip = r.slice.Skip
	}
	if *r.sliceAt = r.slice.Input; r.slice.Limit == nil || !first {
		return
	}
	*r.sliceAt = &plan.Slice{Input: r.slice.Input, Limit: r.slice.Limit}
	if len(r.projects) == 0 {
		r.q.Root = &plan.Project{Input: r.q.Root, Keep: true}
		r.projects = append(r.projects, r.q.Root.(*plan.Project))
	}
	col := r.q.NewCol(limitCol, graph.Null)
	r.projects[0].Items = append(r.projects[0].Items, plan.Item{Col: col, Expr: r.slice.Limit})
	r.q.Out, r.q.Names = append(r.q.Out, col), append(r.q.Names, limitCol)
}

// out adds a column that passes from the order to the result.
func (r *rewriting) out(name string) plan.Col {
	col := r.q.NewCol(name, graph.Null)
	r.q.Out, r.q.Names = append(r.q.Out, col), append(r.q.Names, name)
	for _, p := range r.projects {
		if !p.Keep {
			p.Items = append(p.Items, plan.Item{Col: col, Expr: &plan.ColRef{Col: col}})
		}
	}
	return col
}

// named says that an edge of a pattern is read.
func (r *rewriting) named(n plan.Node, c plan.Col) {
	if m, ok := n.(*plan.Match); ok {
		for i := range m.Pattern.Edges {
			if e := &m.Pattern.Edges[i]; e.Col == c {
				e.Named = true
			}
		}
	}
	plan.EachInput(n, func(in *plan.Node) { r.named(*in, c) })
}
