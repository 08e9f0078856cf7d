package answer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// Cell returns the cell of a column in a row.
func Cell(c *pb.Column, i int) *pb.Value {
	switch d := c.GetData().(type) {
	case *pb.Column_Integers:
		return &pb.Value{Kind: &pb.Value_Integer{Integer: d.Integers.GetValues()[i]}}
	case *pb.Column_Floats:
		return &pb.Value{Kind: &pb.Value_Float{Float: d.Floats.GetValues()[i]}}
	case *pb.Column_Texts:
		from, ends := uint32(0), d.Texts.GetEnds()
		if i > 0 {
			from = ends[i-1]
		}
		return &pb.Value{Kind: &pb.Value_String_{String_: string(d.Texts.GetText()[from:ends[i]])}}
	}
	return c.GetValues().GetValues()[i]
}

// AppendJSON appends a value in the form of the HTTP API.
func AppendJSON(dst []byte, v *pb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *pb.Value_Boolean:
		return strconv.AppendBool(dst, k.Boolean)
	case *pb.Value_Integer:
		return strconv.AppendInt(dst, k.Integer, 10)
	case *pb.Value_Float:
		return appendFloat(dst, k.Float)
	case *pb.Value_String_:
		return AppendText(dst, k.String_)
	case *pb.Value_Temporal:
		return AppendText(dst, k.Temporal.GetText())
	case *pb.Value_Point:
		return AppendText(dst, PointText(k.Point))
	case *pb.Value_Bytes:
		return AppendText(dst, base64.StdEncoding.EncodeToString(k.Bytes))
	case *pb.Value_Vector:
		return VectorOf(k.Vector).AppendJSON(dst)
	case *pb.Value_List:
		dst = append(dst, '[')
		for i, e := range k.List.GetValues() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	case *pb.Value_Map:
		return appendEntries(dst, k.Map.GetEntries())
	case *pb.Value_Vertex:
		return appendVertex(dst, k.Vertex)
	case *pb.Value_Edge:
		return appendEdge(dst, k.Edge)
	case *pb.Value_Path:
		dst = append(dst, '[')
		for i, n := range k.Path.GetVertices() {
			if i > 0 {
				dst = append(dst, ',')
				dst = appendEdge(dst, k.Path.GetEdges()[i-1])
				dst = append(dst, ',')
			}
			dst = appendVertex(dst, n)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

// VectorOf returns a vector that a server sent.
func VectorOf(p *pb.Vector) graph.Vector {
	return graph.Vector{Type: graph.CoordinateType(p.GetType()), Data: p.GetCoordinates()}
}

// PointText returns a point as well-known text.
func PointText(p *pb.Point) string {
	g := graph.Point{CRS: graph.CRS(p.GetSrid()), X: p.GetX(), Y: p.GetY(), Z: p.GetZ()}
	return string(g.AppendWKT(nil))
}

// AppendText appends a string as JSON.
func AppendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(s) // encoding a string cannot fail
			return append(dst, bytes.TrimRight(b.Bytes(), "\n")...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 0):
		if f > 0 {
			return append(dst, `"Infinity"`...)
		}
		return append(dst, `"-Infinity"`...)
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return append(dst, s...)
}

func appendEntries(dst []byte, es []*pb.MapEntry) []byte {
	dst = append(dst, '{')
	for i, e := range es {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendText(dst, e.GetKey()), ':')
		dst = AppendJSON(dst, e.GetValue())
	}
	return append(dst, '}')
}

func appendVertex(dst []byte, v *pb.Vertex) []byte {
	dst = append(AppendText(append(dst, `{"elementId":`...), v.GetElementId()), `,"labels":[`...)
	for i, l := range v.GetLabels() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendText(dst, l)
	}
	dst = append(dst, `],"properties":`...)
	return append(appendEntries(dst, v.GetProperties()), '}')
}

func appendEdge(dst []byte, e *pb.Edge) []byte {
	dst = AppendText(append(dst, `{"elementId":`...), e.GetElementId())
	dst = AppendText(append(dst, `,"startNodeElementId":`...), e.GetStartElementId())
	dst = AppendText(append(dst, `,"endNodeElementId":`...), e.GetEndElementId())
	dst = AppendText(append(dst, `,"type":`...), e.GetType())
	dst = append(dst, `,"properties":`...)
	return append(appendEntries(dst, e.GetProperties()), '}')
}
