package bind

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// checkSearch checks @search of the main table against the graph and the access rules.
func (b *Binder) checkSearch(p *Part) error {
	s := p.t.Search
	if s == nil {
		return nil
	}
	if p.Src.Vertex == 0 || p.Src.edge {
		return syntax.Unsupported(s.N, "@search belongs to a table of vertices")
	}
	at := s.N.Get("index")
	indexes := b.Cat.Indexes()
	i := slices.IndexFunc(indexes, func(ix graph.Index) bool { return ix.Name == s.Index && ix.Kind == graph.FullTextIndex })
	if i < 0 {
		return syntax.NotFound(at, "there is no full-text index %q", s.Index)
	}
	ix := &indexes[i]
	if ix.Type != "" || !slices.Contains(ix.Names(), p.t.Label) {
		return syntax.Illegal(at, "the full-text index %s is not over the label %s", s.Index, p.t.Label)
	}
	for _, name := range ix.Props {
		if p.Src.denied[name] {
			return syntax.Fail(syntax.CodeNoRight, at, "the request may not read %q, which the full-text index %s is over", name, s.Index)
		}
	}
	b.fixed = true // the query is a constant of the program
	return nil
}

// hits are the index's hits as rows of a vertex and its score, joined with each row of in.
func hits(s *syntax.TextSearch, in plan.Node, vertex, score plan.Col) plan.Node {
	options := &plan.Const{Value: graph.MapValue(nil)}
	if s.Analyzer != "" {
		options.Value = graph.MapValue([]graph.MapEntry{{Key: "analyzer", Value: graph.StringValue(s.Analyzer)}})
	}
	return &plan.CallProc{
		Input: in, Proc: "db.index.fulltext.queryNodes",
		Args:  []plan.Expr{&plan.Const{Value: graph.StringValue(s.Index)}, &plan.Const{Value: graph.StringValue(s.Query)}, options},
		Yield: []plan.Yield{{Name: "node", Col: vertex}, {Name: "score", Col: score}},
	}
}

// found keeps the rows of the main table that its @search finds. With @near beside it, the rows that either finds stay.
func (b *Binder) found(lv *level, p *Part, node plan.Node) plan.Node {
	s := p.t.Search
	score := lv.col("", graph.Float)
	if p.Src.cols == nil {
		p.Src.cols = map[string]plan.Expr{}
	}
	if m, ok := node.(*plan.Match); ok && p.t.Near == nil {
		if _, first := m.Input.(*plan.Unit); first { // the rows begin with the hits, not with all of the label
			m.Input, m.Pattern.Vertices[0].Bound = hits(s, m.Input, p.Src.Vertex, score), true
			p.Src.cols[syntax.ScoreColumn] = &plan.ColRef{Col: score}
			return m
		}
	}
	// The index is searched once for all rows from above.
	hit := lv.col("", graph.VertexKind)
	join := &plan.HashJoin{
		Left: node, Right: hits(s, &plan.Unit{}, hit, score), LeftKeys: []plan.Col{p.Src.Vertex}, RightKeys: []plan.Col{hit}, Once: true,
		RightCols: []plan.Col{hit, score},
	}
	if p.t.Near == nil {
		p.Src.cols[syntax.ScoreColumn] = &plan.ColRef{Col: score}
		return join
	}
	join.Left = &plan.Argument{Cols: []plan.Col{p.Src.Vertex}}
	return b.fused(lv, p, &plan.Apply{Input: node, Sub: join, Kind: plan.Optional, Cols: []plan.Col{score}}, score)
}

// fused joins the ranks of rows by @near and by @search, whose scores are null where the row is not ranked, by reciprocal rank fusion.
func (b *Binder) fused(lv *level, p *Part, node plan.Node, text plan.Col) plan.Node {
	near := p.Src.cols[syntax.ScoreColumn]
	row := []plan.Expr{near, &plan.ColRef{Col: text}, &plan.ColRef{Col: p.Src.Vertex}}
	depth := p.Src.cols[syntax.DepthColumn]
	if depth != nil {
		row = append(row, depth)
	}
	all, item := lv.col("", graph.List), lv.col("", graph.List)
	vertex, score := lv.col(p.t.Key, graph.VertexKind), lv.col(syntax.ScoreColumn, graph.Float)
	at := func(i int64) plan.Expr { return Op(plan.Index, &plan.ColRef{Col: item}, IntConst(i)) }
	items := []plan.Item{{Col: vertex, Expr: at(2)}, {Col: score, Expr: at(0)}}
	p.Src.Vertex = vertex
	p.Src.cols[syntax.ScoreColumn] = &plan.ColRef{Col: score}
	if depth != nil {
		col := lv.col(syntax.DepthColumn, graph.Int)
		items = append(items, plan.Item{Col: col, Expr: at(3)})
		p.Src.cols[syntax.DepthColumn] = &plan.ColRef{Col: col}
	}
	node = &plan.Aggregate{Input: node, Aggs: []plan.Agg{{Col: all, Func: "collect", Args: []plan.Expr{&plan.ListLit{Elems: row}}}}}
	return &plan.Project{
		Input: &plan.Unwind{Input: node, Out: item, List: call("cypher.fuse", &plan.ColRef{Col: all})}, Items: items,
	}
}
