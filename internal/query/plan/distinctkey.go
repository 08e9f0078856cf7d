package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// distinctKey is the rule DistinctKey. If all compared values belong to one vertex and identify it, repeats of the vertex are removed before its properties are read:
//
//	Distinct c.id, c.name           Distinct c.id, c.name BY KEY c.id
//	  Projection c.id, c.name         Projection c.id, c.name
//	    ExpandAll (b)-->(c)             Distinct c
//	                                      ExpandAll (b)-->(c)
//
// If a column is the vertex itself, nothing is compared above.
func distinctKey(o *optimizer, n Node) Node {
	d, ok := n.(*Distinct)
	if !ok || d.Key != nil {
		return nil
	}
	p, ok := d.Input.(*Project)
	if !ok || p.Keep || len(d.Cols) != len(p.Items) {
		return nil
	}
	v := Col(0)
	for _, it := range p.Items {
		for c := range Reads(it.Expr).All() {
			v = c
		}
		if !slices.Contains(d.Cols, it.Col) {
			return nil
		}
	}
	if v == 0 || o.q.Cols[v].Kind != graph.VertexKind {
		return nil
	}
	itself := false
	for _, it := range p.Items {
		if !OfHop([]Expr{it.Expr}, 0, v) {
			return nil
		}
		ref, ok := it.Expr.(*ColRef)
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
func (o *optimizer) distinctVertex(p *Project, v Col) {
	if below, ok := p.Input.(*Distinct); ok && slices.Equal(below.Cols, []Col{v}) {
		return
	}
	p.Input = &Distinct{Input: p.Input, Cols: []Col{v}}
}

// uniqueKey returns an item of a projection that is a unique key of v, or nil.
func (o *optimizer) uniqueKey(p *Project, v Col) *UniqueKey {
	for i := range o.indexes {
		ix := &o.indexes[i]
		if !ix.Unique || !ix.Online || ix.Label == "" || len(ix.Props) != 1 {
			continue
		}
		for _, it := range p.Items {
			if !propOf(it.Expr, v, ix.Props[0]) {
				continue
			}
			if ok, from := o.labelled(p.Input, v, ix.Label); ok {
				return &UniqueKey{Col: it.Col, Label: ix.Label, From: from}
			}
		}
	}
	return nil
}

// labelled reports whether all vertices of a column have a label. Without a test, the vertices that an expansion binds have it if
// the counters prove so.
func (o *optimizer) labelled(n Node, v Col, label string) (ok bool, from *Expand) {
	for {
		switch at := n.(type) {
		case *Filter:
			n = at.Input
		case *Distinct:
			n = at.Input
		case *Project:
			if !passes(at, v) {
				return false, nil
			}
			n = at.Input
		case *Scan:
			if at.Out == v {
				return at.Labels.implies(label), nil
			}
			n = at.Input
		case *Seek:
			if at.Out == v {
				return at.Index.Label == label, nil
			}
			n = at.Input
		case *SeekRange:
			if at.Out == v {
				return at.Index.Label == label, nil
			}
			n = at.Input
		case *VarExpand:
			if at.To == v && !at.Into {
				return at.Labels.implies(label), nil
			}
			n = at.Input
		case *Expand:
			switch {
			case at.To != v || at.Into:
				n = at.Input
			case at.Labels.implies(label):
				return true, nil
			default:
				return o.counts.FarEnds(at.Types, at.Dir, label), at
			}
		default:
			return false, nil
		}
	}
}
