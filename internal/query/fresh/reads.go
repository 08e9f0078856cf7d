package fresh

import (
	"slices"
	"strings"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Reads are the parts of a graph on which the answer of a plan depends. Names may be unknown to the graph so far.
type Reads struct {
	Labels, Types, Props []string // in ascending order
	Any                  shard.AnyPart

	once sync.Once
	form [hashSize]byte // of the optimized plan, or those of a Union
}

// Parts returns the parts by their numbers, for one lookup: a name that the graph gets later gets a version with the commit that uses it.
func (r *Reads) Parts(c graph.Catalog) *shard.Parts {
	p := &shard.Parts{Any: r.Any}
	for _, name := range r.Labels {
		if id, ok := c.Label(name); ok {
			p.Labels = append(p.Labels, id)
		}
	}
	for _, name := range r.Types {
		if id, ok := c.Type(name); ok {
			p.Types = append(p.Types, id)
		}
	}
	for _, name := range r.Props {
		if id, ok := c.Prop(name); ok {
			p.Props = append(p.Props, id)
		}
	}
	return p
}

// Of returns what a plan reads, before it is optimized; nil if its answer depends on anything else, such as the time, or if it changes
// anything.
//
// A vertex that is new cannot change an answer unless the plan can find it: by a label, by an edge, or among all vertices. So properties count
// only for vertices that were there before.
func Of(q *plan.Query) *Reads {
	if q.Writes || q.Calls || q.Prefix != "" {
		return nil
	}
	c := &collector{q: q, defs: map[plan.Col][]plan.Expr{}, pure: true}
	c.define(q.Root)
	c.node(q.Root)
	for _, out := range q.Out {
		if c.holdsCol(out, nil) {
			c.any |= shard.AnyProp | shard.AnyLabel
		}
	}
	if !c.pure {
		return nil
	}
	return &Reads{Labels: sorted(c.labels), Types: sorted(c.types), Props: sorted(c.props), Any: c.any}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// collector collects the Reads of a plan.
type collector struct {
	q                    *plan.Query
	defs                 map[plan.Col][]plan.Expr // what computes a column whose kind is not known
	labels, types, props []string
	any                  shard.AnyPart
	pure                 bool
}

// none is an expression whose value holds no vertex and no edge.
var none = &plan.Const{}

func (c *collector) def(col plan.Col, e plan.Expr) {
	if col != 0 && e != nil {
		c.defs[col] = append(c.defs[col], e)
	}
}

// define notes what computes the columns of a node and of those below.
func (c *collector) define(n plan.Node) {
	switch n := n.(type) {
	case *plan.Project:
		for _, i := range n.Items {
			c.def(i.Col, i.Expr)
		}
	case *plan.Aggregate:
		for _, k := range n.Keys {
			c.def(k.Col, k.Expr)
		}
		for i := range n.Aggs {
			switch g := &n.Aggs[i]; g.Func {
			case "collect", "min", "max":
				for _, a := range g.Args {
					c.def(g.Col, a)
				}
			default:
				c.def(g.Col, none)
			}
		}
	case *plan.Sort:
		for _, k := range n.Keys {
			c.def(k.Col, k.Expr)
		}
	case *plan.Unwind:
		c.def(n.Out, n.List)
	case *plan.Apply:
		c.def(n.Out, none)
		if n.Kind == plan.Collect {
			c.def(n.Out, n.Expr)
		}
	case *plan.Union:
		for _, cols := range n.Cols {
			for j, col := range cols {
				c.def(n.Out[j], &plan.ColRef{Col: col})
			}
		}
	case *plan.ShortestPath:
		c.def(n.Length, none)
	case *plan.FrontierCount:
		c.def(n.Out, none)
	case *plan.CheapestPaths:
		c.def(n.Sum, none)
	case *plan.Traverse:
		c.def(n.Hop, none)
	}
	var in func(*plan.Expr)
	in = func(p *plan.Expr) {
		switch e := (*p).(type) {
		case *plan.Comprehension:
			c.def(e.Var, e.List)
		case *plan.Quantifier:
			c.def(e.Var, e.List)
		case *plan.Reduce:
			c.def(e.Var, e.List)
			c.def(e.Acc, e.Init)
			c.def(e.Acc, e.Body)
		case *plan.Subquery:
			c.define(e.Sub)
		}
		plan.Subexprs(*p, in)
	}
	plan.EachExpr(n, in)
	plan.EachInput(n, func(p *plan.Node) { c.define(*p) })
}

// node collects what a node reads, with those below.
func (c *collector) node(n plan.Node) {
	switch n := n.(type) {
	case *plan.Unit, *plan.Argument, *plan.Filter, *plan.Project, *plan.Distinct, *plan.Sort, *plan.Slice, *plan.Unwind, *plan.Apply, *plan.Union,
		*plan.Product, *plan.HashJoin:
	case *plan.Aggregate:
		for i := range n.Aggs {
			if f, ok := fn.LookupAggregate(n.Aggs[i].Func); !ok || !f.Deterministic {
				c.pure = false
			}
		}
	case *plan.Match:
		c.pattern(&n.Pattern)
	case *plan.Expand:
		c.edges(n.Types)
		c.labelsIn(n.Labels)
	case *plan.VarExpand:
		c.edges(n.Types)
		c.labelsIn(n.Labels)
	case *plan.ShortestPath:
		c.edges(n.Types)
	case *plan.FrontierCount:
		for i := range n.Hops {
			c.edges(n.Hops[i].Types)
			c.labelsIn(n.Hops[i].Labels)
		}
	case *plan.CheapestPaths:
		c.edges(n.Types)
	case *plan.Traverse:
		for i := range n.Hops {
			c.edges(n.Hops[i].Types)
		}
	default:
		c.pure = false
	}
	plan.EachExpr(n, func(p *plan.Expr) { c.expr(*p) })
	plan.EachInput(n, func(p *plan.Node) { c.node(*p) })
}

// edges collects types of edges; none are all.
func (c *collector) edges(types []string) {
	if len(types) == 0 {
		c.any |= shard.AnyType
	}
	c.types = append(c.types, types...)
}

// labelsIn collects the labels of a condition, which may be nil.
func (c *collector) labelsIn(l *plan.LabelExpr) {
	if l == nil {
		return
	}
	switch l.Op {
	case plan.LabelName:
		c.labels = append(c.labels, l.Name)
	case plan.LabelAny:
		c.any |= shard.AnyLabel
	}
	for _, a := range l.Args {
		c.labelsIn(a)
	}
}

// found reports whether a new vertex that satisfies a condition has one of its labels.
func found(l *plan.LabelExpr) bool {
	switch {
	case l == nil:
		return false
	case l.Op == plan.LabelName:
		return true
	case l.Op == plan.LabelAnd:
		return slices.ContainsFunc(l.Args, found)
	case l.Op == plan.LabelOr:
		return len(l.Args) > 0 && !slices.ContainsFunc(l.Args, func(a *plan.LabelExpr) bool { return !found(a) })
	}
	return false
}

// pattern collects what a pattern reads. A vertex without a label is found by an edge to it, if there is one that is no path of any
// length.
func (c *collector) pattern(p *plan.Pattern) {
	for i := range p.Vertices {
		v := &p.Vertices[i]
		c.labelsIn(v.Labels)
		byEdge := func(e plan.PatEdge) bool {
			return e.Length == nil && e.Walk == nil && (e.Left == v.Col || e.Right == v.Col)
		}
		if !v.Bound && !found(v.Labels) && !slices.ContainsFunc(p.Edges, byEdge) {
			c.any |= shard.AnyVertex
		}
	}
	for i := range p.Edges {
		e := &p.Edges[i]
		if e.Walk == nil {
			c.edges(e.Types)
			continue
		}
		for j := range e.Walk.Parts {
			for _, hop := range e.Walk.Parts[j].Hops {
				c.edges(hop.Types)
			}
		}
	}
}

// passing are functions that read nothing of the vertices and edges that they are given.
var passing = map[string]bool{
	"id": true, "elementid": true, "type": true, "startnode": true, "endnode": true, "nodes": true, "relationships": true, "length": true, "size": true,
	"coalesce": true, "head": true, "last": true, "tail": true, "reverse": true, "isempty": true,
}

// plain are functions whose results hold no vertices and edges, though they may be lists.
var plain = map[string]bool{"id": true, "elementid": true, "type": true, "labels": true, "keys": true, "properties": true, "length": true, "size": true}

// expr collects what an expression reads.
func (c *collector) expr(e plan.Expr) {
	switch e := e.(type) {
	case *plan.Prop:
		if !c.isEdge(e.X) && c.holds(e.X, nil) {
			c.props = append(c.props, e.Key)
		}
	case *plan.Op:
		if e.Op == plan.Index && c.holds(e.Args[0], nil) {
			c.any |= shard.AnyProp
		}
	case *plan.Call:
		c.call(e)
	case *plan.MapProject:
		if e.All {
			c.any |= shard.AnyProp
		}
	case *plan.HasLabels:
		c.labelsIn(e.Labels)
	case *plan.HasEdge:
		c.edges(e.Types)
	case *plan.Subquery:
		c.node(e.Sub)
	}
	plan.Subexprs(e, func(p *plan.Expr) { c.expr(*p) })
}

// call collects what a function reads. Vectors are ranked by indexes that approximate.
func (c *collector) call(e *plan.Call) {
	f, ok := fn.Lookup(e.Func)
	switch {
	case !ok || strings.Contains(e.Func, "vector") || strings.HasPrefix(e.Func, "cypher.near."):
		c.pure = false
		return
	case f.Deterministic:
	case !f.Stable || len(e.Args) == 0 || slices.ContainsFunc(e.Args, func(a plan.Expr) bool { return !isText(a) }):
		c.pure = false // it may take parts of the present time
		return
	}
	if !slices.ContainsFunc(e.Args, func(a plan.Expr) bool { return c.holds(a, nil) }) {
		return
	}
	switch {
	case e.Func == "labels":
		c.any |= shard.AnyLabel
	case !passing[e.Func]:
		c.any |= shard.AnyProp | shard.AnyLabel
	}
}

// isText reports whether an expression is a literal string, which may have become a parameter.
func isText(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Const:
		return e.Value.Kind() == graph.String
	case *plan.Param:
		return cypher.IsLiteralName(e.Name)
	}
	return false
}

func (c *collector) isEdge(e plan.Expr) bool {
	r, ok := e.(*plan.ColRef)
	return ok && c.q.Cols[r.Col].Kind == graph.EdgeKind
}

// holds reports whether the value of an expression may be or contain a vertex or an edge. seen are columns that are being looked at.
func (c *collector) holds(e plan.Expr, seen []plan.Col) bool {
	some := func(es ...plan.Expr) bool {
		return slices.ContainsFunc(es, func(e plan.Expr) bool { return c.holds(e, seen) })
	}
	switch e := e.(type) {
	case nil, *plan.Const, *plan.Param, *plan.Quantifier, *plan.HasLabels, *plan.HasEdge, *plan.IsType:
		return false
	case *plan.ColRef:
		return c.holdsCol(e.Col, seen)
	case *plan.Prop:
		if r, ok := e.X.(*plan.ColRef); ok && (c.q.Cols[r.Col].Kind == graph.VertexKind || c.q.Cols[r.Col].Kind == graph.EdgeKind) {
			return false
		}
		return some(e.X)
	case *plan.Op:
		switch e.Op {
		case plan.Add, plan.Concat, plan.Index, plan.SliceOp:
			return some(e.Args...)
		}
		return false
	case *plan.Call:
		if f, ok := fn.Lookup(e.Func); plain[e.Func] || ok && f.Result != 0 && f.Result&(fn.Node|fn.Relationship|fn.Path|fn.List|fn.Map) == 0 {
			return false
		}
		return some(e.Args...)
	case *plan.Case:
		return some(e.Then...) || some(e.Else)
	case *plan.ListLit:
		return some(e.Elems...)
	case *plan.MapLit:
		return some(e.Elems...)
	case *plan.MapProject:
		return some(e.Elems...)
	case *plan.Comprehension:
		if e.Map != nil {
			return some(e.Map)
		}
		return some(e.List)
	case *plan.Reduce:
		return some(e.Init, e.Body)
	case *plan.Subquery:
		return e.Kind == plan.Collect && some(e.Expr)
	}
	return true
}

func (c *collector) holdsCol(col plan.Col, seen []plan.Col) bool {
	if slices.Contains(seen, col) {
		return false // as far as its other definitions do not
	}
	defs := c.defs[col]
	if c.q.Cols[col].Kind != graph.Null || len(defs) == 0 {
		return true
	}
	seen = append(slices.Clip(seen), col)
	return slices.ContainsFunc(defs, func(e plan.Expr) bool { return c.holds(e, seen) })
}
