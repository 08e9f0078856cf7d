package server

import (
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// The magnitudes of floats that are written without an exponent: from the first to below the second.
const leastPlain, mostPlain = 1e-5, 1e17

// appendPlain writes a value as plain JSON (contract: values in plain JSON).
func appendPlain(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, "null"...)
	case graph.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case graph.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case graph.Float:
		return fn.AppendJSONFloat(dst, v.Float(), leastPlain, mostPlain)
	case graph.String:
		return fn.AppendJSONString(dst, v.Str())
	case graph.List:
		dst = append(dst, '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendPlain(dst, e)
		}
		return append(dst, ']')
	case graph.Map:
		dst = append(dst, '{')
		for i, e := range v.Map() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = fn.AppendJSONString(dst, e.Key)
			dst = append(dst, ':')
			dst = appendPlain(dst, e.Value)
		}
		return append(dst, '}')
	case graph.VertexKind:
		return appendPlainVertex(dst, v)
	case graph.EdgeKind:
		return appendPlainEdge(dst, v.Edge())
	case graph.PathKind:
		p := v.Path()
		dst = append(dst, '[')
		for i, n := range p.Vertices {
			if i > 0 {
				dst = append(dst, ',')
				dst = appendPlainEdge(dst, p.Edges[i-1].Edge())
				dst = append(dst, ',')
			}
			dst = appendPlainVertex(dst, n)
		}
		return append(dst, ']')
	}
	dst = append(dst, '"')
	dst = fn.AppendTemporal(dst, v)
	return append(dst, '"')
}

func appendPlainVertex(dst []byte, v graph.Value) []byte {
	dst = append(dst, `{"elementId":"`...)
	dst = fn.AppendVertexElementID(dst, v.Vertex())
	dst = append(dst, `","labels":[`...)
	rec := v.Record()
	if rec == nil {
		return append(dst, `],"properties":{}}`...)
	}
	for i, l := range rec.Labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = fn.AppendJSONString(dst, l)
	}
	dst = append(dst, `],"properties":`...)
	dst = appendProperties(dst, rec, appendPlain)
	return append(dst, '}')
}

func appendPlainEdge(dst []byte, e *graph.EdgeValue) []byte {
	dst = append(dst, `{"elementId":"`...)
	dst = fn.AppendEdgeElementID(dst, e.Edge)
	dst = append(dst, `","startNodeElementId":"`...)
	dst = fn.AppendVertexElementID(dst, e.Src)
	dst = append(dst, `","endNodeElementId":"`...)
	dst = fn.AppendVertexElementID(dst, e.Dst)
	dst = append(dst, `","type":`...)
	if e.Record == nil {
		return append(dst, `"","properties":{}}`...)
	}
	dst = fn.AppendJSONString(dst, e.Record.Type)
	dst = append(dst, `,"properties":`...)
	dst = appendProperties(dst, e.Record, appendPlain)
	return append(dst, '}')
}

func appendProperties(dst []byte, rec *graph.Record, value func([]byte, graph.Value) []byte) []byte {
	dst = append(dst, '{')
	for i, k := range rec.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = fn.AppendJSONString(dst, k)
		dst = append(dst, ':')
		dst = value(dst, rec.Values[i])
	}
	return append(dst, '}')
}
