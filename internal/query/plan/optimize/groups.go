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
// properties is computed for each of their groups:
//
//	Aggregation avg(b.age) BY left(a.name, 1) AS x    Aggregation avg(y) TIMES n BY left(z, 1) AS x
//	  ExpandAll (a)-->(b)                               EdgeGroupAggregation
//	                                                      Projection b.age AS y, a.name AS z, 1 AS n
//	                                                        ExpandAll (a)-->(b)
func edgeGroups(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || a.Times != nil || o.Query.Writes || !o.env.Features.Has(shard.Aggregates) {
		return nil
	}
	g, x := o.groupedEdges(a.Input)
	if g == nil {
		return nil
	}
	aggs := countRows(a.Aggs, func(e plan.Expr) bool {
		ref, ok := e.(*plan.ColRef)
		return ok && (ref.Col == x.From || ref.Col == x.To || ref.Col == x.Edge)
	})
	plain := !slices.ContainsFunc(aggs, func(g plan.Agg) bool { return len(g.Args) > 0 })
	inputs := &endProps{o: o, x: x}
	for i := range a.Keys {
		plain = plain && inputs.of(a.Keys[i].Expr) != nil
		inputs.find(&a.Keys[i].Expr)
	}
	for i := range aggs {
		for j := range aggs[i].Args {
			inputs.find(&aggs[i].Args[j])
		}
	}
	repeats, counts := a.Repeats()
	switch {
	case inputs.other || len(inputs.found) == 0:
		return nil
	case plain:
		g.Input = a
		for _, k := range a.Keys {
			inputs.add(g, k.Expr.(*plan.Prop), k.Col)
		}
	case !repeats || inputs.unique():
		return nil
	default:
		g.Input, g.Identical = &plan.Project{Input: x, Items: inputs.replace(g)}, true
		a.Input, a.Aggs = g, aggs
		if counts {
			p := g.Input.(*plan.Project)
			rows := o.Query.NewCol("", graph.Null)
			p.Items = append(p.Items, plan.Item{Col: rows, Expr: &plan.Const{Value: graph.IntValue(1)}})
			a.Times = &plan.ColRef{Col: rows}
		}
	}
	g.Same = g.Ends[0].Label == g.Ends[1].Label && slices.Equal(g.Ends[0].Keys, g.Ends[1].Keys)
	if plain {
		return g
	}
	return a
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

// endProps are the properties of the ends of edges that expressions read.
type endProps struct {
	o     *optimizer
	x     *plan.Expand
	found []*plan.Expr // where they are read
	other bool         // something else of the row is read
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

// find adds the properties that an expression reads.
func (s *endProps) find(e *plan.Expr) {
	if s.of(*e) != nil {
		s.found = append(s.found, e)
		return
	}
	reads := func(c plan.Col) bool { return c == s.x.From || c == s.x.To || c == s.x.Edge }
	switch e := (*e).(type) {
	case *plan.ColRef:
		s.other = s.other || reads(e.Col)
	case *plan.MakePath:
		s.other = true
	}
	plan.Subexprs(*e, s.find)
}

// unique reports whether a property tells the vertices of its end apart, so that groups are no fewer than vertices.
func (s *endProps) unique() bool {
	return slices.ContainsFunc(s.found, func(e *plan.Expr) bool {
		p := (*e).(*plan.Prop)
		return slices.ContainsFunc(s.o.Indexes, func(ix graph.Index) bool {
			return ix.Unique && len(ix.Props) == 1 && ix.Props[0] == p.Key
		})
	})
}

// replace makes each property a column, which it adds to the keys of g, and returns the columns.
func (s *endProps) replace(g *plan.EdgeGroups) (items []plan.Item) {
	for _, e := range s.found {
		p := (*e).(*plan.Prop)
		i := slices.IndexFunc(items, func(it plan.Item) bool {
			q := it.Expr.(*plan.Prop)
			return q.Key == p.Key && q.X.(*plan.ColRef).Col == p.X.(*plan.ColRef).Col
		})
		if i < 0 {
			i = len(items)
			items = append(items, plan.Item{Col: s.o.Query.NewCol("", graph.Null), Expr: p})
			s.add(g, p, items[i].Col)
		}
		*e = &plan.ColRef{Col: items[i].Col}
	}
	return items
}

// add makes a property a key of its end.
func (s *endProps) add(g *plan.EdgeGroups, p *plan.Prop, c plan.Col) {
	end := 0
	if p.X.(*plan.ColRef).Col == s.x.To {
		end = 1
	}
	e := &g.Ends[end]
	g.Places[c] = plan.GroupKey{End: end, At: len(e.Keys)}
	e.Keys = append(e.Keys, p.Key)
}
