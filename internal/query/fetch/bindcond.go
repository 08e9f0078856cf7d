package fetch

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// conditions binds the conditions of a table to one predicate for each part that must hold, except those in skip. never reports
// whether a reference finds nothing, so that there are no rows.
func (b *binder) conditions(lv *level, src *source, sc *scope, skip map[*cond]bool) (preds []plan.Expr, never bool, err error) {
	t := src.t
	if t.combine == nil {
		for _, c := range t.conds {
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
	for _, part := range t.combine.args {
		p, nothing, err := b.combined(lv, src, sc, skip, part)
		if err != nil {
			return nil, false, err
		}
		if never = never || nothing; p != nil {
			preds = append(preds, p)
		}
	}
	for _, t := range lv.refs[mark:] { // each must find something, whatever the combination
		preds = append(preds, op(plan.IsNotNull, t.value(lv)))
	}
	return preds, never, nil
}

// combined binds a part of @combine; nil where it holds no condition.
func (b *binder) combined(lv *level, src *source, sc *scope, skip map[*cond]bool, c *combination) (p plan.Expr, never bool, err error) {
	if c.op == 'k' {
		for _, d := range src.t.conds {
			if d.key != c.key || skip[d] {
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
	for _, a := range c.args {
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
	case c.op == '!':
		return op(plan.Not, and(args...)), never, nil
	case c.op == '|':
		return or(args...), never, nil
	}
	return and(args...), never, nil
}

// cond binds one condition to predicates that must all hold; none if it restricts nothing.
func (b *binder) cond(lv *level, src *source, sc *scope, c *cond) (preds []plan.Expr, never bool, err error) {
	b.req.steps.Add(1 + len(src.t.conds)/16) // that others look through
	if c.op == opExists {
		p, err := b.exists(lv, src, sc, c)
		return one(p), false, err
	}
	x := &names{b: b, lv: lv, src: src, at: c.n}
	col, err := x.plain(&nameExpr{name: c.name})
	if err != nil {
		return nil, false, err
	}
	switch c.length {
	case '[':
		col = call("sql.length", col)
	case '{':
		col = call("sql.json_length", col)
	}
	switch {
	case c.isIt:
		return one(op(plan.IsNull, col)), false, nil
	case c.sub != nil:
		p, err := b.compareSub(lv, src, sc, col, c, c.sub)
		return one(p), false, err
	case c.path != "":
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
func (b *binder) referring(lv *level, src *source, sc *scope, col plan.Expr, c *cond) (preds []plan.Expr, never bool, err error) {
	if th := sc.root().things[c.path]; th != nil && th.sub != nil {
		p, err := b.compareBound(lv, col, c, th.sub)
		return one(p), false, err
	}
	t, err := b.resolve(c.path, sc, lv)
	if err != nil {
		return nil, false, err
	}
	if !t.found() {
		return nil, true, nil
	}
	if t.plain != nil { // the condition is as good as one with the value itself
		d := *c
		d.n, d.path = t.plain, ""
		if err = checkCond(&d, t.plain); err == nil {
			b.fixed = b.fixed || !lifted(c.key, t.plain, 0)
			p, err := b.constant(&names{b: b, lv: lv, src: src, at: c.n}, col, &d)
			return one(p), false, err
		}
		if c.op != opEqual && c.op != opIn {
			return nil, false, err
		}
	}
	v := t.value(lv)
	if t.slot != "" && lv.parent == nil {
		lv.query.needs = append(lv.query.needs, t.slot)
	} else {
		lv.refs = append(lv.refs, t)
		if src.t.combine == nil && (c.op != opEqual || c.marked) {
			preds = append(preds, op(plan.IsNotNull, v))
		}
	}
	return append(preds, compare(src, col, c, v)), false, nil
}

// compare binds a condition with a value that is known only when it runs.
func compare(src *source, col plan.Expr, c *cond, v plan.Expr) plan.Expr {
	if typ := src.t.casts[c.key]; typ != "" {
		col, v = cast(col, v, typ)
	}
	switch c.op {
	case opEqual:
		if c.logic == logicNot && c.marked {
			return op(plan.Ne, col, v)
		}
		return op(plan.Eq, col, v)
	case opIn:
		return negated(c, op(plan.In, col, call("sql.list", v)))
	case opContains:
		return contains(col, c, v)
	case opLike:
		return negated(c, like(col, c, v))
	case opRegexp:
		return negated(c, op(plan.Regexp, call("sql.text", col), call("sql.pattern", v, boolConst(c.fold))))
	case opBetween:
		return negated(c, call("sql.between", col, v, boolConst(c.marked && c.logic == logicAnd)))
	}
	return op(comparisons[c.op], col, v)
}

var comparisons = map[operator]plan.OpCode{
	opEqual: plan.Eq, opGreater: plan.Gt, opGreaterEqual: plan.Ge, opLess: plan.Lt, opLessEqual: plan.Le,
}

func negated(c *cond, p plan.Expr) plan.Expr {
	if c.marked && c.logic == logicNot {
		return op(plan.Not, p)
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
func (b *binder) constant(x *names, col plan.Expr, c *cond) (plan.Expr, error) {
	n := c.n
	typ := x.src.t.casts[c.key]
	switch c.op {
	case opIn:
		if n.kind == kString {
			return b.ranges(x, c)
		}
		if len(n.elems) == 0 {
			if c.marked && c.logic == logicNot {
				return nil, nil
			}
			return boolConst(false), nil
		}
		k := paramList
		if isKey(c) {
			k = paramIDList
		}
		return negated(c, op(plan.In, col, b.lift(n, param{kind: k, elem: -1}))), nil
	case opLike:
		return b.each(c, func(e *node) plan.Expr {
			if c.quoted && c.left != '_' && c.right != '_' {
				v := b.lift(e, param{elem: -1})
				text := call("sql.text", col)
				switch {
				case c.left == '%' && c.right == '%':
					return op(plan.Contains, text, v)
				case c.left == '%':
					return op(plan.EndsWith, text, v)
				}
				return op(plan.StartsWith, text, v)
			}
			return call("sql.like", col, b.lift(e, param{kind: paramLike, left: c.left, right: c.right, quote: c.quoted, elem: -1}))
		}), nil
	case opRegexp:
		return b.each(c, func(e *node) plan.Expr {
			return op(plan.Regexp, call("sql.text", col), textConst(wholePattern(e.str(), c.fold)))
		}), nil
	case opBetween:
		return b.each(c, func(e *node) plan.Expr {
			parts := splitList(e.str())
			from, to := textConst(parts[0]), textConst(parts[1])
			if typ != "" {
				v, lo := cast(col, from, typ)
				_, hi := cast(col, to, typ)
				return and(op(plan.Ge, v, lo), op(plan.Le, v, hi))
			}
			texts := and(op(plan.Ge, col, from), op(plan.Le, col, to))
			a, z := numeric(parts[0]), numeric(parts[1])
			if a.IsNull() || z.IsNull() {
				return texts
			}
			return call("coalesce", and(op(plan.Ge, col, &plan.Const{Value: a}), op(plan.Le, col, &plan.Const{Value: z})), texts)
		}), nil
	case opContains:
		if n.kind == kList && len(n.elems) == 0 {
			return negated(c, or(op(plan.IsNull, col), op(plan.Eq, call("sql.json_length", col), intConst(0)))), nil
		}
		return b.containing(col, c)
	}
	var v plan.Expr = b.lift(n, param{elem: -1})
	code := comparisons[c.op]
	if c.op == opEqual && c.marked && c.logic == logicNot {
		code = plan.Ne
	}
	switch {
	case typ != "":
		l, r := cast(col, v, typ)
		return op(code, l, r), nil
	case c.op == opEqual && !c.marked && isKey(c) && n.kind == kNumber:
		v = b.lift(n, param{kind: paramID, elem: -1})
	case c.op == opEqual && !c.marked && isKey(c) && n.kind == kString:
		v = b.lift(n, param{kind: paramID, elem: -1})
		if !numeric(n.str()).IsNull() {
			return coerced(code, col, b.lift(n, param{kind: paramIDNum, elem: -1}), v), nil
		}
	case n.kind == kString && !numeric(n.str()).IsNull():
		return coerced(code, col, b.lift(n, param{kind: paramNumber, elem: -1}), v), nil
	case n.kind == kBool:
		return coerced(code, col, b.lift(n, param{kind: paramInt, elem: -1}), v), nil
	}
	return op(code, col, v), nil
}

// isKey reports whether a condition is on a property whose values are never 0, negative or empty.
func isKey(c *cond) bool { return c.length == 0 && (c.name == "id" || c.name == "userId") }

// each binds a condition of one text or a list of them, combined by its logic.
func (b *binder) each(c *cond, one func(*node) plan.Expr) plan.Expr {
	elems := []*node{c.n}
	if c.n.kind == kList {
		elems = c.n.elems
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

func joined(c *cond, parts []plan.Expr) plan.Expr {
	if c.marked && c.logic == logicAnd {
		return and(parts...)
	}
	return or(parts...)
}

// ranges binds a text of a {} condition.
func (b *binder) ranges(x *names, c *cond) (plan.Expr, error) {
	tests, err := parseRanges(c.name, c.n.str())
	if err != nil {
		return nil, illegal(c.n, "%v", err)
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
func like(col plan.Expr, c *cond, v plan.Expr) plan.Expr {
	if !c.quoted {
		return call("sql.like", col, v)
	}
	mark := func(m byte) plan.Expr {
		if m == 0 {
			return textConst("")
		}
		return textConst(string(m))
	}
	return call("sql.like", col, call("sql.quote_like", v, mark(c.left), mark(c.right)))
}

// containing binds <> with the values of the request.
func (b *binder) containing(col plan.Expr, c *cond) (plan.Expr, error) {
	elems := []*node{c.n}
	if c.n.kind == kList {
		elems = c.n.elems
	}
	var parts []plan.Expr
	for _, e := range elems {
		x, v := col, e
		if e.kind == kObject {
			v = e.get("value")
			if path := e.get("path"); path != nil && path.str() != "$" && path.str() != "" {
				x = call("sql.json_extract", col, textConst(path.str()))
			}
		}
		var value plan.Expr = b.lift(v, param{elem: -1})
		if v.ord < 0 && v.parent.ord < 0 {
			value = &plan.Const{Value: v.scalar}
		}
		parts = append(parts, call("sql.json_contains", x, value))
	}
	return negated(c, and(op(plan.IsNotNull, col), joined(c, parts))), nil
}

// contains binds <> with a value that is known only when it runs.
func contains(col plan.Expr, c *cond, v plan.Expr) plan.Expr {
	f := "sql.json_overlaps"
	if c.marked && c.logic == logicAnd {
		f = "sql.json_contains"
	}
	return negated(c, and(op(plan.IsNotNull, col), call(f, col, call("sql.list", v))))
}

// null is the null of a plan.
func null() plan.Expr { return &plan.Const{Value: graph.Value{}} }
