package graphfile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// nodeLink reads node-link JSON, as NetworkX and d3 write it: an object with lists of nodes and of links (or edges).
type nodeLink struct {
	dec  *jsontext.Decoder
	list string // the list that is being read, or ""
	e    Element
}

func newNodeLink(r io.Reader) *nodeLink {
	return &nodeLink{dec: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true))}
}

// Next implements Decoder.
func (d *nodeLink) Next() (*Element, error) {
	for {
		if d.list != "" {
			if d.dec.PeekKind() == jsontext.KindEndArray {
				if _, err := d.dec.ReadToken(); err != nil {
					return nil, jsonFault(err)
				}
				d.list = ""
				continue
			}
			return &d.e, d.element()
		}
		if d.dec.StackDepth() == 0 {
			if d.dec.InputOffset() > 0 {
				_, err := d.dec.ReadToken()
				if err == nil {
					err = errors.New("there is text after the graph")
				}
				return nil, jsonFault(err)
			}
			t, err := d.dec.ReadToken()
			if err != nil {
				return nil, jsonFault(err)
			}
			if t.Kind() != jsontext.KindBeginObject {
				return nil, errors.New("node-link JSON is an object")
			}
		}
		t, err := d.dec.ReadToken()
		if err != nil {
			return nil, jsonFault(err)
		}
		if t.Kind() == jsontext.KindEndObject {
			continue
		}
		switch name := t.String(); name {
		case "nodes", "links", "edges":
			t, err := d.dec.ReadToken()
			if err != nil {
				return nil, jsonFault(err)
			}
			if t.Kind() != jsontext.KindBeginArray {
				return nil, fmt.Errorf("%q of node-link JSON is not a list", name)
			}
			d.list = name
		default:
			if err := d.dec.SkipValue(); err != nil {
				return nil, jsonFault(err)
			}
		}
	}
}

// element reads an element of the list.
func (d *nodeLink) element() error {
	edge := d.list != "nodes"
	d.e = Element{Edge: edge, Type: DefaultType, Properties: d.e.Properties[:0]}
	has := map[string]bool{}
	err := members(d.dec, func(name string, v jsontext.Value) error {
		switch {
		case edge && name == "source":
			d.e.From = idText(v)
		case edge && name == "target":
			d.e.To = idText(v)
		case edge && name == "type" && v.Kind() == '"':
			d.e.Type = idText(v)
		case !edge && name == "id":
			d.e.ID = idText(v)
			d.e.set(name, v.Clone())
		case !edge && (name == "labels" || name == "label") && d.e.Labels == nil && labelled(v):
			d.e.Labels = texts(v)
		default:
			d.e.set(name, v.Clone())
			return nil
		}
		has[name] = true
		return nil
	})
	switch {
	case err != nil:
		return err
	case edge && (!has["source"] || !has["target"]):
		return d.missing("an edge has no source or no target")
	case !edge && !has["id"]:
		return d.missing("a node has no id")
	case len(d.e.Labels) == 0:
		d.e.Labels = []string{DefaultLabel}
	}
	return nil
}

func (d *nodeLink) missing(what string) error {
	return fmt.Errorf("%s, before byte %d", what, d.dec.InputOffset())
}

// labelled reports whether a value is a list of names, which labels are; a single text may be anything.
func labelled(v jsontext.Value) bool {
	return v.Kind() == '[' && len(texts(v)) > 0
}

// apoc reads what apoc.export.json writes: a line for each node and each relationship.
type apoc struct {
	dec *jsontext.Decoder
	e   Element
}

func newAPOC(r io.Reader) *apoc {
	return &apoc{dec: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true))}
}

// Next implements Decoder.
func (d *apoc) Next() (*Element, error) {
	if d.dec.PeekKind() == 0 {
		if _, err := d.dec.ReadToken(); err != nil {
			return nil, jsonFault(err)
		}
	}
	d.e = Element{Properties: d.e.Properties[:0]}
	kind, id, label := "", "", ""
	err := members(d.dec, func(name string, v jsontext.Value) error {
		switch name {
		case "type":
			kind = idText(v)
		case "id":
			id = idText(v)
		case "label":
			label = idText(v)
		case "labels":
			d.e.Labels = texts(v)
		case "properties":
			return members(jsontext.NewDecoder(strings.NewReader(string(v))), func(name string, v jsontext.Value) error {
				d.e.set(name, v.Clone())
				return nil
			})
		case "start", "end":
			end := &d.e.From
			if name == "end" {
				end = &d.e.To
			}
			return members(jsontext.NewDecoder(strings.NewReader(string(v))), func(name string, v jsontext.Value) error {
				if name == "id" {
					*end = idText(v)
				}
				return nil
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case kind == "node":
		d.e.ID = id
	case kind == "relationship":
		d.e.Edge, d.e.Type = true, label
	default:
		return nil, fmt.Errorf("a line has the type %q, not node or relationship, before byte %d", kind, d.dec.InputOffset())
	}
	return &d.e, nil
}

// members calls f for the members of the next value, which must be an object. The value is valid during the call.
func members(dec *jsontext.Decoder, f func(name string, v jsontext.Value) error) error {
	t, err := dec.ReadToken()
	if err != nil {
		return jsonFault(err)
	}
	if t.Kind() != jsontext.KindBeginObject {
		return fmt.Errorf("expected an object, before byte %d", dec.InputOffset())
	}
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return jsonFault(err)
		}
		if t.Kind() == jsontext.KindEndObject {
			return nil
		}
		name := t.String()
		v, err := dec.ReadValue()
		if err != nil {
			return jsonFault(err)
		}
		if v.Kind() == 'n' {
			continue // null is no property
		}
		if err := f(name, v); err != nil {
			return err
		}
	}
}

// jsonFault returns a fault with its place, and io.EOF as it is.
func jsonFault(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("malformed JSON at byte %d: %w", e.ByteOffset, e.Err)
	}
	return err
}

// idText is the text of an id: of a string its content, of a number its digits.
func idText(v jsontext.Value) string {
	if v.Kind() == '"' {
		if s, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(s)
		}
	}
	return string(v)
}

// texts returns the texts of a list, or nil if it is no list of texts alone.
func texts(v jsontext.Value) []string {
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginArray {
		return nil
	}
	var out []string
	for d.PeekKind() == jsontext.KindString {
		t, err := d.ReadToken()
		if err != nil {
			return nil
		}
		out = append(out, t.String())
	}
	if d.PeekKind() != jsontext.KindEndArray {
		return nil
	}
	return out
}
