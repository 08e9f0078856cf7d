package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// distinctGroups is the rule DistinctGroups. Below an operator that waits for all rows, repeats of properties that rows of an
// expansion have are removed by grouping, which reads and hashes the property of a vertex once, not for each row:
//
//	Aggregation count(*)               Aggregation count(*)
//	  Distinct x, y                      Aggregation BY a.name AS x, b.name AS y
//	    Projection a.name AS x, …          ExpandAll (a)-->(b)
//	      ExpandAll (a)-->(b)
func distinctGroups(o *optimizer, n plan.Node) plan.Node {
	switch n.(type) {
	case *plan.Aggregate, *plan.Sort:
	default:
		return nil
	}
	in := plan.Children(n)[0]
	d, ok := in.(*plan.Distinct)
	if !ok || d.Key != nil {
		return nil
	}
	p, ok := d.Input.(*plan.Project)
	if !ok || p.Keep || len(p.Items) != len(d.Cols) || !o.expands(p.Input) {
		return nil
	}
	computed := false
	for _, it := range p.Items {
		if !slices.Contains(d.Cols, it.Col) {
			return nil
		}
		x, ok := it.Expr.(*plan.Prop)
		if ok {
			ref, of := x.X.(*plan.ColRef)
			ok = of && o.Query.Cols[ref.Col].Kind == graph.VertexKind
		}
		computed = computed || !ok
	}
	groups := plan.Node(&plan.Aggregate{Input: p.Input, Keys: p.Items})
	if !o.off("EdgeGroups") {
		if m := edgeGroups(o, groups); m != nil {
			groups, computed = m, false
			o.fired("EdgeGroups")
		}
	}
	if computed {
		return nil
	}
	plan.EachInput(n, func(c *plan.Node) { *c = groups })
	return n
}

// expands reports whether the rows of a node come from an expansion, so that vertices repeat.
func (o *optimizer) expands(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Filter:
		return o.expands(n.Input)
	case *plan.Expand, *plan.VarExpand, *plan.Intersect:
		return true
	}
	return false
}

// edgeGroups is the rule EdgeGroups. Keys that are properties, with counts, come out of the matrix as they are. What is computed from
// properties is computed for each of their groups, unless these are too many:
//
//	Aggregation avg(b.age) BY left(a.name, 1) AS x    Fallback
//	  ExpandAll (a)-->(b)                               Aggregation avg(y) TIMES n BY left(z, 1) AS x
//	                                                      EdgeGroupAggregation BY a.name AS z, b.age AS y
//	                                                    Aggregation avg(b.age) BY left(a.name, 1) AS x
//	                                                      ExpandAll (a)-->(b)
func edgeGroups(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || a.Times != nil || o.Query.Writes || !o.env.Features.Has(shard.Aggregates) {
		return nil
	}
	g, x := o.groupedEdges(a.Input)
	if g == nil {
		return nil
	}
	inputs := &endProps{o: o, x: x, g: g}
	aggs := countRows(a.Aggs, func(e plan.Expr) bool {
		ref, ok := e.(*plan.ColRef)
		return ok && (ref.Col == x.From || ref.Col == x.To || ref.Col == x.Edge)
	})
	if !slices.ContainsFunc(aggs, func(g plan.Agg) bool { return len(g.Args) > 0 }) &&
		!slices.ContainsFunc(a.Keys, func(k plan.Item) bool { return inputs.of(k.Expr) == nil }) {
		if len(a.Keys) == 0 {
			return nil
		}
		for _, k := range a.Keys {
			inputs.add(inputs.of(k.Expr), k.Col)
		}
		g.Input = a
		return inputs.grouped()
	}
	accept, depend := a.Repeats()
	if !accept {
		return nil
	}
	over := &plan.Aggregate{Input: g}
	all := &plan.Fallback{Groups: over, Rows: a}
	for _, k := range a.Keys {
		over.Keys = append(over.Keys, plan.Item{Col: k.Col, Expr: inputs.replace(k.Expr)})
		all.Cols = append(all.Cols, k.Col)
	}
	for _, f := range aggs {
		f.Args = slices.Clone(f.Args)
		for i := range f.Args {
			f.Args[i] = inputs.replace(f.Args[i])
		}
		over.Aggs = append(over.Aggs, f)
		all.Cols = append(all.Cols, f.Col)
	}
	if inputs.other || len(g.Places) == 0 {
		return nil
	}
	if depend {
		over.Times = &plan.ColRef{Col: o.Query.NewCol("", graph.Null)}
	}
	inputs.grouped()
	return all
}

// groupedEdges returns the edges of an expansion, of one type and with at most a label at each end, as an EdgeGroups without keys; nil if it
// asks for more, or grouping the ends costs more than it saves.
func (o *optimizer) groupedEdges(n plan.Node) (*plan.EdgeGroups, *plan.Expand) {
	x, ok := n.(*plan.Expand)
	if !ok || x.Dir == graph.Both || x.Into || len(x.DistinctFrom) > 0 || len(x.Where) > 0 || len(x.Types) != 1 {
		return nil, nil
	}
	scan, ok := x.Input.(*plan.Scan)
	if !ok || scan.Out != x.From {
		return nil, nil
	}
	if _, ok := scan.Input.(*plan.Unit); !ok {
		return nil, nil
	}
	if float64(o.Counts.ByType[x.Types[0]]) < o.Vertices(scan.Labels)+o.Vertices(x.Labels) {
		return nil, nil
	}
	g := &plan.EdgeGroups{Type: x.Types[0], Dir: x.Dir, Places: map[plan.Col]plan.GroupKey{}}
	g.Ends[0].Vertex, g.Ends[1].Vertex = x.From, x.To
	for i, l := range []*plan.LabelExpr{scan.Labels, x.Labels} {
		if l != nil && l.Op != plan.LabelName {
			return nil, nil
		}
		if l != nil {
			g.Ends[i].Label = l.Name
		}
	}
	return g, x
}

// endProps makes properties of the ends of edges the keys of an EdgeGroups.
type endProps struct {
	o     *optimizer
	x     *plan.Expand
	g     *plan.EdgeGroups
	other bool // something else of the edge or its ends is read, or what tells vertices apart
}

// of returns an expression as a property of an end, or nil.
func (s *endProps) of(e plan.Expr) *plan.Prop {
	if p, ok := e.(*plan.Prop); ok {
		if ref, ok := p.X.(*plan.ColRef); ok && (ref.Col == s.x.From || ref.Col == s.x.To) {
			return p
		}
	}
	return nil
}

// replace returns an expression over the keys, and makes the properties that it reads keys.
func (s *endProps) replace(e plan.Expr) plan.Expr {
	return plan.Replace(e, func(e plan.Expr) plan.Expr {
		if p := s.of(e); p != nil {
			return &plan.ColRef{Col: s.key(p)}
		}
		switch e := e.(type) {
		case *plan.ColRef:
			s.other = s.other || e.Col == s.x.From || e.Col == s.x.To || e.Col == s.x.Edge
		case *plan.MakePath:
			s.other = true
		}
		return nil
	})
}

// key returns the column of a property, which it makes a key. Groups by what is unique are no fewer than vertices.
func (s *endProps) key(p *plan.Prop) plan.Col {
	end := s.end(p)
	for c, k := range s.g.Places {
		if k.End == end && s.g.Ends[end].Keys[k.At] == p.Key {
			return c
		}
	}
	s.other = s.other || slices.ContainsFunc(s.o.Indexes, func(ix graph.Index) bool {
		return ix.Unique && len(ix.Props) == 1 && ix.Props[0] == p.Key
	})
	c := s.o.Query.NewCol("", graph.Null)
	s.add(p, c)
	return c
}

func (s *endProps) end(p *plan.Prop) int {
	if p.X.(*plan.ColRef).Col == s.x.To {
		return 1
	}
	return 0
}

// add makes a property a key of its end.
func (s *endProps) add(p *plan.Prop, c plan.Col) {
	e := &s.g.Ends[s.end(p)]
	s.g.Places[c] = plan.GroupKey{End: s.end(p), At: len(e.Keys)}
	e.Keys = append(e.Keys, p.Key)
}

// grouped returns the EdgeGroups with its keys.
func (s *endProps) grouped() plan.Node {
	s.g.Same = s.g.Ends[0].Label == s.g.Ends[1].Label && slices.Equal(s.g.Ends[0].Keys, s.g.Ends[1].Keys)
	return s.g
}
