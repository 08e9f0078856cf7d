package notation

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
)

// Append writes a value for a reader, in the notation of openCypher's conformance suite: strings and temporal values
// quoted, integers bare and floats with a point or exponent. A vertex or edge without a record shows its id.
func Append(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, "null"...)
	case graph.String:
		return appendQuoted(dst, v.Str())
	case graph.List:
		dst = append(dst, '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case graph.Map:
		dst = append(dst, '{')
		for i, e := range v.Map() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendName(dst, e.Key)
			dst = append(dst, ": "...)
			dst = Append(dst, e.Value)
		}
		return append(dst, '}')
	case graph.PointKind:
		return v.Point().Append(dst)
	case graph.VectorKind:
		return v.Vector().Append(dst)
	case graph.Bytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, "bytes('"...), v.Bytes()), "')"...)
	case graph.VertexKind:
		return appendVertex(dst, v)
	case graph.EdgeKind:
		return appendEdge(dst, v)
	case graph.PathKind:
		return appendPath(dst, v.Path())
	}
	if s, ok := AppendScalar(dst, v); ok {
		return s
	}
	dst = append(dst, '\'')
	dst = graph.AppendTemporal(dst, v)
	return append(dst, '\'')
}

// AppendScalar writes a string, number or boolean as toString does.
func AppendScalar(dst []byte, v graph.Value) ([]byte, bool) {
	switch v.Kind() {
	case graph.String:
		return append(dst, v.Str()...), true
	case graph.Int:
		return strconv.AppendInt(dst, v.Int(), 10), true
	case graph.Float:
		return appendFloat(dst, v.Float()), true
	case graph.Bool:
		return strconv.AppendBool(dst, v.Bool()), true
	}
	return dst, false
}

// Describe names a value and its type for a message, cut to a readable length.
func Describe(v graph.Value) string {
	const longest = 60
	if v.IsNull() {
		return "null"
	}
	text := Append(nil, v)
	if len(text) > longest {
		cut := longest
		for cut > 0 && text[cut]&0xc0 == 0x80 {
			cut--
		}
		text = append(text[:cut], "…"...)
	}
	return v.Kind().String() + " " + string(text)
}

// appendFloat writes a float with a point or an exponent, in the fewest digits that denote it: 1.0, 0.1, 1.0E10, NaN,
// Infinity, -Infinity.
func appendFloat(dst []byte, f float64) []byte {
	const least, most = 1e-3, 1e7
	if a := math.Abs(f); a != 0 && a < least || a >= most && !math.IsInf(f, 0) {
		return appendScientific(dst, f)
	}
	return AppendDecimal(dst, f, least, most)
}

// appendScientific writes 1.0E10: one digit before the point, at least one after it, and an exponent without padding.
func appendScientific(dst []byte, f float64) []byte {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	point := false
	for i, c := range text {
		switch c {
		case '.':
			point = true
		case 'e':
			if !point {
				dst = append(dst, ".0"...)
			}
			dst = append(dst, 'E')
			exp, _ := strconv.Atoi(string(text[i+1:]))
			return strconv.AppendInt(dst, int64(exp), 10)
		}
		dst = append(dst, c)
	}
	return dst
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '\'')
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '\'')
}

// appendName writes a key, label or type, in backticks unless it is a plain identifier.
func appendName(dst []byte, s string) []byte {
	plain := s != ""
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			plain = false
		}
	}
	if plain {
		return append(dst, s...)
	}
	dst = append(dst, '`')
	for i := range len(s) {
		if s[i] == '`' {
			dst = append(dst, '`')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '`')
}

func appendVertex(dst []byte, v graph.Value) []byte {
	dst = append(dst, '(')
	r := v.Record()
	if r == nil {
		return append(graph.AppendVertexElementID(dst, v.Vertex()), ')')
	}
	for _, l := range r.Labels {
		dst = appendName(append(dst, ':'), l)
	}
	return append(appendProperties(dst, r, len(r.Labels) > 0), ')')
}

func appendEdge(dst []byte, v graph.Value) []byte {
	dst = append(dst, '[')
	e := v.Edge()
	if e.Record == nil {
		return append(graph.AppendEdgeElementID(dst, e.Edge), ']')
	}
	dst = appendName(append(dst, ':'), e.Record.Type)
	return append(appendProperties(dst, e.Record, true), ']')
}

func appendProperties(dst []byte, r *graph.Record, space bool) []byte {
	if len(r.Keys) == 0 {
		return dst
	}
	if space {
		dst = append(dst, ' ')
	}
	dst = append(dst, '{')
	for i, k := range r.Keys {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendName(dst, k)
		dst = append(dst, ": "...)
		dst = Append(dst, r.Values[i])
	}
	return append(dst, '}')
}

func appendPath(dst []byte, p *graph.Path) []byte {
	dst = append(dst, '<')
	for i, n := range p.Vertices {
		if i > 0 {
			e := p.Edges[i-1]
			if e.Edge().Src == p.Vertices[i-1].Vertex() {
				dst = append(appendEdge(append(dst, '-'), e), "->"...)
			} else {
				dst = append(appendEdge(append(dst, "<-"...), e), '-')
			}
		}
		dst = appendVertex(dst, n)
	}
	return append(dst, '>')
}
