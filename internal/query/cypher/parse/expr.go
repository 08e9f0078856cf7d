package parse

import "github.com/hopgate/hopgate/internal/query/cypher/ast"

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

// compareOps maps signs to comparison operators.
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
	case p.takeSign("::"):
		return &ast.IsType{At: at, Operand: left, Type: p.typ()}
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

// normalForms are Unicode's normal forms; the first is the default.
var normalForms = []string{"NFC", "NFD", "NFKC", "NFKD"}

// isPredicate reads IS [NOT] NULL, IS [NOT] :: type and IS [NOT] [form] NORMALIZED.
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
	form := p.oneOf(normalForms...)
	if p.take("NORMALIZED") {
		if form == "" {
			form = normalForms[0]
		}
		return &ast.IsNormalized{At: at, Operand: left, Not: not, Form: form}
	}
	p.unexpected("NULL, NOT NULL, NORMALIZED or :: and a type")
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

// startsPostfix reports whether the token binds tighter to its predecessor than a sign does.
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
			e = &ast.Property{At: at, Subject: e, KeyPos: p.peek().pos, Key: p.key()}
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
