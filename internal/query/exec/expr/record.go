package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// Recorder adds records to the vertices and edges of result batches, with one request for all vertices and one for all edges of
// a batch. It visits a batch twice in the same order: to collect the entities, then to replace them.
type Recorder struct {
	r        *runtime.Run
	vertices []graph.VertexID
	edges    []graph.Edge
	f        runtime.Frontier // of vertices

	got     []shard.Record
	records []graph.Record // of f.ids
	v, e    int            // vertices and edges already replaced
	edgeRec []graph.Record
	edgeVal []graph.EdgeValue

	labels map[graph.LabelSet][]string
	shapes recordShapes
}

// Materialise replaces the vertices and edges of a batch, including those inside lists, maps and paths, by ones with records.
// The new values are valid until the transaction ends.
func (m *Recorder) Materialise(ctx context.Context, r *runtime.Run, b *graph.Batch) error {
	m.r = r
	m.vertices, m.edges, m.v, m.e = m.vertices[:0], m.edges[:0], 0, 0
	var few [64]bool
	touched := few[:0]
	for i := range b.Cols {
		col := &b.Cols[i]
		before := len(m.vertices) + len(m.edges)
		if col.IDs != nil {
			m.vertices = append(m.vertices, col.IDs...)
		} else {
			for k := range col.Vals {
				if nesting(col.Vals[k].Kind()) {
					m.collect(col.Vals[k])
				}
			}
		}
		touched = append(touched, len(m.vertices)+len(m.edges) > before)
	}
	if err := m.read(ctx); err != nil {
		return err
	}
	for i, t := range touched {
		if !t {
			continue
		}
		col := &b.Cols[i]
		out := make([]graph.Value, b.N)
		if col.IDs != nil {
			for k, id := range col.IDs {
				out[k] = m.vertex(id)
			}
		} else {
			for k, v := range col.Vals {
				out[k] = m.replace(v)
			}
		}
		*col = graph.Column{Vals: out}
	}
	return nil
}

// nesting reports whether a value of a kind is, or may hold, a vertex or an edge.
func nesting(k graph.ValueKind) bool {
	const kinds = 1<<graph.VertexKind | 1<<graph.EdgeKind | 1<<graph.List | 1<<graph.Map | 1<<graph.PathKind
	return kinds>>k&1 != 0
}

// collect collects the vertices and edges inside a value, except for those that a procedure has created with records.
func (m *Recorder) collect(v graph.Value) {
	switch v.Kind() {
	case graph.VertexKind:
		if v.Record() == nil {
			m.vertices = append(m.vertices, v.Vertex())
		}
	case graph.EdgeKind:
		if v.Edge().Record == nil {
			m.edges = append(m.edges, v.Edge().Edge)
		}
	case graph.List:
		for _, e := range v.List() {
			m.collect(e)
		}
	case graph.Map:
		for _, e := range v.Map() {
			m.collect(e.Value)
		}
	case graph.PathKind:
		for _, e := range v.Path().Vertices {
			m.collect(e)
		}
		for _, e := range v.Path().Edges {
			m.collect(e)
		}
	}
}

// replace returns a value with records, in the order of collect.
func (m *Recorder) replace(v graph.Value) graph.Value {
	switch v.Kind() {
	case graph.VertexKind:
		if v.Record() == nil {
			return m.vertex(v.Vertex())
		}
	case graph.EdgeKind:
		if v.Edge().Record == nil {
			return m.edge(v)
		}
	case graph.List:
		return graph.ListValue(m.replaceAll(v.List()))
	case graph.Map:
		out := make([]graph.MapEntry, len(v.Map()))
		for i, e := range v.Map() {
			out[i] = graph.MapEntry{Key: e.Key, Value: m.replace(e.Value)}
		}
		return graph.MapValue(out)
	case graph.PathKind:
		p := v.Path()
		out := &graph.Path{Vertices: m.replaceAll(p.Vertices)}
		out.Edges = m.replaceAll(p.Edges)
		return graph.PathValue(out)
	}
	return v
}

// replaceAll replaces a list; a list without vertices and edges stays the same.
func (m *Recorder) replaceAll(vs []graph.Value) []graph.Value {
	nested := false
	for i := range vs {
		nested = nested || nesting(vs[i].Kind())
	}
	if !nested {
		return vs
	}
	out := make([]graph.Value, len(vs))
	for i, v := range vs {
		out[i] = m.replace(v)
	}
	return out
}

// vertex returns the next vertex with its record.
func (m *Recorder) vertex(id graph.VertexID) graph.Value {
	rec := &m.records[m.f.Pos[m.v]]
	m.v++
	return graph.VertexRecordValue(id, rec)
}

// edge returns the next edge with its record. It copies the edge, because other values may share it.
func (m *Recorder) edge(v graph.Value) graph.Value {
	out := &m.edgeVal[m.e]
	*out = graph.EdgeValue{Edge: v.Edge().Edge, Record: &m.edgeRec[m.e]}
	m.e++
	return graph.EdgeRefValue(out)
}

// recordChunk is how many edges are read at once.
const recordChunk = 1024

// read reads the records of everything collected.
func (m *Recorder) read(ctx context.Context) error {
	if len(m.vertices) > 0 {
		m.f.Set(m.vertices)
		m.buffer(len(m.f.IDs))
		if err := m.r.Tx.Records(ctx, m.f.IDs, m.got); err != nil {
			return err
		}
		m.records = m.convert(nil)
		if m.labels == nil {
			m.labels = map[graph.LabelSet][]string{}
		}
		for i := range m.got {
			m.records[i].Labels = m.labelNames(m.got[i].Labels)
		}
	}
	if len(m.edges) > 0 {
		m.buffer(len(m.edges))
		for at := 0; at < len(m.edges); at += recordChunk { // long paths have many edges per row
			if err := m.r.CheckCancel(ctx); err != nil {
				return err
			}
			end := min(at+recordChunk, len(m.edges))
			if err := m.r.Tx.EdgeRecords(ctx, m.edges[at:end], m.got[at:end]); err != nil {
				return err
			}
		}
		m.edgeRec = m.convert(m.edges)
		m.edgeVal = make([]graph.EdgeValue, len(m.edges))
	}
	return nil
}

func (m *Recorder) buffer(n int) {
	if cap(m.got) < n {
		m.got = make([]shard.Record, n, max(n, 2*cap(m.got)))
	}
	m.got = m.got[:n]
}

// Forget clears everything that was read and keeps the memory.
func (m *Recorder) Forget() {
	clear(m.got[:cap(m.got)])
	m.records, m.edgeRec, m.edgeVal = nil, nil, nil
}

// convert creates records for vertices or for the given edges.
func (m *Recorder) convert(edges []graph.Edge) []graph.Record {
	n := 0
	for i := range m.got {
		n += len(m.got[i].Props)
	}
	values := make([]graph.Value, 0, n)
	records := make([]graph.Record, len(m.got))
	for i := range m.got {
		rec, out := &m.got[i], &records[i]
		kind := shapeKey{labels: rec.Labels}
		if edges != nil {
			out.Type = m.r.Graph.TypeName(edges[i].Type)
			kind = shapeKey{typ: edges[i].Type}
		}
		shape := m.shapes.of(m.r.Graph, kind, rec.Props)
		out.Keys = shape.keys
		at := len(values)
		for _, p := range shape.order {
			values = append(values, rec.Props[p].Value)
		}
		out.Values = values[at:len(values):len(values)]
	}
	return records
}

// labelNames returns the names of a label set, always as the same slice.
func (m *Recorder) labelNames(ls graph.LabelSet) []string {
	names, ok := m.labels[ls]
	if !ok {
		names = []string{}
		if ls != 0 {
			for _, id := range m.r.Graph.Labels(ls) {
				names = append(names, m.r.Graph.LabelName(id))
			}
		}
		m.labels[ls] = names
	}
	return names
}
