package graphfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// Names of the columns beside those of properties. ElementColumn, which no mapping uses, is the id of an element in its database.
const (
	ElementColumn = ":ELEMENT_ID"
	idColumn      = ":ID"
	labelColumn   = ":LABEL"
	fromColumn    = ":START_ID"
	toColumn      = ":END_ID"
	typeColumn    = ":TYPE"
)

// Columns are these names.
var Columns = []string{ElementColumn, idColumn, labelColumn, fromColumn, toColumn, typeColumn}

// labelSplit separates the labels of a vertex.
const labelSplit = "\x1f"

// The label and the type of elements for which a file gives none.
const (
	DefaultLabel = "Node"
	DefaultType  = "EDGE"
)

// Property is a property of an element. Value is JSON.
type Property struct {
	Name  string
	Value jsontext.Value
}

// Element is a vertex or an edge of a file, or of a database.
type Element struct {
	Edge       bool
	Source     string   // its id in a database, or ""
	ID         string   // of a vertex
	Labels     []string // of a vertex
	From, To   string   // the ends of an edge, by their ids
	Type       string   // of an edge
	Properties []Property
}

// set adds a property, or replaces the one of its name.
func (e *Element) set(name string, v jsontext.Value) {
	for i := range e.Properties {
		if e.Properties[i].Name == name {
			e.Properties[i].Value = v
			return
		}
	}
	e.Properties = append(e.Properties, Property{name, v})
}

// identify makes the id of a vertex its property id, if it has none of that name.
func (e *Element) identify(id jsontext.Value) {
	if !has(e, "id") {
		e.set("id", id)
	}
}

// Decoder reads the elements of a file.
type Decoder interface {
	// Next returns the next element, or io.EOF. It is valid until the next call.
	Next() (*Element, error)
}

// Holds reports whether files of a format hold vertices and edges.
func Holds(f mapping.Format) bool {
	switch f {
	case mapping.GraphML, mapping.GEXF, mapping.NodeLink, mapping.APOC:
		return true
	}
	return false
}

// NewDecoder reads a file of a format that holds a graph.
func NewDecoder(f mapping.Format, r io.Reader) Decoder {
	switch f {
	case mapping.GraphML:
		return newGraphML(r)
	case mapping.GEXF:
		return newGEXF(r)
	case mapping.NodeLink:
		return newNodeLink(r)
	default:
		return newAPOC(r)
	}
}

// Names are the property names of a file, in their order of occurrence.
type Names struct {
	Vertex, Edge []string
}

// Scan reads a whole file for the names of its properties.
func Scan(f mapping.Format, r io.Reader) (n Names, err error) {
	d := NewDecoder(f, r)
	var seen [2]map[string]bool
	seen[0], seen[1] = map[string]bool{}, map[string]bool{}
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		kind, names := 0, &n.Vertex
		if e.Edge {
			kind, names = 1, &n.Edge
		}
		for _, p := range e.Properties {
			if !seen[kind][p.Name] {
				seen[kind][p.Name] = true
				*names = append(*names, p.Name)
			}
		}
	}
}

// Mapping describes, as YAML, how to load vertices by their labels with all properties, and edges, from files, or one file, of a format. The ids
// of vertices are a space of this name and type, "" for strings.
func (n *Names) Mapping(f mapping.Format, vertices, edges, space, idType string) []byte {
	var b bytes.Buffer
	properties := func(names []string) {
		b.WriteString("        properties:")
		if len(names) == 0 {
			b.WriteString(" {}")
		}
		b.WriteByte('\n')
		for _, name := range names {
			fmt.Fprintf(&b, "          %s: {type: any}\n", quote(name))
		}
	}
	fmt.Fprintf(&b, "version: 1\ninputs:\n  - path: %s\n    format: %s\n    vertices:\n", quote(vertices), f)
	fmt.Fprintf(&b, "      - labels: [{column: %q, split: \"\\x1f\"}]\n        id: %q\n        idSpace: %s\n", labelColumn, idColumn, quote(space))
	if idType != "" {
		fmt.Fprintf(&b, "        idType: %s\n", idType)
	}
	properties(n.Vertex)
	fmt.Fprintf(&b, "  - path: %s\n    format: %s\n    edges:\n      - type: {column: %q}\n", quote(edges), f, typeColumn)
	fmt.Fprintf(&b, "        action: insert\n        from: {column: %q, idSpace: %s}\n        to: {column: %q, idSpace: %s}\n", fromColumn, quote(space), toColumn, quote(space))
	properties(n.Edge)
	return b.Bytes()
}

// quote returns s as a YAML string.
func quote(s string) string {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	}
	return string(out)
}

// Lines reads the vertices or the edges of a file as JSON lines. A text that consists of such lines, as files of refused rows do, is read as
// it is.
func Lines(f mapping.Format, edges bool, r io.Reader) io.Reader {
	in := bufio.NewReaderSize(r, 1<<16)
	start, _ := in.Peek(len(`{":START_ID"`))
	if bytes.HasPrefix(start, []byte(`{":ID"`)) || bytes.HasPrefix(start, []byte(`{":START_ID"`)) {
		return in
	}
	return &lines{dec: NewDecoder(f, in), edges: edges}
}

type lines struct {
	dec   Decoder
	edges bool
	buf   []byte
	rest  []byte // of buf
	err   error
}

// lineBytes is about how much text one fill makes.
const lineBytes = 1 << 16

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.buf = l.buf[:0]
		for len(l.buf) < lineBytes && l.err == nil {
			var e *Element
			if e, l.err = l.dec.Next(); l.err == nil && e.Edge == l.edges {
				l.buf = e.AppendLine(l.buf)
			}
		}
		if l.rest = l.buf; len(l.rest) == 0 {
			return 0, l.err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// AppendLine appends the element as a JSON object and a line end.
func (e *Element) AppendLine(dst []byte) []byte {
	text := func(name, value string) {
		dst = append(dst, quote(name)...)
		dst = append(append(dst, ':'), quote(value)...)
	}
	dst = append(dst, '{')
	if e.Source != "" {
		text(ElementColumn, e.Source)
		dst = append(dst, ',')
	}
	if e.Edge {
		text(fromColumn, e.From)
		dst = append(dst, ',')
		text(toColumn, e.To)
		dst = append(dst, ',')
		text(typeColumn, e.Type)
	} else {
		text(idColumn, e.ID)
		dst = append(dst, ',')
		text(labelColumn, strings.Join(e.Labels, labelSplit))
	}
	for _, p := range e.Properties {
		dst = append(append(dst, ','), quote(p.Name)...)
		dst = append(append(dst, ':'), p.Value...)
	}
	return append(dst, "}\n"...)
}
