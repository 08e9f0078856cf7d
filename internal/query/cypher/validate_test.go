package cypher

import (
	"testing"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// validate fails the test where a node reads a column that its rows do not have.
func validate(t *testing.T, id, text string, q *plan.Query) {
	t.Helper()
	v := &validator{q: q}
	cols := v.cols(q.Root, plan.ColSet{})
	for _, c := range q.Out {
		if !cols.Has(c) {
			v.bad(q.Root, c)
		}
	}
	if len(q.Out) != len(q.Names) {
		v.faults = append(v.faults, "names and columns differ in number")
	}
	for _, f := range v.faults {
		t.Errorf("%s: %s\n%s\n%s", id, f, text, plan.Format(q))
	}
}

type validator struct {
	q      *plan.Query
	faults []string
}

func (v *validator) bad(n plan.Node, c plan.Col) {
	name, args := plan.Describe(v.q, n)
	v.faults = append(v.faults, name+" "+args+" reads what it does not have: "+plan.FormatExpr(v.q, &plan.ColRef{Col: c}))
}

// exprs checks expressions of a node over rows with the columns has.
func (v *validator) exprs(n plan.Node, has plan.ColSet, es ...plan.Expr) {
	for _, e := range es {
		if e != nil {
			v.expr(n, has, e)
		}
	}
}

func (v *validator) expr(n plan.Node, has plan.ColSet, e plan.Expr) {
	with := func(cols ...plan.Col) plan.ColSet {
		s := union(has, plan.NewColSet())
		s.Add(cols...)
		return s
	}
	switch e := e.(type) {
	case *plan.ColRef:
		if !has.Has(e.Col) {
			v.bad(n, e.Col)
		}
	case *plan.MakePath:
		for _, c := range e.Cols {
			if !has.Has(c) {
				v.bad(n, c)
			}
		}
	case *plan.Comprehension:
		v.exprs(n, has, e.List)
		v.exprs(n, with(e.Var), e.Where, e.Map)
	case *plan.Quantifier:
		v.exprs(n, has, e.List)
		v.exprs(n, with(e.Var), e.Pred)
	case *plan.Reduce:
		v.exprs(n, has, e.Init, e.List)
		v.exprs(n, with(e.Acc, e.Var), e.Body)
	case *plan.Subquery:
		v.exprs(n, v.cols(e.Sub, has), e.Expr)
	default:
		plan.Parts(e, func(p *plan.Expr) { v.exprs(n, has, *p) })
	}
}

func union(a, b plan.ColSet) plan.ColSet {
	out := a.Clone()
	out.AddAll(b)
	return out
}

// cols returns the columns of a node's rows; outer are those of the row that a subplan runs for.
func (v *validator) cols(n plan.Node, outer plan.ColSet) plan.ColSet {
	switch n := n.(type) {
	case *plan.Unit:
		if outer != (plan.ColSet{}) {
			v.faults = append(v.faults, "a subplan without an Argument")
		}
		return plan.NewColSet()
	case *plan.Argument:
		out := plan.NewColSet()
		for _, c := range n.Cols {
			if !outer.Has(c) {
				v.bad(n, c)
			}
			out.Add(c)
		}
		return out
	case *plan.Match:
		return v.match(n, v.cols(n.Input, outer))
	case *plan.Filter:
		in := v.cols(n.Input, outer)
		v.exprs(n, in, n.Preds...)
		return in
	case *plan.Project:
		in := v.cols(n.Input, outer)
		out := plan.NewColSet()
		for _, i := range n.Items {
			v.exprs(n, in, i.Expr)
			out.Add(i.Col)
		}
		if n.Keep {
			return union(in, out)
		}
		return out
	case *plan.Aggregate:
		in := v.cols(n.Input, outer)
		out := plan.NewColSet()
		for _, i := range n.Keys {
			v.exprs(n, in, i.Expr)
			out.Add(i.Col)
		}
		for _, a := range n.Aggs {
			v.exprs(n, in, a.Args...)
			out.Add(a.Col)
		}
		return out
	case *plan.Distinct:
		in := v.cols(n.Input, outer)
		out := plan.NewColSet()
		for _, c := range n.Cols {
			v.exprs(n, in, &plan.ColRef{Col: c})
			out.Add(c)
		}
		return out
	case *plan.Sort:
		in := v.cols(n.Input, outer)
		out := plan.NewColSet()
		for c := range in.All() {
			out.Add(c)
		}
		for _, k := range n.Keys {
			if v.exprs(n, in, k.Expr); k.Col != 0 {
				out.Add(k.Col)
			}
		}
		return out
	case *plan.Slice:
		v.exprs(n, plan.NewColSet(), n.Skip, n.Limit)
		return v.cols(n.Input, outer)
	case *plan.Unwind:
		in := v.cols(n.Input, outer)
		v.exprs(n, in, n.List)
		in.Add(n.Out)
		return in
	case *plan.Apply:
		in := v.cols(n.Input, outer)
		sub := v.cols(n.Sub, in)
		for _, c := range n.Cols {
			v.exprs(n, sub, &plan.ColRef{Col: c})
			if in.Has(c) {
				v.faults = append(v.faults, "an Apply that gives an outer column again")
			}
			in.Add(c)
		}
		return in
	case *plan.Transactions:
		in := v.cols(n.Input, outer)
		sub := v.cols(n.Sub, in)
		v.exprs(n, plan.ColSet{}, n.Rows)
		for _, c := range n.Cols {
			v.exprs(n, sub, &plan.ColRef{Col: c})
		}
		in.Add(append([]plan.Col{n.Report}, n.Cols...)...)
		return in
	case *plan.Union:
		out := plan.NewColSet()
		for i, part := range n.Inputs {
			in := v.cols(part, outer)
			for _, c := range n.Cols[i] {
				v.exprs(n, in, &plan.ColRef{Col: c})
			}
		}
		out.Add(n.Out...)
		return out
	case *plan.Create:
		return v.create(n, v.cols(n.Input, outer))
	case *plan.Merge:
		in := v.cols(n.Input, outer)
		found := v.cols(n.Match, in)
		out := v.create(n.Create, in)
		for _, c := range n.Cols {
			v.exprs(n, found, &plan.ColRef{Col: c})
			v.exprs(n, out, &plan.ColRef{Col: c})
		}
		v.exprs(n, in, n.Props...)
		v.sets(n, out, n.OnCreate)
		v.sets(n, out, n.OnMatch)
		return out
	case *plan.Set:
		in := v.cols(n.Input, outer)
		v.sets(n, in, n.Items)
		return in
	case *plan.Delete:
		in := v.cols(n.Input, outer)
		v.exprs(n, in, n.Exprs...)
		return in
	case *plan.Foreach:
		in := v.cols(n.Input, outer)
		v.exprs(n, in, n.List)
		sub := union(in, plan.NewColSet())
		sub.Add(n.Var)
		v.cols(n.Sub, sub)
		return in
	case *plan.CallProc:
		in := v.cols(n.Input, outer)
		v.exprs(n, in, n.Args...)
		for _, y := range n.Yield {
			in.Add(y.Col)
		}
		return in
	case *plan.LoadCSV:
		in := v.cols(n.Input, outer)
		v.exprs(n, in, n.URL)
		in.Add(n.Out)
		return in
	case *plan.Eager:
		return v.cols(n.Input, outer)
	case *plan.Drain:
		v.cols(n.Input, outer)
		return plan.NewColSet()
	}
	v.faults = append(v.faults, "an unexpected node")
	return plan.ColSet{}
}

func (v *validator) sets(n plan.Node, in plan.ColSet, items []plan.SetItem) {
	for _, i := range items {
		v.exprs(n, in, i.X, i.KeyOf, i.Value)
	}
}

// walk checks the conditions of a walk over rows with the columns out. Conditions on a repetition also see the vertices and edges
// that it visits.
func (v *validator) walk(n plan.Node, out plan.ColSet, w *plan.Walk) {
	if w == nil {
		return
	}
	v.exprs(n, out, w.Where...)
	for i := range w.Parts {
		one := union(out, plan.NewColSet())
		one.Add(w.Parts[i].Locals()...)
		v.exprs(n, one, w.Parts[i].Where...)
	}
	for i := range w.Nodes {
		v.exprs(n, out, w.Nodes[i].Where...)
	}
}

func (v *validator) match(n *plan.Match, in plan.ColSet) plan.ColSet {
	p := &n.Pattern
	out := union(in, plan.NewColSet())
	for _, x := range p.Vertices {
		if x.Bound != in.Has(x.Col) {
			v.bad(n, x.Col)
		}
		out.Add(x.Col)
	}
	for _, e := range p.Edges {
		if e.Bound != in.Has(e.Col) {
			v.bad(n, e.Col)
		}
		v.exprs(n, out, &plan.ColRef{Col: e.Left}, &plan.ColRef{Col: e.Right})
		out.Add(e.Col)
		if e.Walk != nil {
			out.Add(e.Walk.Binds()...)
		}
	}
	for _, path := range p.Paths {
		v.exprs(n, out, &plan.MakePath{Cols: path.Cols})
		out.Add(path.Col)
	}
	for _, e := range p.Edges {
		each := union(out, plan.NewColSet())
		each.Add(e.EdgeVar)
		v.exprs(n, each, e.Where...)
		v.walk(n, out, e.Walk)
		if e.Length != nil {
			v.exprs(n, plan.NewColSet(), e.Length.Min, e.Length.Max)
		}
	}
	v.exprs(n, out, p.Preds...)
	return out
}

func (v *validator) create(n *plan.Create, in plan.ColSet) plan.ColSet {
	out := union(in, plan.NewColSet())
	for _, x := range n.Vertices {
		v.exprs(n, in, x.Props)
		out.Add(x.Out)
	}
	for _, e := range n.Edges {
		v.exprs(n, in, e.Props)
		v.exprs(n, out, &plan.ColRef{Col: e.Src}, &plan.ColRef{Col: e.Dst})
		out.Add(e.Out)
	}
	return out
}
