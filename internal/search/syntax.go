package search

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// The syntax is that of Lucene's classic query parser, which Neo4j's users write:
// https://lucene.apache.org/core/9_0_0/queryparser/org/apache/lucene/queryparser/classic/package-summary.html

// Query is a query whose syntax is right. It is bound to an index by Search.
type Query struct {
	root node
}

// node is a part of a query: *group or *leaf.
type node any

// group is a list of clauses: all of those that are required, none of those that are prohibited, and one of the others if none is
// required.
type group struct{ clauses []clause }

type clause struct {
	occur occur
	node  node
}

type occur uint8

const (
	should occur = iota
	must1
	mustNot
)

// leafKind says how a leaf finds terms.
type leafKind uint8

const (
	leafWords    leafKind = iota // the terms of a text
	leafPhrase                   // the terms of a text in their order, slop apart
	leafPrefix                   // terms that begin with a text
	leafWildcard                 // terms that match a pattern of * and ?, in which \ escapes
	leafRegexp                   // terms that match a regular expression
	leafFuzzy                    // terms within edits of a text
	leafRange                    // terms between two
	leafAll                      // everything
)

type leaf struct {
	kind           leafKind
	field          string // or "" for all
	text           string
	boost          float64
	slop           int
	edits          int
	similarity     float64 // in place of edits, from 0 to 1, or 0
	lo, hi         string  // "" and open: without a bound
	noLo, noHi     bool
	loOpen, hiOpen bool
}

// The bounds of a query.
const (
	maxQuery   = 64 << 10 // bytes
	maxClauses = 1024
	maxDepth   = 100
	maxSlop    = 1 << 20
)

type parser struct {
	text    string
	at      int
	depth   int
	clauses int
}

// failure is an error at a place of the query.
func failure(text string, at int, format string, args ...any) error {
	e := graph.RuntimeError("ArgumentError", "InvalidSearchQuery", format, args...)
	e.Msg = "the full-text query is not valid at character " + strconv.Itoa(utf8.RuneCountInString(text[:at])+1) + ": " + e.Msg
	return e
}

func (p *parser) fail(at int, format string, args ...any) error {
	return failure(p.text, at, format, args...)
}

// Parse parses a query.
func Parse(text string) (*Query, error) {
	p := &parser{text: text}
	switch {
	case len(text) > maxQuery:
		return nil, p.fail(0, "it has %d bytes; the most is %d", len(text), maxQuery)
	case !utf8.ValidString(text):
		return nil, p.fail(0, "it is not valid UTF-8")
	}
	n, err := p.group("")
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.fail(p.at, "unexpected %q", p.rest(1))
	}
	return &Query{n}, nil
}

// rest is the text ahead, at most n characters.
func (p *parser) rest(n int) string {
	s := p.text[p.at:]
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func (p *parser) space() {
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\u3000' {
			return
		}
		p.at += n
	}
}

// take takes a text if it is ahead.
func (p *parser) take(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// word takes AND, OR, NOT or TO if it stands by itself.
func (p *parser) word(s string) bool {
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(p.text[p.at+len(s):]); p.at+len(s) < len(p.text) && (termRune(r) || r == '-' || r == '+' || r == '*' || r == '?' || r == '\\' || r == ':') {
		return false
	}
	p.at += len(s)
	return true
}

// termRune reports whether a character may begin a term as it is.
func termRune(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\u3000', '+', '-', '!', '(', ')', ':', '^', '[', ']', '"', '{', '}', '~', '*', '?', '\\', '/':
		return false
	}
	return true
}

// group parses clauses up to the end or a parenthesis.
func (p *parser) group(field string) (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.at, "parentheses are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	g := &group{}
	for {
		p.space()
		if p.at == len(p.text) || p.text[p.at] == ')' {
			break
		}
		start := p.at
		and := false
		if len(g.clauses) > 0 {
			switch {
			case p.word("AND") || p.take("&&"):
				and = true
			case p.word("OR") || p.take("||"):
			}
			p.space()
		}
		o := should
		switch {
		case p.take("+"):
			o = must1
		case p.take("-"), p.take("!"), p.word("NOT"):
			o = mustNot
		}
		p.space()
		if p.at == len(p.text) {
			return nil, p.fail(start, "a term is missing after %q", strings.TrimSpace(p.text[start:]))
		}
		n, err := p.clause(field)
		if err != nil {
			return nil, err
		}
		if p.clauses++; p.clauses > maxClauses {
			return nil, p.fail(start, "there are more than %d clauses", maxClauses)
		}
		// AND requires both of its neighbours, unless they are prohibited; OR leaves them as they are.
		if and {
			if last := &g.clauses[len(g.clauses)-1]; last.occur == should {
				last.occur = must1
			}
			if o == should {
				o = must1
			}
		}
		g.clauses = append(g.clauses, clause{o, n})
	}
	if len(g.clauses) == 0 {
		return nil, p.fail(p.at, "a term is missing")
	}
	return g, nil
}

// clause parses [field:] and a term, a phrase, a range or a group.
func (p *parser) clause(field string) (node, error) {
	start := p.at
	if p.take("*:") {
		p.space()
		if p.take("*") {
			return p.boosted(&leaf{kind: leafAll, boost: 1})
		}
		return p.body("")
	}
	if name, wild, err := p.term(); err == nil && !wild && name != "" {
		if p.take(":") {
			p.space()
			return p.body(name)
		}
	}
	p.at = start
	return p.body(field)
}

// body parses what a field may stand before.
func (p *parser) body(field string) (node, error) {
	start := p.at
	if p.at == len(p.text) {
		return nil, p.fail(p.at, "a term is missing after the field")
	}
	switch p.text[p.at] {
	case '(':
		p.at++
		n, err := p.group(field)
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.fail(start, "the parenthesis is not closed")
		}
		boost, err := p.boost()
		if err != nil {
			return nil, err
		}
		scale(n, boost)
		return n, nil
	case '"':
		text, err := p.quoted()
		if err != nil {
			return nil, err
		}
		l := &leaf{kind: leafPhrase, field: field, text: text, boost: 1}
		if p.take("~") {
			at := p.at
			slop, ok, err := p.number()
			if err != nil {
				return nil, err
			}
			if ok && (slop != math.Trunc(slop) || slop > maxSlop) {
				return nil, p.fail(at, "the distance of a phrase is an integer up to %d", maxSlop)
			}
			l.slop = int(slop)
		}
		return p.boosted(l)
	case '[', '{':
		return p.between(field)
	case '/':
		return p.regexp(field)
	}
	text, wild, err := p.term()
	if err != nil {
		return nil, err
	}
	switch p.text[start:p.at] {
	case "":
		return nil, p.fail(start, "unexpected %q", p.rest(1))
	case "AND", "OR", "NOT", "&&", "||":
		return nil, p.fail(start, "unexpected %s; write it in quotation marks to search for it", text)
	}
	l := &leaf{kind: leafWords, field: field, text: text, boost: 1}
	switch body := strings.TrimSuffix(text, "*"); {
	case !wild:
		if p.take("~") {
			if err := p.fuzzy(l); err != nil {
				return nil, err
			}
		}
	case text == "*" && field == "":
		l.kind = leafAll
	case strings.HasSuffix(text, "*") && !unescapedWild(body):
		l.kind, l.text = leafPrefix, unescape(body)
	default:
		l.kind = leafWildcard
	}
	return p.boosted(l)
}

// scale multiplies the boosts of all leaves.
func scale(n node, by float64) {
	switch n := n.(type) {
	case *group:
		if by != 1 {
			for _, c := range n.clauses {
				scale(c.node, by)
			}
		}
	case *leaf:
		n.boost *= by
	}
}

func (p *parser) boosted(l *leaf) (node, error) {
	by, err := p.boost()
	l.boost = by
	return l, err
}

// boost parses ^ and a number.
func (p *parser) boost() (float64, error) {
	if !p.take("^") {
		return 1, nil
	}
	at := p.at
	f, ok, err := p.number()
	if err == nil && !ok {
		err = p.fail(at, "a number is missing after ^")
	}
	return f, err
}

// number parses digits with a fraction; ok is false if none are ahead.
func (p *parser) number() (f float64, ok bool, err error) {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] >= '0' && p.text[p.at] <= '9' || p.text[p.at] == '.') {
		p.at++
	}
	if p.at == start {
		return 0, false, nil
	}
	f, err = strconv.ParseFloat(p.text[start:p.at], 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, false, p.fail(start, "%q is not a number", p.text[start:p.at])
	}
	return f, true, nil
}

// fuzzy parses what follows ~ of a term: edits from 0 to 2, or a similarity below 1.
func (p *parser) fuzzy(l *leaf) error {
	at := p.at
	f, ok, err := p.number()
	switch {
	case err != nil:
		return err
	case !ok:
		f = 2
	case f >= 1 && f != math.Trunc(f):
		return p.fail(at, "the edits of a fuzzy term are an integer, or a similarity below 1")
	}
	l.kind = leafFuzzy
	if l.edits = int(min(f, 2)); f < 1 {
		l.similarity = f
	}
	return nil
}

// term parses a term; wild tells that it holds * or ?, and then escapes are left in it.
func (p *parser) term() (text string, wild bool, err error) {
	start, escaped := p.at, false
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		switch {
		case r == '\\':
			escaped = true
			_, m := utf8.DecodeRuneInString(p.text[p.at+n:])
			if m == 0 {
				return "", false, p.fail(p.at, "nothing follows the \\; write \\\\ for itself")
			}
			n += m
		case r == '*' || r == '?':
			wild = true
		case termRune(r), p.at > start && (r == '-' || r == '+'):
		default:
			n = 0
		}
		if n == 0 {
			break
		}
		p.at += n
	}
	text = p.text[start:p.at]
	if escaped && !wild {
		text = unescape(text)
	}
	return text, wild, nil
}

// unescape takes the \ before characters out.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapedWild reports whether a text with escapes has a * or ? that none stands before.
func unescapedWild(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		}
	}
	return strings.HasSuffix(s, `\`) && !strings.HasSuffix(s, `\\`)
}

// until takes the text up to a closing character, in which \ escapes.
func (p *parser) until(end byte, what string) (string, error) {
	start := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case end:
			p.at++
			return p.text[start+1 : p.at-1], nil
		}
	}
	p.at = start
	return "", p.fail(start, "the %s is not closed", what)
}

func (p *parser) quoted() (string, error) {
	s, err := p.until('"', "quotation mark")
	return unescape(s), err
}

func (p *parser) regexp(field string) (node, error) {
	at := p.at
	s, err := p.until('/', "regular expression")
	if err != nil {
		return nil, err
	}
	s = strings.ReplaceAll(s, `\/`, "/")
	if err := validRegexp(s); err != nil {
		return nil, p.fail(at, "the regular expression is not valid: %v", err)
	}
	return p.boosted(&leaf{kind: leafRegexp, field: field, text: s, boost: 1})
}

// between parses a range, whose ends may differ: [a TO b}.
func (p *parser) between(field string) (node, error) {
	start := p.at
	l := &leaf{kind: leafRange, field: field, boost: 1, loOpen: p.text[p.at] == '{'}
	p.at++
	var err error
	if l.lo, l.noLo, err = p.bound(); err != nil {
		return nil, err
	}
	p.space()
	if !p.word("TO") {
		return nil, p.fail(p.at, "a range is [from TO to]")
	}
	if l.hi, l.noHi, err = p.bound(); err != nil {
		return nil, err
	}
	p.space()
	switch {
	case p.take("]"):
	case p.take("}"):
		l.hiOpen = true
	default:
		return nil, p.fail(start, "the range is not closed")
	}
	return p.boosted(l)
}

// bound parses an end of a range; none tells that it is *.
func (p *parser) bound() (text string, none bool, err error) {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == '"' {
		text, err = p.quoted()
		return text, false, err
	}
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune(" \t\n\r]}", rune(p.text[p.at])) {
		if p.text[p.at] == '\\' {
			p.at++
		}
		p.at++
	}
	p.at = min(p.at, len(p.text))
	if p.at == start {
		return "", false, p.fail(start, "an end of the range is missing")
	}
	text = p.text[start:p.at]
	return unescape(text), text == "*", nil
}
