package server

import (
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

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
		return appendFloat(dst, v.Float())
	case graph.String:
		return appendString(dst, v.Str())
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
			dst = appendString(dst, e.Key)
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
	dst = appendTemporal(dst, v)
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
		dst = appendString(dst, l)
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
	dst = appendString(dst, e.Record.Type)
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
		dst = appendString(dst, k)
		dst = append(dst, ':')
		dst = value(dst, rec.Values[i])
	}
	return append(dst, '}')
}

// appendTemporal writes the text that toString() gives.
func appendTemporal(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Date:
		return v.Date().Append(dst)
	case graph.LocalTime:
		return v.LocalTime().Append(dst)
	case graph.Time:
		return v.Time().Append(dst)
	case graph.LocalDateTime:
		return v.LocalDateTime().Append(dst)
	case graph.DateTime:
		return v.DateTime().Append(dst)
	case graph.Duration:
		return v.Duration().Append(dst)
	}
	return dst
}
