package parse

import (
	"strings"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

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
	overList := binds(p.peekAt(2)) && p.peekAt(3).is("IN")
	switch {
	case p.is("COUNT") && p.peekAt(2).sign("*") && p.peekAt(3).sign(")"):
		p.i += 4
		return &ast.CountStar{At: at}
	case p.isSearch():
		n := &ast.PathPattern{At: at}
		p.search(n)
		return &ast.PathSearch{At: at, Path: n}
	case (p.is("REDUCE") || p.is("ALLREDUCE")) && binds(p.peekAt(2)) && p.peekAt(3).sign("="):
		p.bars(true, func() { e = p.reduce() })
		return e
	case p.is("TRIM"):
		return p.trim()
	case p.is("NORMALIZE"):
		return p.normalize()
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

// trimFunctions maps the keyword of trim([LEADING | TRAILING | BOTH] [characters] FROM text) to a function.
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

// normalize reads a call of normalize, whose second argument may be the name of a normal form: a string by the name.
func (p *parser) normalize() ast.Expr {
	c := &ast.Call{At: p.here(), Name: p.next().text}
	p.needSign("(")
	if !p.isSign(")") {
		p.bars(false, func() { c.Args = commas(p, p.normalizeArg) })
	}
	p.needSign(")")
	return c
}

func (p *parser) normalizeArg() ast.Expr {
	at := p.here()
	if p.peekAt(1).sign(")") && p.tokens[p.i-1].sign(",") {
		if form := p.oneOf(normalForms...); form != "" {
			return &ast.StringLit{At: at, Value: form}
		}
	}
	return p.expr()
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
	every := p.is("ALLREDUCE")
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
	if every {
		p.needSign(",")
		p.bars(false, func() { r.Where = p.expr() })
	}
	p.needSign(")")
	return r
}

// named reads a function call, a map projection or a variable.
func (p *parser) named() ast.Expr {
	at := p.here()
	if n := p.callLength(); n > 0 {
		return p.function()
	}
	if !p.isOperand() {
		p.unexpected("an expression")
	}
	v := p.variable()
	if p.isSign("{") {
		return p.mapProjection(v)
	}
	return &ast.Variable{At: at, Name: v.Name}
}

// callLength returns the number of tokens of a dotted name before an opening parenthesis, or 0 if none follows.
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

// synonyms are GQL's names of functions that openCypher has under others.
var synonyms = map[string]string{
	"ceiling": "ceil", "collect_list": "collect", "duration_between": "duration.between", "ln": "log", "local_datetime": "localdatetime",
	"local_time": "localtime", "path_length": "length", "percentile_cont": "percentileCont", "percentile_disc": "percentileDisc",
	"stdev_pop": "stDevP", "stdev_samp": "stDev", "zoned_datetime": "datetime", "zoned_time": "time",
}

func (p *parser) function() ast.Expr {
	c := &ast.Call{At: p.here(), Name: p.dotted("a function's name")}
	if name, ok := synonyms[strings.ToLower(c.Name)]; ok {
		c.Name = name
	}
	p.needSign("(")
	p.bars(false, func() {
		c.Distinct = p.take("DISTINCT")
		if c.Distinct || !p.isSign(")") {
			i := -1
			c.Args = commas(p, func() ast.Expr {
				i++
				return p.argument(strings.ToLower(c.Name), i)
			})
		}
	})
	p.needSign(")")
	return c
}

// keywordArguments are the functions whose argument at a place may be a keyword: a coordinate type or a metric.
var keywordArguments = map[string]int{"vector": 2, "vector_distance": 2, "vector_norm": 1}

// argument reads an argument of a function. A keyword stands for its text.
func (p *parser) argument(function string, i int) ast.Expr {
	at, ok := keywordArguments[function]
	if !ok || at != i || p.peek().kind != tokWord || p.is("NULL") {
		return p.expr()
	}
	s := &ast.StringLit{At: p.here()}
	if function == "vector" {
		s.Value = p.coordinateType()
	} else {
		s.Value = strings.ToUpper(p.next().text)
	}
	return s
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
		i.Pos = p.peek().pos
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
