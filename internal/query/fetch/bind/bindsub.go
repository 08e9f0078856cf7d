package bind

import (
	"errors"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// subquery binds {"from": …}: as a query that runs before, where it is the same for all rows, else for each row of lv.
func (b *Binder) subquery(lv *level, src *source, sc *Scope, a *syntax.Array) (*boundSub, error) {
	if src != nil {
		sc = NewScope(sc, nil)
		sc.main = src.bound
	}
	err := errOuter
	if !(outward{sc}).array(a) {
		top := b.Open()
		mark := len(b.before)
		var s *boundSub
		if s, err = b.subRows(top, sc, a); err == nil {
			b.Close(top, s.node)
			s.query = top.Query
			return s, nil
		}
		b.forget(mark)
	}
	if !errors.Is(err, errOuter) || lv == nil {
		return nil, err
	}
	return b.subRows(lv.below(), sc, a)
}

// forget drops the queries that an attempt has added.
func (b *Binder) forget(mark int) {
	for _, q := range b.before[mark:] {
		q.ran = false
	}
	b.before = b.before[:mark]
}

// subRows binds the rows of a subquery at a level of its own.
func (b *Binder) subRows(lv *level, sc *Scope, a *syntax.Array) (*boundSub, error) {
	inner := NewScope(sc, lv)
	s, err := b.selects(lv, a, a.Main(), inner)
	if err != nil {
		return nil, err
	}
	sub := &boundSub{lv: lv, quant: a.Quant, node: b.cut(a, s.Node, 0)}
	for _, p := range s.Parts { // a requested name precedes those of all properties
		sub.from = append(sub.from, p.outs...)
	}
	for _, p := range s.Parts {
		if p.bound.star {
			for _, name := range b.Cat.AllProps() {
				if e := p.bound.column(b.Cat, name); e != nil {
					sub.from = append(sub.from, outName{name, e})
				}
			}
			if sub.value == nil {
				if e := p.bound.column(b.Cat, b.Key(p.t.Label)); e != nil {
					sub.value = e
				}
			}
		}
		if sub.value == nil && len(p.outs) > 0 {
			sub.value = p.outs[0].expr
		}
	}
	if sub.value == nil {
		sub.value = BoolConst(true)
	}
	return sub, nil
}

// cut binds count and page of an array; fallback is the default count, 0 for no limit.
func (b *levels) cut(a *syntax.Array, node plan.Node, fallback int64) plan.Node {
	s := &plan.Slice{Input: node}
	count := fallback
	if a.Count != nil {
		if n, _ := syntax.WholeNumber(a.Count); n > 0 {
			s.Limit = b.lift(a.Count, Param{Kind: ParamNumber, Elem: -1})
		}
		count = 0
	} else if fallback > 0 {
		s.Limit = IntConst(fallback)
	}
	if a.Page != nil && s.Limit != nil {
		if n, _ := syntax.WholeNumber(a.Page); n > 0 {
			p := Param{Kind: ParamSkip, Elem: -1, Ord2: -1, Count: count}
			if a.Count != nil {
				p.Ord2 = a.Count.Ord
			}
			s.Skip = b.lift(a.Page, p)
		}
	}
	if a.Page != nil && s.Limit == nil {
		if n, _ := syntax.WholeNumber(a.Page); n > 0 { // all rows are on the first page
			return &plan.Filter{Input: node, Preds: []plan.Expr{BoolConst(false)}}
		}
	}
	if s.Skip == nil && s.Limit == nil {
		return node
	}
	return s
}

// takes creates a parameter from a subquery that runs earlier.
func (b *levels) takes(s *boundSub, k takeKind, at *syntax.Node) *plan.Param {
	col := b.column(s.lv, s.value, "")
	for _, t := range s.query.Takes {
		if t.Kind == k && t.Col == col {
			return &plan.Param{Name: t.Slot}
		}
	}
	slot := b.slot()
	s.query.Takes = append(s.query.Takes, Take{Kind: k, Col: col, Slot: slot, Path: at.Path()})
	have := false
	for _, q := range b.before {
		have = have || q == s.query
	}
	if !have && !s.query.ran {
		b.before = append(b.before, s.query)
		s.query.ran = true
	}
	return &plan.Param{Name: slot}
}

// exists binds k}{@.
func (b *predicates) exists(lv *level, src *source, sc *Scope, c *syntax.Cond) (plan.Expr, error) {
	var s *boundSub
	var err error
	if c.Sub == nil {
		th := sc.root().things[c.Path]
		if th == nil || th.sub == nil {
			return nil, syntax.Illegal(c.N, "there is no subquery %q", c.Path)
		}
		s = th.sub
	} else if s, err = b.rows.subquery(lv, src, sc, c.Sub); err != nil {
		return nil, err
	}
	if s.query != nil {
		return negated(c, b.takes(s, TakeExists, c.N)), nil
	}
	return negated(c, s.expr(plan.Exists, nil)), nil
}

// expr runs the subquery for each row.
func (s *boundSub) expr(k plan.ApplyKind, e plan.Expr) plan.Expr {
	return &plan.Subquery{Kind: k, Sub: s.node, Expr: e}
}

// compareSub binds a comparison with a subquery.
func (b *predicates) compareSub(lv *level, src *source, sc *Scope, col plan.Expr, c *syntax.Cond, a *syntax.Array) (plan.Expr, error) {
	s, err := b.rows.subquery(lv, src, sc, a)
	if err != nil {
		return nil, err
	}
	return b.compareBound(lv, col, c, s)
}

func (b *predicates) compareBound(lv *level, col plan.Expr, c *syntax.Cond, s *boundSub) (plan.Expr, error) {
	list := func() plan.Expr {
		if s.query == nil {
			return s.expr(plan.Collect, s.value)
		}
		return b.takes(s, TakeList, c.N)
	}
	switch c.Op {
	case syntax.OpIn:
		return negated(c, Op(plan.In, col, list())), nil
	case syntax.OpContains:
		return contains(col, c, list()), nil
	case syntax.OpLike, syntax.OpRegexp, syntax.OpBetween:
		return nil, syntax.Unsupported(c.N, "no subquery can stand here")
	}
	code := comparisons[c.Op]
	if c.Op == syntax.OpEqual && c.Marked && c.Logic == syntax.LogicNot {
		code = plan.Ne
	}
	if s.quant == "" {
		if s.query == nil {
			return Op(code, col, Op(plan.Index, s.expr(plan.Collect, s.value), IntConst(0))), nil
		}
		return Op(code, col, b.takes(s, TakeSingle, c.N)), nil
	}
	return b.quantified(lv, col, code, c, s, list), nil
}

// quantified binds a comparison with ALL or ANY rows of a subquery. If the subquery runs earlier, its least or greatest value
// decides.
func (b *predicates) quantified(lv *level, col plan.Expr, code plan.OpCode, c *syntax.Cond, s *boundSub, list func() plan.Expr) plan.Expr {
	all := s.quant == "ALL"
	if code == plan.Eq || code == plan.Ne || s.query == nil {
		kind := "any"
		if all {
			kind = "all"
		}
		v := lv.col("", graph.Null)
		return &plan.Quantifier{Kind: kind, Var: v, List: list(), Pred: Op(code, col, &plan.ColRef{Col: v})}
	}
	most := code == plan.Gt || code == plan.Ge
	if !all {
		most = !most
	}
	k := TakeLeast
	if most {
		k = TakeMost
	}
	bound := b.takes(s, k, c.N)
	for i := range s.query.Takes {
		if t := &s.query.Takes[i]; t.Slot == bound.Name {
			t.Strict = all
		}
	}
	some := b.takes(s, TakeExists, c.N)
	if all {
		return or(Op(plan.Not, some), Op(code, col, bound))
	}
	return and(some, Op(code, col, bound))
}

// fromSub binds @from@: the rows of a subquery are the table.
func (b *Binder) fromSub(lv *level, p *Part, in plan.Node, sc *Scope) (plan.Node, error) {
	inner := lv.below()
	s, err := b.subRows(inner, sc, p.t.From)
	if err != nil {
		return nil, err
	}
	pr := &plan.Project{Input: s.node}
	p.Src.cols = make(map[string]plan.Expr)
	var cols []plan.Col
	for _, o := range s.from {
		if p.Src.cols[o.name] != nil {
			continue
		}
		col := lv.col(o.name, graph.Null)
		pr.Items = append(pr.Items, plan.Item{Col: col, Expr: o.expr})
		p.Src.cols[o.name] = &plan.ColRef{Col: col}
		p.Src.order = append(p.Src.order, o.name)
		cols = append(cols, col)
	}
	if len(pr.Items) == 0 {
		return nil, syntax.Illegal(p.t.From.N, "gives no columns")
	}
	if _, above := in.(*plan.Argument); above && len(inner.arg.Cols) == 0 { // the same for all rows above
		return &plan.HashJoin{Left: in, Right: pr, RightCols: cols, Once: true}, nil
	}
	return &plan.Apply{Input: in, Sub: pr, Kind: plan.Inner, Cols: cols}, nil
}
