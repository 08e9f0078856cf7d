package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// distinctKey is the rule DistinctKey. If all compared values belong to one vertex and identify it, repeats of the vertex are removed before its properties are read:
//
//	Distinct c.id, c.name           Distinct c.id, c.name BY KEY c.id
//	  Projection c.id, c.name         Projection c.id, c.name
//	    ExpandAll (b)-->(c)             Distinct c
//	                                      ExpandAll (b)-->(c)
//
// If a column is the vertex itself, nothing is compared above.
func distinctKey(o *optimizer, n plan.Node) plan.Node {
	d, ok := n.(*plan.Distinct)
	if !ok || d.Key != nil {
		return nil
	}
	p, ok := d.Input.(*plan.Project)
	if !ok || p.Keep || len(d.Cols) != len(p.Items) {
		return nil
	}
	v := plan.Col(0)
	for _, it := range p.Items {
		for c := range plan.Reads(it.Expr).All() {
			v = c
		}
		if !slices.Contains(d.Cols, it.Col) {
			return nil
		}
	}
	if v == 0 || o.Query.Cols[v].Kind != graph.VertexKind {
		return nil
	}
	itself := false
	for _, it := range p.Items {
		if !plan.OfHop([]plan.Expr{it.Expr}, 0, v) {
			return nil
		}
		ref, ok := it.Expr.(*plan.ColRef)
		itself = itself || ok && ref.Col == v
	}
	if itself {
		if len(p.Items) == 1 {
			return nil
		}
		o.distinctVertex(p, v)
		return p
	}
	if d.Key = o.uniqueKey(p, v); d.Key == nil {
		return nil
	}
	o.distinctVertex(p, v)
	return d
}

// distinctVertex removes repeats of a vertex below a projection.
func (o *optimizer) distinctVertex(p *plan.Project, v plan.Col) {
	if below, ok := p.Input.(*plan.Distinct); ok && slices.Equal(below.Cols, []plan.Col{v}) {
		return
	}
	p.Input = &plan.Distinct{Input: p.Input, Cols: []plan.Col{v}}
}

// uniqueKey returns an item of a projection that is a unique key of v, or nil.
func (o *optimizer) uniqueKey(p *plan.Project, v plan.Col) *plan.UniqueKey {
	for i := range o.Indexes {
		ix := &o.Indexes[i]
		if !ix.Unique || !ix.Online || ix.Label == "" || len(ix.Props) != 1 {
			continue
		}
		for _, it := range p.Items {
			if !propOf(it.Expr, v, ix.Props[0]) {
				continue
			}
			if ok, from := o.labelled(p.Input, v, ix.Label); ok {
				return &plan.UniqueKey{Col: it.Col, Label: ix.Label, From: from}
			}
		}
	}
	return nil
}

// labelled reports whether all vertices of a column have a label. Without a test, the vertices that an expansion binds have it if
// the counters prove so.
func (o *optimizer) labelled(n plan.Node, v plan.Col, label string) (ok bool, from *plan.Expand) {
	for {
		switch at := n.(type) {
		case *plan.Filter:
			n = at.Input
		case *plan.Distinct:
			n = at.Input
		case *plan.Project:
			if !passes(at, v) {
				return false, nil
			}
			n = at.Input
		case *plan.Scan:
			if at.Out == v {
				return at.Labels.Implies(label), nil
			}
			n = at.Input
		case *plan.Seek:
			if at.Out == v {
				return at.Index.Label == label, nil
			}
			n = at.Input
		case *plan.SeekRange:
			if at.Out == v {
				return at.Index.Label == label, nil
			}
			n = at.Input
		case *plan.VarExpand:
			if at.To == v && !at.Into {
				return at.Labels.Implies(label), nil
			}
			n = at.Input
		case *plan.Expand:
			switch {
			case at.To != v || at.Into:
				n = at.Input
			case at.Labels.Implies(label):
				return true, nil
			default:
				return o.Counts.FarEnds(at.Types, at.Dir, label), at
			}
		default:
			return false, nil
		}
	}
}
