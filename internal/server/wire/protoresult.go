package wire

import (
	"fmt"
	"unsafe"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// RowsFromProto unpacks rows packed by RowsProto, including entities. Strings share the memory of in.
func RowsFromProto(in *pb.RowBatch) (*graph.Batch, error) {
	b := &graph.Batch{N: int(in.GetRows()), Cols: make([]graph.Column, len(in.GetColumns()))}
	for i, c := range in.GetColumns() {
		vals, err := columnFromProto(c)
		if err != nil {
			return nil, err
		}
		if len(vals) != b.N {
			return nil, fmt.Errorf("column %d has %d values in a batch of %d rows", i, len(vals), b.N)
		}
		b.Cols[i].Vals = vals
	}
	return b, nil
}

func columnFromProto(c *pb.Column) ([]graph.Value, error) {
	var vals []graph.Value
	switch d := c.GetData().(type) {
	case *pb.Column_Integers:
		for _, n := range d.Integers.GetValues() {
			vals = append(vals, graph.IntValue(n))
		}
	case *pb.Column_Floats:
		for _, f := range d.Floats.GetValues() {
			vals = append(vals, graph.FloatValue(f))
		}
	case *pb.Column_Texts:
		text, from := d.Texts.GetText(), uint32(0)
		for _, to := range d.Texts.GetEnds() {
			if to < from || int(to) > len(text) {
				return nil, fmt.Errorf("a string ends at %d of %d bytes", to, len(text))
			}
			part := text[from:to]
			vals = append(vals, graph.StringValue(unsafe.String(unsafe.SliceData(part), len(part))))
			from = to
		}
	default:
		return resultsFromProto(c.GetValues().GetValues(), 0)
	}
	return vals, nil
}

func resultsFromProto(in []*pb.Value, depth int) ([]graph.Value, error) {
	vals := make([]graph.Value, len(in))
	for i, v := range in {
		var err error
		if vals[i], err = resultFromProto(v, depth); err != nil {
			return nil, err
		}
	}
	return vals, nil
}

// resultFromProto is FromProto for values of a response, which include entities.
func resultFromProto(v *pb.Value, depth int) (graph.Value, error) {
	if depth > MaxDepth {
		return graph.Value{}, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	switch k := v.GetKind().(type) {
	case *pb.Value_List:
		l, err := resultsFromProto(k.List.GetValues(), depth+1)
		return graph.ListValue(l), err
	case *pb.Value_Map:
		keys, vals, err := entriesFromProto(k.Map.GetEntries(), depth+1)
		m := make([]graph.MapEntry, len(vals))
		for i := range vals {
			m[i] = graph.MapEntry{Key: keys[i], Value: vals[i]}
		}
		return graph.MapValue(m), err
	case *pb.Value_Vertex:
		return vertexFromProto(k.Vertex, depth)
	case *pb.Value_Edge:
		return edgeFromProto(k.Edge, depth)
	case *pb.Value_Path:
		return pathFromProto(k.Path, depth)
	}
	return FromProto(v, depth, nil)
}

func entriesFromProto(in []*pb.MapEntry, depth int) (keys []string, vals []graph.Value, err error) {
	for _, e := range in {
		v, err := resultFromProto(e.GetValue(), depth)
		if err != nil {
			return nil, nil, err
		}
		keys, vals = append(keys, e.GetKey()), append(vals, v)
	}
	return keys, vals, nil
}

func vertexFromProto(in *pb.Vertex, depth int) (graph.Value, error) {
	id, ok := graph.ParseVertexElementID(in.GetElementId())
	if !ok {
		return graph.Value{}, fmt.Errorf("%q is not the element id of a vertex", in.GetElementId())
	}
	rec := &graph.Record{Labels: in.GetLabels()}
	var err error
	rec.Keys, rec.Values, err = entriesFromProto(in.GetProperties(), depth+1)
	return graph.VertexRecordValue(id, rec), err
}

func edgeFromProto(in *pb.Edge, depth int) (graph.Value, error) {
	e, ok := graph.ParseEdgeElementID(in.GetElementId())
	if !ok {
		return graph.Value{}, fmt.Errorf("%q is not the element id of an edge", in.GetElementId())
	}
	rec := &graph.Record{Type: in.GetType()}
	var err error
	rec.Keys, rec.Values, err = entriesFromProto(in.GetProperties(), depth+1)
	return graph.EdgeRefValue(&graph.EdgeValue{Edge: e, Record: rec}), err
}

func pathFromProto(in *pb.Path, depth int) (graph.Value, error) {
	p := &graph.Path{}
	for _, v := range in.GetVertices() {
		x, err := vertexFromProto(v, depth)
		if err != nil {
			return x, err
		}
		p.Vertices = append(p.Vertices, x)
	}
	for _, e := range in.GetEdges() {
		x, err := edgeFromProto(e, depth)
		if err != nil {
			return x, err
		}
		p.Edges = append(p.Edges, x)
	}
	return graph.PathValue(p), nil
}
