package graphfile

import (
	"encoding/xml"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// gexf reads GEXF (gexf.net, versions 1.1 to 1.3), as Gephi, NetworkX and igraph write it. Labels, which are for people, and the weights of
// edges are properties; the kind of an edge is its type.
type gexf struct {
	document
	class string               // of the attributes that are being declared
	keys  map[string]*declared // by class and id
	first map[string][]*declared
	e     Element
}

func newGEXF(r io.Reader) *gexf {
	return &gexf{document: newDocument(r, "gexf"), keys: map[string]*declared{}, first: map[string][]*declared{}}
}

// Next implements Decoder.
func (d *gexf) Next() (*Element, error) {
	for {
		start, _, err := d.next()
		if err != nil {
			return nil, err
		}
		if start == nil {
			continue
		}
		switch start.Name.Local {
		case "attributes":
			d.class = attr(start, "class")
		case "attribute":
			err = d.attribute(start)
		case "node", "edge":
			if err = d.element(start); err == nil {
				return &d.e, nil
			}
		case "graph", "nodes", "edges":
		default:
			err = d.skip()
		}
		if err != nil {
			return nil, err
		}
	}
}

// attribute reads the declaration of a property.
func (d *gexf) attribute(start *xml.StartElement) error {
	k := &declared{name: attr(start, "title"), typ: attr(start, "type")}
	id := attr(start, "id")
	if k.name == "" {
		k.name = id
	}
	d.keys[d.class+"\x00"+id] = k
	if err := d.readDefault(k, "attribute"); err != nil {
		return err
	}
	if k.initial != nil {
		d.first[d.class] = append(d.first[d.class], k)
	}
	return nil
}

// element reads a node or an edge up to its end.
func (d *gexf) element(start *xml.StartElement) error {
	kind := start.Name.Local
	d.e = Element{Edge: kind == "edge", Properties: d.e.Properties[:0]}
	text := func(name string) {
		if s := attr(start, name); s != "" {
			d.e.set(name, []byte(quote(s)))
		}
	}
	if text("label"); d.e.Edge {
		d.e.From, d.e.To, d.e.Type = attr(start, "source"), attr(start, "target"), attr(start, "kind")
		if d.e.From == "" || d.e.To == "" {
			return d.fault(errors.New("an edge has no source or no target"))
		}
		if d.e.Type == "" {
			d.e.Type = DefaultType
		}
		if w := attr(start, "weight"); w != "" {
			v, err := (&declared{name: "weight", typ: "double"}).value(w)
			if err != nil {
				return d.fault(err)
			}
			d.e.set("weight", v)
		}
	} else if d.e.ID = attr(start, "id"); d.e.ID == "" {
		return d.fault(errors.New("a node has no id"))
	} else {
		d.e.Labels = []string{DefaultLabel}
	}
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
		case "attvalues":
		case "attvalue":
			id := attr(inner, "for")
			if id == "" {
				id = attr(inner, "id") // version 1.1
			}
			k := d.keys[kind+"\x00"+id]
			if k == nil {
				k = &declared{name: id}
			}
			v, err := k.value(attr(inner, "value"))
			if err != nil {
				return d.fault(err)
			}
			d.e.set(k.name, v)
			if err := d.skip(); err != nil {
				return err
			}
		case "nodes", "edges":
			return d.fault(errors.New("a graph within a node is not supported"))
		default:
			if err := d.skip(); err != nil { // what Gephi draws: colours, positions, sizes
				return err
			}
		}
	}
	if err := fill(&d.e, d.first[kind]); err != nil {
		return d.fault(err)
	}
	if !d.e.Edge {
		d.e.identify(jsontext.Value(quote(d.e.ID)))
	}
	return nil
}
