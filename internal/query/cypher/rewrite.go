package cypher

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// conjuncts splits a condition at its ANDs.
func conjuncts(e plan.Expr) []plan.Expr {
	op, ok := e.(*plan.Op)
	if !ok || op.Op != plan.And {
		return []plan.Expr{e}
	}
	var out []plan.Expr
	for _, a := range op.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

// computed finds columns by the likeness of their expressions.
type computed map[uint64][]*column

func computedBy(cols []*column) computed {
	by := computed{}
	for _, c := range cols {
		k := likeness(c.expr)
		by[k] = append(by[k], c)
	}
	return by
}

// replace puts the columns' own columns for the expressions equal to theirs in e.
func (by computed) replace(e plan.Expr) plan.Expr {
	switch e.(type) {
	case *plan.Const, *plan.Param, *plan.ColRef:
		return e
	}
	for _, c := range by[likeness(e)] {
		if equal(e, c.expr) {
			return &plan.ColRef{Col: c.col}
		}
	}
	if _, ok := e.(*plan.Subquery); ok {
		return e
	}
	plan.Parts(e, func(p *plan.Expr) { *p = by.replace(*p) })
	return e
}

// likeness is a number that equal expressions share: a hash of their upper levels.
func likeness(e plan.Expr) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	hashLevels(&h, e, 4)
	return h.Sum64()
}

var seed = maphash.MakeSeed()

func hashLevels(h *maphash.Hash, e plan.Expr, levels int) {
	switch e := e.(type) {
	case *plan.Const:
		if _, _ = h.WriteString("const"); e.Value.Kind() == graph.String {
			_, _ = h.WriteString(e.Value.Str())
		} else if e.Value.Kind() == graph.Int {
			maphash.WriteComparable(h, e.Value.Int())
		}
	case *plan.Param:
		_, _ = h.WriteString(e.Name)
	case *plan.ColRef:
		maphash.WriteComparable(h, e.Col)
	case *plan.Prop:
		_, _ = h.WriteString(e.Key)
	case *plan.Op:
		maphash.WriteComparable(h, e.Op)
	case *plan.Call:
		_, _ = h.WriteString(e.Func)
	case *plan.Comprehension, *plan.Quantifier, *plan.Reduce:
		_, _ = h.WriteString("binds") // their own columns have other numbers
		return
	}
	if e != nil && levels > 1 {
		plan.Parts(e, func(p *plan.Expr) { hashLevels(h, *p, levels-1) })
	}
}

// equal reports whether two expressions are the same except for the names of the columns that they bind themselves.
// Subqueries are equal only to themselves.
func equal(a, b plan.Expr) bool { return (&comparison{}).equal(a, b) }

// comparison is the columns that two expressions bind at the same places.
type comparison struct{ a, b []plan.Col }

func (c *comparison) equal(a, b plan.Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || !c.head(a, b) {
		return false
	}
	pa, pb := parts(a), parts(b)
	return slices.EqualFunc(pa, pb, c.equal)
}

func parts(e plan.Expr) []plan.Expr {
	var out []plan.Expr
	plan.Parts(e, func(p *plan.Expr) { out = append(out, *p) })
	return out
}

func (c *comparison) bind(a, b plan.Col) bool {
	c.a, c.b = append(c.a, a), append(c.b, b)
	return true
}

func (c *comparison) col(a, b plan.Col) bool {
	return slices.Index(c.a, a) == slices.Index(c.b, b) && (a == b || slices.Contains(c.a, a))
}

// head compares all but the parts. Optional parts count by their presence.
func (c *comparison) head(a, b plan.Expr) bool {
	switch a := a.(type) {
	case *plan.Const:
		b, ok := b.(*plan.Const)
		return ok && sameLiteral(a.Value, b.Value)
	case *plan.Param:
		b, ok := b.(*plan.Param)
		return ok && a.Name == b.Name
	case *plan.ColRef:
		b, ok := b.(*plan.ColRef)
		return ok && c.col(a.Col, b.Col)
	case *plan.Prop:
		b, ok := b.(*plan.Prop)
		return ok && a.Key == b.Key
	case *plan.Op:
		b, ok := b.(*plan.Op)
		return ok && a.Op == b.Op && slices.EqualFunc(a.Args, b.Args, samePresence)
	case *plan.Call:
		b, ok := b.(*plan.Call)
		return ok && a.Func == b.Func && !volatile[a.Func]
	case *plan.Case:
		b, ok := b.(*plan.Case)
		return ok && len(a.When) == len(b.When) && samePresence(a.Else, b.Else)
	case *plan.ListLit:
		_, ok := b.(*plan.ListLit)
		return ok
	case *plan.MapLit:
		b, ok := b.(*plan.MapLit)
		return ok && slices.Equal(a.Keys, b.Keys)
	case *plan.MapProject:
		b, ok := b.(*plan.MapProject)
		return ok && a.All == b.All && slices.Equal(a.Keys, b.Keys)
	case *plan.Comprehension:
		b, ok := b.(*plan.Comprehension)
		return ok && samePresence(a.Where, b.Where) && samePresence(a.Map, b.Map) && c.bind(a.Var, b.Var)
	case *plan.Quantifier:
		b, ok := b.(*plan.Quantifier)
		return ok && a.Kind == b.Kind && c.bind(a.Var, b.Var)
	case *plan.Reduce:
		b, ok := b.(*plan.Reduce)
		return ok && c.bind(a.Acc, b.Acc) && c.bind(a.Var, b.Var)
	case *plan.HasLabels:
		b, ok := b.(*plan.HasLabels)
		return ok && sameLabels(a.Labels, b.Labels)
	case *plan.MakePath:
		b, ok := b.(*plan.MakePath)
		return ok && slices.EqualFunc(a.Cols, b.Cols, c.col)
	case *plan.IsType:
		b, ok := b.(*plan.IsType)
		return ok && a.Type == b.Type && a.Not == b.Not
	}
	return false
}

func samePresence(a, b plan.Expr) bool { return (a == nil) == (b == nil) }

func sameLiteral(a, b graph.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case graph.Null:
		return true
	case graph.Bool:
		return a.Bool() == b.Bool()
	case graph.Int:
		return a.Int() == b.Int()
	case graph.Float:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case graph.String:
		return a.Str() == b.Str()
	}
	return false
}

func sameLabels(a, b *plan.LabelExpr) bool {
	return a.Op == b.Op && a.Name == b.Name && slices.EqualFunc(a.Args, b.Args, sameLabels)
}

// volatile are the functions that return a different value at each call.
var volatile = map[string]bool{"rand": true, "randomuuid": true}

// evaluateOnce reports whether evaluating an expression twice would be wrong or slow.
func evaluateOnce(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Subquery, *plan.Comprehension, *plan.Quantifier, *plan.Reduce:
		return true
	case *plan.Call:
		if volatile[e.Func] {
			return true
		}
	}
	return slices.ContainsFunc(parts(e), evaluateOnce)
}

// kindOf is what is known of the values of an expression, as in plan.ColInfo.
func (b *variables) kindOf(e plan.Expr) graph.ValueKind {
	switch e := e.(type) {
	case *plan.ColRef:
		return b.kind(e.Col)
	case *plan.MakePath:
		return graph.PathKind
	case *plan.Call:
		switch e.Func {
		case "startnode", "endnode":
			return graph.VertexKind
		}
	}
	return graph.Null
}

// mayHoldEntity reports whether the value of an expression may be or hold a vertex, an edge or a path.
func (b *variables) mayHoldEntity(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Const, *plan.Param, *plan.Quantifier, *plan.HasLabels, *plan.IsType:
		return false
	case *plan.ColRef:
		return !b.scalar[e.Col]
	case *plan.Prop:
		k := b.kindOf(e.X)
		return k != graph.VertexKind && k != graph.EdgeKind && b.mayHoldEntity(e.X)
	case *plan.ListLit, *plan.MapLit:
		return slices.ContainsFunc(parts(e), b.mayHoldEntity)
	case *plan.Op:
		return (e.Op == plan.Add || e.Op == plan.Concat || e.Op == plan.Index || e.Op == plan.SliceOp) &&
			slices.ContainsFunc(parts(e), b.mayHoldEntity)
	case *plan.Call:
		switch e.Func {
		case "coalesce", "head", "last", "tail", "reverse", "nodes", "relationships", "startnode", "endnode":
			return true
		}
		return false
	case *plan.Subquery:
		return e.Kind == plan.Collect && b.mayHoldEntity(e.Expr)
	case *plan.Comprehension:
		return e.Map == nil || b.mayHoldEntity(e.Map)
	}
	return true
}
