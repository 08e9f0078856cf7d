package graphfile

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// graphML reads GraphML (graphml.graphdrawing.org/specification.html). Labels and types are those of apoc.export.graphml: the attribute or
// key "labels" of nodes, ":A:B", and the attribute or key "label" of edges.
type graphML struct {
	document
	keys map[string]*declared // by id
	// nodes and edges are the keys with an initial value.
	nodes, edges []*declared
	e            Element
}

func newGraphML(r io.Reader) *graphML {
	return &graphML{document: newDocument(r, "graphml"), keys: map[string]*declared{}}
}

// Next implements Decoder.
func (d *graphML) Next() (*Element, error) {
	for {
		start, _, err := d.next()
		if err != nil {
			return nil, err
		}
		if start == nil {
			continue
		}
		switch start.Name.Local {
		case "key":
			err = d.key(start)
		case "node", "edge":
			if err = d.element(start); err == nil {
				return &d.e, nil
			}
		case "graph":
		case "hyperedge":
			err = d.fault(errors.New("a hyperedge has more than two ends, which no edge has"))
		default:
			err = d.skip()
		}
		if err != nil {
			return nil, err
		}
	}
}

// key reads the declaration of a property.
func (d *graphML) key(start *xml.StartElement) error {
	k := &declared{name: attr(start, "attr.name"), typ: attr(start, "attr.type"), typed: ownAttr(start, "type")}
	if list := attr(start, "attr.list"); list != "" {
		k.typ, k.list = list, true
	}
	id, of := attr(start, "id"), attr(start, "for")
	if k.name == "" {
		k.name = id
	}
	d.keys[of+"\x00"+id] = k
	if err := d.readDefault(k, "key"); err != nil {
		return err
	}
	if k.initial != nil && (of == "node" || of == "all") {
		d.nodes = append(d.nodes, k)
	}
	if k.initial != nil && (of == "edge" || of == "all") {
		d.edges = append(d.edges, k)
	}
	return nil
}

// element reads a node or an edge up to its end.
func (d *graphML) element(start *xml.StartElement) error {
	kind := start.Name.Local
	d.e = Element{Edge: kind == "edge", Properties: d.e.Properties[:0]}
	if d.e.Edge {
		d.e.From, d.e.To = attr(start, "source"), attr(start, "target")
		d.e.Type = attr(start, "label")
		if d.e.From == "" || d.e.To == "" {
			return d.fault(errors.New("an edge has no source or no target"))
		}
	} else if d.e.ID = attr(start, "id"); d.e.ID == "" {
		return d.fault(errors.New("a node has no id"))
	}
	labels := attr(start, "labels")
	for {
		inner, end, err := d.next()
		if err != nil {
			return err
		}
		if end == kind {
			break
		}
		if inner == nil {
			continue
		}
		switch inner.Name.Local {
		case "data":
			k := d.declared(kind, attr(inner, "key"))
			text, err := d.text()
			if err != nil {
				return err
			}
			switch {
			case !d.e.Edge && k.name == "labels" && (labels != "" || strings.HasPrefix(text, ":")):
				labels = text
			case d.e.Edge && k.name == "label" && d.e.Type != "":
				d.e.Type = text
			default:
				v, err := k.value(text)
				if err != nil {
					return d.fault(err)
				}
				d.e.set(k.name, v)
			}
		case "graph":
			return d.fault(errors.New("a graph within a node is not supported"))
		default:
			if err := d.skip(); err != nil {
				return err
			}
		}
	}
	keys := d.nodes
	if d.e.Edge {
		keys = d.edges
		if d.e.Type == "" {
			d.e.Type = DefaultType
		}
	} else if d.e.Labels = labelsOf(labels); len(d.e.Labels) == 0 && !d.complete {
		d.e.Labels = []string{DefaultLabel}
	}
	if err := fill(&d.e, keys); err != nil {
		return d.fault(err)
	}
	if !d.e.Edge && !d.complete {
		d.e.identify(jsontext.Value(quote(d.e.ID)))
	}
	return nil
}

// declared returns the declaration of a key for nodes or edges; a key without one is text.
func (d *graphML) declared(kind, id string) *declared {
	for _, of := range []string{kind, "all", ""} {
		if k := d.keys[of+"\x00"+id]; k != nil {
			return k
		}
	}
	return &declared{name: id}
}
