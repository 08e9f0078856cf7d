package fetch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// kind is a type of JSON.
type kind uint8

const (
	kNull kind = iota
	kBool
	kNumber
	kString
	kList
	kObject
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}

// maxNesting bounds the recursion of the parser; Limits.Depth bounds the nesting of a request.
const maxNesting = 256

// node is one value of the request's JSON. Its parents give the path of an error.
type node struct {
	kind    kind
	ord     int         // its number among the values of members; for element i of a list -1-i
	scalar  graph.Value // of kBool, kNumber and kString
	elems   []*node     // of kList
	members []*node     // of kObject, each with its key
	key     string      // where it is a member
	parent  *node
	raw     []byte // its text in the request
}

// str is a string's text.
func (n *node) str() string { return n.scalar.Str() }

// get finds a member by its key; a null counts as none.
func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key == key && m.kind != kNull {
			return m
		}
	}
	return nil
}

// path names the node from the root.
func (n *node) path() string {
	if n == nil || n.parent == nil {
		return ""
	}
	var keys []string
	for ; n.parent != nil; n = n.parent {
		keys = append(keys, n.name())
	}
	var b strings.Builder
	for i, key := range slices.Backward(keys) {
		b.WriteString(key)
		if i > 0 {
			b.WriteByte('/')
		}
	}
	return b.String()
}

// name is the member's key or the element's number.
func (n *node) name() string {
	if n.parent.kind != kList {
		return n.key
	}
	return strconv.Itoa(n.elem())
}

// elem is the number of an element of a list.
func (n *node) elem() int { return -1 - n.ord }

// what returns a short description of the value for a message.
func (n *node) what() string {
	s := n.raw
	if len(s) <= 60 {
		return string(s)
	}
	cut := 57
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return string(s[:cut]) + "..."
}

// document is a parsed request.
type document struct {
	root  *node
	nodes []*node // the members' values by ord
}

// parseJSON parses one JSON object that is valid UTF-8, repeats no key in an object and has no trailing data.
// charge, unless it is nil, counts the memory of its nodes, and may refuse it; count counts steps.
func parseJSON(body []byte, charge func(bytes int) error, count *steps.Counter) (*document, error) {
	if !utf8.Valid(body) {
		return nil, &Error{Code: CodeMalformed, Msg: "the request is not valid UTF-8"}
	}
	p := parser{body: body, doc: &document{}, charge: charge, steps: count}
	p.space()
	n, err := p.value(nil, "", -1, 0)
	if err != nil {
		return nil, err
	}
	if n.kind != kObject {
		return nil, p.fault("the request must be a JSON object, was %s", kindNames[n.kind])
	}
	p.space()
	if p.pos < len(p.body) {
		return nil, p.fault("unexpected text after the request")
	}
	p.doc.root = n
	return p.doc, nil
}

type parser struct {
	body []byte
	pos  int
	doc  *document

	charge func(bytes int) error
	steps  *steps.Counter
	values int // so far
}

// maxValues bounds the values of a request.
const maxValues = 1 << 20

// nodeBytes is about the memory of a node and of its places in lists.
const nodeBytes = int(unsafe.Sizeof(node{})) + 2*8

func (p *parser) fault(format string, args ...any) *Error {
	line, column := 1, 1
	for _, c := range string(p.body[:p.pos]) {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return &Error{Code: CodeMalformed, Msg: fmt.Sprintf("malformed JSON at line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))}
}

func (p *parser) space() {
	for p.pos < len(p.body) {
		switch p.body[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// value parses a value; ord is node.ord, -1 for the root.
func (p *parser) value(parent *node, key string, ord, depth int) (*node, error) {
	if depth > maxNesting {
		return nil, p.fault("nested deeper than %d", maxNesting)
	}
	if p.pos >= len(p.body) {
		return nil, p.fault("unexpected end")
	}
	if p.charge != nil {
		if err := p.charge(nodeBytes + len(key)); err != nil {
			e := AsError(err)
			return nil, &Error{Code: e.Code, Msg: e.Msg, unread: true}
		}
	}
	n := &node{parent: parent, key: key, ord: ord}
	if p.values++; p.values > maxValues {
		return nil, fail(CodeArgument, n, "is value %d of the request, which may have %d", p.values, maxValues)
	}
	start := p.pos
	var err error
	switch c := p.body[p.pos]; {
	case c == '{':
		err = p.object(n, depth)
	case c == '[':
		err = p.list(n, depth)
	case c == '"':
		n.kind = kString
		var s string
		s, err = p.text()
		n.scalar = graph.StringValue(s)
	case c == '-' || '0' <= c && c <= '9':
		n.kind = kNumber
		n.scalar, err = p.number()
	default:
		err = p.word(n)
	}
	if err != nil {
		return nil, err
	}
	n.raw = p.body[start:p.pos]
	if p.steps.Add(1); n.kind != kList && n.kind != kObject {
		p.steps.Add(len(n.raw) / 64)
	}
	return n, nil
}

func (p *parser) word(n *node) error {
	for _, w := range []struct {
		text string
		kind kind
		v    graph.Value
	}{{"null", kNull, graph.Value{}}, {"true", kBool, graph.BoolValue(true)}, {"false", kBool, graph.BoolValue(false)}} {
		if strings.HasPrefix(string(p.body[p.pos:min(len(p.body), p.pos+5)]), w.text) {
			n.kind, n.scalar = w.kind, w.v
			p.pos += len(w.text)
			return nil
		}
	}
	r, _ := utf8.DecodeRune(p.body[p.pos:])
	return p.fault("unexpected %q", r)
}

func (p *parser) object(n *node, depth int) error {
	n.kind = kObject
	p.pos++
	p.space()
	if p.pos < len(p.body) && p.body[p.pos] == '}' {
		p.pos++
		return nil
	}
	var seen map[string]bool
	for {
		if p.pos >= len(p.body) || p.body[p.pos] != '"' {
			return p.fault("expected a key")
		}
		key, err := p.text()
		if err != nil {
			return err
		}
		if len(n.members) == 16 {
			seen = make(map[string]bool)
			for _, m := range n.members {
				seen[m.key] = true
			}
		}
		if p.repeated(n, seen, key) {
			m := &node{parent: n, key: key}
			return fail(CodeMalformed, m, "the key stands twice in one object")
		}
		if seen != nil {
			seen[key] = true
		}
		p.space()
		if p.pos >= len(p.body) || p.body[p.pos] != ':' {
			return p.fault("expected a colon")
		}
		p.pos++
		p.space()
		ord := len(p.doc.nodes)
		p.doc.nodes = append(p.doc.nodes, nil)
		m, err := p.value(n, key, ord, depth+1)
		if err != nil {
			return err
		}
		p.doc.nodes[ord] = m
		n.members = append(n.members, m)
		if more, err := p.more('}', "an object", "a brace"); !more {
			return err
		}
	}
}

// more consumes the separator after a member or element: a comma, or the closing bracket.
func (p *parser) more(end byte, in, name string) (bool, error) {
	p.space()
	if p.pos >= len(p.body) {
		return false, p.fault("unexpected end in %s", in)
	}
	switch p.body[p.pos] {
	case ',':
		p.pos++
		p.space()
		return true, nil
	case end:
		p.pos++
		return false, nil
	}
	return false, p.fault("expected a comma or %s", name)
}

func (p *parser) repeated(n *node, seen map[string]bool, key string) bool {
	if seen != nil {
		return seen[key]
	}
	for _, m := range n.members {
		if m.key == key {
			return true
		}
	}
	return false
}

func (p *parser) list(n *node, depth int) error {
	n.kind = kList
	p.pos++
	p.space()
	if p.pos < len(p.body) && p.body[p.pos] == ']' {
		p.pos++
		return nil
	}
	for {
		e, err := p.value(n, "", -1-len(n.elems), depth+1)
		if err != nil {
			return err
		}
		n.elems = append(n.elems, e)
		if more, err := p.more(']', "a list", "a bracket"); !more {
			return err
		}
	}
}

// number reads a number: an Int if it is whole and fits, else a Float.
func (p *parser) number() (graph.Value, error) {
	start, whole := p.pos, true
	digits := func() bool {
		from := p.pos
		for p.pos < len(p.body) && '0' <= p.body[p.pos] && p.body[p.pos] <= '9' {
			p.pos++
		}
		return p.pos > from
	}
	at := func(c byte) bool { return p.pos < len(p.body) && p.body[p.pos] == c }
	if at('-') {
		p.pos++
	}
	if at('0') {
		p.pos++
	} else if !digits() {
		return graph.Value{}, p.fault("expected a digit")
	}
	if at('.') {
		whole = false
		p.pos++
		if !digits() {
			return graph.Value{}, p.fault("expected a digit after the point")
		}
	}
	if at('e') || at('E') {
		whole = false
		p.pos++
		if at('+') || at('-') {
			p.pos++
		}
		if !digits() {
			return graph.Value{}, p.fault("expected a digit in the exponent")
		}
	}
	text := string(p.body[start:p.pos])
	if whole {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return graph.IntValue(i), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return graph.Value{}, p.fault("the number %s is out of range", text)
	}
	return graph.FloatValue(f), nil
}

// text reads a string.
func (p *parser) text() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.body) {
		switch c := p.body[p.pos]; {
		case c == '"':
			s := string(p.body[start:p.pos])
			p.pos++
			return s, nil
		case c == '\\':
			return p.textSlow(start)
		case c < ' ':
			return "", p.fault("a control character in a string")
		}
		p.pos++
	}
	return "", p.fault("unexpected end in a string")
}

// textSlow continues with a string that holds escapes.
func (p *parser) textSlow(start int) (string, error) {
	b := append([]byte(nil), p.body[start:p.pos]...)
	for p.pos < len(p.body) {
		c := p.body[p.pos]
		p.pos++
		switch {
		case c == '"':
			return string(b), nil
		case c < ' ':
			p.pos--
			return "", p.fault("a control character in a string")
		case c != '\\':
			b = append(b, c)
			continue
		}
		if p.pos >= len(p.body) {
			break
		}
		c = p.body[p.pos]
		p.pos++
		if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
			b = append(b, "\"\\/\b\f\n\r\t"[i])
			continue
		}
		if c != 'u' {
			return "", p.fault("unknown escape \\%c", c)
		}
		r, err := p.hex()
		if err != nil {
			return "", err
		}
		if utf16.IsSurrogate(r) {
			if p.pos+1 >= len(p.body) || p.body[p.pos] != '\\' || p.body[p.pos+1] != 'u' {
				return "", p.fault("half a surrogate pair")
			}
			p.pos += 2
			low, err := p.hex()
			if err != nil {
				return "", err
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return "", p.fault("half a surrogate pair")
			}
		}
		b = utf8.AppendRune(b, r)
	}
	return "", p.fault("unexpected end in a string")
}

func (p *parser) hex() (rune, error) {
	if p.pos+4 > len(p.body) {
		return 0, p.fault("unexpected end in a string")
	}
	v, err := strconv.ParseUint(string(p.body[p.pos:p.pos+4]), 16, 16)
	if err != nil {
		return 0, p.fault("expected four hexadecimal digits")
	}
	p.pos += 4
	return rune(v), nil
}
