package parse

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// brackets reads a list comprehension, a pattern comprehension or a list.
func (p *parser) brackets() ast.Expr {
	at := p.here()
	if binds(p.peekAt(1)) && p.peekAt(2).is("IN") {
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

// startsPatternComprehension reports whether [variable = pattern WHERE … or [variable = pattern | … comes next, as opposed to a
// list whose first item is a pattern predicate.
func (p *parser) startsPatternComprehension() bool {
	start := p.i + 1
	if binds(p.token(start)) && p.token(start+1).sign("=") {
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

// subquery reads EXISTS {…}, COUNT {…} or COLLECT {…}.
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
