package server

import (
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// appendTyped writes a value with its type, as Neo4j's Query API does for application/vnd.neo4j.query.
func appendTyped(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, `{"$type":"Null","_value":null}`...)
	case graph.Bool:
		dst = append(dst, `{"$type":"Boolean","_value":`...)
		dst = strconv.AppendBool(dst, v.Bool())
		return append(dst, '}')
	case graph.Int:
		dst = append(dst, `{"$type":"Integer","_value":"`...)
		dst = strconv.AppendInt(dst, v.Int(), 10)
		return append(dst, '"', '}')
	case graph.Float:
		dst = append(dst, `{"$type":"Float","_value":"`...)
		dst = fn.AppendDecimal(dst, v.Float(), leastPlain, mostPlain)
		return append(dst, '"', '}')
	case graph.String:
		dst = append(dst, `{"$type":"String","_value":`...)
		dst = fn.AppendJSONString(dst, v.Str())
		return append(dst, '}')
	case graph.List:
		dst = append(dst, `{"$type":"List","_value":[`...)
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendTyped(dst, e)
		}
		return append(dst, ']', '}')
	case graph.Map:
		dst = append(dst, `{"$type":"Map","_value":{`...)
		for i, e := range v.Map() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = fn.AppendJSONString(dst, e.Key)
			dst = append(dst, ':')
			dst = appendTyped(dst, e.Value)
		}
		return append(dst, '}', '}')
	case graph.VertexKind:
		return appendTypedVertex(dst, v)
	case graph.EdgeKind:
		return appendTypedEdge(dst, v.Edge())
	case graph.PathKind:
		p := v.Path()
		dst = append(dst, `{"$type":"Path","_value":[`...)
		for i, n := range p.Vertices {
			if i > 0 {
				dst = append(dst, ',')
				dst = appendTypedEdge(dst, p.Edges[i-1].Edge())
				dst = append(dst, ',')
			}
			dst = appendTypedVertex(dst, n)
		}
		return append(dst, ']', '}')
	}
	dst = append(dst, `{"$type":"`...)
	dst = append(dst, typedName(v)...)
	dst = append(dst, `","_value":"`...)
	dst = fn.AppendTemporal(dst, v)
	return append(dst, '"', '}')
}

func typedName(v graph.Value) string {
	switch v.Kind() {
	case graph.Time:
		return "Time"
	case graph.DateTime:
		if v.DateTime().Zone == nil {
			return "OffsetDateTime"
		}
		return "ZonedDateTime"
	}
	return v.Kind().String()
}

func appendTypedVertex(dst []byte, v graph.Value) []byte {
	dst = append(dst, `{"$type":"Node","_value":{"_element_id":"`...)
	dst = fn.AppendVertexElementID(dst, v.Vertex())
	dst = append(dst, `","_labels":[`...)
	rec := v.Record()
	if rec == nil {
		rec = &graph.Record{}
	}
	for i, l := range rec.Labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = fn.AppendJSONString(dst, l)
	}
	dst = append(dst, `],"_properties":`...)
	dst = appendProperties(dst, rec, appendTyped)
	return append(dst, '}', '}')
}

func appendTypedEdge(dst []byte, e *graph.EdgeValue) []byte {
	dst = append(dst, `{"$type":"Relationship","_value":{"_element_id":"`...)
	dst = fn.AppendEdgeElementID(dst, e.Edge)
	dst = append(dst, `","_start_node_element_id":"`...)
	dst = fn.AppendVertexElementID(dst, e.Src)
	dst = append(dst, `","_end_node_element_id":"`...)
	dst = fn.AppendVertexElementID(dst, e.Dst)
	dst = append(dst, `","_type":`...)
	rec := e.Record
	if rec == nil {
		rec = &graph.Record{}
	}
	dst = fn.AppendJSONString(dst, rec.Type)
	dst = append(dst, `,"_properties":`...)
	dst = appendProperties(dst, rec, appendTyped)
	return append(dst, '}', '}')
}
