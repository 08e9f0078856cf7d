package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

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
	p := parser{body: body, dec: jsontext.NewDecoder(bytes.NewBuffer(body)), doc: &Document{}, charge: charge, steps: count}
	n, err := p.value(nil, "", -1, 0)
	if err != nil {
		return nil, err
	}
	if n.Kind != JSONObject {
		return nil, p.fault(p.pos(), "the request must be a JSON object, was %s", KindNames[n.Kind])
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, p.fault(p.next(), "unexpected text after the request")
	}
	p.doc.Root = n
	return p.doc, nil
}

type parser struct {
	body []byte
	dec  *jsontext.Decoder // of body
	doc  *Document

	charge func(bytes int) error
	steps  *steps.Counter
	values int // so far
}

// maxValues bounds the values of a request.
const maxValues = 1 << 20

// nodeBytes is about the memory of a node and of its places in lists.
const nodeBytes = int(unsafe.Sizeof(Node{})) + 2*8

// pos is the offset of the end of the last token.
func (p *parser) pos() int { return int(p.dec.InputOffset()) }

// next is the offset of the token after it.
func (p *parser) next() int {
	i := p.pos()
	for i < len(p.body) && strings.IndexByte(" \t\n\r,:", p.body[i]) >= 0 {
		i++
	}
	return i
}

func (p *parser) fault(at int, format string, args ...any) *Error {
	before := p.body[:at]
	line, column := 1+bytes.Count(before, []byte{'\n'}), 1+utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &Error{Code: CodeMalformed, Msg: fmt.Sprintf("malformed JSON at line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))}
}

// token reads a token of an object or a list n, or of the root where n is nil.
func (p *parser) token(n *Node) (jsontext.Token, error) {
	t, err := p.dec.ReadToken()
	if err == nil {
		return t, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return t, p.fault(len(p.body), "unexpected end")
	}
	at, why := p.next(), err
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(e, jsontext.ErrDuplicateName) {
			return t, Fail(CodeMalformed, &Node{Parent: n, Key: e.JSONPointer.LastToken()}, "the key stands twice in one object")
		}
		at, why = int(e.ByteOffset), e.Err
	}
	return t, p.fault(min(at, len(p.body)), "%v", why)
}

// value parses a value; ord is node.ord, -1 for the root.
func (p *parser) value(parent *Node, key string, ord, depth int) (*Node, error) {
	if depth > maxNesting {
		return nil, p.fault(p.next(), "nested deeper than %d", maxNesting)
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
	start := p.next()
	t, err := p.token(parent)
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case jsontext.KindBeginObject:
		n.Kind = JSONObject
		err = p.object(n, depth)
	case jsontext.KindBeginArray:
		n.Kind = JSONList
		err = p.list(n, depth)
	case jsontext.KindString:
		n.Kind, n.Scalar = JSONString, graph.StringValue(t.String())
	case jsontext.KindNumber:
		ok := false
		n.Kind = JSONNumber
		if n.Scalar, ok = number(t.String()); !ok {
			err = p.fault(start, "the number %s is out of range", t)
		}
	case jsontext.KindTrue, jsontext.KindFalse:
		n.Kind, n.Scalar = JSONBool, graph.BoolValue(t.Bool())
	default:
		n.Kind = JSONNull
	}
	if err != nil {
		return nil, err
	}
	n.Raw = p.body[start:p.pos()]
	if p.steps.Add(1); n.Kind != JSONList && n.Kind != JSONObject {
		p.steps.Add(len(n.Raw) / 64)
	}
	return n, nil
}

// object parses the members of n.
func (p *parser) object(n *Node, depth int) error {
	for {
		t, err := p.token(n)
		if err != nil || t.Kind() == jsontext.KindEndObject {
			return err
		}
		ord := len(p.doc.Nodes)
		p.doc.Nodes = append(p.doc.Nodes, nil)
		m, err := p.value(n, t.String(), ord, depth+1)
		if err != nil {
			return err
		}
		p.doc.Nodes[ord] = m
		n.Members = append(n.Members, m)
	}
}

// list parses the elements of n.
func (p *parser) list(n *Node, depth int) error {
	for p.dec.PeekKind() != jsontext.KindEndArray {
		e, err := p.value(n, "", -1-len(n.Elems), depth+1)
		if err != nil {
			return err
		}
		n.Elems = append(n.Elems, e)
	}
	_, err := p.token(n)
	return err
}

// number returns the value of a JSON number: an Int if it is whole and fits, else a Float; ok is false if it is out of range.
func number(text string) (v graph.Value, ok bool) {
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return graph.IntValue(i), true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return graph.FloatValue(f), err == nil && !math.IsInf(f, 0)
}
