package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// Expr is an expression of @column, @having, @key, @order or a {} condition.
type Expr interface{ Text() string }

type (
	// NameExpr is a property, an alias, or @depth.
	NameExpr struct{ Name string }

	// ConstExpr is a number or a text in single quotes.
	ConstExpr struct{ V graph.Value }

	// CallExpr is a function; star is count(*).
	CallExpr struct {
		Fn             string
		Args           []Expr
		Distinct, Star bool
		Raw            string // of degree: the text in parentheses
		Src            string
	}

	// BinaryExpr is an operator between two expressions: + - * / % = != < <= > >=.
	BinaryExpr struct {
		Op   string
		A, B Expr
	}

	// NullExpr is a=null or a!=null.
	NullExpr struct {
		A   Expr
		Not bool
	}
)

// Text implements Expr.
func (e *NameExpr) Text() string { return e.Name }

// Text implements Expr.
func (e *ConstExpr) Text() string { return constText(e.V) }

// Text implements Expr.
func (e *CallExpr) Text() string { return e.Src }

// Text implements Expr.
func (e *BinaryExpr) Text() string {
	return e.A.Text() + e.Op + e.B.Text()
}

// Text implements Expr.
func (e *NullExpr) Text() string {
	if e.Not {
		return e.A.Text() + "!=null"
	}
	return e.A.Text() + "=null"
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
func parseExpr(s string) (Expr, error) {
	p := &exprParser{s: s}
	e, err := p.comparison()
	if err != nil {
		return nil, err
	}
	return e, p.end()
}

// parseTail parses the part of a {} condition after its property, such as ">5" or "%2=0".
func parseTail(name, s string) (Expr, error) {
	p := &exprParser{s: s}
	var e Expr = &NameExpr{Name: name}
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

func (p *exprParser) comparison() (Expr, error) {
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	return p.compare(e)
}

func (p *exprParser) compare(e Expr) (Expr, error) {
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
			return &NullExpr{A: e, Not: op == "!="}, nil
		}
	}
	b, err := p.sum()
	if err != nil {
		return nil, err
	}
	return &BinaryExpr{Op: op, A: e, B: b}, nil
}

func (p *exprParser) sum() (Expr, error) {
	e, err := p.product()
	if err != nil {
		return nil, err
	}
	return p.sums(e)
}

func (p *exprParser) sums(e Expr) (Expr, error) {
	for {
		op := p.take("+", "-")
		if op == "" {
			return e, nil
		}
		b, err := p.product()
		if err != nil {
			return nil, err
		}
		e = &BinaryExpr{Op: op, A: e, B: b}
	}
}

func (p *exprParser) product() (Expr, error) {
	e, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.products(e)
}

func (p *exprParser) products(e Expr) (Expr, error) {
	for {
		op := p.take("*", "/", "%")
		if op == "" {
			return e, nil
		}
		b, err := p.unary()
		if err != nil {
			return nil, err
		}
		e = &BinaryExpr{Op: op, A: e, B: b}
	}
}

func (p *exprParser) unary() (Expr, error) {
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
	if c, ok := e.(*ConstExpr); ok && c.V.IsNumber() {
		if c.V.Kind() == graph.Int {
			return &ConstExpr{graph.IntValue(-c.V.Int())}, nil
		}
		return &ConstExpr{graph.FloatValue(-c.V.Float())}, nil
	}
	return &BinaryExpr{Op: "-", A: &ConstExpr{graph.IntValue(0)}, B: e}, nil
}

func (p *exprParser) primary() (Expr, error) {
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
		return &ConstExpr{graph.StringValue(v)}, nil
	case c == '`':
		end := strings.IndexByte(p.s[p.pos+1:], '`')
		if end < 0 || !IsName(p.s[p.pos+1:p.pos+1+end]) {
			return nil, p.fault("no name in backquotes")
		}
		v := p.s[p.pos+1 : p.pos+1+end]
		p.pos += end + 2
		return &NameExpr{Name: v}, nil
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
	if name == DepthColumn || name == ScoreColumn {
		return &NameExpr{Name: name}, nil
	}
	if !IsName(name) {
		p.pos = start
		r, _ := utf8.DecodeRuneInString(p.s[p.pos:])
		return nil, p.fault("unexpected %q", r)
	}
	if p.pos < len(p.s) && p.s[p.pos] == '(' {
		p.pos++
		return p.call(name, start)
	}
	return &NameExpr{Name: name}, nil
}

func (p *exprParser) number() (Expr, error) {
	start := p.pos
	for p.pos < len(p.s) && strings.IndexByte("0123456789.", p.s[p.pos]) >= 0 {
		p.pos++
	}
	text := p.s[start:p.pos]
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &ConstExpr{graph.IntValue(i)}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.pos = start
		return nil, p.fault("%s is no number", text)
	}
	return &ConstExpr{graph.FloatValue(f)}, nil
}

// call reads the arguments of a function, whose name and parenthesis are read.
func (p *exprParser) call(name string, start int) (Expr, error) {
	c := &CallExpr{Fn: strings.ToLower(name)}
	if c.Fn == "degree" {
		end := strings.IndexByte(p.s[p.pos:], ')')
		if end < 0 {
			return nil, p.fault("expected a closing parenthesis")
		}
		c.Raw = p.s[p.pos : p.pos+end]
		p.pos += end + 1
		c.Src = p.s[start:p.pos]
		return c, nil
	}
	if p.take("DISTINCT ", "distinct ") != "" {
		c.Distinct = true
	}
	switch {
	case p.take(")") != "":
		c.Src = p.s[start:p.pos]
		return c, nil
	case c.Fn == "count" && p.take("*") != "":
		c.Star = true
		if p.take(")") == "" {
			return nil, p.fault("expected a closing parenthesis")
		}
		c.Src = p.s[start:p.pos]
		return c, nil
	}
	for {
		a, err := p.argument()
		if err != nil {
			return nil, err
		}
		c.Args = append(c.Args, a)
		switch p.take(",", ")") {
		case ",":
		case ")":
			c.Src = p.s[start:p.pos]
			return c, nil
		default:
			return nil, p.fault("expected a comma or a closing parenthesis")
		}
	}
}

// argument parses an argument of a function. Text that is no expression is a string, as in date_format(date,%Y-%m).
func (p *exprParser) argument() (Expr, error) {
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
	return &ConstExpr{graph.StringValue(text)}, nil
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

// HasAggregate reports whether an expression has an aggregate in it.
func HasAggregate(e Expr) bool {
	switch e := e.(type) {
	case *BinaryExpr:
		return HasAggregate(e.A) || HasAggregate(e.B)
	case *NullExpr:
		return HasAggregate(e.A)
	case *CallExpr:
		if IsAggregate(e.Fn) {
			return true
		}
		if slices.ContainsFunc(e.Args, HasAggregate) {
			return true
		}
	}
	return false
}

// IsAggregate reports whether a function combines the rows of a group.
func IsAggregate(f string) bool {
	switch f {
	case "count", "sum", "avg", "max", "min", "std", "stddev", "stddev_pop", "stddev_samp", "group_concat", "json_arrayagg", "any_value":
		return true
	}
	return false
}
