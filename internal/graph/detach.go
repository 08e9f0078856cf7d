package graph

// Detach returns a value that does not depend on its transaction, including records.
func Detach(v Value) Value {
	switch v.Kind() {
	case List:
		return ListValue(detachAll(v.List()))
	case Map:
		m := make([]MapEntry, len(v.Map()))
		for i, e := range v.Map() {
			m[i] = MapEntry{Key: e.Key, Value: Detach(e.Value)}
		}
		return MapValue(m)
	case VertexKind:
		return VertexRecordValue(v.Vertex(), detachRecord(v.Record()))
	case EdgeKind:
		e := v.Edge()
		return EdgeRefValue(&EdgeValue{Edge: e.Edge, Record: detachRecord(e.Record)})
	case PathKind:
		p := v.Path()
		return PathValue(&Path{Vertices: detachAll(p.Vertices), Edges: detachAll(p.Edges)})
	}
	return v.Clone()
}

func detachAll(vs []Value) []Value {
	out := make([]Value, len(vs))
	for i, v := range vs {
		out[i] = Detach(v)
	}
	return out
}

// detachRecord copies a record's values; its names are the catalog's.
func detachRecord(r *Record) *Record {
	if r == nil {
		return nil
	}
	return &Record{Labels: r.Labels, Type: r.Type, Keys: r.Keys, Values: detachAll(r.Values)}
}
