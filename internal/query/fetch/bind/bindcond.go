package bind

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// predicates binds the conditions on rows, and what they refer to.
type predicates struct {
	levels
	rows *Binder // binds their subqueries
}

// conditions binds the conditions of a table to one predicate for each part that must hold, except those in skip. never reports
// whether a reference finds nothing, so that there are no rows.
func (b *predicates) conditions(lv *level, src *source, sc *Scope, skip map[*syntax.Cond]bool) (preds []plan.Expr, never bool, err error) {
	t := src.t
	if t.Combine == nil {
		for _, c := range t.Conds {
			if skip[c] {
				continue
			}
			p, nothing, err := b.cond(lv, src, sc, c)
			if err != nil {
				return nil, false, err
			}
			never = never || nothing
			preds = append(preds, p...)
		}
		return preds, never, nil
	}
	mark := len(lv.refs)
	for _, part := range t.Combine.Args {
		p, nothing, err := b.combined(lv, src, sc, skip, part)
		if err != nil {
			return nil, false, err
		}
		if never = never || nothing; p != nil {
			preds = append(preds, p)
		}
	}
	for _, t := range lv.refs[mark:] { // each must find something, whatever the combination
		preds = append(preds, Op(plan.IsNotNull, t.value(lv)))
	}
	return preds, never, nil
}

// combined binds a part of @combine; nil where it holds no condition.
func (b *predicates) combined(lv *level, src *source, sc *Scope, skip map[*syntax.Cond]bool, c *syntax.Combination) (p plan.Expr, never bool, err error) {
	if c.Op == 'k' {
		for _, d := range src.t.Conds {
			if d.Key != c.Key || skip[d] {
				continue
			}
			preds, never, err := b.cond(lv, src, sc, d)
			if err != nil || len(preds) == 0 {
				return nil, never, err
			}
			return and(preds...), never, nil
		}
		return nil, false, nil
	}
	var args []plan.Expr
	for _, a := range c.Args {
		p, nothing, err := b.combined(lv, src, sc, skip, a)
		if err != nil {
			return nil, false, err
		}
		if never = never || nothing; p != nil {
			args = append(args, p)
		}
	}
	switch {
	case len(args) == 0:
		return nil, never, nil
	case c.Op == '!':
		return Op(plan.Not, and(args...)), never, nil
	case c.Op == '|':
		return or(args...), never, nil
	}
	return and(args...), never, nil
}

// cond binds one condition to predicates that must all hold; none if it restricts nothing.
func (b *predicates) cond(lv *level, src *source, sc *Scope, c *syntax.Cond) (preds []plan.Expr, never bool, err error) {
	b.Req.Steps.Add(1 + len(src.t.Conds)/16) // that others look through
	if c.Op == syntax.OpExists {
		p, err := b.exists(lv, src, sc, c)
		return one(p), false, err
	}
	x := &names{b: b, lv: lv, src: src, at: c.N}
	col, err := x.plain(&syntax.NameExpr{Name: c.Name})
	if err != nil {
		return nil, false, err
	}
	switch c.Length {
	case '[':
		col = call("sql.length", col)
	case '{':
		col = call("sql.json_length", col)
	}
	switch {
	case c.IsIt:
		return one(Op(plan.IsNull, col)), false, nil
	case c.Sub != nil:
		p, err := b.compareSub(lv, src, sc, col, c, c.Sub)
		return one(p), false, err
	case c.Path != "":
		return b.referring(lv, src, sc, col, c)
	}
	p, err := b.constant(x, col, c)
	return one(p), false, err
}

func one(p plan.Expr) []plan.Expr {
	if p == nil {
		return nil
	}
	return []plan.Expr{p}
}

// referring binds a condition whose value is a reference.
func (b *predicates) referring(lv *level, src *source, sc *Scope, col plan.Expr, c *syntax.Cond) (preds []plan.Expr, never bool, err error) {
	if th := sc.root().things[c.Path]; th != nil && th.sub != nil {
		p, err := b.compareBound(lv, col, c, th.sub)
		return one(p), false, err
	}
	t, err := b.resolve(c.Path, sc, lv)
	if err != nil {
		return nil, false, err
	}
	if !t.found() {
		return nil, true, nil
	}
	if t.plain != nil { // the condition is as good as one with the value itself
		d := *c
		d.N, d.Path = t.plain, ""
		if err = syntax.CheckCond(&d, t.plain); err == nil {
			b.fixed = b.fixed || !syntax.Lifted(c.Key, t.plain, 0)
			p, err := b.constant(&names{b: b, lv: lv, src: src, at: c.N}, col, &d)
			return one(p), false, err
		}
		if c.Op != syntax.OpEqual && c.Op != syntax.OpIn {
			return nil, false, err
		}
	}
	v := t.value(lv)
	if t.slot != "" && lv.parent == nil {
		lv.Query.Needs = append(lv.Query.Needs, t.slot)
	} else {
		lv.refs = append(lv.refs, t)
		if src.t.Combine == nil && (c.Op != syntax.OpEqual || c.Marked) {
			preds = append(preds, Op(plan.IsNotNull, v))
		}
	}
	return append(preds, compare(src, col, c, v)), false, nil
}

// compare binds a condition with a value that is known only when it runs.
func compare(src *source, col plan.Expr, c *syntax.Cond, v plan.Expr) plan.Expr {
	if typ := src.t.Casts[c.Key]; typ != "" {
		col, v = cast(col, v, typ)
	}
	switch c.Op {
	case syntax.OpEqual:
		if c.Logic == syntax.LogicNot && c.Marked {
			return Op(plan.Ne, col, v)
		}
		return Op(plan.Eq, col, v)
	case syntax.OpIn:
		return negated(c, Op(plan.In, col, call("sql.list", v)))
	case syntax.OpContains:
		return contains(col, c, v)
	case syntax.OpLike:
		return negated(c, like(col, c, v))
	case syntax.OpRegexp:
		return negated(c, Op(plan.Regexp, call("sql.text", col), call("sql.pattern", v, BoolConst(c.Fold))))
	case syntax.OpBetween:
		return negated(c, call("sql.between", col, v, BoolConst(c.Marked && c.Logic == syntax.LogicAnd)))
	}
	return Op(comparisons[c.Op], col, v)
}

var comparisons = map[syntax.Operator]plan.OpCode{
	syntax.OpEqual: plan.Eq, syntax.OpGreater: plan.Gt, syntax.OpGreaterEqual: plan.Ge, syntax.OpLess: plan.Lt, syntax.OpLessEqual: plan.Le,
}

func negated(c *syntax.Cond, p plan.Expr) plan.Expr {
	if c.Marked && c.Logic == syntax.LogicNot {
		return Op(plan.Not, p)
	}
	return p
}

// cast converts both sides of a comparison to the type.
func cast(col, v plan.Expr, typ string) (a, b plan.Expr) {
	side := typ
	switch typ {
	case "DATE", "TIMESTAMP", "DATETIME":
		side = "DATETIME"
	}
	return call("sql.cast", col, textConst(side)), call("sql.cast", call("sql.cast", v, textConst(typ)), textConst(side))
}

// constant binds a condition on a constant of the request.
func (b *predicates) constant(x *names, col plan.Expr, c *syntax.Cond) (plan.Expr, error) {
	n := c.N
	typ := x.src.t.Casts[c.Key]
	switch c.Op {
	case syntax.OpIn:
		if n.Kind == syntax.JSONString {
			return b.ranges(x, c)
		}
		if len(n.Elems) == 0 {
			if c.Marked && c.Logic == syntax.LogicNot {
				return nil, nil
			}
			return BoolConst(false), nil
		}
		k := ParamList
		if isKey(c) {
			k = ParamIDList
		}
		return negated(c, Op(plan.In, col, b.lift(n, Param{Kind: k, Elem: -1}))), nil
	case syntax.OpLike:
		return b.each(c, func(e *syntax.Node) plan.Expr {
			if c.Quoted && c.Left != '_' && c.Right != '_' {
				v := b.lift(e, Param{Elem: -1})
				text := call("sql.text", col)
				switch {
				case c.Left == '%' && c.Right == '%':
					return Op(plan.Contains, text, v)
				case c.Left == '%':
					return Op(plan.EndsWith, text, v)
				}
				return Op(plan.StartsWith, text, v)
			}
			return call("sql.like", col, b.lift(e, Param{Kind: ParamLike, Left: c.Left, Right: c.Right, Quote: c.Quoted, Elem: -1}))
		}), nil
	case syntax.OpRegexp:
		return b.each(c, func(e *syntax.Node) plan.Expr {
			return Op(plan.Regexp, call("sql.text", col), textConst(syntax.WholePattern(e.Str(), c.Fold)))
		}), nil
	case syntax.OpBetween:
		return b.each(c, func(e *syntax.Node) plan.Expr {
			parts := syntax.SplitList(e.Str())
			from, to := textConst(parts[0]), textConst(parts[1])
			if typ != "" {
				v, lo := cast(col, from, typ)
				_, hi := cast(col, to, typ)
				return and(Op(plan.Ge, v, lo), Op(plan.Le, v, hi))
			}
			texts := and(Op(plan.Ge, col, from), Op(plan.Le, col, to))
			a, z := syntax.Numeric(parts[0]), syntax.Numeric(parts[1])
			if a.IsNull() || z.IsNull() {
				return texts
			}
			return call("coalesce", and(Op(plan.Ge, col, &plan.Const{Value: a}), Op(plan.Le, col, &plan.Const{Value: z})), texts)
		}), nil
	case syntax.OpContains:
		if n.Kind == syntax.JSONList && len(n.Elems) == 0 {
			return negated(c, or(Op(plan.IsNull, col), Op(plan.Eq, call("sql.json_length", col), IntConst(0)))), nil
		}
		return b.containing(col, c)
	}
	var v plan.Expr = b.lift(n, Param{Elem: -1})
	code := comparisons[c.Op]
	if c.Op == syntax.OpEqual && c.Marked && c.Logic == syntax.LogicNot {
		code = plan.Ne
	}
	switch {
	case typ != "":
		l, r := cast(col, v, typ)
		return Op(code, l, r), nil
	case c.Op == syntax.OpEqual && !c.Marked && isKey(c) && n.Kind == syntax.JSONNumber:
		v = b.lift(n, Param{Kind: ParamID, Elem: -1})
	case c.Op == syntax.OpEqual && !c.Marked && isKey(c) && n.Kind == syntax.JSONString:
		v = b.lift(n, Param{Kind: ParamID, Elem: -1})
		if !syntax.Numeric(n.Str()).IsNull() {
			return coerced(code, col, b.lift(n, Param{Kind: ParamIDNum, Elem: -1}), v), nil
		}
	case n.Kind == syntax.JSONString && !syntax.Numeric(n.Str()).IsNull():
		return coerced(code, col, b.lift(n, Param{Kind: ParamNumber, Elem: -1}), v), nil
	case n.Kind == syntax.JSONBool:
		return coerced(code, col, b.lift(n, Param{Kind: ParamInt, Elem: -1}), v), nil
	}
	return Op(code, col, v), nil
}

// isKey reports whether a condition is on a property whose values are never 0, negative or empty.
func isKey(c *syntax.Cond) bool { return c.Length == 0 && (c.Name == "id" || c.Name == "userId") }

// each binds a condition of one text or a list of them, combined by its logic.
func (b *predicates) each(c *syntax.Cond, one func(*syntax.Node) plan.Expr) plan.Expr {
	elems := []*syntax.Node{c.N}
	if c.N.Kind == syntax.JSONList {
		elems = c.N.Elems
	}
	if len(elems) == 0 {
		return nil
	}
	var parts []plan.Expr
	for _, e := range elems {
		b.step()
		parts = append(parts, one(e))
	}
	return negated(c, joined(c, parts))
}

func joined(c *syntax.Cond, parts []plan.Expr) plan.Expr {
	if c.Marked && c.Logic == syntax.LogicAnd {
		return and(parts...)
	}
	return or(parts...)
}

// ranges binds a text of a {} condition.
func (b *predicates) ranges(x *names, c *syntax.Cond) (plan.Expr, error) {
	tests, err := syntax.ParseRanges(c.Name, c.N.Str())
	if err != nil {
		return nil, syntax.Illegal(c.N, "%v", err)
	}
	if len(tests) == 0 {
		return nil, nil
	}
	var parts []plan.Expr
	for _, e := range tests {
		p, err := x.test(e)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return negated(c, joined(c, parts)), nil
}

// like compares with a pattern that is known only when it runs.
func like(col plan.Expr, c *syntax.Cond, v plan.Expr) plan.Expr {
	if !c.Quoted {
		return call("sql.like", col, v)
	}
	mark := func(m byte) plan.Expr {
		if m == 0 {
			return textConst("")
		}
		return textConst(string(m))
	}
	return call("sql.like", col, call("sql.quote_like", v, mark(c.Left), mark(c.Right)))
}

// containing binds <> with the values of the request.
func (b *predicates) containing(col plan.Expr, c *syntax.Cond) (plan.Expr, error) {
	elems := []*syntax.Node{c.N}
	if c.N.Kind == syntax.JSONList {
		elems = c.N.Elems
	}
	var parts []plan.Expr
	for _, e := range elems {
		x, v := col, e
		if e.Kind == syntax.JSONObject {
			v = e.Get("value")
			if path := e.Get("path"); path != nil && path.Str() != "$" && path.Str() != "" {
				x = call("sql.json_extract", col, textConst(path.Str()))
			}
		}
		var value plan.Expr = b.lift(v, Param{Elem: -1})
		if v.Ord < 0 && v.Parent.Ord < 0 {
			value = &plan.Const{Value: v.Scalar}
		}
		parts = append(parts, call("sql.json_contains", x, value))
	}
	return negated(c, and(Op(plan.IsNotNull, col), joined(c, parts))), nil
}

// contains binds <> with a value that is known only when it runs.
func contains(col plan.Expr, c *syntax.Cond, v plan.Expr) plan.Expr {
	f := "sql.json_overlaps"
	if c.Marked && c.Logic == syntax.LogicAnd {
		f = "sql.json_contains"
	}
	return negated(c, and(Op(plan.IsNotNull, col), call(f, col, call("sql.list", v))))
}

// null is the null of a plan.
func null() plan.Expr { return &plan.Const{Value: graph.Value{}} }
