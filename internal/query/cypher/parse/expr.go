package parse

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// expr reads an expression.
func (p *parser) expr() ast.Expr {
	p.enter()
	defer p.leave()
	return p.or()
}

// infix reads operands with keywords of one strength between them, to the left.
func (p *parser) infix(word string, op ast.BinaryOp, operand func() ast.Expr) ast.Expr {
	left := operand()
	for n := 0; p.is(word); n++ {
		p.chain(n)
		at := p.here()
		p.next()
		left = &ast.Binary{At: at, Op: op, Left: left, Right: operand()}
	}
	return left
}

func (p *parser) or() ast.Expr  { return p.infix("OR", ast.OpOr, p.xor) }
func (p *parser) xor() ast.Expr { return p.infix("XOR", ast.OpXor, p.and) }
func (p *parser) and() ast.Expr { return p.infix("AND", ast.OpAnd, p.not) }

func (p *parser) not() ast.Expr {
	if !p.is("NOT") {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	at := p.here()
	p.next()
	return &ast.Unary{At: at, Op: ast.OpNot, Operand: p.not()}
}

// compareOps gives the comparison operators by their signs.
var compareOps = map[string]ast.CompareOp{
	"=": ast.OpEq, "<>": ast.OpNe, "<": ast.OpLt, "<=": ast.OpLe, ">": ast.OpGt, ">=": ast.OpGe,
}

// compareOp takes a comparison operator if one comes next.
func (p *parser) compareOp() (ast.CompareOp, bool) {
	if p.peek().kind != tokPunct {
		return 0, false
	}
	op, ok := compareOps[p.peek().text]
	if ok {
		p.next()
	}
	return op, ok
}

func (p *parser) comparison() ast.Expr {
	first := p.predicate()
	var c *ast.Comparison
	for n := 0; ; n++ {
		p.chain(n)
		at := p.here()
		op, ok := p.compareOp()
		if !ok {
			break
		}
		if c == nil {
			c = &ast.Comparison{At: at, First: first}
		}
		c.Steps = append(c.Steps, &ast.CompareStep{At: at, Op: op, Right: p.predicate()})
	}
	if c == nil {
		return first
	}
	return c
}

func (p *parser) predicate() ast.Expr {
	left := p.add()
	for n := 0; ; n++ {
		p.chain(n)
		e := p.predicateOn(left)
		if e == nil {
			return left
		}
		left = e
	}
}

// predicateOn reads IN …, STARTS WITH …, IS NULL and the like behind its left operand; nil if none comes next.
func (p *parser) predicateOn(left ast.Expr) ast.Expr {
	at := p.here()
	op := ast.OpIn
	switch {
	case p.is("IS"):
		return p.isPredicate(left)
	case p.take("IN"):
	case p.take("STARTS", "WITH"):
		op = ast.OpStartsWith
	case p.take("ENDS", "WITH"):
		op = ast.OpEndsWith
	case p.take("CONTAINS"):
		op = ast.OpContains
	case p.takeSign("=~"):
		op = ast.OpMatches
	default:
		return nil
	}
	return &ast.Binary{At: at, Op: op, Left: left, Right: p.add()}
}

// isPredicate reads IS [NOT] NULL and IS [NOT] :: type.
func (p *parser) isPredicate(left ast.Expr) ast.Expr {
	at := p.here()
	p.next()
	not := p.take("NOT")
	switch {
	case p.take("NULL"):
		return &ast.IsNull{At: at, Operand: left, Not: not}
	case p.takeSign("::"), p.take("TYPED"):
		return &ast.IsType{At: at, Operand: left, Not: not, Type: p.typ()}
	}
	p.unexpected("NULL, NOT NULL or :: and a type")
	return nil
}

// arithmetic reads operands with the given signs between them, to the left.
func (p *parser) arithmetic(ops map[string]ast.BinaryOp, operand func() ast.Expr) ast.Expr {
	left := operand()
	for n := 0; p.peek().kind == tokPunct; n++ {
		p.chain(n)
		op, ok := ops[p.peek().text]
		if !ok {
			break
		}
		at := p.here()
		p.next()
		left = &ast.Binary{At: at, Op: op, Left: left, Right: operand()}
	}
	return left
}

var (
	addOps = map[string]ast.BinaryOp{"+": ast.OpAdd, "-": ast.OpSub, "||": ast.OpConcat}
	mulOps = map[string]ast.BinaryOp{"*": ast.OpMul, "/": ast.OpDiv, "%": ast.OpMod}
	powOps = map[string]ast.BinaryOp{"^": ast.OpPow}
)

func (p *parser) add() ast.Expr { return p.arithmetic(addOps, p.mul) }
func (p *parser) mul() ast.Expr { return p.arithmetic(mulOps, p.pow) }
func (p *parser) pow() ast.Expr { return p.arithmetic(powOps, p.unary) }

// unary reads signs. A minus right before a number is part of the literal, so that the least integer can be written.
func (p *parser) unary() ast.Expr {
	if !p.isSign("-") && !p.isSign("+") {
		return p.postfix(true)
	}
	p.enter()
	defer p.leave()
	at := p.here()
	op := ast.OpPlus
	if p.isSign("-") {
		op = ast.OpNeg
	}
	if t := p.peekAt(1); op == ast.OpNeg && (t.kind == tokInt || t.kind == tokFloat) && !startsPostfix(p.peekAt(2)) {
		p.next()
		return p.negative(at)
	}
	p.next()
	return &ast.Unary{At: at, Op: op, Operand: p.unary()}
}

// startsPostfix says whether the token binds tighter than a sign to what stands before it.
func startsPostfix(t *token) bool { return t.sign(".") || t.sign("[") || t.sign(":") }

// negative reads the number behind a minus.
func (p *parser) negative(at ast.At) ast.Expr {
	t := p.next()
	if t.kind == tokFloat {
		return &ast.FloatLit{At: at, Value: -t.float}
	}
	return &ast.IntLit{At: at, Value: -int64(t.num)} // −2⁶³ is its own negative
}

// postfix reads an atom with property access, indexes and, if they are allowed, labels behind it.
func (p *parser) postfix(labels bool) ast.Expr {
	e := p.atom()
	for n := 0; ; n++ {
		p.chain(n)
		at := p.here()
		switch {
		case p.takeSign("."):
			e = &ast.Property{At: at, Subject: e, Key: p.key()}
		case p.isSign("["):
			e = p.index(e)
		case labels && p.isSign(":"):
			p.next()
			return &ast.HasLabels{At: at, Subject: e, Labels: p.labelOr()}
		default:
			return e
		}
	}
}

// index reads [i], [a..b].
func (p *parser) index(subject ast.Expr) (e ast.Expr) {
	at := p.here()
	p.needSign("[")
	p.bars(false, func() {
		var from, to ast.Expr
		if !p.isSign("..") {
			from = p.expr()
		}
		if !p.takeSign("..") {
			e = &ast.Index{At: at, Subject: subject, Index: from}
			return
		}
		if !p.isSign("]") {
			to = p.expr()
		}
		e = &ast.Slice{At: at, Subject: subject, From: from, To: to}
	})
	p.needSign("]")
	return e
}

// atom reads a literal, a name, a call or anything in brackets of its own.
func (p *parser) atom() (e ast.Expr) {
	t := p.peek()
	at := p.here()
	switch t.kind {
	case tokInt:
		if t.overflow {
			p.fail(overflowError(t))
		}
		p.next()
		return &ast.IntLit{At: at, Value: int64(t.num)}
	case tokFloat:
		p.next()
		return &ast.FloatLit{At: at, Value: t.float}
	case tokString:
		p.next()
		return &ast.StringLit{At: at, Value: t.text}
	case tokParameter:
		p.next()
		return &ast.Parameter{At: at, Name: t.text}
	case tokQuoted:
		return p.named()
	case tokWord:
		return p.word()
	case tokPunct:
		switch t.text {
		case "(":
			return p.parenthesised()
		case "[":
			p.bars(false, func() { e = p.brackets() })
			return e
		case "{":
			p.bars(false, func() { e = p.mapLit() })
			return e
		}
	}
	p.unexpected("an expression")
	return nil
}

// parenthesised reads a pattern predicate or an expression in parentheses.
func (p *parser) parenthesised() (e ast.Expr) {
	if p.patternEnd(p.i) > p.i {
		at := p.here()
		return &ast.PatternPredicate{At: at, Path: p.simplePath()}
	}
	p.needSign("(")
	p.bars(false, func() { e = p.expr() })
	p.needSign(")")
	return e
}

// simplePath reads a path of nodes and relationships that ends where its shape ends: a minus behind it is an operator.
func (p *parser) simplePath() *ast.PathPattern {
	n := &ast.PathPattern{At: p.here()}
	end := p.patternEnd(p.i)
	p.bars(false, func() {
		n.Elements = append(n.Elements, p.node())
		for p.i < end {
			n.Elements = append(n.Elements, p.relationship(), p.node())
		}
	})
	return n
}

// word reads what begins with a word: a literal, a construct with a syntax of its own, a call or a variable.
func (p *parser) word() ast.Expr {
	at := p.here()
	open := p.peekAt(1).sign("(")
	brace := p.peekAt(1).sign("{")
	switch {
	case p.take("NULL"):
		return &ast.NullLit{At: at}
	case p.take("TRUE"):
		return &ast.BoolLit{At: at, Value: true}
	case p.take("FALSE"):
		return &ast.BoolLit{At: at}
	case p.is("CASE"):
		return p.caseExpr()
	case brace && p.is("EXISTS"):
		return p.subquery(ast.SubqueryExists)
	case brace && p.is("COUNT"):
		return p.subquery(ast.SubqueryCount)
	case brace && p.is("COLLECT"):
		return p.subquery(ast.SubqueryCollect)
	case open:
		if e := p.bracketed(); e != nil {
			return e
		}
	}
	return p.named()
}

// bracketed reads word(…) that is not a function call; nil if it is one.
func (p *parser) bracketed() (e ast.Expr) {
	at := p.here()
	overList := isVariable(p.peekAt(2)) && p.peekAt(3).is("IN")
	switch {
	case p.is("COUNT") && p.peekAt(2).sign("*") && p.peekAt(3).sign(")"):
		p.i += 4
		return &ast.CountStar{At: at}
	case p.isSearch():
		n := &ast.PathPattern{At: at}
		p.search(n)
		return &ast.PathSearch{At: at, Path: n}
	case p.is("REDUCE") && isVariable(p.peekAt(2)) && p.peekAt(3).sign("="):
		p.bars(true, func() { e = p.reduce() })
		return e
	case p.is("TRIM"):
		return p.trim()
	case overList && (p.is("FILTER") || p.is("EXTRACT")):
		p.i++
		p.needSign("(")
		p.bars(true, func() { e = p.listComprehension(at) })
		p.needSign(")")
		return e
	case overList:
		kind, ok := p.quantifierKind()
		if !ok {
			return nil
		}
		p.i++
		p.needSign("(")
		q := &ast.Quantifier{At: at, Kind: kind}
		p.bars(false, func() { q.Variable, q.List, q.Where = p.over() })
		p.needSign(")")
		return q
	}
	return nil
}

// trimFunctions gives the functions that trim([LEADING | TRAILING | BOTH] [characters] FROM text) stands for.
var trimFunctions = map[string]string{"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "btrim"}

// trim reads a call of trim in its short form, trim(text), or its long form.
func (p *parser) trim() ast.Expr {
	c := &ast.Call{At: p.here(), Name: p.next().text}
	p.needSign("(")
	p.bars(false, func() { p.trimArgs(c) })
	p.needSign(")")
	return c
}

func (p *parser) trimArgs(c *ast.Call) {
	side := ""
	if t := p.peekAt(1); t.kind != tokPunct || t.sign("(") {
		side = p.oneOf("LEADING", "TRAILING", "BOTH")
	}
	if p.isSign(")") {
		return
	}
	if !p.is("FROM") {
		c.Args = commas(p, p.expr)
	}
	switch {
	case len(c.Args) <= 1 && p.take("FROM"):
		if side == "" {
			side = "BOTH"
		}
		c.Name, c.Args = trimFunctions[side], append([]ast.Expr{p.expr()}, c.Args...)
	case side != "":
		p.unexpected("FROM")
	}
}

func (p *parser) quantifierKind() (ast.QuantifierKind, bool) {
	switch {
	case p.is("ALL"):
		return ast.QuantifierAll, true
	case p.is("ANY"):
		return ast.QuantifierAny, true
	case p.is("NONE"):
		return ast.QuantifierNone, true
	case p.is("SINGLE"):
		return ast.QuantifierSingle, true
	}
	return 0, false
}

// over reads variable IN list [WHERE condition].
func (p *parser) over() (*ast.Variable, ast.Expr, ast.Expr) {
	v := p.variable()
	p.need("IN")
	l := p.expr()
	return v, l, p.where()
}

func (p *parser) reduce() ast.Expr {
	r := &ast.Reduce{At: p.here()}
	p.next()
	p.needSign("(")
	r.Accumulator = p.variable()
	p.needSign("=")
	r.Init = p.expr()
	p.needSign(",")
	r.Variable = p.variable()
	p.need("IN")
	r.List = p.expr()
	p.needSign("|")
	p.bars(false, func() { r.Body = p.expr() })
	p.needSign(")")
	return r
}

// named reads a function call, a map projection or a variable.
func (p *parser) named() ast.Expr {
	at := p.here()
	if n := p.callLength(); n > 0 {
		return p.function()
	}
	v := p.variable()
	if p.isSign("{") {
		return p.mapProjection(v)
	}
	return &ast.Variable{At: at, Name: v.Name}
}

// callLength is the number of tokens of a dotted name that an opening parenthesis follows, or 0 if none comes next.
func (p *parser) callLength() int {
	if !isVariable(p.peek()) {
		return 0
	}
	n := 1
	for p.peekAt(n).sign(".") && p.peekAt(n+1).name() {
		n += 2
	}
	if !p.peekAt(n).sign("(") {
		return 0
	}
	return n
}

func (p *parser) function() ast.Expr {
	c := &ast.Call{At: p.here(), Name: p.dotted("a function's name")}
	p.needSign("(")
	p.bars(false, func() {
		c.Distinct = p.take("DISTINCT")
		if c.Distinct || !p.isSign(")") {
			c.Args = commas(p, p.expr)
		}
	})
	p.needSign(")")
	return c
}

func (p *parser) mapProjection(subject *ast.Variable) ast.Expr {
	m := &ast.MapProjection{At: subject.At, Subject: subject}
	p.needSign("{")
	if !p.isSign("}") {
		p.bars(false, func() { m.Items = commas(p, p.mapProjectionItem) })
	}
	p.needSign("}")
	return m
}

func (p *parser) mapProjectionItem() *ast.MapProjectionItem {
	i := &ast.MapProjectionItem{At: p.here()}
	switch {
	case p.takeSign("."):
		if p.takeSign("*") {
			i.Kind = ast.ProjectAll
			return i
		}
		i.Kind, i.Name = ast.ProjectProperty, p.key()
	case p.peek().name() && p.peekAt(1).sign(":"):
		i.Kind, i.Name = ast.ProjectEntry, p.key()
		p.needSign(":")
		i.Value = p.expr()
	default:
		v := p.variable()
		i.Kind, i.Name, i.Value = ast.ProjectVariable, v.Name, v
	}
	return i
}

func (p *parser) mapLit() ast.Expr {
	m := &ast.MapLit{At: p.here()}
	p.needSign("{")
	if !p.isSign("}") {
		m.Entries = commas(p, p.mapEntry)
	}
	p.needSign("}")
	return m
}

func (p *parser) mapEntry() *ast.MapEntry {
	m := &ast.MapEntry{At: p.here(), Key: p.key()}
	p.needSign(":")
	m.Value = p.expr()
	return m
}

// brackets reads a list comprehension, a pattern comprehension or a list.
func (p *parser) brackets() ast.Expr {
	at := p.here()
	if isVariable(p.peekAt(1)) && p.peekAt(2).is("IN") {
		p.needSign("[")
		var e ast.Expr
		p.bars(true, func() { e = p.listComprehension(at) })
		p.needSign("]")
		return e
	}
	if p.startsPatternComprehension() {
		return p.patternComprehension(at)
	}
	l := &ast.ListLit{At: at}
	p.needSign("[")
	if !p.isSign("]") {
		l.Items = commas(p, p.expr)
	}
	p.needSign("]")
	return l
}

// listComprehension reads variable IN list [WHERE condition] [| projection].
func (p *parser) listComprehension(at ast.At) ast.Expr {
	l := &ast.ListComprehension{At: at}
	l.Variable, l.List, l.Where = p.over()
	if p.takeSign("|") {
		p.bars(false, func() { l.Projection = p.expr() })
	}
	return l
}

// startsPatternComprehension says whether [variable = pattern WHERE … or [variable = pattern | … comes next, which tells it from
// a list whose first item is a pattern predicate.
func (p *parser) startsPatternComprehension() bool {
	start := p.i + 1
	if isVariable(p.token(start)) && p.token(start+1).sign("=") {
		start += 2
	}
	end := p.patternEnd(start)
	return end > start && (p.token(end).is("WHERE") || p.token(end).sign("|"))
}

func (p *parser) patternComprehension(at ast.At) ast.Expr {
	c := &ast.PatternComprehension{At: at}
	p.needSign("[")
	var v *ast.Variable
	if p.peekAt(1).sign("=") {
		v = p.variable()
		p.needSign("=")
	}
	c.Path = p.simplePath()
	c.Path.Variable = v
	p.bars(true, func() { c.Where = p.where() })
	p.needSign("|")
	c.Projection = p.expr()
	p.needSign("]")
	return c
}

// subquery reads EXISTS {…} and its kin.
func (p *parser) subquery(kind ast.SubqueryKind) ast.Expr {
	s := &ast.Subquery{At: p.here(), Kind: kind}
	p.next()
	p.needSign("{")
	p.bars(false, func() {
		if p.startsQuery() {
			s.Query = p.query()
			return
		}
		if kind == ast.SubqueryCollect {
			p.fail(graph.SyntaxError(unexpectedSyntax, p.peek().pos, "COLLECT {…} takes a query that ends in RETURN"))
		}
		s.Pattern = p.pattern()
		s.Where = p.where()
	})
	p.needSign("}")
	return s
}

func (p *parser) caseExpr() ast.Expr {
	c := &ast.Case{At: p.here()}
	p.need("CASE")
	p.bars(false, func() {
		if !p.is("WHEN") {
			c.Operand = p.expr()
		}
		for p.is("WHEN") {
			c.Whens = append(c.Whens, p.caseWhen(c.Operand != nil))
		}
		if len(c.Whens) == 0 {
			p.unexpected("WHEN")
		}
		if p.take("ELSE") {
			c.Else = p.expr()
		}
	})
	p.need("END")
	return c
}

func (p *parser) caseWhen(simple bool) *ast.CaseWhen {
	w := &ast.CaseWhen{At: p.here()}
	p.need("WHEN")
	if simple {
		w.Tests = commas(p, p.caseTest)
	} else {
		w.Tests = []*ast.CaseTest{{At: p.here(), Expr: p.expr()}}
	}
	p.need("THEN")
	w.Then = p.expr()
	return w
}

// caseTest reads a value, or an operator and its right operand.
func (p *parser) caseTest() *ast.CaseTest {
	t := &ast.CaseTest{At: p.here(), Predicate: true}
	operand := &ast.CaseOperand{At: t.At}
	if op, ok := p.compareOp(); ok {
		t.Expr = &ast.Comparison{At: t.At, First: operand, Steps: []*ast.CompareStep{{At: t.At, Op: op, Right: p.predicate()}}}
		return t
	}
	if t.Expr = p.predicateOn(operand); t.Expr == nil {
		t.Predicate, t.Expr = false, p.expr()
	}
	return t
}
