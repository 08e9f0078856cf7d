package export

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/graph"
)

// cypherWriter writes statements, as apoc.export.cypher does, that Neo4j 5 runs as well: each creates many vertices, or edges, from a list of
// maps. Until the script ends, vertices have a label and a unique property by which edges find their ends.
type cypherWriter struct {
	w    io.Writer
	f    *file
	tail string   // what follows the rows
	keys []string // quoted, with their colons
	rows []byte   // of the next statement
	n    int
}

// ScriptName is the name of a script in an exported directory.
const ScriptName = "graph.cypher"

// The names that vertices have until the script ends.
const (
	importName  = "UNIQUE_IMPORT_NAME"
	importLabel = "UNIQUE IMPORT LABEL"
	importID    = "UNIQUE IMPORT ID"
)

// Bounds of a statement: its rows, about the bytes of its rows, and the vertices whose label it removes.
const (
	statementRows  = 1000
	statementBytes = 256 << 10
	statementEnd   = 10_000
)

// refuseCypher returns an error if statements cannot represent a file.
func refuseCypher(f *file) error {
	for _, c := range f.columns {
		if c.typ.element() == typeBytes {
			return fmt.Errorf("the property %q holds bytes, for which Cypher has no literal; use --format jsonl", c.name)
		}
		if c.name == importID {
			return fmt.Errorf("the property %q has the name that the script gives to ids; use --format jsonl", c.name)
		}
		if err := refuseName(c.name); err != nil {
			return err
		}
	}
	if slices.Contains(f.shape.labels, importLabel) {
		return fmt.Errorf("the label %q is the one that the script gives to new vertices; use --format jsonl", importLabel)
	}
	for _, name := range append(slices.Clone(f.shape.labels), f.shape.typ) {
		if err := refuseName(name); err != nil {
			return err
		}
	}
	return nil
}

// refuseName returns an error if Neo4j reads a quoted name as another one.
func refuseName(name string) error {
	if strings.Contains(name, `\u`) {
		return fmt.Errorf(`the name %q has \u in it, which Neo4j reads as a character; use --format jsonl`, name)
	}
	return nil
}

// beforeCypher creates the indexes and constraints, and the one that lasts as long as the script.
func beforeCypher(e *exporter) (string, error) {
	label, id := answer.QuoteName(importLabel), answer.QuoteName(importID)
	return lines(append(slices.Clone(e.indexes), "CREATE CONSTRAINT "+importName+" FOR (n:"+label+") REQUIRE n."+id+" IS UNIQUE")), nil
}

// afterCypher removes what the script has added for itself.
func afterCypher(e *exporter) (string, error) {
	label, id := answer.QuoteName(importLabel), answer.QuoteName(importID)
	remove := fmt.Sprintf("MATCH (n:%s) WITH n LIMIT %d REMOVE n:%s, n.%s", label, statementEnd, label, id)
	statements := slices.Repeat([]string{remove}, int((e.vertices+statementEnd-1)/statementEnd))
	return lines(append(statements, "DROP CONSTRAINT "+importName)), nil
}

func newCypher(w io.Writer, f *file) (writer, error) {
	x := &cypherWriter{w: w, f: f}
	for _, c := range f.columns {
		x.keys = append(x.keys, answer.QuoteName(c.name)+": ")
	}
	label, id := answer.QuoteName(importLabel), answer.QuoteName(importID)
	if f.isEdges() {
		end := "MATCH (%[1]s:" + label + " {" + id + ": row.%[1]s})\n"
		x.tail = fmt.Sprintf(end, "s") + fmt.Sprintf(end, "t") + "CREATE (s)-[r:" + answer.QuoteName(f.shape.typ) + "]->(t) SET r += row.p"
		return x, nil
	}
	labels := ":" + label
	for _, l := range f.shape.labels {
		labels += ":" + answer.QuoteName(l)
	}
	x.tail = "CREATE (n" + labels + " {" + id + ": row.id}) SET n += row.p"
	return x, nil
}

func (x *cypherWriter) write(ids []int64, props, _ []*pb.Value) error {
	if x.n > 0 {
		x.rows = append(x.rows, ",\n"...)
	}
	if x.f.isEdges() {
		x.rows = strconv.AppendInt(append(x.rows, "{s: "...), ids[0], 10)
		x.rows = strconv.AppendInt(append(x.rows, ", t: "...), ids[1], 10)
	} else {
		x.rows = strconv.AppendInt(append(x.rows, "{id: "...), ids[0], 10)
	}
	before := ", p: {"
	for i, v := range props {
		if v != nil {
			x.rows = appendCypher(append(append(x.rows, before...), x.keys[i]...), v)
			before = ", "
		}
	}
	if before != ", " {
		x.rows = append(x.rows, before...)
	}
	x.rows = append(x.rows, "}}"...)
	if x.n++; x.n == statementRows || len(x.rows) >= statementBytes {
		return x.flush()
	}
	return nil
}

func (x *cypherWriter) pending() int { return len(x.rows) }

// flush writes the statement of the rows so far.
func (x *cypherWriter) flush() error {
	if x.n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(x.w, "UNWIND [\n%s\n] AS row\n%s;\n", x.rows, x.tail)
	x.rows, x.n = x.rows[:0], 0
	return err
}

func (x *cypherWriter) close() error { return nil }

// temporalFunctions construct values from their text.
var temporalFunctions = map[pb.TemporalType]string{
	pb.TemporalType_TEMPORAL_TYPE_DATE: "date", pb.TemporalType_TEMPORAL_TYPE_LOCAL_TIME: "localtime", pb.TemporalType_TEMPORAL_TYPE_TIME: "time",
	pb.TemporalType_TEMPORAL_TYPE_LOCAL_DATE_TIME: "localdatetime", pb.TemporalType_TEMPORAL_TYPE_DATE_TIME: "datetime",
	pb.TemporalType_TEMPORAL_TYPE_DURATION: "duration",
}

// appendCypher appends a property's value as an expression.
func appendCypher(dst []byte, v *pb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *pb.Value_Float:
		return appendCypherFloat(dst, k.Float)
	case *pb.Value_String_:
		return appendCypherText(dst, k.String_)
	case *pb.Value_Temporal:
		return fmt.Appendf(dst, "%s('%s')", temporalFunctions[k.Temporal.GetType()], k.Temporal.GetText())
	case *pb.Value_Point:
		dst = appendCypherFloat(fmt.Appendf(dst, "point({srid: %d, x: ", k.Point.GetSrid()), k.Point.GetX())
		dst = appendCypherFloat(append(dst, ", y: "...), k.Point.GetY())
		if graph.CRS(k.Point.GetSrid()).Dimensions() == 3 {
			dst = appendCypherFloat(append(dst, ", z: "...), k.Point.GetZ())
		}
		return append(dst, "})"...)
	case *pb.Value_Vector:
		x := answer.VectorOf(k.Vector)
		return fmt.Appendf(dst, "vector(%s, %d, %s)", x.AppendJSON(nil), x.Dimensions(), x.Type)
	case *pb.Value_List:
		dst = append(dst, '[')
		for i, e := range k.List.GetValues() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendCypher(dst, e)
		}
		return append(dst, ']')
	}
	return appendPlain(dst, v)
}

// appendCypherFloat appends a float, which always has a point or an exponent.
func appendCypherFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "0.0/0.0"...)
	case math.IsInf(f, 1):
		return append(dst, "1.0/0.0"...)
	case math.IsInf(f, -1):
		return append(dst, "-1.0/0.0"...)
	}
	s := strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "e+", "e", 1)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return append(dst, s...)
}

// quoteText returns a string as a literal.
func quoteText(s string) string { return string(appendCypherText(nil, s)) }

// appendCypherText appends a string on one line. What follows \u is a character for Neo4j even where the backslash is escaped, so the literal
// ends between the two.
func appendCypherText(dst []byte, s string) []byte {
	dst = append(dst, '\'')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' && strings.HasPrefix(s[i+1:], "u"):
			dst = append(dst, `\\' + '`...)
		case c == '\\' || c == '\'':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04X`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '\'')
}
