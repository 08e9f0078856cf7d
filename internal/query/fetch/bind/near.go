package bind

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// nearest binds @near of the main table: its score becomes a column, and rows without one are left out.
func (b *Binder) nearest(lv *level, p *Part) error {
	near := p.t.Near
	if near == nil {
		return nil
	}
	if p.Src.Vertex == 0 || p.Src.edge {
		return syntax.Unsupported(near.N, "@near belongs to a table of vertices")
	}
	x := &names{b: &b.predicates, lv: lv, src: p.Src, at: near.N}
	property, err := x.expr(&syntax.NameExpr{Name: near.Property})
	if err != nil {
		return err
	}
	b.fixed = true // the vector is a constant of the program
	score := call("cypher.near."+near.By.String(), property, &plan.Const{Value: graph.ListValue(near.Vector)})
	if p.Src.cols == nil {
		p.Src.cols = map[string]plan.Expr{}
	}
	p.Src.cols[syntax.ScoreColumn] = score
	p.near = []plan.Expr{Op(plan.IsNotNull, score)}
	return nil
}
