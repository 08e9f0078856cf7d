package parse

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

const invalidRelationshipPattern = "InvalidRelationshipPattern"

// pattern reads paths with commas between them.
func (p *parser) pattern() []*ast.PathPattern { return commas(p, p.path) }

// path reads [variable =] [selector] elements.
func (p *parser) path() *ast.PathPattern {
	n := &ast.PathPattern{At: p.here()}
	if p.peekAt(1).sign("=") {
		n.Variable = p.variable()
		p.needSign("=")
	}
	p.bars(false, func() { p.unnamedPath(n) })
	return n
}

func (p *parser) unnamedPath(n *ast.PathPattern) {
	p.enter()
	defer p.leave()
	if p.isSearch() {
		p.search(n)
		return
	}
	p.selector(n)
	p.elements(n)
}

// isSearch reports whether shortestPath( or allShortestPaths( follows.
func (p *parser) isSearch() bool {
	return (p.is("SHORTESTPATH") || p.is("ALLSHORTESTPATHS")) && p.peekAt(1).sign("(")
}

// search reads shortestPath(…) or allShortestPaths(…).
func (p *parser) search(n *ast.PathPattern) {
	n.Search = ast.SearchShortestPath
	if p.is("ALLSHORTESTPATHS") {
		n.Search = ast.SearchAllShortestPaths
	}
	at := p.here()
	p.next()
	p.needSign("(")
	p.bars(false, func() { p.elements(n) })
	p.needSign(")")
	if len(n.Elements) == 3 {
		if _, ok := n.Elements[1].(*ast.RelationshipPattern); ok {
			return
		}
	}
	p.fail(graph.SyntaxError(unexpectedSyntax, at.Pos, "shortestPath and allShortestPaths take a pattern of one relationship between two nodes"))
}

// selector reads ALL, ANY [k], [ANY | ALL] SHORTEST, SHORTEST k [GROUPS].
func (p *parser) selector(n *ast.PathPattern) {
	switch {
	case p.take("ALL", "SHORTEST"):
		n.Search = ast.SearchAllShortest
	case p.take("ANY", "SHORTEST"):
		n.Search = ast.SearchShortest
	case p.take("SHORTEST"):
		n.Search = ast.SearchShortest
		n.Count = p.bound()
	case p.take("ANY"):
		n.Search = ast.SearchAny
		n.Count = p.bound()
	case p.take("ALL"):
	default:
		return
	}
	_ = p.take("PATHS") || p.take("PATH")
	if n.Search == ast.SearchShortest && (p.take("GROUPS") || p.take("GROUP")) {
		n.Search = ast.SearchShortestGroups
	}
}

// bound parses an integer or a parameter; nil if neither follows.
func (p *parser) bound() ast.Expr {
	switch p.peek().kind {
	case tokInt, tokParameter:
		return p.atom()
	}
	return nil
}

// elements reads nodes, relationships and subpaths.
func (p *parser) elements(n *ast.PathPattern) {
	n.Elements = append(n.Elements, p.group())
	for {
		if len(n.Elements) > maxMatch {
			p.tooLarge("a path has more than %d nodes and relationships", maxMatch)
		}
		switch {
		case p.startsRelationship(p.i):
			n.Elements = append(n.Elements, p.relationship(), p.node())
		case p.isSign("("):
			_, before := n.Elements[len(n.Elements)-1].(*ast.SubpathPattern)
			if !before && !p.startsSubpath() {
				return
			}
			n.Elements = append(n.Elements, p.group())
		default:
			return
		}
	}
}

// startsRelationship reports whether a relationship begins at token i.
func (p *parser) startsRelationship(i int) bool {
	t := p.token(i)
	return isDash(t) || isLeft(t) && isDash(p.token(i+1))
}

func isDash(t *token) bool  { return t.sign("-") || t.kind == tokDash }
func isLeft(t *token) bool  { return t.sign("<") || t.kind == tokLeft }
func isRight(t *token) bool { return t.sign(">") || t.kind == tokRight }

// startsSubpath reports whether a parenthesised path, not a node, follows.
func (p *parser) startsSubpath() bool {
	return p.isSign("(") && (p.peekAt(1).sign("(") || binds(p.peekAt(1)) && p.peekAt(2).sign("="))
}

// group reads a node or a parenthesised path.
func (p *parser) group() ast.PathElement {
	if !p.startsSubpath() {
		return p.node()
	}
	n := &ast.SubpathPattern{At: p.here()}
	p.needSign("(")
	n.Path = p.path()
	n.Where = p.where()
	p.needSign(")")
	n.Quantifier = p.quantifier()
	return n
}

// unwrap removes the parentheses of a path that is created, where they have no meaning.
func unwrap(n *ast.PathPattern) {
	for len(n.Elements) == 1 {
		sub, ok := n.Elements[0].(*ast.SubpathPattern)
		if !ok || sub.Quantifier != nil || sub.Where != nil || sub.Path.Variable != nil || sub.Path.Search != ast.SearchNone {
			return
		}
		n.Elements = sub.Path.Elements
	}
}

// quantifier parses {1,3}, {2}, + or *; nil if none follows.
func (p *parser) quantifier() *ast.Range {
	r := &ast.Range{At: p.here()}
	switch {
	case p.takeSign("+"):
		r.Min = &ast.IntLit{At: r.At, Value: 1}
	case p.takeSign("*"):
		r.Min = &ast.IntLit{At: r.At}
	case p.takeSign("{"):
		if r.Min = p.bound(); r.Min != nil && !p.isSign(",") {
			r.Max = r.Min
		} else {
			p.needSign(",")
			if r.Min == nil {
				r.Min = &ast.IntLit{At: r.At}
			}
			r.Max = p.bound()
		}
		p.needSign("}")
	default:
		return nil
	}
	return r
}

func (p *parser) node() *ast.NodePattern {
	p.element()
	n := &ast.NodePattern{At: p.here()}
	p.needSign("(")
	n.Variable = p.optionalVariable()
	n.Labels = p.labels()
	n.Properties = p.properties()
	n.Where = p.where()
	p.needSign(")")
	return n
}

func (p *parser) optionalVariable() *ast.Variable {
	if declares(p.peek(), p.peekAt(1)) {
		return p.variable()
	}
	return nil
}

// declares reports whether the token, behind the opening bracket of a pattern and before next, is its variable. WHERE and IS
// are keywords unless labels or the bracket's end follow.
func declares(t, next *token) bool {
	if t.is("WHERE") || t.is("IS") {
		return next.sign(":") || next.sign(")") || next.sign("]")
	}
	return binds(t)
}

// properties parses the map or parameter of a pattern; nil if neither follows.
func (p *parser) properties() ast.Expr {
	if p.isSign("{") || p.peek().kind == tokParameter {
		return p.atom()
	}
	return nil
}

func (p *parser) relationship() *ast.RelationshipPattern {
	p.element()
	n := &ast.RelationshipPattern{At: p.here()}
	left := isLeft(p.peek())
	if left {
		p.next()
	}
	p.dash()
	if p.takeSign("[") {
		p.detail(n)
		p.needSign("]")
	}
	p.dash()
	right := isRight(p.peek())
	if right {
		p.next()
	}
	switch {
	case right && !left:
		n.Direction = ast.DirectionOut
	case left && !right:
		n.Direction = ast.DirectionIn
	}
	n.Quantifier = p.quantifier()
	return n
}

func (p *parser) dash() {
	if !isDash(p.peek()) {
		p.unexpected("'-'")
	}
	p.next()
}

// detail reads the contents of a relationship's brackets.
func (p *parser) detail(n *ast.RelationshipPattern) {
	n.Variable = p.optionalVariable()
	n.Types = p.labels()
	if p.isSign("..") {
		p.fail(graph.SyntaxError(invalidRelationshipPattern, p.peek().pos, "a variable length needs a '*' before '..'"))
	}
	if p.isSign("*") {
		n.Length = p.length()
	}
	n.Properties = p.properties()
	n.Where = p.where()
}

// length reads *, *2, *1..3, *..3, *1...
func (p *parser) length() *ast.Range {
	r := &ast.Range{At: p.here()}
	p.needSign("*")
	r.Min = p.lengthBound()
	if !p.takeSign("..") {
		r.Max = r.Min
		return r
	}
	r.Max = p.lengthBound()
	return r
}

// lengthBound reads a bound of a length. A parameter that the closing bracket follows without a `..` before it is a bound too,
// so properties behind a bare * cannot be a parameter.
func (p *parser) lengthBound() ast.Expr {
	switch t := p.peek(); {
	case t.sign("-"), t.kind == tokFloat:
		p.fail(graph.SyntaxError(invalidRelationshipPattern, t.pos, "the bounds of a variable length are integers from 0 on"))
	}
	return p.bound()
}

// labels reads a colon or IS and a label expression; nil if there is none.
func (p *parser) labels() ast.LabelExpr {
	if !p.takeSign(":") && !p.take("IS") {
		return nil
	}
	return p.labelOr()
}

func (p *parser) labelOr() ast.LabelExpr {
	at := p.here()
	operands := []ast.LabelExpr{p.labelAnd()}
	colon := false
	for !p.noBar && p.takeSign("|") {
		colon = p.takeSign(":") || colon
		operands = append(operands, p.labelAnd())
	}
	if len(operands) == 1 {
		return operands[0]
	}
	or := &ast.LabelOr{At: at, Operands: operands}
	if colon {
		p.deprecate(at, "a colon after `|`", ":"+ast.Format(or))
	}
	return or
}

func (p *parser) labelAnd() ast.LabelExpr {
	at := p.here()
	operands := []ast.LabelExpr{p.labelNot()}
	for p.takeSign("&") || p.takeSign(":") {
		operands = append(operands, p.labelNot())
	}
	if len(operands) == 1 {
		return operands[0]
	}
	return &ast.LabelAnd{At: at, Operands: operands}
}

func (p *parser) labelNot() ast.LabelExpr {
	p.enter()
	defer p.leave()
	at := p.here()
	switch {
	case p.takeSign("!"):
		return &ast.LabelNot{At: at, Operand: p.labelNot()}
	case p.takeSign("%"):
		return &ast.LabelAny{At: at}
	case p.takeSign("("):
		var l ast.LabelExpr
		p.bars(false, func() { l = p.labelOr() })
		p.needSign(")")
		return l
	}
	return p.labelName("a label or relationship type")
}

// labelName parses a name, or $(…), $all(…) or $any(…), which compute names; what names their kind.
func (p *parser) labelName(what string) ast.LabelExpr {
	at := p.here()
	t := p.peek()
	quantified := t.kind == tokParameter && p.peekAt(1).sign("(") && (strings.EqualFold(t.text, "all") || strings.EqualFold(t.text, "any"))
	if !quantified && !t.sign("$") {
		return &ast.LabelName{At: at, Name: p.name(what)}
	}
	p.next()
	l := &ast.LabelOf{At: at, Any: strings.EqualFold(t.text, "any")}
	p.needSign("(")
	p.bars(false, func() { l.Expr = p.expr() })
	p.needSign(")")
	return l
}

// patternEnd returns the index of the token after the path pattern that begins at token i, or i if none begins there. It checks
// only the shape: (…) of a node, then as many -[…]-(…) as there are, at least one.
func (p *parser) patternEnd(i int) int {
	if !p.token(i).sign("(") || p.token(i).pair == 0 || !p.nodeShape(i) {
		return i
	}
	end := i
	for at := p.token(i).pair + 1; ; {
		next := p.hopEnd(at)
		if next == at {
			return end
		}
		end, at = next, next
	}
}

// nodeShape reports whether the parentheses that open at token i may hold a node pattern.
func (p *parser) nodeShape(i int) bool {
	t := p.token(i + 1)
	if declares(t, p.token(i+2)) {
		t = p.token(i + 2)
	}
	return t.sign(")") || t.sign(":") || t.sign("{") || t.kind == tokParameter || t.is("WHERE") || t.is("IS")
}

// hopEnd returns the index after -[…]->(…) at token i, or i if there is none.
func (p *parser) hopEnd(i int) int {
	at := i
	if isLeft(p.token(at)) {
		at++
	}
	if !isDash(p.token(at)) {
		return i
	}
	at++
	if t := p.token(at); t.sign("[") {
		if t.pair == 0 {
			return i
		}
		at = t.pair + 1
	}
	if !isDash(p.token(at)) {
		return i
	}
	at++
	if isRight(p.token(at)) {
		at++
	}
	if t := p.token(at); t.sign("{") && t.pair != 0 {
		at = t.pair + 1
	}
	if t := p.token(at); !t.sign("(") || t.pair == 0 || !p.nodeShape(at) {
		return i
	}
	return p.token(at).pair + 1
}
