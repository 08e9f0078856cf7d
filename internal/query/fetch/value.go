package fetch

import (
	"encoding/base64"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// appendValue writes a value: a vertex or an edge as the object of its properties.
func appendValue(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, "null"...)
	case graph.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case graph.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case graph.Float:
		return fn.AppendJSONFloat(dst, v.Float(), 1e-6, 1e21)
	case graph.String:
		return fn.AppendJSONString(dst, v.Str())
	case graph.List:
		dst = append(dst, '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case graph.Map:
		dst = append(dst, '{')
		for i, e := range v.Map() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(fn.AppendJSONString(dst, e.Key), ':')
			dst = appendValue(dst, e.Value)
		}
		return append(dst, '}')
	case graph.PointKind:
		return append(v.Point().AppendWKT(append(dst, '"')), '"')
	case graph.VectorKind:
		return v.Vector().AppendJSON(dst)
	case graph.Bytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes()), '"')
	case graph.VertexKind, graph.EdgeKind:
		return append(appendRecord(append(dst, '{'), recordOf(v)), '}')
	case graph.PathKind:
		dst = append(dst, '[')
		p := v.Path()
		for i, e := range p.Vertices {
			if i > 0 {
				dst = appendValue(append(dst, ','), p.Edges[i-1])
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	}
	return append(graph.AppendTemporal(append(dst, '"'), v), '"')
}

// recordOf returns the record of a vertex or an edge, or nil.
func recordOf(v graph.Value) *graph.Record {
	if v.Kind() == graph.VertexKind {
		return v.Record()
	}
	if v.Kind() == graph.EdgeKind {
		return v.Edge().Record
	}
	return nil
}

func appendRecord(dst []byte, r *graph.Record) []byte {
	if r == nil {
		return dst
	}
	for i, k := range r.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(fn.AppendJSONString(dst, k), ':')
		dst = appendValue(dst, r.Values[i])
	}
	return dst
}
