package memory

import "github.com/hopgate/hopgate/internal/graph"

// CellSize is the size of a value in bytes without its contents.
const CellSize = 24

// ValueSize estimates the contents of a value in bytes.
func ValueSize(v graph.Value) int {
	const cell = CellSize
	n := cell
	switch v.Kind() {
	case graph.String:
		n += len(v.Str())
	case graph.Bytes:
		n += len(v.Bytes())
	case graph.VectorKind:
		n += len(v.Vector().Data)
	case graph.PointKind:
		n += cell
	case graph.List:
		for _, e := range v.List() {
			n += ValueSize(e)
		}
	case graph.Map:
		for _, e := range v.Map() {
			n += len(e.Key) + 16 + ValueSize(e.Value)
		}
	case graph.VertexKind:
		n += recordSize(v.Record())
	case graph.EdgeKind:
		n += 48 + recordSize(v.Edge().Record)
	case graph.PathKind:
		p := v.Path()
		n += 48
		for _, x := range p.Vertices {
			n += ValueSize(x)
		}
		for _, x := range p.Edges {
			n += ValueSize(x)
		}
	}
	return n
}

// recordSize estimates the values of a record in bytes; a nil record has none.
func recordSize(r *graph.Record) int {
	if r == nil {
		return 0
	}
	n := 64
	for _, v := range r.Values {
		n += ValueSize(v)
	}
	return n
}
