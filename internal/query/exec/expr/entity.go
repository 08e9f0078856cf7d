package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// bulk computes a function of one argument that reads the store, for many rows at once.
type bulk struct {
	x   runtime.Evaluator
	f   func(ctx context.Context, vs []graph.Value, s runtime.Sel, out []graph.Value) error
	out []graph.Value
}

func (c *bulk) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := c.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	c.out = Grown(c.out, b.N)
	return c.out, c.f(ctx, vs, s, c.out)
}

// StoreFunctions are the functions of one argument that read the store or the catalog.
var StoreFunctions = map[string]func(r *runtime.Run) func(context.Context, []graph.Value, runtime.Sel, []graph.Value) error{
	"labels": func(r *runtime.Run) func(context.Context, []graph.Value, runtime.Sel, []graph.Value) error {
		return (&labelLists{sets: LabelSets{Run: r}}).eval
	},
	"cypher.labels": func(r *runtime.Run) func(context.Context, []graph.Value, runtime.Sel, []graph.Value) error {
		return (&labelLists{sets: LabelSets{Run: r}, types: true}).eval
	},
	"type": func(r *runtime.Run) func(context.Context, []graph.Value, runtime.Sel, []graph.Value) error {
		return func(ctx context.Context, vs []graph.Value, s runtime.Sel, out []graph.Value) error {
			return typeNames(ctx, r, vs, s, out)
		}
	},
	"properties": func(r *runtime.Run) func(context.Context, []graph.Value, runtime.Sel, []graph.Value) error {
		return (&EntityMaps{Run: r}).eval
	},
	"keys": func(r *runtime.Run) func(context.Context, []graph.Value, runtime.Sel, []graph.Value) error {
		return (&entityKeys{maps: EntityMaps{Run: r}}).eval
	},
}

func wrongArgument(function, want string, v graph.Value) error {
	return graph.TypeError("InvalidArgumentValue", "%s() needs %s, not %s", function, want, notation.Describe(v))
}

// labelLists is labels(). It creates one list for each label set. With types, an edge has a list too, of its type.
type labelLists struct {
	sets  LabelSets
	lists []graph.Value // by label set
	types bool
}

func (l *labelLists) eval(ctx context.Context, vs []graph.Value, s runtime.Sel, out []graph.Value) error {
	if err := l.sets.Read(ctx, vs, s); err != nil {
		return err
	}
	for k, i := range l.sets.rows {
		out[i] = l.list(l.sets.Sets[k])
		if vs[i].Virtual() {
			out[i] = textList(vs[i].Record().Labels)
		}
	}
	if len(l.sets.rows) == len(s) {
		return nil
	}
	for _, i := range s {
		switch k := vs[i].Kind(); {
		case k == graph.VertexKind:
		case k == graph.Null:
			out[i] = graph.Value{}
		case k == graph.EdgeKind && l.types:
			out[i] = graph.ListValue([]graph.Value{graph.StringValue(l.sets.Run.Graph.TypeName(vs[i].Edge().Type))})
		default:
			return wrongArgument("labels", "a Node", vs[i])
		}
	}
	return nil
}

func textList(names []string) graph.Value {
	list := make([]graph.Value, len(names))
	for i, n := range names {
		list[i] = graph.StringValue(n)
	}
	return graph.ListValue(list)
}

func (l *labelLists) list(ls graph.LabelSet) graph.Value {
	for len(l.lists) <= int(ls) {
		l.lists = append(l.lists, graph.Value{})
	}
	if l.lists[ls].IsNull() {
		names := []graph.Value{}
		if ls != 0 {
			for _, id := range l.sets.Run.Graph.Labels(ls) {
				names = append(names, graph.StringValue(l.sets.Run.Graph.LabelName(id)))
			}
		}
		l.lists[ls] = graph.ListValue(names)
	}
	return l.lists[ls]
}

// typeNames is type().
func typeNames(_ context.Context, r *runtime.Run, vs []graph.Value, s runtime.Sel, out []graph.Value) error {
	for _, i := range s {
		switch v := vs[i]; v.Kind() {
		case graph.EdgeKind:
			if v.Virtual() {
				out[i] = graph.StringValue(v.Edge().Record.Type)
				continue
			}
			out[i] = graph.StringValue(r.Graph.TypeName(v.Edge().Type))
		case graph.Null:
			out[i] = graph.Value{}
		default:
			return wrongArgument("type", "a Relationship", v)
		}
	}
	return nil
}

// EntityMaps is properties(): maps of the properties of vertices and edges; maps stay as they are.
type EntityMaps struct {
	Run      *runtime.Run
	vertices []graph.VertexID
	edges    []graph.Edge
	vrows    runtime.Sel
	erows    runtime.Sel
	records  []shard.Record
	out      []graph.Value
}

// Maps returns the properties of the cells of s, in a slice of n cells.
func (m *EntityMaps) Maps(ctx context.Context, vs []graph.Value, n int, s runtime.Sel) ([]graph.Value, error) {
	m.out = Grown(m.out, n)
	return m.out, m.eval(ctx, vs, s, m.out)
}

func (m *EntityMaps) eval(ctx context.Context, vs []graph.Value, s runtime.Sel, out []graph.Value) error {
	m.vertices, m.edges, m.vrows, m.erows = m.vertices[:0], m.edges[:0], m.vrows[:0], m.erows[:0]
	for _, i := range s {
		v := vs[i]
		if v.Virtual() {
			out[i] = propertiesOf(v)
			continue
		}
		switch v.Kind() {
		case graph.VertexKind:
			m.vertices, m.vrows = append(m.vertices, v.Vertex()), append(m.vrows, i)
		case graph.EdgeKind:
			m.edges, m.erows = append(m.edges, v.Edge().Edge), append(m.erows, i)
		case graph.Map, graph.Null:
			out[i] = v
		default:
			return wrongArgument("properties", "a Node, a Relationship or a Map", v)
		}
	}
	if len(m.vertices) > 0 {
		if err := m.Run.CheckVertices(m.vertices); err != nil {
			return err
		}
		if err := m.Run.Tx.Records(ctx, m.vertices, m.buffer(len(m.vertices))); err != nil {
			return err
		}
		m.fill(m.vrows, out)
	}
	if len(m.edges) > 0 {
		if err := m.Run.CheckEdges(m.edges); err != nil {
			return err
		}
		if err := m.Run.Tx.EdgeRecords(ctx, m.edges, m.buffer(len(m.edges))); err != nil {
			return err
		}
		m.fill(m.erows, out)
	}
	return nil
}

// propertiesOf maps the properties of a virtual entity.
func propertiesOf(v graph.Value) graph.Value {
	var r *graph.Record
	if v.Kind() == graph.EdgeKind {
		r = v.Edge().Record
	} else {
		r = v.Record()
	}
	entries := make([]graph.MapEntry, len(r.Keys))
	for i, k := range r.Keys {
		entries[i] = graph.MapEntry{Key: k, Value: r.Values[i]}
	}
	return graph.MapValue(entries)
}

func (m *EntityMaps) buffer(n int) []shard.Record {
	for len(m.records) < n {
		m.records = append(m.records, shard.Record{})
	}
	return m.records[:n]
}

func (m *EntityMaps) fill(rows runtime.Sel, out []graph.Value) {
	for k, i := range rows {
		props := m.records[k].Props
		entries := make([]graph.MapEntry, len(props))
		for j, p := range props {
			entries[j] = graph.MapEntry{Key: m.Run.Graph.PropName(p.ID), Value: p.Value}
		}
		out[i] = graph.MapValue(entries)
	}
}

// entityKeys is keys().
type entityKeys struct{ maps EntityMaps }

func (k *entityKeys) eval(ctx context.Context, vs []graph.Value, s runtime.Sel, out []graph.Value) error {
	if err := k.maps.eval(ctx, vs, s, out); err != nil {
		return err
	}
	for _, i := range s {
		if out[i].Kind() != graph.Map {
			continue
		}
		m := out[i].Map()
		keys := make([]graph.Value, len(m))
		for j := range m {
			keys[j] = graph.StringValue(m[j].Key)
		}
		out[i] = graph.ListValue(keys)
	}
	return nil
}
