package graphfile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding/htmlindex"
)

// document reads XML elements.
type document struct {
	dec  *xml.Decoder
	root string // the name of the root element
	open bool   // the root element has begun
	// complete says that the file holds all there is: elements without labels have none, and ids are no properties.
	complete bool
}

// Namespace is that of the attributes that Hopgate adds to GraphML: complete="true" of the root element, and type="Date" of a key, the name that
// typed JSON has for the type of the values, or of their elements.
const Namespace = "https://github.com/hopgate/hopgate/graphml"

// ownAttr returns an attribute of Hopgate's namespace.
func ownAttr(e *xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name == (xml.Name{Space: Namespace, Local: name}) {
			return a.Value
		}
	}
	return ""
}

func newDocument(r io.Reader, root string) document {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(name string, in io.Reader) (io.Reader, error) {
		e, err := htmlindex.Get(name)
		if err != nil {
			return nil, fmt.Errorf("unknown encoding %q", name)
		}
		return e.NewDecoder().Reader(in), nil
	}
	return document{dec: d, root: root}
}

// next returns the next start or end of an element; io.EOF follows the end of the root element.
func (d *document) next() (start *xml.StartElement, end string, err error) {
	for {
		t, err := d.dec.Token()
		if errors.Is(err, io.EOF) && !d.open {
			return nil, "", fmt.Errorf("the file has no element %s", d.root)
		}
		if err != nil {
			return nil, "", d.fault(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if !d.open {
				if t.Name.Local != d.root {
					return nil, "", d.fault(fmt.Errorf("the root element is %s, not %s", t.Name.Local, d.root))
				}
				d.open, d.complete = true, ownAttr(&t, "complete") == "true"
				continue
			}
			return &t, "", nil
		case xml.EndElement:
			if t.Name.Local != d.root {
				return nil, t.Name.Local, nil
			}
		}
	}
}

// text reads the text of the element that has begun, up to its end.
func (d *document) text() (string, error) {
	var b strings.Builder
	for {
		t, err := d.dec.Token()
		if err != nil {
			return "", d.fault(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if err := d.dec.Skip(); err != nil {
				return "", d.fault(err)
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

func (d *document) skip() error {
	if err := d.dec.Skip(); err != nil {
		return d.fault(err)
	}
	return nil
}

// fault adds the line to an error, but to io.EOF.
func (d *document) fault(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("line %d: malformed XML: %s", e.Line, e.Msg)
	}
	line, _ := d.dec.InputPos()
	return fmt.Errorf("line %d: %w", line, err)
}

func attr(e *xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// declared is the declaration of a property: a key of GraphML, an attribute of GEXF.
type declared struct {
	name    string
	typ     string
	typed   string // the name of the type in typed JSON, if typ does not say it
	list    bool
	initial *string // of elements without a value
}

// readDefault reads the default of a declaration, up to the end of its element.
func (d *document) readDefault(k *declared, element string) error {
	for {
		inner, end, err := d.next()
		if err != nil || end == element {
			return err
		}
		if inner == nil {
			continue
		}
		text, err := d.text()
		if err != nil {
			return err
		}
		if inner.Name.Local == "default" {
			k.initial = &text
		}
	}
}

// value returns text of the declared type as JSON. Text that is not of the type is an error.
func (k *declared) value(text string) (jsontext.Value, error) {
	if k.list {
		v := jsontext.Value(text)
		if !v.IsValid() || v.Kind() != '[' {
			return nil, fmt.Errorf("%q is declared a list, and its value is %q", k.name, text)
		}
		return k.elements(v)
	}
	if k.typed != "" {
		return typed(k.typed, text), nil
	}
	trimmed := strings.TrimSpace(text)
	switch strings.ToLower(k.typ) {
	case "int", "integer", "long", "short", "byte":
		if _, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return jsontext.Value(strings.TrimPrefix(trimmed, "+")), nil
		}
		if digits := strings.TrimLeft(trimmed, "+-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
			break // beyond 64 bits: it stays text
		}
		return nil, fmt.Errorf("%q is declared %s, and its value is %q", k.name, k.typ, text)
	case "float", "double":
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is declared %s, and its value is %q", k.name, k.typ, text)
		}
		if f-f != 0 {
			return typed("Float", trimmed), nil
		}
		out := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(out, ".e") {
			out += ".0"
		}
		return jsontext.Value(out), nil
	case "boolean", "bool":
		switch strings.ToLower(trimmed) {
		case "true", "1":
			return jsontext.Value("true"), nil
		case "false", "0":
			return jsontext.Value("false"), nil
		}
		return nil, fmt.Errorf("%q is declared boolean, and its value is %q", k.name, text)
	}
	return jsontext.Value(quote(text)), nil
}

// elements returns a list whose texts have the declared type.
func (k *declared) elements(list jsontext.Value) (jsontext.Value, error) {
	name := k.typed
	if t := strings.ToLower(k.typ); name == "" && (t == "float" || t == "double") {
		name = "Float" // the texts are NaN and infinities, which have no JSON
	}
	if name == "" {
		return list, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	out := jsontext.Value("[")
	for d.PeekKind() != jsontext.KindEndArray {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if v.Kind() == jsontext.KindString {
			v = typed(name, idText(v))
		}
		out = append(out, v...)
	}
	return append(out, ']'), nil
}

// typed returns text of a type that JSON lacks as typed JSON. That of a vector is JSON by itself.
func typed(name, text string) jsontext.Value {
	value := jsontext.Value(text)
	if name != "Vector" || !value.IsValid() {
		value = jsontext.Value(quote(text))
	}
	return jsontext.Value(`{"$type":` + quote(name) + `,"_value":` + string(value) + "}")
}

// fill adds the initial values of declared properties that an element lacks.
func fill(e *Element, keys []*declared) error {
	for _, k := range keys {
		if k.initial == nil || has(e, k.name) {
			continue
		}
		v, err := k.value(*k.initial)
		if err != nil {
			return err
		}
		e.set(k.name, v)
	}
	return nil
}

func has(e *Element, name string) bool {
	for i := range e.Properties {
		if e.Properties[i].Name == name {
			return true
		}
	}
	return false
}

// labelsOf splits labels as Neo4j's tools write them, ":A:B".
func labelsOf(s string) []string {
	var out []string
	for l := range strings.SplitSeq(s, ":") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}
