package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
)

// apocWriter writes JSON lines as apoc.export.json does: a node or a relationship a line, with ids as text.
type apocWriter struct {
	w     io.Writer
	fixed string // the beginning of a line up to its id, and what follows that up to the properties
	rest  string
	keys  []string
	f     *file
	line  []byte
}

// The names by which a mapping knows the labels and the types of a file that holds a graph, and what separates labels.
const (
	graphLabels = ":LABEL"
	graphType   = ":TYPE"
	labelSplit  = "\x1f"
)

// native has a bit for each type of values that JSON itself tells apart.
const native = uint64(1<<typeInt|1<<typeFloat|1<<typeBool|1<<typeString) | uint64(1<<typeInt|1<<typeFloat|1<<typeBool|1<<typeString|1<<typeAny)<<listType

// refuseAPOC returns an error if a file of all records cannot represent those of a shape.
func refuseAPOC(f *file) error {
	for _, l := range f.shape.labels {
		if strings.Contains(l, labelSplit) {
			return fmt.Errorf("the label %q has the character that separates labels; use --format jsonl", l)
		}
	}
	for _, c := range f.columns {
		if c.name == graphLabels || c.name == graphType {
			return fmt.Errorf("the property %q has the name that a load gives to labels and types; use --format jsonl", c.name)
		}
		if p := f.shape.props[c.name]; p.several() && (p.types&^native != 0 || p.unbounded) {
			return fmt.Errorf("the property %q has values of several types, which JSON does not tell apart; use --format jsonl", c.name)
		}
	}
	return refuseKeys(f)
}

func newAPOC(w io.Writer, f *file) (writer, error) {
	x := &apocWriter{w: w, fixed: `{"type":"node","id":"`, rest: `"`, f: f}
	if len(f.shape.labels) > 0 {
		x.rest = `","labels":` + string(appendTexts(nil, f.shape.labels))
	}
	if f.isEdges() {
		x.fixed, x.rest = `{"type":"relationship","id":"`, `","label":`+string(answer.AppendText(nil, f.shape.typ))
	}
	x.rest += `,"properties":{`
	for _, c := range f.columns {
		x.keys = append(x.keys, string(answer.AppendText(nil, c.name))+":")
	}
	return x, nil
}

func (x *apocWriter) write(ids []int64, props, ends []*pb.Value) error {
	id := ids[0]
	if x.f.isEdges() {
		id = int64(x.f.of.edges)
	}
	line := append(strconv.AppendInt(append(x.line[:0], x.fixed...), id, 10), x.rest...)
	first := true
	for i, v := range props {
		if v == nil {
			continue
		}
		if !first {
			line = append(line, ',')
		}
		first = false
		line = answer.AppendJSON(append(line, x.keys[i]...), v)
	}
	line = append(line, '}')
	for i, l := range ends {
		line = append(line, []string{`,"start":{"id":"`, `,"end":{"id":"`}[i]...)
		line = append(strconv.AppendInt(line, ids[i], 10), '"')
		if names := sortedTexts(l); len(names) > 0 {
			line = appendTexts(append(line, `,"labels":`...), names)
		}
		line = append(line, '}')
	}
	x.line = append(line, "}\n"...)
	_, err := x.w.Write(x.line)
	return err
}

func (x *apocWriter) pending() int { return 0 }
func (x *apocWriter) flush() error { return nil }
func (x *apocWriter) close() error { return nil }

// appendTexts appends texts as a JSON array.
func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, s := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = answer.AppendText(dst, s)
	}
	return append(dst, ']')
}

// sortedTexts returns the texts of a list in their order.
func sortedTexts(list *pb.Value) []string {
	var out []string
	for _, v := range list.GetList().GetValues() {
		out = append(out, v.GetString_())
	}
	slices.Sort(out)
	return out
}

// graphInputs are the inputs of a mapping for a file that holds a graph: its vertices with a rule for each set of labels, and its edges with
// one for each type.
func (e *exporter) graphInputs() []mappingInput {
	vertices := mappingInput{Path: e.format.file, Format: e.format.ext}
	edges := vertices
	seen := map[*shape]bool{}
	for _, f := range e.files {
		s := f.shape
		if seen[s] {
			continue
		}
		seen[s] = true
		in := f.input(e.format.ext, func(c column) string {
			if s.props[c.name].several() {
				return typeNames[typeAny]
			}
			return c.typ.String()
		})
		if f.isEdges() {
			in.Edges[0].Where = map[string][]string{graphType: {s.typ}}
			edges.Edges = append(edges.Edges, in.Edges...)
		} else {
			in.Vertices[0].Where = map[string][]string{graphLabels: {strings.Join(s.labels, labelSplit)}}
			vertices.Vertices = append(vertices.Vertices, in.Vertices...)
		}
	}
	return slices.DeleteFunc([]mappingInput{vertices, edges}, func(in mappingInput) bool { return len(in.Vertices)+len(in.Edges) == 0 })
}
