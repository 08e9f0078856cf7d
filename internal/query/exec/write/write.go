package write

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// mutations collects changes for one call of shard.Tx.Apply.
type mutations struct {
	r     *runtime.Run
	ms    []shard.Mutation
	props []graph.Property // of all ms; never reallocated in place within one call
	ids   map[string]graph.PropID
}

// apply applies and clears the changes. The created entities are in ms[i] until the next change is added.
func (m *mutations) apply(ctx context.Context) error {
	if len(m.ms) == 0 {
		return nil
	}
	return m.r.Tx.Apply(ctx, m.ms)
}

// reset removes all changes and their values.
func (m *mutations) reset() {
	clear(m.ms)
	clear(m.props)
	m.ms, m.props = m.ms[:0], m.props[:0]
}

// Forget removes all changes and the ids of names.
func (m *mutations) Forget() {
	clear(m.ids)
	m.reset()
}

// prop returns the id of a property name that is about to be written.
func (m *mutations) prop(name string) (graph.PropID, error) {
	if id, ok := m.ids[name]; ok {
		return id, nil
	}
	id, err := m.r.Tx.Prop(name)
	if err != nil {
		return 0, err
	}
	if m.ids == nil {
		m.ids = map[string]graph.PropID{}
	}
	m.ids[name] = id
	return id, nil
}

// put adds a property to the current change.
func (m *mutations) put(name string, v graph.Value) error {
	if v.IsNull() {
		if _, known := m.r.Graph.Prop(name); !known {
			return nil // no entity has it
		}
	} else if !isProperty(v) {
		return graph.TypeError("InvalidPropertyType", "%s cannot be the value of property %q", notation.Describe(v), name)
	}
	id, err := m.prop(name)
	if err != nil {
		return err
	}
	m.props = append(m.props, graph.Property{ID: id, Value: v})
	return nil
}

// putMap adds the non-null entries of a map and returns their number; null is like an empty map.
func (m *mutations) putMap(v graph.Value) (int, error) {
	if v.IsNull() {
		return 0, nil
	}
	if v.Kind() != graph.Map {
		return 0, graph.TypeError("InvalidArgumentType", "properties must be a Map, not %s", notation.Describe(v))
	}
	n := 0
	for _, e := range v.Map() {
		if e.Value.IsNull() {
			continue
		}
		if err := m.put(e.Key, e.Value); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// since returns the properties added since there were n.
func (m *mutations) since(n int) []graph.Property { return m.props[n:len(m.props):len(m.props)] }

// isProperty reports whether a value can be stored as a property: a simple value, a vector or a list of simple
// values.
func isProperty(v graph.Value) bool {
	switch v.Kind() {
	case graph.Map, graph.VertexKind, graph.EdgeKind, graph.PathKind:
		return false
	case graph.List:
		for _, e := range v.List() {
			if e.IsNull() || e.Kind() == graph.List || e.Kind() == graph.VectorKind || !isProperty(e) {
				return false
			}
		}
	}
	return true
}

// labelSet returns the label set of names.
func labelSet(r *runtime.Run, names []string) (graph.LabelSet, error) {
	var ids []graph.LabelID
	for _, name := range names {
		id, err := r.Tx.Label(name)
		if err != nil {
			return 0, err
		}
		ids = withLabel(ids, id)
	}
	return r.Tx.LabelSet(ids)
}

// withLabel adds a label to a list of distinct ones.
func withLabel(ids []graph.LabelID, id graph.LabelID) []graph.LabelID {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}
