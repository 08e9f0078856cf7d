package wire

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

var temporalTypes = map[graph.ValueKind]pb.TemporalType{
	graph.Date: pb.TemporalType_TEMPORAL_TYPE_DATE, graph.LocalTime: pb.TemporalType_TEMPORAL_TYPE_LOCAL_TIME,
	graph.Time: pb.TemporalType_TEMPORAL_TYPE_TIME, graph.LocalDateTime: pb.TemporalType_TEMPORAL_TYPE_LOCAL_DATE_TIME,
	graph.DateTime: pb.TemporalType_TEMPORAL_TYPE_DATE_TIME, graph.Duration: pb.TemporalType_TEMPORAL_TYPE_DURATION,
}

// ToProto converts a value.
func ToProto(v graph.Value) *pb.Value {
	switch v.Kind() {
	case graph.Null:
		return &pb.Value{}
	case graph.Bool:
		return &pb.Value{Kind: &pb.Value_Boolean{Boolean: v.Bool()}}
	case graph.Int:
		return &pb.Value{Kind: &pb.Value_Integer{Integer: v.Int()}}
	case graph.Float:
		return &pb.Value{Kind: &pb.Value_Float{Float: v.Float()}}
	case graph.String:
		return &pb.Value{Kind: &pb.Value_String_{String_: v.Str()}}
	case graph.List:
		l := &pb.ListValue{Values: make([]*pb.Value, len(v.List()))}
		for i, e := range v.List() {
			l.Values[i] = ToProto(e)
		}
		return &pb.Value{Kind: &pb.Value_List{List: l}}
	case graph.Map:
		m := &pb.MapValue{Entries: make([]*pb.MapEntry, len(v.Map()))}
		for i, e := range v.Map() {
			m.Entries[i] = &pb.MapEntry{Key: e.Key, Value: ToProto(e.Value)}
		}
		return &pb.Value{Kind: &pb.Value_Map{Map: m}}
	case graph.PointKind:
		p := v.Point()
		return &pb.Value{Kind: &pb.Value_Point{Point: &pb.Point{Srid: uint32(p.CRS), X: p.X, Y: p.Y, Z: p.Z}}}
	case graph.VectorKind:
		x := v.Vector()
		return &pb.Value{Kind: &pb.Value_Vector{Vector: &pb.Vector{Type: pb.CoordinateType(x.Type), Coordinates: bytes.Clone(x.Data)}}}
	case graph.Bytes:
		return &pb.Value{Kind: &pb.Value_Bytes{Bytes: bytes.Clone(v.Bytes())}}
	case graph.VertexKind:
		return &pb.Value{Kind: &pb.Value_Vertex{Vertex: VertexProto(v)}}
	case graph.EdgeKind:
		return &pb.Value{Kind: &pb.Value_Edge{Edge: EdgeProto(v.Edge())}}
	case graph.PathKind:
		p := &pb.Path{}
		for _, n := range v.Path().Vertices {
			p.Vertices = append(p.Vertices, VertexProto(n))
		}
		for _, e := range v.Path().Edges {
			p.Edges = append(p.Edges, EdgeProto(e.Edge()))
		}
		return &pb.Value{Kind: &pb.Value_Path{Path: p}}
	}
	return &pb.Value{Kind: &pb.Value_Temporal{Temporal: &pb.TemporalValue{
		Type: temporalTypes[v.Kind()], Text: string(graph.AppendTemporal(nil, v)),
	}}}
}

func recordProto(r *graph.Record) []*pb.MapEntry {
	if r == nil {
		return nil
	}
	out := make([]*pb.MapEntry, len(r.Keys))
	for i, k := range r.Keys {
		out[i] = &pb.MapEntry{Key: k, Value: ToProto(r.Values[i])}
	}
	return out
}

// VertexProto converts a vertex with its labels and properties.
func VertexProto(v graph.Value) *pb.Vertex {
	out := &pb.Vertex{ElementId: string(graph.AppendVertexElementID(nil, v.Vertex())), Properties: recordProto(v.Record())}
	if r := v.Record(); r != nil {
		out.Labels = r.Labels
	}
	return out
}

// EdgeProto converts an edge with its properties.
func EdgeProto(e *graph.EdgeValue) *pb.Edge {
	out := &pb.Edge{
		ElementId:      string(graph.AppendEdgeElementID(nil, e.Edge)),
		StartElementId: string(graph.AppendVertexElementID(nil, e.Src)),
		EndElementId:   string(graph.AppendVertexElementID(nil, e.Dst)),
		Properties:     recordProto(e.Record),
	}
	if e.Record != nil {
		out.Type = e.Record.Type
	}
	return out
}

// FromProto converts a parameter, and counts its memory.
func FromProto(v *pb.Value, depth int, charge *memory.Charge) (graph.Value, error) {
	if depth > MaxDepth {
		return graph.Value{}, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	switch k := v.GetKind().(type) {
	case nil:
		return graph.Value{}, nil
	case *pb.Value_Boolean:
		return graph.BoolValue(k.Boolean), nil
	case *pb.Value_Integer:
		return graph.IntValue(k.Integer), nil
	case *pb.Value_Float:
		return graph.FloatValue(k.Float), nil
	case *pb.Value_String_:
		return graph.StringValue(k.String_), nil
	case *pb.Value_List:
		if err := charge.Add(len(k.List.GetValues()) * int(unsafe.Sizeof(graph.Value{}))); err != nil {
			return graph.Value{}, err
		}
		l := make([]graph.Value, len(k.List.GetValues()))
		for i, e := range k.List.GetValues() {
			x, err := FromProto(e, depth+1, charge)
			if err != nil {
				return x, err
			}
			l[i] = x
		}
		return graph.ListValue(l), nil
	case *pb.Value_Map:
		if err := charge.Add(len(k.Map.GetEntries()) * int(unsafe.Sizeof(graph.MapEntry{}))); err != nil {
			return graph.Value{}, err
		}
		m := make([]graph.MapEntry, len(k.Map.GetEntries()))
		for i, e := range k.Map.GetEntries() {
			x, err := FromProto(e.GetValue(), depth+1, charge)
			if err != nil {
				return x, err
			}
			m[i] = graph.MapEntry{Key: e.GetKey(), Value: x}
		}
		return graph.MapValue(uniqueKeys(m)), nil
	case *pb.Value_Point:
		return pointFromProto(k.Point)
	case *pb.Value_Vector:
		return vectorFromProto(k.Vector)
	case *pb.Value_Bytes:
		return graph.BytesValue(k.Bytes), nil
	case *pb.Value_Temporal:
		for kind, t := range temporalTypes {
			if t == k.Temporal.GetType() {
				return parseTemporal(kind, k.Temporal.GetText())
			}
		}
		return graph.Value{}, fmt.Errorf("temporal type %v is unknown", k.Temporal.GetType())
	}
	return graph.Value{}, errors.New("a vertex, an edge or a path cannot be a parameter")
}

// pointFromProto converts a point; z is ignored in two dimensions.
func pointFromProto(p *pb.Point) (graph.Value, error) {
	crs := graph.CRS(p.GetSrid())
	if uint32(crs) != p.GetSrid() {
		return graph.Value{}, fmt.Errorf("unknown coordinate reference system %d", p.GetSrid())
	}
	made, err := graph.MakePoint(crs, []float64{p.GetX(), p.GetY(), p.GetZ()}[:crs.Dimensions()]...)
	return graph.PointValue(made), err
}

// vectorFromProto converts a vector, and takes ownership of its coordinates.
func vectorFromProto(p *pb.Vector) (graph.Value, error) {
	t := graph.CoordinateType(p.GetType())
	if pb.CoordinateType(t) != p.GetType() || !t.Valid() {
		return graph.Value{}, fmt.Errorf("unknown coordinate type %d", p.GetType())
	}
	v, err := graph.NewVector(t, p.GetCoordinates())
	return graph.VectorValue(v), err
}

// RowsProto packs rows; a column whose values all have one type is packed by that type.
func RowsProto(b *graph.Batch, from, to int) *pb.RowBatch {
	out := &pb.RowBatch{Rows: uint32(to - from), Columns: make([]*pb.Column, len(b.Cols))}
	for i := range b.Cols {
		out.Columns[i] = columnProto(&b.Cols[i], from, to)
	}
	return out
}

func columnProto(c *graph.Column, from, to int) *pb.Column {
	kind := graph.Null
	if c.IDs == nil {
		for i, v := range c.Vals[from:to] {
			if i == 0 {
				kind = v.Kind()
			} else if v.Kind() != kind {
				kind = graph.Null
				break
			}
		}
	}
	switch kind {
	case graph.Int:
		x := &pb.IntColumn{Values: make([]int64, to-from)}
		for i, v := range c.Vals[from:to] {
			x.Values[i] = v.Int()
		}
		return &pb.Column{Data: &pb.Column_Integers{Integers: x}}
	case graph.Float:
		x := &pb.DoubleColumn{Values: make([]float64, to-from)}
		for i, v := range c.Vals[from:to] {
			x.Values[i] = v.Float()
		}
		return &pb.Column{Data: &pb.Column_Floats{Floats: x}}
	case graph.String:
		size := 0
		for _, v := range c.Vals[from:to] {
			size += len(v.Str())
		}
		x := &pb.TextColumn{Text: make([]byte, 0, size), Ends: make([]uint32, to-from)}
		for i, v := range c.Vals[from:to] {
			x.Text = append(x.Text, v.Str()...)
			x.Ends[i] = uint32(len(x.Text))
		}
		return &pb.Column{Data: &pb.Column_Texts{Texts: x}}
	}
	x := &pb.ListValue{Values: make([]*pb.Value, to-from)}
	for i := range x.Values {
		x.Values[i] = ToProto(c.Value(from + i))
	}
	return &pb.Column{Data: &pb.Column_Values{Values: x}}
}

// ParamsFromProto converts the parameters of a statement.
func ParamsFromProto(in map[string]*pb.Value, charge *memory.Charge) (map[string]graph.Value, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make(map[string]graph.Value, len(in))
	for name, p := range in {
		v, err := FromProto(p, 0, charge)
		if err != nil {
			return nil, BadParams("parameters."+name+": ", err)
		}
		out[name] = v
	}
	return out, nil
}
