package operation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Kind is what an operation runs.
type Kind string

// The kinds of operations.
const (
	Statement Kind = "statement"
	Fetch     Kind = "fetch"     // a JSON-array fetch
	Traversal Kind = "traversal" // a typed request, such as that of /v1/traverse
)

// routes are the routes whose bodies operations may be.
var routes = map[string]Kind{
	"get": Fetch, "head": Fetch, "gets": Fetch, "heads": Fetch, "post": Fetch, "put": Fetch, "delete": Fetch,
	"traverse": Traversal, "path": Traversal, "subgraph": Traversal, "vertices": Traversal, "edges": Traversal,
}

const routeNames = "get, head, gets, heads, post, put, delete, traverse, path, subgraph, vertices or edges"

// Kind returns what the operation runs.
func (o *Operation) Kind() Kind {
	if k, ok := routes[o.Route]; ok {
		return k
	}
	return Statement
}

// marker is the only member of an object that stands for the value of a parameter: {"$param": "id"}.
const marker = "$param"

// piece is a part of a body: text, and a parameter whose value follows it unless param is -1.
type piece struct {
	text  []byte
	param int
}

// bodyError is an error at an offset of a body.
type bodyError struct {
	at  int
	err error
}

func (b *bodyError) Error() string { return b.err.Error() }

func (b *bodyError) Unwrap() error { return b.err }

// bodyParser reads the body of a fetch or a traversal.
type bodyParser struct {
	o    *Operation
	dec  *jsontext.Decoder
	text []byte
	from int // of the text that is in no piece
	all  []piece
}

// parseBody reads the pieces of a body, which is one JSON object.
func (o *Operation) parseBody() ([]piece, error) {
	for i := range o.Params {
		of := o.Params[i].Type.plain()
		if e := of.Element(); e != "" {
			of = e.plain()
		}
		if o.Kind() == Fetch && (of == "MAP" || of == "ANY") {
			return nil, fmt.Errorf("the parameter %s: a fetch takes no %s, which could hold any part of a request", o.Params[i].Name, of)
		}
	}
	p := bodyParser{o: o, text: []byte(o.Statement)}
	p.dec = jsontext.NewDecoder(bytes.NewReader(p.text))
	if k := p.dec.PeekKind(); k != jsontext.KindBeginObject && k != jsontext.KindInvalid {
		return nil, errors.New("the body must be a JSON object")
	}
	err := p.value("", false)
	if err == nil {
		end := int(p.dec.InputOffset())
		if _, extra := p.dec.ReadToken(); !errors.Is(extra, io.EOF) {
			return nil, &bodyError{end, errors.New("unexpected text after the body")}
		}
		return append(p.all, piece{p.text[p.from:], -1}), nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &bodyError{len(p.text), errors.New("the body is not JSON: it ends too early")}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, &bodyError{min(int(e.ByteOffset), len(p.text)), fmt.Errorf("the body is not JSON: %w", e.Err)}
	}
	return nil, err
}

// value reads a value, of a member key or of an element of its list; nested says that it is one.
func (p *bodyParser) value(key string, nested bool) error {
	t, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	switch t.Kind() {
	case jsontext.KindBeginObject:
		return p.object(key, int(p.dec.InputOffset())-1, nested)
	case jsontext.KindBeginArray:
		for p.dec.PeekKind() != jsontext.KindEndArray {
			if err := p.value(key, true); err != nil {
				return err
			}
		}
		_, err = p.dec.ReadToken()
	}
	return err
}

// object reads the members of an object that begins at an offset, or the parameter that it stands for.
func (p *bodyParser) object(key string, begin int, nested bool) error {
	for first := true; ; first = false {
		t, err := p.dec.ReadToken()
		if err != nil || t.Kind() == jsontext.KindEndObject {
			return err
		}
		name := t.String()
		if name != marker {
			if err := p.value(name, true); err != nil {
				return err
			}
			continue
		}
		at := int(p.dec.InputOffset())
		if t, err = p.dec.ReadToken(); err != nil {
			return err
		}
		i := -1
		if t.Kind() == jsontext.KindString {
			name := t.String()
			i = slices.IndexFunc(p.o.Params, func(q Param) bool { return q.Name == name })
		}
		switch {
		case i < 0:
			return &bodyError{at, fmt.Errorf(`{%q: %s} names no parameter of the operation, which a line "// param: …" gives a type`, marker, t)}
		case !first || p.dec.PeekKind() != jsontext.KindEndObject || !nested:
			return &bodyError{at, fmt.Errorf(`{%q: %s} must be the whole value of a member, or an element of a list`, marker, t)}
		case p.o.code(key):
			return &bodyError{at, fmt.Errorf("%q takes no parameter: its value says what is read, not with which value", key)}
		}
		if _, err := p.dec.ReadToken(); err != nil {
			return err
		}
		p.all = append(p.all, piece{p.text[p.from:begin], i})
		p.from = int(p.dec.InputOffset())
		return nil
	}
}

// code reports whether the value of a key is code, in which a text of the caller could do anything.
func (o *Operation) code(key string) bool {
	if o.Kind() == Traversal {
		return key == "where" || key == "statement"
	}
	return strings.HasPrefix(key, "@") || strings.HasSuffix(key, "@") || strings.HasSuffix(key, "()") || key == "join" || key == "hop"
}

// Body returns the body of a fetch or a traversal with the parameters that Bind returned.
func (o *Operation) Body(params map[string]graph.Value) ([]byte, error) {
	var out []byte
	for _, p := range o.body {
		out = append(out, p.text...)
		if p.param < 0 {
			continue
		}
		name := o.Params[p.param].Name
		v := params[name]
		if !finite(v) {
			return nil, o.faulty([]Fault{{name, "must be a number that JSON has"}}, false)
		}
		out = notation.PlainJSON.Append(out, v)
	}
	return out, nil
}

// finite reports whether JSON can write a value.
func finite(v graph.Value) bool {
	switch v.Kind() {
	case graph.Float:
		return !math.IsInf(v.Float(), 0) && !math.IsNaN(v.Float())
	case graph.List:
		return !slices.ContainsFunc(v.List(), func(x graph.Value) bool { return !finite(x) })
	}
	return true
}

// Sample returns parameters to plan an operation with: its defaults, and 1, 1.0, "1", true or lists of one of these where it has none.
func (o *Operation) Sample() map[string]graph.Value {
	out := make(map[string]graph.Value, len(o.Params))
	for i := range o.Params {
		p := &o.Params[i]
		if out[p.Name] = p.value; p.Required() {
			out[p.Name] = p.Type.sample()
		}
	}
	return out
}

func (t Type) sample() graph.Value {
	if e := t.Element(); e != "" {
		return graph.ListValue([]graph.Value{e.sample()})
	}
	switch t.plain() {
	case "BOOLEAN":
		return graph.BoolValue(true)
	case "FLOAT":
		return graph.FloatValue(1)
	case "STRING":
		return graph.StringValue("1")
	case "MAP":
		return graph.MapValue(nil)
	}
	return graph.IntValue(1)
}
