package plan

import "slices"

// outerInput returns the input of a node that runs a subplan for each of its rows; nil for other nodes.
func outerInput(n Node) Node {
	switch n := n.(type) {
	case *Apply:
		return n.Input
	case *Transactions:
		return n.Input
	case *Merge:
		return n.Input
	case *Foreach:
		return n.Input
	}
	return nil
}

// EachInput calls f with a pointer to each input and subplan of a node, which f may read or replace.
func EachInput(n Node, f func(*Node)) { n.inputs(f) }

// EachExpr calls f for each expression of a node itself.
func EachExpr(n Node, f func(*Expr)) { n.exprs(f) }

// exprVisitor is called with a pointer to each expression of a node.
type exprVisitor func(*Expr)

func (f exprVisitor) one(e *Expr) {
	if *e != nil {
		f(e)
	}
}

func (f exprVisitor) all(es []Expr) {
	for i := range es {
		f.one(&es[i])
	}
}

func (f exprVisitor) items(is []Item) {
	for i := range is {
		f.one(&is[i].Expr)
	}
}

func (f exprVisitor) sets(is []SetItem) {
	for i := range is {
		f.one(&is[i].X)
		f.one(&is[i].KeyOf)
		f.one(&is[i].Value)
		f.all(is[i].LabelsOf)
	}
}

// Subexprs calls f with a pointer to each direct part of an expression; the subplan of a Subquery is not one.
func Subexprs(e Expr, f func(*Expr)) {
	one := func(e *Expr) {
		if *e != nil {
			f(e)
		}
	}
	all := func(es []Expr) {
		for i := range es {
			one(&es[i])
		}
	}
	switch e := e.(type) {
	case *Const, *Param, *ColRef, *MakePath:
	case *Prop:
		one(&e.X)
	case *Op:
		all(e.Args)
	case *Call:
		all(e.Args)
	case *Case:
		all(e.When)
		all(e.Then)
		one(&e.Else)
	case *ListLit:
		all(e.Elems)
	case *MapLit:
		all(e.Elems)
	case *MapProject:
		one(&e.X)
		all(e.Elems)
	case *Comprehension:
		one(&e.List)
		one(&e.Where)
		one(&e.Map)
	case *Quantifier:
		one(&e.List)
		one(&e.Pred)
	case *Reduce:
		one(&e.Init)
		one(&e.List)
		one(&e.Body)
	case *HasLabels:
		one(&e.X)
	case *HasEdge:
		one(&e.From)
		one(&e.To)
	case *Subquery:
		one(&e.Expr)
	case *IsType:
		one(&e.X)
	}
}

// Replace returns a copy of an expression without a Subquery, in which each part that f returns something for is replaced by that.
func Replace(e Expr, f func(Expr) Expr) Expr {
	if with := f(e); with != nil {
		return with
	}
	switch x := e.(type) {
	case *Prop:
		c := *x
		e = &c
	case *Op:
		c := *x
		c.Args = slices.Clone(x.Args)
		e = &c
	case *Call:
		c := *x
		c.Args = slices.Clone(x.Args)
		e = &c
	case *Case:
		e = &Case{When: slices.Clone(x.When), Then: slices.Clone(x.Then), Else: x.Else}
	case *ListLit:
		e = &ListLit{Elems: slices.Clone(x.Elems)}
	case *MapLit:
		e = &MapLit{Keys: x.Keys, Elems: slices.Clone(x.Elems)}
	case *MapProject:
		c := *x
		c.Elems = slices.Clone(x.Elems)
		e = &c
	case *Comprehension:
		c := *x
		e = &c
	case *Quantifier:
		c := *x
		e = &c
	case *Reduce:
		c := *x
		e = &c
	case *HasLabels:
		c := *x
		e = &c
	case *HasEdge:
		c := *x
		e = &c
	case *IsType:
		c := *x
		e = &c
	}
	Subexprs(e, func(p *Expr) { *p = Replace(*p, f) })
	return e
}

// Reads adds to s the columns that an expression reads from its row, except those that it binds itself.
func (s ColSet) Reads(e Expr) {
	if e == nil {
		return
	}
	switch e := e.(type) {
	case *ColRef:
		s.Add(e.Col)
		return
	case *MakePath:
		s.Add(e.Cols...)
		return
	case *Comprehension:
		s.Reads(e.List)
		s.without(func(t ColSet) { t.Reads(e.Where); t.Reads(e.Map) }, e.Var)
		return
	case *Quantifier:
		s.Reads(e.List)
		s.without(func(t ColSet) { t.Reads(e.Pred) }, e.Var)
		return
	case *Reduce:
		s.Reads(e.List)
		s.Reads(e.Init)
		s.without(func(t ColSet) { t.Reads(e.Body) }, e.Var, e.Acc)
		return
	case *Subquery:
		s.arguments(e.Sub)
		return
	}
	Subexprs(e, func(p *Expr) { s.Reads(*p) })
}

func (s ColSet) without(f func(ColSet), bound ...Col) {
	t := NewColSet()
	f(t)
	t.Remove(bound...)
	s.AddAll(t)
}

// arguments adds the columns that the Argument of a subplan names; an inner subplan's Argument is fed by the outer
// subplan, so only those at the bottom of the input chains count.
func (s ColSet) arguments(n Node) {
	if a, ok := n.(*Argument); ok {
		s.Add(a.Cols...)
		return
	}
	if in := outerInput(n); in != nil {
		s.arguments(in)
		return
	}
	n.inputs(func(c *Node) { s.arguments(*c) })
}

// Reads returns the columns that an expression takes from its row.
func Reads(es ...Expr) ColSet {
	s := NewColSet()
	for _, e := range es {
		s.Reads(e)
	}
	return s
}

// HasSubquery reports whether an expression runs a subplan.
func HasSubquery(e Expr) bool {
	if _, ok := e.(*Subquery); ok {
		return true
	}
	found := false
	Subexprs(e, func(p *Expr) { found = found || HasSubquery(*p) })
	return found
}

// EachPlan calls f with a pointer to every subplan in the expressions of a node.
func EachPlan(n Node, f func(*Node)) {
	var visit func(*Expr)
	visit = func(p *Expr) {
		if s, ok := (*p).(*Subquery); ok {
			f(&s.Sub)
		}
		Subexprs(*p, visit)
	}
	n.exprs(visit)
}

// renamed returns an expression with other columns; ok is false for kinds of expressions that it does not copy.
func renamed(e Expr, as map[Col]Col) (_ Expr, ok bool) {
	ok = true
	e = Replace(e, func(e Expr) Expr {
		touched, reads := false, Reads(e)
		for from := range as {
			touched = touched || reads.Has(from)
		}
		if !touched {
			return e
		}
		switch x := e.(type) {
		case *ColRef:
			return &ColRef{Col: as[x.Col]}
		case *MapLit, *MapProject, *Comprehension, *Quantifier, *Reduce, *Subquery, *MakePath:
			ok = false
			return e
		}
		return nil
	})
	return e, ok
}

// Volatile reports whether an expression may change from row to row of equal values, or runs a subplan.
func Volatile(e Expr) bool { return HasSubquery(e) || Random(e) }

// Random reports whether an expression is not deterministic.
func Random(e Expr) bool {
	if call, ok := e.(*Call); ok && (call.Func == "rand" || call.Func == "randomuuid") {
		return true
	}
	found := false
	Subexprs(e, func(p *Expr) { found = found || Random(*p) })
	return found
}
