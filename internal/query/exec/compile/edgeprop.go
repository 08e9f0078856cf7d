package compile

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// edgeProp is a property of an edge or of a vertex. An expansion that binds the edge can fetch it into a column of its own,
// which is cheap while the edge's list is in memory; reading it afterwards searches for the edge. A filter that tests a
// vertex's property can pass it on.
type edgeProp struct {
	Edge plan.Col // or the vertex
	Key  string
}

// firstEdgeProp is the number of the first column of an edge property, beyond all columns of plans.
const firstEdgeProp = 1 << 16

// IsEdgeProp reports whether a column holds an edge property.
func IsEdgeProp(col plan.Col) bool { return col >= firstEdgeProp }

// EdgePropCol returns the column of an edge property.
func (c *Compiler) EdgePropCol(p edgeProp) plan.Col {
	for i, known := range c.EdgeProps {
		if known == p {
			return plan.Col(len(c.Program.Query.Cols) + firstEdgeProp + i)
		}
	}
	c.EdgeProps = append(c.EdgeProps, p)
	return plan.Col(len(c.Program.Query.Cols) + firstEdgeProp + len(c.EdgeProps) - 1)
}

// Brought returns the needed properties of an edge, and their columns.
func (c *Compiler) Brought(edge plan.Col, need plan.ColSet) (keys []string, cols []plan.Col) {
	for _, p := range c.EdgeProps {
		if col := c.EdgePropCol(p); p.Edge == edge && need.Has(col) {
			keys, cols = append(keys, p.Key), append(cols, col)
		}
	}
	return keys, cols
}

// ByEdge rewrites an expression over the rows of a node so that it reads properties of edges from the columns that expansions
// below the node fill, and properties of vertices from those of filters below it. In a statement that writes, it leaves the
// expression unchanged.
func (c *Compiler) ByEdge(e plan.Expr, input plan.Node) plan.Expr {
	q := c.Program.Query
	if q.Writes {
		return e
	}
	return Rewrite(e, func(e plan.Expr) plan.Expr {
		p, ok := e.(*plan.Prop)
		if !ok {
			return nil
		}
		ref, ok := p.X.(*plan.ColRef)
		if !ok || int(ref.Col) >= len(q.Cols) {
			return nil
		}
		x := edgeProp{ref.Col, p.Key}
		switch q.Cols[ref.Col].Kind {
		case graph.EdgeKind:
			ok = brings(input, ref.Col)
		case graph.VertexKind:
			ok = tested(input, x)
		default:
			ok = false
		}
		if !ok {
			return nil
		}
		return &plan.ColRef{Col: c.EdgePropCol(x)}
	})
}

// tested reports whether a filter below a node reads a property, with only nodes between that neither repeat nor buffer rows.
func tested(n plan.Node, p edgeProp) bool {
	switch n := n.(type) {
	case *plan.Filter:
		return slices.ContainsFunc(n.Preds, p.In) || tested(n.Input, p)
	case *plan.Project:
		return Passes(n, p.Edge) && tested(n.Input, p)
	}
	return false
}

// In reports whether an expression reads the property.
func (p edgeProp) In(e plan.Expr) bool {
	if x, ok := e.(*plan.Prop); ok && x.Key == p.Key {
		if ref, ok := x.X.(*plan.ColRef); ok && ref.Col == p.Edge {
			return true
		}
	}
	found := false
	plan.Parts(e, func(part *plan.Expr) { found = found || p.In(*part) })
	return found
}

// Passes reports whether a projection passes a column on unchanged.
func Passes(n *plan.Project, col plan.Col) bool {
	for _, it := range n.Items {
		if it.Col == col {
			ref, ok := it.Expr.(*plan.ColRef)
			return ok && ref.Col == col
		}
	}
	return n.Keep
}

// brings reports whether an expansion below a node binds an edge, with only nodes between that pass columns on.
func brings(n plan.Node, edge plan.Col) bool {
	switch n := n.(type) {
	case *plan.Expand:
		return n.Edge == edge && !n.Into || n.Edge != edge && brings(n.Input, edge)
	case *plan.Filter:
		return brings(n.Input, edge)
	case *plan.Sort:
		return brings(n.Input, edge)
	case *plan.Slice:
		return brings(n.Input, edge)
	case *plan.Unwind:
		return brings(n.Input, edge)
	case *plan.Project:
		return Passes(n, edge) && brings(n.Input, edge)
	case *plan.Apply:
		return brings(n.Input, edge)
	}
	return false
}

// Rewrite copies an expression and replaces each part for which f returns another. It descends into parts for which f returns nil,
// except into the plans of subqueries.
func Rewrite(e plan.Expr, f func(plan.Expr) plan.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	if r := f(e); r != nil {
		return r
	}
	one := func(e plan.Expr) plan.Expr { return Rewrite(e, f) }
	all := func(es []plan.Expr) []plan.Expr {
		out := make([]plan.Expr, len(es))
		for i, e := range es {
			out[i] = one(e)
		}
		return out
	}
	switch e := e.(type) {
	case *plan.Prop:
		return &plan.Prop{X: one(e.X), Key: e.Key}
	case *plan.Op:
		return &plan.Op{Op: e.Op, Args: all(e.Args), Pos: e.Pos}
	case *plan.Call:
		return &plan.Call{Func: e.Func, Args: all(e.Args), Pos: e.Pos}
	case *plan.Case:
		return &plan.Case{When: all(e.When), Then: all(e.Then), Else: one(e.Else)}
	case *plan.ListLit:
		return &plan.ListLit{Elems: all(e.Elems)}
	case *plan.MapLit:
		return &plan.MapLit{Keys: e.Keys, Elems: all(e.Elems)}
	case *plan.MapProject:
		return &plan.MapProject{X: one(e.X), All: e.All, Keys: e.Keys, Elems: all(e.Elems)}
	case *plan.Comprehension:
		return &plan.Comprehension{Var: e.Var, List: one(e.List), Where: one(e.Where), Map: one(e.Map)}
	case *plan.Quantifier:
		return &plan.Quantifier{Kind: e.Kind, Var: e.Var, List: one(e.List), Pred: one(e.Pred)}
	case *plan.Reduce:
		return &plan.Reduce{Acc: e.Acc, Init: one(e.Init), Var: e.Var, List: one(e.List), Body: one(e.Body)}
	case *plan.HasLabels:
		return &plan.HasLabels{X: one(e.X), Labels: e.Labels}
	case *plan.HasEdge:
		return &plan.HasEdge{From: one(e.From), To: one(e.To), Types: e.Types, Dir: e.Dir}
	case *plan.IsType:
		return &plan.IsType{X: one(e.X), Type: e.Type, Not: e.Not}
	}
	return e
}
