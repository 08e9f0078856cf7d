package fetch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// expr is an expression of @column, @having, @key, @order or a {} condition.
type expr interface{ text() string }

type (
	// nameExpr is a property, an alias, or @depth.
	nameExpr struct{ name string }

	// constExpr is a number or a text in single quotes.
	constExpr struct{ v graph.Value }

	// callExpr is a function; star is count(*).
	callExpr struct {
		fn             string
		args           []expr
		distinct, star bool
		raw            string // of degree: the text in parentheses
		src            string
	}

	// binaryExpr is an operator between two expressions: + - * / % = != < <= > >=.
	binaryExpr struct {
		op   string
		a, b expr
	}

	// nullExpr is a=null or a!=null.
	nullExpr struct {
		a   expr
		not bool
	}
)

func (e *nameExpr) text() string  { return e.name }
func (e *constExpr) text() string { return constText(e.v) }
func (e *callExpr) text() string  { return e.src }
func (e *binaryExpr) text() string {
	return e.a.text() + e.op + e.b.text()
}

func (e *nullExpr) text() string {
	if e.not {
		return e.a.text() + "!=null"
	}
	return e.a.text() + "=null"
}

func constText(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return "'" + v.Str() + "'"
}

// maxExprNesting bounds the recursion of the expression parser.
const maxExprNesting = 50

// exprParser reads expressions.
//
//	comparison = sum [("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") (sum | "null")]
//	sum        = product {("+" | "-") product}
//	product    = unary {("*" | "/" | "%") unary}
//	unary      = ["-"] primary
//	primary    = number | 'text' | name | `name` | function "(" args ")" | "(" comparison ")"
type exprParser struct {
	s     string
	pos   int
	depth int
}

// parseExpr reads the whole of s.
func parseExpr(s string) (expr, error) {
	p := &exprParser{s: s}
	e, err := p.comparison()
	if err != nil {
		return nil, err
	}
	return e, p.end()
}

// parseTail parses the part of a {} condition after its property, such as ">5" or "%2=0".
func parseTail(name, s string) (expr, error) {
	p := &exprParser{s: s}
	var e expr = &nameExpr{name: name}
	p.blanks()
	if p.pos == len(s) || !strings.ContainsRune("+-*/%=!<>", rune(s[p.pos])) {
		return nil, p.fault("expected an operator")
	}
	e, err := p.products(e)
	if err == nil {
		e, err = p.sums(e)
	}
	if err == nil {
		e, err = p.compare(e)
	}
	if err != nil {
		return nil, err
	}
	return e, p.end()
}

func (p *exprParser) fault(format string, args ...any) error {
	return fmt.Errorf("%s at character %d of %q", fmt.Sprintf(format, args...), utf8.RuneCountInString(p.s[:p.pos])+1, p.s)
}

func (p *exprParser) end() error {
	if p.blanks(); p.pos < len(p.s) {
		r, _ := utf8.DecodeRuneInString(p.s[p.pos:])
		return p.fault("unexpected %q", r)
	}
	return nil
}

func (p *exprParser) blanks() {
	for p.pos < len(p.s) && p.s[p.pos] == ' ' {
		p.pos++
	}
}

// take consumes one of the symbols, trying the longest first.
func (p *exprParser) take(symbols ...string) string {
	p.blanks()
	for _, s := range symbols {
		if strings.HasPrefix(p.s[p.pos:], s) {
			p.pos += len(s)
			return s
		}
	}
	return ""
}

func (p *exprParser) comparison() (expr, error) {
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	return p.compare(e)
}

func (p *exprParser) compare(e expr) (expr, error) {
	op := p.take("==", "!=", "<>", "<=", ">=", "=", "<", ">")
	switch op {
	case "":
		return e, nil
	case "==":
		op = "="
	case "<>":
		op = "!="
	}
	if op == "=" || op == "!=" {
		if p.take("null", "NULL") != "" {
			return &nullExpr{a: e, not: op == "!="}, nil
		}
	}
	b, err := p.sum()
	if err != nil {
		return nil, err
	}
	return &binaryExpr{op: op, a: e, b: b}, nil
}

func (p *exprParser) sum() (expr, error) {
	e, err := p.product()
	if err != nil {
		return nil, err
	}
	return p.sums(e)
}

func (p *exprParser) sums(e expr) (expr, error) {
	for {
		op := p.take("+", "-")
		if op == "" {
			return e, nil
		}
		b, err := p.product()
		if err != nil {
			return nil, err
		}
		e = &binaryExpr{op: op, a: e, b: b}
	}
}

func (p *exprParser) product() (expr, error) {
	e, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.products(e)
}

func (p *exprParser) products(e expr) (expr, error) {
	for {
		op := p.take("*", "/", "%")
		if op == "" {
			return e, nil
		}
		b, err := p.unary()
		if err != nil {
			return nil, err
		}
		e = &binaryExpr{op: op, a: e, b: b}
	}
}

func (p *exprParser) unary() (expr, error) {
	if strings.HasPrefix(p.s[p.pos:], "--") {
		return nil, p.fault("unexpected --")
	}
	if p.take("-") == "" {
		return p.primary()
	}
	e, err := p.primary()
	if err != nil {
		return nil, err
	}
	if c, ok := e.(*constExpr); ok && c.v.IsNumber() {
		if c.v.Kind() == graph.Int {
			return &constExpr{graph.IntValue(-c.v.Int())}, nil
		}
		return &constExpr{graph.FloatValue(-c.v.Float())}, nil
	}
	return &binaryExpr{op: "-", a: &constExpr{graph.IntValue(0)}, b: e}, nil
}

func (p *exprParser) primary() (expr, error) {
	p.blanks()
	if p.pos == len(p.s) {
		return nil, p.fault("unexpected end")
	}
	if p.depth++; p.depth > maxExprNesting {
		return nil, p.fault("nested too deep")
	}
	defer func() { p.depth-- }()
	switch c := p.s[p.pos]; {
	case '0' <= c && c <= '9' || c == '.':
		return p.number()
	case c == '\'':
		end := strings.IndexByte(p.s[p.pos+1:], '\'')
		if end < 0 {
			return nil, p.fault("a quote without an end")
		}
		v := p.s[p.pos+1 : p.pos+1+end]
		p.pos += end + 2
		return &constExpr{graph.StringValue(v)}, nil
	case c == '`':
		end := strings.IndexByte(p.s[p.pos+1:], '`')
		if end < 0 || !isName(p.s[p.pos+1:p.pos+1+end]) {
			return nil, p.fault("no name in backquotes")
		}
		v := p.s[p.pos+1 : p.pos+1+end]
		p.pos += end + 2
		return &nameExpr{name: v}, nil
	case c == '(':
		p.pos++
		e, err := p.comparison()
		if err != nil {
			return nil, err
		}
		if p.take(")") == "" {
			return nil, p.fault("expected a closing parenthesis")
		}
		return e, nil
	}
	start := p.pos
	if p.s[p.pos] == '@' {
		p.pos++
	}
	for p.pos < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.pos:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		p.pos += n
	}
	name := p.s[start:p.pos]
	if name == depthColumn || name == scoreColumn {
		return &nameExpr{name: name}, nil
	}
	if !isName(name) {
		p.pos = start
		r, _ := utf8.DecodeRuneInString(p.s[p.pos:])
		return nil, p.fault("unexpected %q", r)
	}
	if p.pos < len(p.s) && p.s[p.pos] == '(' {
		p.pos++
		return p.call(name, start)
	}
	return &nameExpr{name: name}, nil
}

func (p *exprParser) number() (expr, error) {
	start := p.pos
	for p.pos < len(p.s) && strings.IndexByte("0123456789.", p.s[p.pos]) >= 0 {
		p.pos++
	}
	text := p.s[start:p.pos]
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &constExpr{graph.IntValue(i)}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.pos = start
		return nil, p.fault("%s is no number", text)
	}
	return &constExpr{graph.FloatValue(f)}, nil
}

// call reads the arguments of a function, whose name and parenthesis are read.
func (p *exprParser) call(name string, start int) (expr, error) {
	c := &callExpr{fn: strings.ToLower(name)}
	if c.fn == "degree" {
		end := strings.IndexByte(p.s[p.pos:], ')')
		if end < 0 {
			return nil, p.fault("expected a closing parenthesis")
		}
		c.raw = p.s[p.pos : p.pos+end]
		p.pos += end + 1
		c.src = p.s[start:p.pos]
		return c, nil
	}
	if p.take("DISTINCT ", "distinct ") != "" {
		c.distinct = true
	}
	switch {
	case p.take(")") != "":
		c.src = p.s[start:p.pos]
		return c, nil
	case c.fn == "count" && p.take("*") != "":
		c.star = true
		if p.take(")") == "" {
			return nil, p.fault("expected a closing parenthesis")
		}
		c.src = p.s[start:p.pos]
		return c, nil
	}
	for {
		a, err := p.argument()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, a)
		switch p.take(",", ")") {
		case ",":
		case ")":
			c.src = p.s[start:p.pos]
			return c, nil
		default:
			return nil, p.fault("expected a comma or a closing parenthesis")
		}
	}
}

// argument parses an argument of a function. Text that is no expression is a string, as in date_format(date,%Y-%m).
func (p *exprParser) argument() (expr, error) {
	start := p.pos
	e, err := p.comparison()
	if err == nil {
		if p.blanks(); p.pos < len(p.s) && (p.s[p.pos] == ',' || p.s[p.pos] == ')') {
			return e, nil
		}
		err = p.fault("expected a comma or a closing parenthesis")
	}
	end := strings.IndexAny(p.s[start:], ",()'`")
	if end <= 0 || p.s[start+end] == '(' || p.s[start+end] > ')' && p.s[start+end] != ',' || p.s[start+end] == '\'' {
		return nil, err
	}
	text := p.s[start : start+end]
	if strings.Contains(text, "--") || strings.Contains(text, "/*") || strings.HasPrefix(text, "_") {
		return nil, err
	}
	p.pos = start + end
	return &constExpr{graph.StringValue(text)}, nil
}

// splitTop splits s at the separators outside parentheses and quotes.
func splitTop(s, separators string) []string {
	var parts []string
	depth, start := 0, 0
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth <= 0 && strings.IndexByte(separators, c) >= 0:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// hasAggregate reports whether an expression has an aggregate in it.
func hasAggregate(e expr) bool {
	switch e := e.(type) {
	case *binaryExpr:
		return hasAggregate(e.a) || hasAggregate(e.b)
	case *nullExpr:
		return hasAggregate(e.a)
	case *callExpr:
		if isAggregate(e.fn) {
			return true
		}
		if slices.ContainsFunc(e.args, hasAggregate) {
			return true
		}
	}
	return false
}

func isAggregate(f string) bool {
	switch f {
	case "count", "sum", "avg", "max", "min", "std", "stddev", "stddev_pop", "stddev_samp", "group_concat", "json_arrayagg", "any_value":
		return true
	}
	return false
}
