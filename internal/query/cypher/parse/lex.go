package parse

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// The error details of the lexer.
const (
	unexpectedSyntax        = "UnexpectedSyntax"
	statementTooLarge       = "StatementTooLarge"
	invalidNumberLiteral    = "InvalidNumberLiteral"
	integerOverflow         = "IntegerOverflow"
	floatingPointOverflow   = "FloatingPointOverflow"
	invalidUnicodeLiteral   = "InvalidUnicodeLiteral"
	invalidUnicodeCharacter = "InvalidUnicodeCharacter"
)

// maxTokens bounds the tokens of a statement, and so the parser's memory: about 100 MB.
const maxTokens = 1 << 20

// lexer splits a text into tokens. at is the byte offset of the next character, pos its position.
type lexer struct {
	text   string
	at     int
	pos    graph.Pos
	tokens []token
	open   []int // indexes of open brackets
}

// lex returns the tokens of a text. The last one is tokEOF, or tokError at the first position where no token can begin. The
// text before it may contain an earlier error, so the parser reports it on arrival.
func lex(text string, count *steps.Counter) []token {
	l := lexer{text: text, pos: graph.Pos{Line: 1, Column: 1}, tokens: make([]token, 0, min(len(text)/4+2, 4096))}
	for {
		t := token{}
		err := l.space()
		t.start, t.pos = l.at, l.pos
		if err == nil {
			err = l.token(&t)
		}
		t.end = l.at
		if err == nil && len(l.tokens) >= maxTokens {
			err = graph.BudgetError("the statement has more than %d words and signs; large lists belong into parameters", maxTokens)
		}
		count.Add(1)
		if err != nil {
			t.kind, t.err = tokError, err
		}
		l.add(t)
		if t.kind == tokEOF || t.kind == tokError {
			return l.tokens
		}
	}
}

// add appends a token and pairs brackets.
func (l *lexer) add(t token) {
	l.tokens = append(l.tokens, t)
	if t.kind != tokPunct || len(t.text) != 1 {
		return
	}
	switch t.text[0] {
	case '(', '[', '{':
		l.open = append(l.open, len(l.tokens)-1)
	case ')', ']', '}':
		if n := len(l.open); n > 0 {
			l.tokens[l.open[n-1]].pair = len(l.tokens) - 1
			l.open = l.open[:n-1]
		}
	}
}

// peek returns the next character, or -1 at the end; broken UTF-8 is utf8.RuneError.
func (l *lexer) peek() rune { return l.peekAt(0) }

// peekAt returns the character n bytes further.
func (l *lexer) peekAt(n int) rune {
	if l.at+n >= len(l.text) {
		return -1
	}
	if c := l.text[l.at+n]; c < utf8.RuneSelf {
		return rune(c)
	}
	r, _ := utf8.DecodeRuneInString(l.text[l.at+n:])
	return r
}

// next takes one character.
func (l *lexer) next() rune {
	r, size := utf8.DecodeRuneInString(l.text[l.at:])
	l.at += size
	l.pos.Offset++
	if r == '\n' {
		l.pos.Line++
		l.pos.Column = 1
	} else {
		l.pos.Column++
	}
	return r
}

func (l *lexer) skip(n int) {
	for range n {
		l.next()
	}
}

// space takes white space and comments.
func (l *lexer) space() *graph.Error {
	for {
		switch c := l.peek(); {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || 0x1c <= c && c <= 0x1f || c >= 0 && unicode.IsSpace(c) || c == '\u180e' || c == '\ufeff':
			l.next()
		case c == '/' && l.peekAt(1) == '/':
			for c := l.peek(); c >= 0 && c != '\n' && c != '\r'; c = l.peek() {
				l.next()
			}
		case c == '/' && l.peekAt(1) == '*':
			start := l.pos
			end := strings.Index(l.text[l.at+2:], "*/")
			if end < 0 {
				return graph.SyntaxError(unexpectedSyntax, start, "the comment that begins here is not closed by */")
			}
			for stop := l.at + end + 4; l.at < stop; {
				l.next()
			}
		default:
			return nil
		}
	}
}

// token takes one token.
func (l *lexer) token(t *token) *graph.Error {
	c := l.peek()
	switch {
	case c < 0:
		t.kind = tokEOF
	case ast.IsNameStart(c):
		t.kind, t.text = tokWord, l.word()
	case '0' <= c && c <= '9', c == '.' && isDigit(l.peekAt(1)) && !l.afterDot():
		return l.number(t)
	case c == '\'' || c == '"':
		return l.str(t)
	case c == '`':
		return l.backticks(t)
	case c == '$':
		return l.parameter(t)
	default:
		return l.punct(t)
	}
	return nil
}

// afterDot reports whether the last token is a dot right before this position, so that `1..5` is not `1.` and `.5`.
func (l *lexer) afterDot() bool {
	n := len(l.tokens)
	return n > 0 && l.tokens[n-1].end == l.at && (l.tokens[n-1].sign(".") || l.tokens[n-1].sign(".."))
}

func (l *lexer) word() string {
	start := l.at
	for ast.IsNamePart(l.peek()) {
		l.next()
	}
	return l.text[start:l.at]
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

func isHex(c rune) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

// digits takes digits and single underscores between them.
func (l *lexer) digits(is func(rune) bool) string {
	start := l.at
	for is(l.peek()) || l.peek() == '_' && l.at > start && is(l.peekAt(1)) {
		l.next()
	}
	return strings.ReplaceAll(l.text[start:l.at], "_", "")
}

func (l *lexer) number(t *token) *graph.Error {
	base, digits, start := 10, "", l.at
	float := false
	switch prefix := l.peekAt(1) | 0x20; {
	case l.peek() == '0' && prefix == 'x':
		base = 16
		l.skip(2)
		digits = l.digits(isHex)
	case l.peek() == '0' && prefix == 'o':
		base = 8
		l.skip(2)
		digits = l.digits(isDigit)
	default:
		l.digits(isDigit)
		float = l.fraction()
		digits = strings.ReplaceAll(l.text[start:l.at], "_", "")
	}
	rest := ast.IsNamePart(l.peek())
	for ast.IsNamePart(l.peek()) {
		l.next()
	}
	written := l.text[start:l.at]
	if rest {
		return graph.SyntaxError(invalidNumberLiteral, t.pos, "invalid number '%s'", written)
	}
	t.text = written
	if float {
		return t.setFloat(digits)
	}
	if base == 10 && len(digits) > 1 && digits[0] == '0' { // octal in older versions
		return graph.SyntaxError(invalidNumberLiteral, t.pos, "invalid number '%s'; an octal number is written 0o10, a decimal one without a zero before it", written)
	}
	return t.setInt(digits, base)
}

// fraction takes .digits and an exponent, and reports whether there were any. It leaves an `e` without an exponent.
func (l *lexer) fraction() bool {
	found := false
	if l.peek() == '.' && isDigit(l.peekAt(1)) {
		l.next()
		l.digits(isDigit)
		found = true
	}
	if l.peek()|0x20 == 'e' {
		sign := 0
		if c := l.peekAt(1); c == '-' || c == '+' {
			sign = 1
		}
		if isDigit(l.peekAt(1 + sign)) {
			l.skip(1 + sign)
			l.digits(isDigit)
			found = true
		}
	}
	return found
}

func (t *token) setFloat(digits string) *graph.Error {
	f, err := strconv.ParseFloat(digits, 64)
	if math.IsInf(f, 0) {
		return graph.SyntaxError(floatingPointOverflow, t.pos, "the number %s is too large for a float", t.text)
	}
	if err != nil {
		return graph.SyntaxError(invalidNumberLiteral, t.pos, "invalid number '%s'", t.text)
	}
	t.kind, t.float = tokFloat, f
	return nil
}

func (t *token) setInt(digits string, base int) *graph.Error {
	if digits == "" || base == 8 && strings.ContainsAny(digits, "89") {
		return graph.SyntaxError(invalidNumberLiteral, t.pos, "invalid number '%s'", t.text)
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil || n > 1<<63 {
		return overflowError(t)
	}
	t.kind, t.num, t.overflow = tokInt, n, n == 1<<63
	return nil
}

func overflowError(t *token) *graph.Error {
	return graph.SyntaxError(integerOverflow, t.pos, "the number %s is too large for an integer of 64 bits", t.text)
}

func (l *lexer) str(t *token) *graph.Error {
	quote := l.next()
	if end := strings.IndexAny(l.text[l.at:], string(quote)+`\`); end >= 0 && l.text[l.at+end] == byte(quote) {
		return l.simpleString(t, l.at+end)
	}
	var b strings.Builder
	for {
		place := l.pos
		c := l.peek()
		if c < 0 {
			return graph.SyntaxError(unexpectedSyntax, t.pos, "the string that begins here is not closed by %c", quote)
		}
		if err := l.valid(); err != nil {
			return err
		}
		l.next()
		switch c {
		case quote:
			t.kind, t.text = tokString, b.String()
			return nil
		case '\\':
			r, err := l.escape(place)
			if err != nil {
				return err
			}
			b.WriteRune(r)
		default:
			b.WriteRune(c)
		}
	}
}

// simpleString takes a string without escapes whose closing quote is at byte end.
func (l *lexer) simpleString(t *token, end int) *graph.Error {
	start := l.at
	for l.at < end {
		if err := l.valid(); err != nil {
			return err
		}
		l.next()
	}
	l.next()
	t.kind, t.text = tokString, l.text[start:end]
	return nil
}

// valid fails if the next bytes are not UTF-8.
func (l *lexer) valid() *graph.Error {
	if l.peek() == utf8.RuneError && !strings.HasPrefix(l.text[l.at:], string(utf8.RuneError)) {
		return graph.SyntaxError(invalidUnicodeCharacter, l.pos, "the text is not valid UTF-8 here")
	}
	return nil
}

// escape takes the characters after a backslash.
func (l *lexer) escape(place graph.Pos) (rune, *graph.Error) {
	c := l.peek()
	if c >= 0 {
		l.next()
	}
	switch c {
	case '\\', '\'', '"', '`':
		return c, nil
	case 'b', 'B':
		return '\b', nil
	case 'f', 'F':
		return '\f', nil
	case 'n', 'N':
		return '\n', nil
	case 'r', 'R':
		return '\r', nil
	case 't', 'T':
		return '\t', nil
	case 'u':
		return l.unicodeEscape(place, 4)
	case 'U':
		return l.unicodeEscape(place, 8)
	}
	return 0, graph.SyntaxError(unexpectedSyntax, place, `unknown escape in a string; a backslash is written \\`)
}

// unicodeEscape takes the hexadecimal digits of \u or \U; two \u of a surrogate pair are one character.
func (l *lexer) unicodeEscape(place graph.Pos, digits int) (rune, *graph.Error) {
	high, ok := l.hex(digits)
	if ok && 0xd800 <= high && high < 0xdc00 && strings.HasPrefix(l.text[l.at:], `\u`) {
		l.skip(2)
		var low rune
		if low, ok = l.hex(4); ok && 0xdc00 <= low && low < 0xe000 {
			return (high-0xd800)<<10 + low - 0xdc00 + 0x10000, nil
		}
		ok = false
	}
	if !ok || !utf8.ValidRune(high) {
		return 0, graph.SyntaxError(invalidUnicodeLiteral, place, `a character is written \uXXXX or \UXXXXXXXX with hexadecimal digits`)
	}
	return high, nil
}

func (l *lexer) hex(digits int) (rune, bool) {
	var v uint64
	for range digits {
		c := l.peek()
		if !isHex(c) {
			return 0, false
		}
		d, _ := strconv.ParseUint(string(c), 16, 8) // c is a hexadecimal digit
		v = v<<4 | d
		l.next()
	}
	return rune(v), v <= utf8.MaxRune
}

func (l *lexer) backticks(t *token) *graph.Error {
	var b strings.Builder
	l.next()
	for {
		c := l.peek()
		if c < 0 {
			return graph.SyntaxError(unexpectedSyntax, t.pos, "the name that begins here is not closed by `")
		}
		if err := l.valid(); err != nil {
			return err
		}
		l.next()
		if c == '`' {
			if l.peek() != '`' {
				t.kind, t.text = tokQuoted, b.String()
				return nil
			}
			l.next()
		}
		b.WriteRune(c)
	}
}

func (l *lexer) parameter(t *token) *graph.Error {
	l.next()
	if l.peek() == '`' {
		if err := l.backticks(t); err != nil {
			return err
		}
	} else {
		t.text = l.word()
	}
	if t.text == "" && l.peek() == '(' {
		t.kind, t.text = tokPunct, "$"
		return nil
	}
	t.kind = tokParameter
	if t.text == "" {
		return graph.SyntaxError(unexpectedSyntax, t.pos, "a parameter is written $name or $1")
	}
	return nil
}

// The signs of two characters, and of one.
var (
	twoSigns = map[string]bool{"<=": true, ">=": true, "<>": true, "=~": true, "+=": true, "..": true, "::": true, "||": true}
	oneSigns = "()[]{}.,:;|&!%+-*/^=<>"
)

func (l *lexer) punct(t *token) *graph.Error {
	if l.at+2 <= len(l.text) && twoSigns[l.text[l.at:l.at+2]] {
		t.kind, t.text = tokPunct, l.text[l.at:l.at+2]
		l.skip(2)
		return nil
	}
	if strings.HasPrefix(l.text[l.at:], "!=") {
		return graph.SyntaxError(unexpectedSyntax, t.pos, "unknown operator '!='; did you mean '<>'?")
	}
	if err := l.valid(); err != nil {
		return err
	}
	start := l.at
	c := l.next()
	t.text = l.text[start:l.at]
	switch {
	case c < utf8.RuneSelf && strings.ContainsRune(oneSigns, c):
		t.kind = tokPunct
	case strings.ContainsRune("\u00ad‐‑‒–—―−﹘﹣－", c):
		t.kind = tokDash
	case strings.ContainsRune("⟨〈﹤＜", c):
		t.kind = tokLeft
	case strings.ContainsRune("⟩〉﹥＞", c):
		t.kind = tokRight
	case c >= utf8.RuneSelf:
		return graph.SyntaxError(invalidUnicodeCharacter, t.pos, "unexpected character %q", c)
	default:
		return graph.SyntaxError(unexpectedSyntax, t.pos, "unexpected character %q", c)
	}
	return nil
}
