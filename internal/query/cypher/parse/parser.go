package parse

import (
	"errors"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// The limits that bound the tree, and so the stack of code that walks it.
const (
	maxDepth = 400    // nesting of brackets, prefix operators and subqueries
	maxChain = 10_000 // operators of one strength in a row
)

// The limits that bound the time to plan a statement.
const (
	maxClauses  = 10_000  // in a statement
	maxElements = 100_000 // nodes and relationships of all patterns of a statement
	maxMatch    = 2_000   // nodes and relationships of one MATCH, and of one path
)

// Statement reads a whole statement, with or without a semicolon at its end. An error is a *graph.Error of type SyntaxError.
func Statement(text string) (*ast.Statement, error) { return CountedStatement(text, nil) }

// CountedStatement is Statement, which counts its steps.
func CountedStatement(text string, count *steps.Counter) (*ast.Statement, error) {
	return whole(text, count, (*parser).statement)
}

// Expression reads one expression and nothing after it.
func Expression(text string) (ast.Expr, error) {
	return whole(text, nil, func(p *parser) ast.Expr {
		e := p.expr()
		p.end()
		return e
	})
}

// whole parses a text with one. If that fails at a word, it parses again to collect the expected keywords.
func whole[T any](text string, count *steps.Counter, one func(*parser) T) (node T, err error) {
	defer steps.Catch(&err)
	p := newParser(text, count)
	if err = p.catch(func() { node = one(p) }); err == nil {
		return node, nil
	}
	var none T
	if !p.stuck {
		return none, err
	}
	again := &parser{text: text, tokens: p.tokens, count: count, tried: &tried{at: p.i}}
	if err := again.catch(func() { one(again) }); err != nil && !again.stuck {
		return none, err
	}
	if misspelt := again.misspelt(); misspelt != nil {
		return none, misspelt
	}
	return none, err
}

const (
	syntaxError = "Neo.ClientError.Statement.SyntaxError"
	// invalidInput begins the messages of syntax errors: Neo4j's clients look for it.
	invalidInput = "Invalid input"
)

// parser walks over tokens by recursive descent. It never backtracks: to distinguish two readings, it looks ahead, at bounded
// cost because brackets are paired.
type parser struct {
	text   string
	tokens []token
	i      int
	depth  int
	noBar  bool // a | ends the expression instead of joining labels
	count  *steps.Counter
	// clauses and elements are how many clauses, and nodes and relationships of patterns, have been read.
	clauses, patternElements int
	// deprecated are the forms read so far that have a newer one.
	deprecated []ast.Deprecated
	// stuck reports that the parser could not continue at the current token.
	stuck bool
	// tried, if set, takes the keywords that could have stood near the token where an earlier run was stuck.
	tried *tried
}

// failure carries an error to catch.
type failure struct{ err error }

func newParser(text string, count *steps.Counter) *parser {
	return &parser{text: text, tokens: lex(text, count), count: count}
}

// catch runs f and returns the error that fail raised in it.
func (p *parser) catch(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = e.err
			if syntax, ok := errors.AsType[*graph.Error](err); ok && syntax.Code == syntaxError && syntax.Detail != "UndefinedVariable" && !strings.HasPrefix(syntax.Msg, invalidInput) {
				syntax.Msg = invalidInput + ": " + syntax.Msg
			}
		}
	}()
	f()
	return nil
}

func (p *parser) fail(err error) { panic(failure{err}) }

// unexpected fails at the current token.
func (p *parser) unexpected(wanted string) {
	t := p.peek()
	switch t.kind {
	case tokError:
		p.fail(t.err)
	case tokDash, tokLeft, tokRight:
		p.fail(graph.SyntaxError(invalidUnicodeCharacter, t.pos, invalidInput+" '%s': expected %s", t.text, wanted))
	case tokEOF:
		p.stuck = true
		p.fail(graph.SyntaxError(unexpectedSyntax, t.pos, invalidInput+" '': expected %s", wanted))
	default:
		p.stuck = true
		p.fail(graph.SyntaxError(unexpectedSyntax, t.pos, invalidInput+" %s: expected %s", t.describe(), wanted))
	}
}

// enter counts one more level of nesting; leave must follow.
func (p *parser) enter() {
	p.count.Add(1)
	p.depth++
	if p.depth > maxDepth {
		p.fail(graph.SyntaxError(unexpectedSyntax, p.peek().pos, "the statement is nested deeper than %d levels", maxDepth))
	}
}

func (p *parser) leave() { p.depth-- }

// element counts a node or a relationship of a pattern.
func (p *parser) element() {
	if p.patternElements++; p.patternElements > maxElements {
		p.tooLarge("the statement has more than %d nodes and relationships in its patterns; large data belongs into parameters, with UNWIND", maxElements)
	}
}

// tooLarge fails because the statement exceeds a limit.
func (p *parser) tooLarge(format string, args ...any) {
	p.fail(graph.SyntaxError(statementTooLarge, p.peek().pos, format, args...))
}

// chain fails if n operators in a row exceed the limit.
func (p *parser) chain(n int) {
	if n > maxChain {
		p.fail(graph.SyntaxError(unexpectedSyntax, p.peek().pos, "more than %d operators in a row", maxChain))
	}
}

func (p *parser) peek() *token { return p.peekAt(0) }

// peekAt is the token n places further, or the last one.
func (p *parser) peekAt(n int) *token { return p.token(p.i + n) }

// token is the token with this index, or the last one.
func (p *parser) token(i int) *token {
	return &p.tokens[min(i, len(p.tokens)-1)]
}

// next takes a token.
func (p *parser) next() *token {
	t := p.peek()
	if p.i < len(p.tokens)-1 {
		p.i++
	}
	return t
}

// here returns the position of the current token.
func (p *parser) here() ast.At { return ast.At{Pos: p.peek().pos} }

// is reports whether the next tokens are these keywords.
func (p *parser) is(words ...string) bool {
	for i, w := range words {
		if p.tried != nil {
			p.tried.add(p.i+i, w)
		}
		if !p.peekAt(i).is(w) {
			return false
		}
	}
	return true
}

// take consumes the keywords if they follow.
func (p *parser) take(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.i += len(words)
	return true
}

// need takes the keywords or fails.
func (p *parser) need(words ...string) {
	for _, w := range words {
		if !p.take(w) {
			p.unexpected(w)
		}
	}
}

// oneOf consumes one of the keywords and returns it; "" if none follows.
func (p *parser) oneOf(words ...string) string {
	for _, w := range words {
		if p.take(w) {
			return w
		}
	}
	return ""
}

// isSign reports whether the sign follows.
func (p *parser) isSign(s string) bool { return p.peek().sign(s) }

// takeSign consumes the sign if it follows.
func (p *parser) takeSign(s string) bool {
	if !p.isSign(s) {
		return false
	}
	p.i++
	return true
}

// needSign takes the sign or fails.
func (p *parser) needSign(s string) {
	if !p.takeSign(s) {
		p.unexpected("'" + s + "'")
	}
}

// end fails unless the text ends here.
func (p *parser) end() {
	if p.peek().kind != tokEOF {
		p.unexpected("the end of the statement")
	}
}

// commas reads one or more items with commas between them.
func commas[T any](p *parser, one func() T) []T {
	items := []T{one()}
	for p.takeSign(",") {
		items = append(items, one())
	}
	return items
}

// isVariable reports whether the token can be a variable in every place.
func isVariable(t *token) bool {
	return t.kind == tokQuoted || t.kind == tokWord && !ast.Reserved(t.text)
}

// isOperand reports whether the next word is a variable at the start of an expression: a reserved word is one if the token after it
// can follow an operand but not the keyword.
func (p *parser) isOperand() bool {
	t := p.peekAt(1)
	switch {
	case isVariable(p.peek()):
		return true
	case p.peek().kind != tokWord:
		return false
	case t.kind == tokWord:
		return afterOperand[strings.ToUpper(t.text)]
	case t.kind == tokPunct:
		return !t.sign("(")
	}
	return t.kind == tokEOF
}

// afterOperand are the words that can follow an operand but not begin one.
var afterOperand = map[string]bool{
	"AND": true, "AS": true, "ASC": true, "ASCENDING": true, "CONTAINS": true, "DESC": true, "DESCENDING": true, "ELSE": true, "END": true,
	"ENDS": true, "IN": true, "IS": true, "LIMIT": true, "OR": true, "ORDER": true, "RETURN": true, "SKIP": true, "STARTS": true, "THEN": true,
	"UNION": true, "WHEN": true, "WHERE": true, "XOR": true,
}

// binds reports whether the token is a variable in a position that allows a declaration or a literal.
func binds(t *token) bool {
	return isVariable(t) || t.kind == tokWord && !t.is("NULL") && !t.is("TRUE") && !t.is("FALSE") && !t.is("NOT") && !t.is("CASE")
}

// variable parses a variable in a position where any word is one.
func (p *parser) variable() *ast.Variable {
	if !p.peek().name() {
		p.unexpected("a variable")
	}
	at := p.here()
	return &ast.Variable{At: at, Name: p.next().text}
}

// name parses a label, relationship type, property key or similar name; what names its kind.
func (p *parser) name(what string) string {
	if t := p.peek(); !t.name() {
		if t.err != nil && t.err.Detail == invalidNumberLiteral { // no number is meant here
			p.fail(graph.SyntaxError(unexpectedSyntax, t.pos, "put %s that begins with a digit in backticks", what))
		}
		p.unexpected(what)
	}
	return p.next().text
}

// dotted reads names with dots between them.
func (p *parser) dotted(what string) string {
	s := p.name(what)
	for p.takeSign(".") {
		s += "." + p.name(what)
	}
	return s
}

// bars runs f with | ending expressions or not, as within brackets.
func (p *parser) bars(end bool, f func()) {
	outer := p.noBar
	p.noBar = end
	f()
	p.noBar = outer
}

// plannerOptions are Neo4j's options for planning and running a statement, in capitals. They do not change its meaning.
var plannerOptions = []string{
	"RUNTIME", "PLANNER", "REPLAN", "UPDATESTRATEGY", "EXPRESSIONENGINE", "OPERATORENGINE", "INTERPRETEDPIPESFALLBACK",
	"CONNECTCOMPONENTSPLANNER", "EAGERANALYZER", "STATEFULSHORTESTPLANNINGMODE", "INFERSCHEMAPARTS", "PLANVAREXPANDINTO", "DEBUG",
}

// version reads CYPHER [version] [option = value …]. Both versions have the same meaning.
func (p *parser) version() {
	if !p.take("CYPHER") {
		return
	}
	if t := p.peek(); t.kind == tokInt || t.kind == tokFloat {
		if t.kind == tokFloat || t.num != 5 && t.num != 25 {
			p.fail(graph.SyntaxError(unexpectedSyntax, t.pos, "there are Cypher 5 and 25 here, but not %s", t.describe()))
		}
		p.next()
	}
	for p.peek().name() && p.peekAt(1).sign("=") {
		if p.oneOf(plannerOptions...) == "" {
			p.unexpected("an option such as runtime or planner")
		}
		p.next()
		p.name("the value of an option")
	}
}

func (p *parser) statement() *ast.Statement {
	s := &ast.Statement{At: p.here()}
	p.version()
	switch {
	case p.take("EXPLAIN"):
		s.Mode = ast.ModeExplain
	case p.take("PROFILE"):
		s.Mode = ast.ModeProfile
	}
	if s.Mode != ast.ModeRun {
		p.version()
	}
	if p.is("USE") && p.peekAt(1).name() {
		p.next()
		s.Graph = p.name("a graph's name")
		s.AsOf, s.Snapshot = p.asOf()
	}
	if s.Body = p.command(); s.Body == nil {
		q := p.query()
		if q.Next == nil && len(q.Parts) == 1 && len(q.Parts[0].Clauses) == 1 {
			if c, ok := q.Parts[0].Clauses[0].(*ast.CallProcedure); ok {
				c.Standalone = true
			}
		}
		s.Body = q
	}
	p.takeSign(";")
	p.end()
	s.Deprecated = p.deprecated
	return s
}

// asOf is [FOR SYSTEM_TIME] AS OF moment, as in SQL, or … SNAPSHOT and its name.
func (p *parser) asOf() (moment ast.Expr, snapshot bool) {
	if p.take("FOR", "SYSTEM_TIME") {
		p.need("AS")
		p.need("OF")
	} else if !p.take("AS", "OF") {
		return nil, false
	}
	if p.is("SNAPSHOT") && (p.peekAt(1).name() || p.peekAt(1).kind == tokParameter) {
		p.next()
		at := p.here()
		name, param := p.schemaName("a snapshot's name")
		if param != nil {
			return param, true
		}
		return &ast.StringLit{At: at, Value: name}, true
	}
	at := p.i
	switch x := p.expr().(type) {
	case *ast.StringLit, *ast.Parameter:
		return x, false
	case *ast.Call:
		if strings.EqualFold(x.Name, "datetime") && len(x.Args) == 1 && !x.Distinct {
			switch x.Args[0].(type) {
			case *ast.StringLit, *ast.Parameter:
				return x, false
			}
		}
	}
	p.i = at
	p.unexpected("a moment: a parameter, a string, datetime() of one, or SNAPSHOT and a name")
	return nil, false
}

// deprecate records that the syntax just parsed has a newer form.
func (p *parser) deprecate(at ast.At, what, instead string) {
	p.deprecated = append(p.deprecated, ast.Deprecated{At: at, What: what, Instead: instead})
}
