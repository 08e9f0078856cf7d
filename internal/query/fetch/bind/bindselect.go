package bind

import (
	"cmp"
	"maps"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/rules"
)

// Part is one table of a selection: the main one or a joined one.
type Part struct {
	t       *syntax.Table
	join    *syntax.Join
	links   []*syntax.Cond // of a joined table: the conditions that join it
	extra   *syntax.Table  // the additions of the join's object, nil for none
	Src     *source
	bound   *bound
	outs    []outName
	present plan.Expr // whether the row has the table: for a joined table, or the main one of a right join; nil: always
	where   []plan.Expr
	near    []plan.Expr // that the row has a score of @near
}

// apart reports whether the rows of a joined table are produced before the join.
func (p *Part) apart() bool { return p.join != nil && (p.join.Kind == "<" || p.join.Kind == ">") }

// Selection is the rows of a table with those joined to it, as they are before they are cut and written.
type Selection struct {
	Node   plan.Node
	Parts  []*Part
	having []plan.Expr // over the groups
	count  plan.Expr   // of counted
	Never  bool
}

// Binder binds the rows of tables and arrays.
type Binder struct {
	predicates
	edges map[*syntax.Table]*Part
}

// selects binds the rows of a table, of an array with its joins if there is one: filtered, grouped and ordered.
func (b *Binder) selects(lv *level, a *syntax.Array, t *syntax.Table, sc *Scope) (*Selection, error) {
	s, err := b.Rows(lv, a, t, sc)
	if err != nil {
		return nil, err
	}
	if err := b.shape(lv, s, a); err != nil {
		return nil, err
	}
	if s.Never {
		s.Parts[0].bound.never = true
		if lv.parent == nil {
			lv.Query.Never = true
		} else {
			s.Node = &plan.Filter{Input: s.Node, Preds: []plan.Expr{BoolConst(false)}}
		}
	}
	return s, nil
}

// counted binds the number of a table's rows.
func (b *Binder) counted(lv *level, a *syntax.Array, t *syntax.Table, sc *Scope) (*Selection, error) {
	s, err := b.Rows(lv, a, t, sc)
	if err != nil {
		return nil, err
	}
	aggs, err := b.grouping(lv, s)
	if err != nil {
		return nil, err
	}
	// With @group, the groups are counted, and with DISTINCT the rows of columns. A single column counts the rows where it is not null.
	var arg []plan.Expr
	distinct := false
	if err := b.having(lv, s, aggs); err != nil {
		return nil, err
	}
	single := len(t.Columns) == 1 && t.Columns[0].Expr != nil
	switch {
	case aggs != nil:
		aggregated(s, aggs)
	case t.Distinct && (!single || len(s.Parts) > 1):
		for _, p := range s.Parts {
			if err := b.columns(lv, p, nil, len(s.Parts) > 1); err != nil {
				return nil, err
			}
		}
		b.distinct(lv, s)
	case single && !syntax.HasAggregate(t.Columns[0].Expr):
		x := &names{b: &b.predicates, lv: lv, src: s.Parts[0].Src, at: t.N.Get("@column")}
		e, err := x.expr(t.Columns[0].Expr)
		if err != nil {
			return nil, err
		}
		arg, distinct = []plan.Expr{e}, t.Distinct
	}
	col := lv.col("count", graph.Int)
	s.Node = &plan.Aggregate{Input: unordered(s.Node), Aggs: []plan.Agg{{Col: col, Func: "count", Args: arg, Distinct: distinct}}}
	s.count = &plan.ColRef{Col: col}
	if s.Never && lv.parent == nil {
		lv.Query.Never = true
	} else if s.Never {
		s.count = IntConst(0)
		s.Node = lv.leaf()
	}
	return s, nil
}

// Rows binds the filtered rows of a table and its joined tables.
func (b *Binder) Rows(lv *level, a *syntax.Array, t *syntax.Table, sc *Scope) (*Selection, error) {
	main := &Part{t: t}
	s := &Selection{Parts: []*Part{main}}
	var joins []*syntax.Join
	if a != nil {
		for _, j := range a.Joins {
			if j.Kind != "@" {
				joins = append(joins, j)
			}
		}
	}
	node, err := b.from(lv, main, lv.leaf(), a, sc)
	if err != nil {
		return nil, err
	}
	if err := b.nearest(lv, main); err != nil {
		return nil, err
	}
	if err := b.checkSearch(main); err != nil {
		return nil, err
	}
	main.bound.open = true
	sc.things[t.Key] = &thing{table: main.bound}
	if sc.lv == lv && sc.main == nil {
		sc.main = main.bound
	}
	if s.Never, err = b.wheres(lv, main, sc, nil); err != nil {
		return nil, err
	}
	must, err := b.musts(lv, a, t, sc)
	if err != nil {
		return nil, err
	}
	if len(joins) == 0 {
		if t.Search == nil {
			s.Node = b.where(lv, node, append(append(main.where, main.near...), must...))
		} else {
			s.Node = b.found(lv, main, b.where(lv, node, append(main.where, must...)))
		}
		return s, nil
	}
	if err := b.joins(lv, s, a, joins, node, must, sc); err != nil {
		return nil, err
	}
	for _, p := range s.Parts {
		if p.t.Ranked() {
			return nil, syntax.Unsupported(cmp.Or(p.t.N.Get("@near"), p.t.N.Get("@search")), "@near and @search do not go with joins")
		}
	}
	return s, nil
}

// wheres binds the conditions of a part other than its join conditions.
func (b *Binder) wheres(lv *level, p *Part, sc *Scope, skip map[*syntax.Cond]bool) (never bool, err error) {
	p.where, never, err = b.conditions(lv, p.Src, sc, skip)
	if err == nil && p.t.Hop != nil && p.t.Hop.Find != "" {
		err = syntax.Unsupported(p.t.Hop.N, "paths are found in arrays")
	}
	return never, err
}

func filter(node plan.Node, preds []plan.Expr) plan.Node {
	if len(preds) == 0 {
		return node
	}
	if m, ok := node.(*plan.Match); ok && !m.Optional {
		m.Pattern.Preds = append(m.Pattern.Preds, preds...)
		return m
	}
	return &plan.Filter{Input: node, Preds: preds}
}

// from binds the source of a table's rows: a label, a hop or a subquery.
func (b *Binder) from(lv *level, p *Part, in plan.Node, a *syntax.Array, sc *Scope) (plan.Node, error) {
	t := p.t
	p.Src = &source{t: t, label: t.Label}
	p.bound = &bound{t: t, lv: lv, src: p.Src}
	p.Src.bound = p.bound
	var h *syntax.Hop
	if a != nil && t == a.Main() {
		h = a.Hop
	}
	if t.Hop != nil {
		h = t.Hop
	}
	if t.From != nil {
		if h != nil {
			return nil, syntax.Unsupported(t.N.Get("@from@"), "a hop leads to vertices, not to the rows of a subquery")
		}
		return b.fromSub(lv, p, in, sc)
	}
	if _, ok := b.Cat.Label(t.Label); !ok {
		return nil, syntax.NotFound(t.N, "there is no label %q", t.Label)
	}
	p.Src.Vertex = lv.col(t.Key, graph.VertexKind)
	right, err := b.Req.Rights.Check(t.N, t.Role, false, t.Label)
	if err != nil {
		return nil, err
	}
	p.Src.denied = right.Unreadable
	var node plan.Node
	if h == nil {
		node = Scan(in, p.Src.Vertex, t.Label)
	} else if node, err = b.hops(lv, p, in, a, h, sc); err != nil {
		return nil, err
	}
	if right.Rows != nil {
		node = filter(node, []plan.Expr{ruled(right.Rows, p.Src.Vertex)})
	}
	return node, nil
}

// ruled returns the condition of an access rule over a column. The claims are parameters of their names.
func ruled(c *rules.Condition, col plan.Col) plan.Expr {
	var args []plan.Expr
	for _, of := range c.Of {
		args = append(args, ruled(of, col))
	}
	if c.Prop != "" {
		args = append(args, &plan.Prop{X: &plan.ColRef{Col: col}, Key: c.Prop})
	}
	switch {
	case c.With == nil:
	case c.With.Claim != "":
		args = append(args, &plan.Param{Name: c.With.Claim})
	default:
		args = append(args, &plan.Const{Value: c.With.Const.Value})
	}
	return Op(ruleOps[c.Op], args...)
}

var ruleOps = map[rules.Op]plan.OpCode{
	rules.And: plan.And, rules.Or: plan.Or, rules.Not: plan.Not, rules.Equal: plan.Eq, rules.Unequal: plan.Ne, rules.Less: plan.Lt, rules.LessEqual: plan.Le,
	rules.More: plan.Gt, rules.MoreEqual: plan.Ge, rules.In: plan.In, rules.IsNull: plan.IsNull, rules.IsNotNull: plan.IsNotNull,
}

// Scan returns a plan of the vertices or edges of a source.
func Scan(in plan.Node, col plan.Col, label string) *plan.Match {
	return &plan.Match{Input: in, Pattern: plan.Pattern{Vertices: []plan.PatVertex{{
		Col: col, Labels: &plan.LabelExpr{Op: plan.LabelName, Name: label},
	}}}}
}

// grouping begins the aggregation of a selection; nil where nothing is grouped.
func (b *Binder) grouping(lv *level, s *Selection) (*aggregation, error) {
	var aggs *aggregation
	for _, p := range s.Parts {
		if !p.t.Grouped() {
			continue
		}
		if aggs == nil {
			aggs = newAggregation(lv)
		}
		x := &names{b: &b.predicates, lv: lv, src: p.Src, at: p.t.N.Get("@group"), alias: map[string]plan.Expr{}}
		for _, c := range p.t.Columns { // @group may name an alias
			if c.Expr == nil || syntax.HasAggregate(c.Expr) {
				continue
			}
			if n, ok := c.Expr.(*syntax.NameExpr); ok && n.Name == c.Name {
				continue
			}
			if e, err := x.expr(c.Expr); err == nil {
				x.alias[c.Name] = e
			}
		}
		for _, g := range p.t.Group {
			e, err := x.expr(g)
			if err != nil {
				return nil, err
			}
			aggs.group(p.t, g.Text(), e)
		}
	}
	return aggs, nil
}

// shape groups, cuts to groups that @having lets pass, binds the columns and orders.
func (b *Binder) shape(lv *level, s *Selection, a *syntax.Array) error {
	aggs, err := b.grouping(lv, s)
	if err != nil {
		return err
	}
	joined := len(s.Parts) > 1
	s.Parts[0].bound.grouped = aggs != nil || s.Parts[0].t.Distinct
	for _, p := range s.Parts {
		if err := b.columns(lv, p, aggs, joined); err != nil {
			return err
		}
	}
	if err := b.having(lv, s, aggs); err != nil {
		return err
	}
	if aggs != nil {
		for _, p := range s.Parts {
			if p.present != nil {
				p.present = aggs.of(p.t, " is there", trueOrNull(p.present))
			}
		}
	}
	keys, err := b.orders(lv, s, aggs, a)
	if err != nil {
		return err
	}
	if aggs != nil {
		aggregated(s, aggs)
		if len(keys) == 0 { // groups are sorted by their keys, so that count is deterministic
			for _, k := range aggs.keys {
				keys = append(keys, sortKeys(&plan.ColRef{Col: k.Col}, false)...)
			}
		}
	}
	if s.Parts[0].t.Distinct && aggs == nil {
		b.distinct(lv, s)
		if keys, err = b.orders(lv, s, nil, a); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		s.Node = &plan.Sort{Input: s.Node, Keys: keys}
	}
	return nil
}

// aggregated groups the rows and keeps the groups that @having lets pass.
func aggregated(s *Selection, aggs *aggregation) {
	s.Node = &plan.Aggregate{Input: s.Node, Keys: aggs.keys, Aggs: aggs.aggs}
	if len(s.having) > 0 {
		s.Node = &plan.Filter{Input: s.Node, Preds: s.having}
	}
}

// having binds @having of all parts. Where nothing is grouped, it is a condition on the rows.
func (b *Binder) having(lv *level, s *Selection, aggs *aggregation) error {
	var preds []plan.Expr
	for _, p := range s.Parts {
		if p.t.Havings == nil {
			continue
		}
		at := p.t.N.Get("@having")
		if at == nil {
			at = p.t.N.Get("@having&")
		}
		x := &names{b: &b.predicates, lv: lv, src: p.Src, at: at, aggs: aggs, group: aggs != nil, alias: map[string]plan.Expr{}}
		for _, c := range p.t.Columns {
			if c.Expr == nil {
				continue
			}
			if n, ok := c.Expr.(*syntax.NameExpr); ok && n.Name == c.Name {
				continue
			}
			e, err := x.expr(c.Expr)
			if err != nil {
				return err
			}
			x.alias[c.Name] = e
		}
		pred, err := bindCombination(p.t.Havings, func(key string) (plan.Expr, error) {
			for _, h := range p.t.Having {
				if h.Key == key {
					return x.test(h.Expr)
				}
			}
			return BoolConst(true), nil
		})
		if err != nil {
			return err
		}
		preds = append(preds, pred)
	}
	if s.having = preds; aggs == nil && len(preds) > 0 {
		s.Node = &plan.Filter{Input: s.Node, Preds: preds}
	}
	return nil
}

// bind returns the predicate of a combination.
func bindCombination(c *syntax.Combination, key func(string) (plan.Expr, error)) (plan.Expr, error) {
	if c.Op == 'k' {
		return key(c.Key)
	}
	var args []plan.Expr
	for _, a := range c.Args {
		p, err := bindCombination(a, key)
		if err != nil {
			return nil, err
		}
		args = append(args, p)
	}
	switch c.Op {
	case '!':
		return Op(plan.Not, args...), nil
	case '|':
		return or(args...), nil
	}
	return and(args...), nil
}

// columns binds @column of a part.
func (b *Binder) columns(lv *level, p *Part, aggs *aggregation, joined bool) error {
	t := p.t
	bd := p.bound
	bd.cols = make(map[string]plan.Expr)
	bd.none = maps.Clone(p.Src.denied)
	if bd.none == nil {
		bd.none = make(map[string]bool)
	}
	for _, name := range t.Except {
		if _, ok := p.Src.property(b.Cat, name); !ok {
			return syntax.NotFound(t.N.Get("@column"), "there is no property %q", name)
		}
		bd.none[name] = true
	}
	x := &names{b: &b.predicates, lv: lv, src: p.Src, at: t.N.Get("@column"), aggs: aggs, group: aggs != nil}
	all := !t.Has || len(t.Columns) == 0 && (!joined || len(t.Except) > 0)
	for _, c := range t.Columns {
		if c.Expr == nil {
			all = true
			continue
		}
		e, err := x.expr(c.Expr)
		if err != nil {
			return err
		}
		if isTest(c.Expr) {
			e = call("sql.flag", e)
		}
		name := c.AnswerName(t, joined && !p.apart())
		p.outs = append(p.outs, outName{name, e})
		bd.cols[name] = e
	}
	if !all {
		return nil
	}
	switch {
	case p.Src.Vertex == 0: // the columns of a subquery
		for _, o := range outNames(p.Src) {
			if bd.none[o.name] {
				continue
			}
			if aggs != nil {
				o.expr = aggs.of(t, o.name, o.expr)
			}
			p.outs = append(p.outs, o)
			bd.cols[o.name] = o.expr
		}
	case aggs != nil:
		for _, name := range b.Cat.AllProps() {
			if bd.none[name] || bd.cols[name] != nil {
				continue
			}
			e, err := x.expr(&syntax.NameExpr{Name: name})
			if err != nil {
				return err
			}
			p.outs = append(p.outs, outName{name, e})
			bd.cols[name] = e
		}
	default:
		bd.star = true
	}
	return nil
}

// isTest reports whether an expression is true or false, which SQL writes as 1 and 0.
func isTest(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.NullExpr:
		return true
	case *syntax.BinaryExpr:
		return syntax.IsComparison(e.Op)
	case *syntax.CallExpr:
		return strings.HasPrefix(e.Fn, "json_")
	}
	return false
}

// orders binds @order of the main table and its joined tables. A hop defaults to depth, then key.
func (b *Binder) orders(lv *level, s *Selection, aggs *aggregation, a *syntax.Array) ([]plan.SortKey, error) {
	var keys []plan.SortKey
	for _, p := range s.Parts {
		x := &names{b: &b.predicates, lv: lv, src: p.Src, at: p.t.N.Get("@order"), aggs: aggs, group: aggs != nil, alias: map[string]plan.Expr{}}
		for _, o := range p.outs {
			x.alias[o.name] = o.expr
		}
		for _, k := range p.t.Order {
			e, err := x.expr(k.Expr)
			if err != nil {
				return nil, err
			}
			keys = append(keys, sortKeys(e, k.Desc)...)
		}
	}
	main := s.Parts[0]
	if main.t.Ranked() && aggs == nil {
		keys = append(keys, plan.SortKey{Expr: main.Src.cols[syntax.ScoreColumn], Desc: true})
	}
	h := main.t.Hop
	if h == nil && a != nil {
		h = a.Hop
	}
	if h == nil || aggs != nil || main.t.Distinct || main.Src.Vertex == 0 || len(main.t.Order) > 0 || main.t.Ranked() {
		return keys, nil
	}
	if d, ok := main.Src.cols[syntax.DepthColumn]; ok && h.Max > 1 {
		keys = append(keys, plan.SortKey{Expr: d})
	}
	key := &plan.Prop{X: &plan.ColRef{Col: main.Src.Vertex}, Key: b.Key(main.t.Label)}
	return append(keys, plan.SortKey{Expr: key}), nil
}

// sortKeys orders as SQL does: nulls first, or last when it descends.
func sortKeys(e plan.Expr, desc bool) []plan.SortKey {
	return []plan.SortKey{{Expr: Op(plan.IsNull, e), Desc: !desc}, {Expr: e, Desc: desc}}
}

// distinct keeps each row of columns once; only the columns stay.
func (b *Binder) distinct(lv *level, s *Selection) {
	p := &plan.Project{Input: s.Node}
	d := &plan.Distinct{Input: p}
	for _, part := range s.Parts {
		outs := part.outs
		if part.bound.star {
			for _, name := range b.Cat.AllProps() {
				if e := part.bound.column(b.Cat, name); e != nil {
					outs = append(outs, outName{name, e})
				}
			}
			part.bound.star = false
		}
		part.Src = &source{t: part.t, cols: make(map[string]plan.Expr)}
		part.outs = nil
		for _, o := range outs {
			col := lv.col(o.name, graph.Null)
			p.Items = append(p.Items, plan.Item{Col: col, Expr: o.expr})
			d.Cols = append(d.Cols, col)
			ref := &plan.ColRef{Col: col}
			part.outs = append(part.outs, outName{o.name, ref})
			part.bound.cols[o.name] = ref
			part.Src.cols[o.name] = ref
		}
		part.bound.src = part.Src
		if part.present != nil {
			col := lv.col(part.t.Key+" is there", graph.Null)
			p.Items = append(p.Items, plan.Item{Col: col, Expr: trueOrNull(part.present)})
			d.Cols = append(d.Cols, col)
			part.present = &plan.ColRef{Col: col}
		}
	}
	s.Node = d
}
