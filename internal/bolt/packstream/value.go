package packstream

import (
	"slices"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
)

// Append appends a value.
func (f Form) Append(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return AppendNull(dst)
	case graph.Bool:
		return AppendBool(dst, v.Bool())
	case graph.Int:
		return AppendInt(dst, v.Int())
	case graph.Float:
		return AppendFloat(dst, v.Float())
	case graph.String:
		return AppendString(dst, v.Str())
	case graph.List:
		dst = AppendList(dst, len(v.List()))
		for _, e := range v.List() {
			dst = f.Append(dst, e)
		}
		return dst
	case graph.Map:
		dst = AppendMap(dst, len(v.Map()))
		for _, e := range v.Map() {
			dst = f.Append(AppendString(dst, e.Key), e.Value)
		}
		return dst
	case graph.VertexKind:
		return f.appendNode(dst, v)
	case graph.EdgeKind:
		return f.appendEdge(dst, v.Edge())
	case graph.PathKind:
		return f.appendPath(dst, v.Path())
	case graph.Bytes:
		return AppendBytes(dst, v.Bytes())
	case graph.VectorKind:
		return f.appendVector(dst, v.Vector())
	case graph.PointKind:
		return appendPoint(dst, v.Point())
	}
	return f.appendTemporal(dst, v)
}

func (f Form) appendTemporal(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Date:
		return AppendInt(AppendStruct(dst, tagDate, 1), int64(v.Date()))
	case graph.LocalTime:
		return AppendInt(AppendStruct(dst, tagLocalTime, 1), int64(v.LocalTime()))
	case graph.Time:
		t := v.Time()
		return AppendInt(AppendInt(AppendStruct(dst, tagTime, 2), int64(t.Local)), int64(t.Offset))
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		return AppendInt(AppendInt(AppendStruct(dst, tagLocalDateTime, 2), t.Sec), int64(t.Nano))
	case graph.Duration:
		d := v.Duration()
		dst = AppendInt(AppendInt(AppendStruct(dst, tagDuration, 4), d.Months), d.Days)
		return AppendInt(AppendInt(dst, d.Seconds), int64(d.Nanos))
	}
	t := v.DateTime()
	sec, offset, zoned := t.Sec, byte(tagOffsetDateTime), byte(tagZonedDateTime)
	if !f.UTC {
		sec, offset, zoned = t.Local().Sec, tagOffsetLocal, tagZonedLocal
	}
	if t.Zone == nil {
		dst = AppendStruct(dst, offset, 3)
		return AppendInt(AppendInt(AppendInt(dst, sec), int64(t.Nano)), int64(t.Offset))
	}
	dst = AppendStruct(dst, zoned, 3)
	return AppendString(AppendInt(AppendInt(dst, sec), int64(t.Nano)), t.Zone.String())
}

// vectorMarkers are the markers of the coordinate types, which are those of single values.
var vectorMarkers = [...]byte{
	graph.Integer8: 0xc8, graph.Integer16: 0xc9, graph.Integer32: 0xca, graph.Integer64: 0xcb, graph.Float32: 0xc6, graph.Float64: 0xc1,
}

// appendVector appends a Vector structure, whose coordinates are big-endian. A client of a version without that structure gets a map in its
// place, as from Neo4j.
func (f Form) appendVector(dst []byte, v graph.Vector) []byte {
	if !f.Vectors {
		if f.Replaced != nil {
			*f.Replaced = true
		}
		dst = AppendString(AppendMap(dst, 2), "originalType")
		name := "VECTOR(" + strconv.Itoa(v.Dimensions()) + ", " + v.Type.String() + ")"
		return AppendString(AppendString(AppendString(dst, name), "reason"), "UNKNOWN_TYPE")
	}
	dst = AppendBytes(AppendStruct(dst, tagVector, 2), vectorMarkers[v.Type:v.Type+1])
	dst = AppendBytes(dst, v.Data)
	reverse(dst[len(dst)-len(v.Data):], v.Type.Size())
	return dst
}

// reverse turns around the bytes of each coordinate of a size.
func reverse(b []byte, size int) {
	for ; len(b) > 0; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

func appendPoint(dst []byte, p *graph.Point) []byte {
	tag, coordinates := byte(tagPoint2D), [...]float64{p.X, p.Y, p.Z}
	if p.CRS.Dimensions() == 3 {
		tag = tagPoint3D
	}
	dst = AppendInt(AppendStruct(dst, tag, 1+p.CRS.Dimensions()), int64(p.CRS))
	for _, c := range coordinates[:p.CRS.Dimensions()] {
		dst = AppendFloat(dst, c)
	}
	return dst
}

// noRecord is the record of nodes and relationships without properties.
var noRecord graph.Record

func recordOf(r *graph.Record) *graph.Record {
	if r == nil {
		return &noRecord
	}
	return r
}

func (f Form) appendNode(dst []byte, v graph.Value) []byte {
	r := recordOf(v.Record())
	fields := 3
	if f.ElementIDs {
		fields = 4
	}
	dst = AppendInt(AppendStruct(dst, tagNode, fields), int64(v.Vertex()))
	dst = AppendList(dst, len(r.Labels))
	for _, l := range r.Labels {
		dst = AppendString(dst, l)
	}
	dst = f.appendProperties(dst, r)
	if f.ElementIDs {
		dst = appendNodeName(dst, v.Vertex())
	}
	return dst
}

func (f Form) appendProperties(dst []byte, r *graph.Record) []byte {
	dst = AppendMap(dst, len(r.Keys))
	for i, k := range r.Keys {
		dst = f.Append(AppendString(dst, k), r.Values[i])
	}
	return dst
}

// appendNodeName appends a node's element id.
func appendNodeName(dst []byte, v graph.VertexID) []byte {
	var buf [32]byte
	name := graph.AppendVertexElementID(buf[:0], v)
	return append(appendHead(dst, tinyString, string8, len(name)), name...)
}

// appendEdgeName appends a relationship's element id.
func appendEdgeName(dst []byte, e graph.Edge) []byte {
	var buf [96]byte
	name := graph.AppendEdgeElementID(buf[:0], e)
	return append(appendHead(dst, tinyString, string8, len(name)), name...)
}

func (f Form) appendEdge(dst []byte, e *graph.EdgeValue) []byte {
	r := recordOf(e.Record)
	fields := 5
	if f.ElementIDs {
		fields = 8
	}
	dst = AppendInt(AppendStruct(dst, tagEdge, fields), int64(e.ID))
	dst = AppendInt(AppendInt(dst, int64(e.Src)), int64(e.Dst))
	dst = f.appendProperties(AppendString(dst, r.Type), r)
	if f.ElementIDs {
		dst = appendNodeName(appendNodeName(appendEdgeName(dst, e.Edge), e.Src), e.Dst)
	}
	return dst
}

// appendUnbound appends a relationship of a path, without its ends.
func (f Form) appendUnbound(dst []byte, e *graph.EdgeValue) []byte {
	r := recordOf(e.Record)
	fields := 3
	if f.ElementIDs {
		fields = 4
	}
	dst = AppendInt(AppendStruct(dst, tagUnbound, fields), int64(e.ID))
	dst = f.appendProperties(AppendString(dst, r.Type), r)
	if f.ElementIDs {
		dst = appendEdgeName(dst, e.Edge)
	}
	return dst
}

// appendPath appends a path: its distinct nodes and relationships, and for each step the number of the relationship (from 1, negative
// against its direction) and that of the node (from 0).
func (f Form) appendPath(dst []byte, p *graph.Path) []byte {
	nodes, edges := distinct(p.Vertices), distinct(p.Edges)
	dst = AppendStruct(dst, tagPath, 3)
	dst = AppendList(dst, len(nodes.first))
	for _, i := range nodes.first {
		dst = f.appendNode(dst, p.Vertices[i])
	}
	dst = AppendList(dst, len(edges.first))
	for _, i := range edges.first {
		dst = f.appendUnbound(dst, p.Edges[i].Edge())
	}
	dst = AppendList(dst, 2*len(p.Edges))
	for i, e := range p.Edges {
		n := int64(edges.at[i] + 1)
		if e.Edge().Src != p.Vertices[i].Vertex() {
			n = -n
		}
		dst = AppendInt(AppendInt(dst, n), int64(nodes.at[i+1]))
	}
	return dst
}

// numbering numbers entities by their first positions in a list.
type numbering struct {
	first []int // the position of each number
	at    []int // the number at each position
}

// distinct numbers the nodes or the relationships of a path.
func distinct(vs []graph.Value) (n numbering) {
	n.at = make([]int, len(vs))
	seen := make(map[uint64]int, len(vs))
	for i, v := range vs {
		id := uint64(v.Vertex())
		if v.Kind() == graph.EdgeKind {
			id = uint64(v.Edge().ID)
		}
		number, ok := seen[id]
		if !ok {
			number = len(n.first)
			seen[id] = number
			n.first = append(n.first, i)
		}
		n.at[i] = number
	}
	return n
}
