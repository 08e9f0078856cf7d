package plan

// inputs calls f with a pointer to each input and subplan of a node, so that f may look at it or replace it.
func inputs(n Node, f func(*Node)) {
	switch n := n.(type) {
	case *Unit, *Argument, *CountStore:
	case *Match:
		f(&n.Input)
	case *Scan:
		f(&n.Input)
	case *Seek:
		f(&n.Input)
	case *SeekRange:
		f(&n.Input)
	case *SeekEdges:
		f(&n.Input)
	case *SeekEdgeRange:
		f(&n.Input)
	case *SeekID:
		f(&n.Input)
	case *Expand:
		f(&n.Input)
	case *Intersect:
		f(&n.Input)
	case *VarExpand:
		f(&n.Input)
	case *FindPaths:
		f(&n.Input)
	case *ShortestPath:
		f(&n.Input)
	case *Filter:
		f(&n.Input)
	case *Project:
		f(&n.Input)
	case *Aggregate:
		f(&n.Input)
	case *Distinct:
		f(&n.Input)
	case *Sort:
		f(&n.Input)
	case *Slice:
		f(&n.Input)
	case *Unwind:
		f(&n.Input)
	case *Apply:
		f(&n.Input)
		f(&n.Sub)
	case *Transactions:
		f(&n.Input)
		f(&n.Sub)
	case *HashJoin:
		f(&n.Left)
		f(&n.Right)
	case *Product:
		f(&n.Left)
		f(&n.Right)
	case *Union:
		for i := range n.Inputs {
			f(&n.Inputs[i])
		}
	case *Create:
		if n.Input != nil {
			f(&n.Input)
		}
	case *Merge:
		f(&n.Input)
		f(&n.Match)
	case *Set:
		f(&n.Input)
	case *Delete:
		f(&n.Input)
	case *Foreach:
		f(&n.Input)
		f(&n.Sub)
	case *CallProc:
		f(&n.Input)
	case *LoadCSV:
		f(&n.Input)
	case *Eager:
		f(&n.Input)
	case *Drain:
		f(&n.Input)
	case *FoldCount:
		f(&n.Input)
	case *Weigh:
		f(&n.Input)
	case *FrontierCount:
		f(&n.Input)
	case *Traverse:
		f(&n.Input)
	case *CheapestPaths:
		f(&n.Input)
	}
}

// exprs calls f with a pointer to each expression that stands in a node itself; nil ones are left out.
func exprs(n Node, f func(*Expr)) {
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
	items := func(is []Item) {
		for i := range is {
			one(&is[i].Expr)
		}
	}
	sets := func(is []SetItem) {
		for i := range is {
			one(&is[i].X)
			one(&is[i].KeyOf)
			one(&is[i].Value)
			all(is[i].LabelsOf)
		}
	}
	switch n := n.(type) {
	case *Match:
		all(n.Pattern.Preds)
		for i := range n.Pattern.Edges {
			e := &n.Pattern.Edges[i]
			all(e.Where)
			if e.Length != nil {
				one(&e.Length.Min)
				one(&e.Length.Max)
			}
			if e.Walk != nil {
				e.Walk.exprs(one, all)
			}
		}
	case *Seek:
		all(n.Keys)
	case *SeekRange:
		all(n.Equal)
		one(&n.Lo)
		one(&n.Hi)
	case *SeekEdges:
		all(n.Keys)
	case *SeekEdgeRange:
		all(n.Equal)
		one(&n.Lo)
		one(&n.Hi)
	case *SeekID:
		one(&n.Key)
	case *Expand:
		all(n.Where)
	case *VarExpand:
		one(&n.Min)
		one(&n.Max)
		all(n.Where)
	case *FindPaths:
		n.Walk.exprs(one, all)
	case *ShortestPath:
		one(&n.Min)
		one(&n.Max)
		all(n.Where)
		all(n.PathWhere)
	case *Filter:
		all(n.Preds)
	case *Project:
		items(n.Items)
	case *Aggregate:
		items(n.Keys)
		for i := range n.Aggs {
			all(n.Aggs[i].Args)
		}
		one(&n.Times)
	case *Sort:
		for i := range n.Keys {
			one(&n.Keys[i].Expr)
		}
		one(&n.Skip)
		one(&n.Limit)
	case *Slice:
		one(&n.Skip)
		one(&n.Limit)
	case *Unwind:
		one(&n.List)
	case *Apply:
		one(&n.Expr)
	case *Transactions:
		one(&n.Rows)
	case *Create:
		for i := range n.Vertices {
			all(n.Vertices[i].LabelsOf)
			one(&n.Vertices[i].Props)
		}
		for i := range n.Edges {
			one(&n.Edges[i].TypeOf)
			one(&n.Edges[i].Props)
		}
	case *Merge:
		exprs(n.Create, f)
		sets(n.OnCreate)
		sets(n.OnMatch)
		all(n.Props)
	case *Set:
		sets(n.Items)
	case *Delete:
		all(n.Exprs)
	case *Foreach:
		one(&n.List)
	case *CallProc:
		all(n.Args)
	case *LoadCSV:
		one(&n.URL)
	case *FrontierCount:
		for i := range n.Hops {
			all(n.Hops[i].Where)
		}
	case *Traverse:
		for i := range n.Hops {
			all(n.Hops[i].Where)
		}
	case *CheapestPaths:
		all(n.Where)
		one(&n.Weight)
	}
}

// subexprs calls f with a pointer to each direct part of an expression; the subplan of a Subquery is not one.
func subexprs(e Expr, f func(*Expr)) {
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

// ColSet is a set of columns.
type ColSet map[Col]struct{}

// Add puts columns in; 0 is left out.
func (s ColSet) Add(cs ...Col) {
	for _, c := range cs {
		if c != 0 {
			s[c] = struct{}{}
		}
	}
}

// Has reports whether a column is in the set.
func (s ColSet) Has(c Col) bool {
	_, ok := s[c]
	return ok
}

// reads adds to s the columns that an expression takes from its row, without those that it binds itself.
func (s ColSet) reads(e Expr) {
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
		s.reads(e.List)
		s.without(func(t ColSet) { t.reads(e.Where); t.reads(e.Map) }, e.Var)
		return
	case *Quantifier:
		s.reads(e.List)
		s.without(func(t ColSet) { t.reads(e.Pred) }, e.Var)
		return
	case *Reduce:
		s.reads(e.List)
		s.reads(e.Init)
		s.without(func(t ColSet) { t.reads(e.Body) }, e.Var, e.Acc)
		return
	case *Subquery:
		s.arguments(e.Sub)
		return
	}
	subexprs(e, func(p *Expr) { s.reads(*p) })
}

func (s ColSet) without(f func(ColSet), bound ...Col) {
	t := ColSet{}
	f(t)
	for _, c := range bound {
		delete(t, c)
	}
	for c := range t {
		s.Add(c)
	}
}

// arguments adds the columns that the Argument of a subplan names; an inner subplan's Argument is fed by the outer
// subplan, so only those at the bottom of the input chains count.
func (s ColSet) arguments(n Node) {
	if a, ok := n.(*Argument); ok {
		s.Add(a.Cols...)
		return
	}
	switch n := n.(type) {
	case *Apply:
		s.arguments(n.Input)
		return
	case *Transactions:
		s.arguments(n.Input)
		return
	case *Merge:
		s.arguments(n.Input)
		return
	case *Foreach:
		s.arguments(n.Input)
		return
	}
	inputs(n, func(c *Node) { s.arguments(*c) })
}

// Reads gives the columns that an expression takes from its row.
func Reads(es ...Expr) ColSet {
	s := ColSet{}
	for _, e := range es {
		s.reads(e)
	}
	return s
}

// HasSubquery reports whether an expression runs a subplan.
func HasSubquery(e Expr) bool {
	if _, ok := e.(*Subquery); ok {
		return true
	}
	found := false
	subexprs(e, func(p *Expr) { found = found || HasSubquery(*p) })
	return found
}

// eachPlan calls f with a pointer to every subplan that stands in the expressions of a node.
func eachPlan(n Node, f func(*Node)) {
	var visit func(*Expr)
	visit = func(p *Expr) {
		if s, ok := (*p).(*Subquery); ok {
			f(&s.Sub)
		}
		subexprs(*p, visit)
	}
	exprs(n, visit)
}
