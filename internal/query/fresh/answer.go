package fresh

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Answer is the complete answer to a read, whose values do not depend on its transaction.
type Answer struct {
	Columns  []string
	Batches  []*graph.Batch
	Counters exec.Counters
	Hops     []exec.HopCount
}

// Own returns batches with the rows of the answer whose lengths the caller may change, but not their values.
func (a *Answer) Own() []*graph.Batch {
	out := make([]*graph.Batch, len(a.Batches))
	for i, b := range a.Batches {
		own := *b
		out[i] = &own
	}
	return out
}

// Detach returns a value that does not depend on its transaction, including records.
func Detach(v graph.Value) graph.Value {
	switch v.Kind() {
	case graph.List:
		return graph.ListValue(detachAll(v.List()))
	case graph.Map:
		m := make([]graph.MapEntry, len(v.Map()))
		for i, e := range v.Map() {
			m[i] = graph.MapEntry{Key: e.Key, Value: Detach(e.Value)}
		}
		return graph.MapValue(m)
	case graph.VertexKind:
		return graph.VertexRecordValue(v.Vertex(), detachRecord(v.Record()))
	case graph.EdgeKind:
		e := v.Edge()
		return graph.EdgeRefValue(&graph.EdgeValue{Edge: e.Edge, Record: detachRecord(e.Record)})
	case graph.PathKind:
		p := v.Path()
		return graph.PathValue(&graph.Path{Vertices: detachAll(p.Vertices), Edges: detachAll(p.Edges)})
	}
	return v.Clone()
}

func detachAll(vs []graph.Value) []graph.Value {
	out := make([]graph.Value, len(vs))
	for i, v := range vs {
		out[i] = Detach(v)
	}
	return out
}

// detachRecord copies a record's values; its names are the catalog's.
func detachRecord(r *graph.Record) *graph.Record {
	if r == nil {
		return nil
	}
	return &graph.Record{Labels: r.Labels, Type: r.Type, Keys: r.Keys, Values: detachAll(r.Values)}
}

// answerBytes is about what an answer takes beside its values.
const answerBytes = 512

// BytesOf returns about how much memory the values of a batch take.
func BytesOf(b *graph.Batch) (n int) {
	for i := range b.Cols {
		for _, v := range b.Cols[i].Vals {
			n += memory.ValueSize(v)
		}
	}
	return n
}
