package syntax

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

// The kinds of JSON.
const (
	JSONNull kind = iota
	JSONBool
	JSONNumber
	JSONString
	JSONList
	JSONObject
)

// KindNames are the names of kinds in messages.
var KindNames = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}

// maxNesting bounds the recursion of the parser; Limits.Depth bounds the nesting of a request.
const maxNesting = 256

// Node is one value of the request's JSON. Its parents give the path of an error.
type Node struct {
	Kind    kind
	Ord     int         // its number among the values of members; for element i of a list -1-i
	Scalar  graph.Value // of kBool, kNumber and kString
	Elems   []*Node     // of kList
	Members []*Node     // of kObject, each with its key
	Key     string      // where it is a member
	Parent  *Node
	Raw     []byte // its text in the request
}

// Str is a string's text.
func (n *Node) Str() string { return n.Scalar.Str() }

// Get finds a member by its key; a null counts as none.
func (n *Node) Get(key string) *Node {
	for _, m := range n.Members {
		if m.Key == key && m.Kind != JSONNull {
			return m
		}
	}
	return nil
}

// Path names the node from the root.
func (n *Node) Path() string {
	if n == nil || n.Parent == nil {
		return ""
	}
	var keys []string
	for ; n.Parent != nil; n = n.Parent {
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
func (n *Node) name() string {
	if n.Parent.Kind != JSONList {
		return n.Key
	}
	return strconv.Itoa(n.Elem())
}

// Elem is the number of an element of a list.
func (n *Node) Elem() int { return -1 - n.Ord }

// What returns a short description of the value for a message.
func (n *Node) What() string {
	s := n.Raw
	if len(s) <= 60 {
		return string(s)
	}
	cut := 57
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return string(s[:cut]) + "..."
}

// Document is a parsed request.
type Document struct {
	Root  *Node
	Nodes []*Node // the members' values by ord
}

// ParseJSON parses one JSON object that is valid UTF-8, repeats no key in an object and has no trailing data.
// charge, unless it is nil, counts the memory of its nodes, and may refuse it; count counts steps.
func ParseJSON(body []byte, charge func(bytes int) error, count *steps.Counter) (*Document, error) {
	if !utf8.Valid(body) {
		return nil, &Error{Code: CodeMalformed, Msg: "the request is not valid UTF-8"}
	}
	p := parser{body: body, doc: &Document{}, charge: charge, steps: count}
	p.space()
	n, err := p.value(nil, "", -1, 0)
	if err != nil {
		return nil, err
	}
	if n.Kind != JSONObject {
		return nil, p.fault("the request must be a JSON object, was %s", KindNames[n.Kind])
	}
	p.space()
	if p.pos < len(p.body) {
		return nil, p.fault("unexpected text after the request")
	}
	p.doc.Root = n
	return p.doc, nil
}

type parser struct {
	body []byte
	pos  int
	doc  *Document

	charge func(bytes int) error
	steps  *steps.Counter
	values int // so far
}

// maxValues bounds the values of a request.
const maxValues = 1 << 20

// nodeBytes is about the memory of a node and of its places in lists.
const nodeBytes = int(unsafe.Sizeof(Node{})) + 2*8

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
func (p *parser) value(parent *Node, key string, ord, depth int) (*Node, error) {
	if depth > maxNesting {
		return nil, p.fault("nested deeper than %d", maxNesting)
	}
	if p.pos >= len(p.body) {
		return nil, p.fault("unexpected end")
	}
	if p.charge != nil {
		if err := p.charge(nodeBytes + len(key)); err != nil {
			e := AsError(err)
			return nil, &Error{Code: e.Code, Msg: e.Msg, Unread: true}
		}
	}
	n := &Node{Parent: parent, Key: key, Ord: ord}
	if p.values++; p.values > maxValues {
		return nil, Fail(CodeArgument, n, "is value %d of the request, which may have %d", p.values, maxValues)
	}
	start := p.pos
	var err error
	switch c := p.body[p.pos]; {
	case c == '{':
		err = p.object(n, depth)
	case c == '[':
		err = p.list(n, depth)
	case c == '"':
		n.Kind = JSONString
		var s string
		s, err = p.Text()
		n.Scalar = graph.StringValue(s)
	case c == '-' || '0' <= c && c <= '9':
		n.Kind = JSONNumber
		n.Scalar, err = p.number()
	default:
		err = p.word(n)
	}
	if err != nil {
		return nil, err
	}
	n.Raw = p.body[start:p.pos]
	if p.steps.Add(1); n.Kind != JSONList && n.Kind != JSONObject {
		p.steps.Add(len(n.Raw) / 64)
	}
	return n, nil
}

func (p *parser) word(n *Node) error {
	for _, w := range []struct {
		text string
		kind kind
		v    graph.Value
	}{{"null", JSONNull, graph.Value{}}, {"true", JSONBool, graph.BoolValue(true)}, {"false", JSONBool, graph.BoolValue(false)}} {
		if strings.HasPrefix(string(p.body[p.pos:min(len(p.body), p.pos+5)]), w.text) {
			n.Kind, n.Scalar = w.kind, w.v
			p.pos += len(w.text)
			return nil
		}
	}
	r, _ := utf8.DecodeRune(p.body[p.pos:])
	return p.fault("unexpected %q", r)
}

func (p *parser) object(n *Node, depth int) error {
	n.Kind = JSONObject
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
		key, err := p.Text()
		if err != nil {
			return err
		}
		if len(n.Members) == 16 {
			seen = make(map[string]bool)
			for _, m := range n.Members {
				seen[m.Key] = true
			}
		}
		if p.repeated(n, seen, key) {
			m := &Node{Parent: n, Key: key}
			return Fail(CodeMalformed, m, "the key stands twice in one object")
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
		ord := len(p.doc.Nodes)
		p.doc.Nodes = append(p.doc.Nodes, nil)
		m, err := p.value(n, key, ord, depth+1)
		if err != nil {
			return err
		}
		p.doc.Nodes[ord] = m
		n.Members = append(n.Members, m)
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

func (p *parser) repeated(n *Node, seen map[string]bool, key string) bool {
	if seen != nil {
		return seen[key]
	}
	for _, m := range n.Members {
		if m.Key == key {
			return true
		}
	}
	return false
}

func (p *parser) list(n *Node, depth int) error {
	n.Kind = JSONList
	p.pos++
	p.space()
	if p.pos < len(p.body) && p.body[p.pos] == ']' {
		p.pos++
		return nil
	}
	for {
		e, err := p.value(n, "", -1-len(n.Elems), depth+1)
		if err != nil {
			return err
		}
		n.Elems = append(n.Elems, e)
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

// Text reads a string.
func (p *parser) Text() (string, error) {
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
