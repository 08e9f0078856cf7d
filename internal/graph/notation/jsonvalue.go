package notation

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
)

// Floats of magnitudes in [leastPlain, mostPlain) are written without an exponent.
const leastPlain, mostPlain = 1e-5, 1e17

// JSONForm is a JSON form of values.
type JSONForm struct {
	scalar func(dst []byte, v graph.Value) []byte // writes a value that contains no others
	// The text before the elements of lists, maps and paths, and the text that ends them, and vertices and edges.
	list, mapping, path, end string
	// The text before the members of vertices and edges, from the beginning of the object.
	vertex, edge, start, far, labels, typ, properties string
	bare                                              bool // vertices and edges are the objects of their properties alone
}

// PlainJSON is plain JSON (contract: values in plain JSON).
var PlainJSON = JSONForm{
	scalar: appendPlainScalar,
	vertex: `{"elementId":"`, labels: `","labels":[`,
	edge: `{"elementId":"`, start: `","startNodeElementId":"`, far: `","endNodeElementId":"`, typ: `","type":`,
	properties: `,"properties":`,
}

// TypedJSON represents values with their types, as Neo4j's Query API does for application/vnd.neo4j.query.
var TypedJSON = JSONForm{
	scalar: appendTypedScalar,
	list:   `{"$type":"List","_value":`, mapping: `{"$type":"Map","_value":`, path: `{"$type":"Path","_value":`, end: `}`,
	vertex: `{"$type":"Node","_value":{"_element_id":"`, labels: `","_labels":[`,
	edge:  `{"$type":"Relationship","_value":{"_element_id":"`,
	start: `","_start_node_element_id":"`, far: `","_end_node_element_id":"`, typ: `","_type":`,
	properties: `,"_properties":`,
}

// LosslessJSON is plain JSON for null, booleans, integers, finite floats, strings and lists of these, and typed JSON for other values. So a
// reader that tells integers from floats by their text gets the same value again. It is no form of vertices and edges.
var LosslessJSON = JSONForm{scalar: appendLosslessScalar}

// BareJSON is plain JSON in which a vertex or an edge is the object of its properties, as fetches return them.
var BareJSON = JSONForm{scalar: appendBareScalar, bare: true}

// Append appends a value.
func (f *JSONForm) Append(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.List:
		dst = append(append(dst, f.list...), '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.Append(dst, e)
		}
		return append(append(dst, ']'), f.end...)
	case graph.Map:
		dst = append(append(dst, f.mapping...), '{')
		for i, e := range v.Map() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.Append(append(AppendJSONString(dst, e.Key), ':'), e.Value)
		}
		return append(append(dst, '}'), f.end...)
	case graph.VertexKind:
		return f.appendVertex(dst, v)
	case graph.EdgeKind:
		return f.appendEdge(dst, v.Edge())
	case graph.PathKind:
		p := v.Path()
		dst = append(append(dst, f.path...), '[')
		for i, n := range p.Vertices {
			if i > 0 {
				dst = append(f.appendEdge(append(dst, ','), p.Edges[i-1].Edge()), ',')
			}
			dst = f.appendVertex(dst, n)
		}
		return append(append(dst, ']'), f.end...)
	}
	return f.scalar(dst, v)
}

// noRecord is the record of vertices and edges without properties.
var noRecord graph.Record

func (f *JSONForm) appendVertex(dst []byte, v graph.Value) []byte {
	rec := v.Record()
	if rec == nil {
		rec = &noRecord
	}
	if f.bare {
		return f.AppendRecord(dst, rec)
	}
	dst = graph.AppendVertexElementID(append(dst, f.vertex...), v.Vertex())
	dst = append(dst, f.labels...)
	for i, l := range rec.Labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(dst, l)
	}
	return f.appendProperties(append(dst, ']'), rec)
}

func (f *JSONForm) appendEdge(dst []byte, e *graph.EdgeValue) []byte {
	rec := e.Record
	if rec == nil {
		rec = &noRecord
	}
	if f.bare {
		return f.AppendRecord(dst, rec)
	}
	dst = graph.AppendEdgeElementID(append(dst, f.edge...), e.Edge)
	dst = graph.AppendVertexElementID(append(dst, f.start...), e.Src)
	dst = graph.AppendVertexElementID(append(dst, f.far...), e.Dst)
	return f.appendProperties(AppendJSONString(append(dst, f.typ...), rec.Type), rec)
}

// appendProperties appends the properties, which come last.
func (f *JSONForm) appendProperties(dst []byte, rec *graph.Record) []byte {
	dst = f.AppendRecord(append(dst, f.properties...), rec)
	return append(append(dst, '}'), f.end...)
}

// AppendRecord appends the properties of a record as an object.
func (f *JSONForm) AppendRecord(dst []byte, rec *graph.Record) []byte {
	return append(f.AppendMembers(append(dst, '{'), rec), '}')
}

// AppendMembers appends the properties of a record as members, without the braces around them; nil has none.
func (f *JSONForm) AppendMembers(dst []byte, rec *graph.Record) []byte {
	if rec == nil {
		return dst
	}
	for i, k := range rec.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.Append(append(AppendJSONString(dst, k), ':'), rec.Values[i])
	}
	return dst
}

func appendBareScalar(dst []byte, v graph.Value) []byte {
	if v.Kind() == graph.Float {
		return AppendJSONFloat(dst, v.Float(), 1e-6, 1e21)
	}
	return appendPlainScalar(dst, v)
}

func appendPlainScalar(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, "null"...)
	case graph.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case graph.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case graph.Float:
		return AppendJSONFloat(dst, v.Float(), leastPlain, mostPlain)
	case graph.String:
		return AppendJSONString(dst, v.Str())
	case graph.PointKind:
		return append(v.Point().AppendWKT(append(dst, '"')), '"')
	case graph.VectorKind:
		return v.Vector().AppendJSON(dst)
	case graph.Bytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes()), '"')
	}
	return append(graph.AppendTemporal(append(dst, '"'), v), '"')
}

func appendLosslessScalar(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null, graph.Bool, graph.Int, graph.String:
		return appendPlainScalar(dst, v)
	case graph.Float:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return appendPlainScalar(dst, v)
		}
	}
	return appendTypedScalar(dst, v)
}

func appendTypedScalar(dst []byte, v graph.Value) []byte {
	dst = append(dst, `{"$type":"`...)
	dst = append(dst, typedName(v)...)
	dst = append(dst, `","_value":`...)
	switch v.Kind() {
	case graph.Null, graph.Bool, graph.String, graph.PointKind, graph.Bytes:
		return append(appendPlainScalar(dst, v), '}')
	case graph.VectorKind:
		dst = append(append(dst, `{"coordinatesType":"`...), v.Vector().Type.String()...)
		return append(v.Vector().AppendJSON(append(dst, `","coordinates":`...)), '}', '}')
	case graph.Int:
		dst = strconv.AppendInt(append(dst, '"'), v.Int(), 10)
	case graph.Float:
		dst = AppendDecimal(append(dst, '"'), v.Float(), leastPlain, mostPlain)
	default:
		dst = graph.AppendTemporal(append(dst, '"'), v)
	}
	return append(dst, '"', '}')
}

func typedName(v graph.Value) string {
	switch v.Kind() {
	case graph.DateTime:
	case graph.Bytes:
		return "Base64"
	default:
		return v.Kind().String()
	}
	if v.DateTime().Zone == nil {
		return "OffsetDateTime"
	}
	return "ZonedDateTime"
}
