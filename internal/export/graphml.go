package export

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/graphfile"
)

// graphMLWriter writes GraphML as apoc.export.graphml does: labels and types are attributes of the elements and data, lists are JSON. What
// GraphML has no types for is a string whose key names the type in an attribute of Hopgate's namespace.
type graphMLWriter struct {
	w    io.Writer
	f    *file
	rest string   // what follows the ids
	data []string // the beginnings of the elements of properties
	line []byte
}

// graphMLKey is what a key declares: the properties of a name and a type, of nodes or of edges.
type graphMLKey struct {
	edges bool
	name  string
	typ   valueType
}

// graphMLTypes are the types of GraphML, and typedNames those of Hopgate's attribute; others are strings.
var (
	graphMLTypes = map[valueType]string{typeInt: "long", typeFloat: "double", typeBool: "boolean"}
	typedNames   = map[valueType]string{
		typeDate: "Date", typeLocalTime: "LocalTime", typeTime: "Time", typeLocalDateTime: "LocalDateTime", typeDateTime: "ZonedDateTime",
		typeDuration: "Duration", typePoint: "Point", typeBytes: "Base64",
	}
)

// refuseGraphML returns an error if GraphML cannot represent the labels, the type or the names of a file.
func refuseGraphML(f *file) error {
	for _, l := range f.shape.labels {
		if l == "" || strings.Contains(l, ":") || strings.TrimSpace(l) != l {
			return fmt.Errorf("the label %q cannot be told apart in GraphML's list of labels; use --format jsonl", l)
		}
	}
	reserved := "labels"
	if f.isEdges() {
		reserved = "label"
	}
	for _, c := range f.columns {
		if c.name == reserved || slices.Contains(graphfile.Columns, c.name) {
			return fmt.Errorf("the property %q has a name that GraphML files have for something else; use --format jsonl", c.name)
		}
	}
	for _, name := range append(slices.Clone(f.shape.labels), f.shape.typ) {
		if _, err := appendXML(nil, name); err != nil {
			return fmt.Errorf("the name %q: %w", name, err)
		}
	}
	return nil
}

// beforeGraphML declares the keys of all properties.
func beforeGraphML(e *exporter) (string, error) {
	all := map[graphMLKey]bool{}
	for _, shapes := range []map[string]*shape{e.vertex, e.edge} {
		for _, s := range shapes {
			for name, p := range s.props {
				for t := range valueType(64) {
					if p.types>>t&1 != 0 {
						all[graphMLKey{s.typ != "", name, t}] = true
					}
				}
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b graphMLKey) int {
		return cmp.Or(strings.Compare(kindOf(b), kindOf(a)), strings.Compare(a.name, b.name), cmp.Compare(a.typ, b.typ))
	})
	out := []byte(`<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:hopgate="` + graphfile.Namespace + `" hopgate:complete="true">
<key id="labels" for="node" attr.name="labels" attr.type="string"/>
<key id="label" for="edge" attr.name="label" attr.type="string"/>
`)
	e.keys = map[graphMLKey]string{}
	for i, k := range keys {
		id := "p" + strconv.Itoa(i)
		e.keys[k] = id
		name, err := appendXML(nil, k.name)
		if err != nil {
			return "", fmt.Errorf("export: the name of the property %q of %ss: %w", k.name, kindOf(k), err)
		}
		out = fmt.Appendf(out, `<key id="%s" for="%s" attr.name="%s" %s/>`+"\n", id, kindOf(k), name, k.typ.graphML())
	}
	return string(append(out, `<graph id="G" edgedefault="directed">`+"\n"...)), nil
}

func kindOf(k graphMLKey) string {
	if k.edges {
		return "edge"
	}
	return "node"
}

// graphML returns the attributes that declare a type.
func (t valueType) graphML() string {
	element := cmp.Or(graphMLTypes[t.element()], "string")
	out := `attr.type="` + element + `"`
	if t.isList() {
		out = `attr.type="string" attr.list="` + element + `"`
	}
	typed := typedNames[t.element()]
	if t >= typeVector && !t.isList() {
		typed = "Vector"
	}
	if typed != "" {
		out += ` hopgate:type="` + typed + `"`
	}
	return out
}

func afterGraphML(*exporter) (string, error) { return "</graph>\n</graphml>\n", nil }

func newGraphML(w io.Writer, f *file) (writer, error) {
	x := &graphMLWriter{w: w, f: f}
	for _, c := range f.columns {
		x.data = append(x.data, `<data key="`+f.of.keys[graphMLKey{f.isEdges(), c.name, c.typ}]+`">`)
	}
	names, attribute := f.shape.typ, "label"
	if !f.isEdges() {
		if names, attribute = strings.Join(f.shape.labels, ":"), "labels"; names != "" {
			names = ":" + names
		}
	}
	text, err := appendXML(nil, names)
	x.rest = `">`
	if names != "" {
		x.rest = fmt.Sprintf(`" %s="%s"><data key="%s">%s</data>`, attribute, text, attribute, text)
	}
	return x, err
}

func (x *graphMLWriter) write(ids []int64, props, _ []*pb.Value) (err error) {
	line := x.line[:0]
	if x.f.isEdges() {
		line = strconv.AppendUint(append(line, `<edge id="e`...), x.f.of.edges, 10)
		line = strconv.AppendInt(append(line, `" source="n`...), ids[0], 10)
		line = strconv.AppendInt(append(line, `" target="n`...), ids[1], 10)
	} else {
		line = strconv.AppendInt(append(line, `<node id="n`...), ids[0], 10)
	}
	line = append(line, x.rest...)
	for i, v := range props {
		if v == nil {
			continue
		}
		if line, err = appendXML(append(line, x.data[i]...), graphMLText(v)); err != nil {
			return fmt.Errorf("property %q: %w", x.f.columns[i].name, err)
		}
		line = append(line, "</data>"...)
	}
	end := "</node>\n"
	if x.f.isEdges() {
		end = "</edge>\n"
	}
	x.line = append(line, end...)
	_, err = x.w.Write(x.line)
	return err
}

// graphMLText returns the text of a value.
func graphMLText(v *pb.Value) string {
	switch k := v.GetKind().(type) {
	case *pb.Value_Vector:
		t := graph.CoordinateType(k.Vector.GetType())
		return fmt.Sprintf(`{"coordinatesType":%q,"coordinates":%s}`, t, answer.AppendJSON(nil, v))
	case *pb.Value_List:
		return string(answer.AppendJSON(nil, v))
	case *pb.Value_Float:
		return strings.Trim(string(answer.AppendJSON(nil, v)), `"`) // JSON has NaN and the infinities as strings
	}
	return string(appendPlain(nil, v))
}

func (x *graphMLWriter) pending() int { return 0 }
func (x *graphMLWriter) flush() error { return nil }
func (x *graphMLWriter) close() error { return nil }

// appendXML appends text of an element or an attribute.
func appendXML(dst []byte, s string) ([]byte, error) {
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return nil, fmt.Errorf("XML has no character U+%04X; use --format jsonl", r)
		}
	}
	b := bytes.NewBuffer(dst)
	err := xml.EscapeText(b, []byte(s))
	return b.Bytes(), err
}
