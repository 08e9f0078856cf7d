package oracle

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Apply applies changes. Commit checks the constraints.
func (t *Tx) Apply(ctx context.Context, ms []shard.Mutation) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	if !t.write {
		return misuse("a write in a transaction that only reads")
	}
	t.state.counts.Store(nil)
	for i := range ms {
		if err := t.apply(&ms[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) apply(m *shard.Mutation) error {
	for _, p := range m.Props {
		if !storable(p.Value) {
			return graph.TypeError("InvalidPropertyType", "a property cannot hold this %s", p.Value.Kind())
		}
	}
	s := t.state
	switch m.Op {
	case shard.CreateVertex:
		m.Vertex = s.addVertex(&vertex{labels: max(m.Labels, graph.NoLabels), props: withProperties(nil, m.Props)})
		t.touchedVertices = append(t.touchedVertices, m.Vertex)

	case shard.SetVertex, shard.SetLabels:
		old := s.vertex(m.Vertex)
		if old == nil {
			return deletedEntity("vertex")
		}
		v := *old
		if m.Op == shard.SetLabels {
			v.labels = max(m.Labels, graph.NoLabels)
		} else {
			v.props = withProperties(v.props, m.Props)
		}
		s.putVertex(m.Vertex, &v)
		t.touchedVertices = append(t.touchedVertices, m.Vertex)

	case shard.DeleteVertex:
		if s.vertex(m.Vertex) != nil {
			s.putVertex(m.Vertex, nil)
			t.touchedVertices = append(t.touchedVertices, m.Vertex)
		}

	case shard.CreateEdge:
		if s.vertex(m.Edge.Src) == nil || s.vertex(m.Edge.Dst) == nil {
			return deletedEntity("vertex")
		}
		m.Edge.ID = s.addEdge(m.Edge.Src, m.Edge.Dst, m.Edge.Type, withProperties(nil, m.Props))
		t.touchedEdges = append(t.touchedEdges, m.Edge.ID)

	case shard.SetEdge:
		old := t.find(m.Edge)
		if old == nil {
			return deletedEntity("edge")
		}
		s.parts[m.Edge.ID.Shard()].edges[m.Edge.ID.Local()] = &edge{Edge: old.Edge, props: withProperties(old.props, m.Props)}
		t.touchedEdges = append(t.touchedEdges, m.Edge.ID)

	case shard.DeleteEdge:
		if t.find(m.Edge) == nil && s.edge(m.Edge.ID) != nil {
			return misuse("an edge is named with ends that are not its own")
		}
		s.removeEdge(m.Edge.ID)

	default:
		return misuse("an unknown mutation")
	}
	return nil
}

func deletedEntity(what string) error {
	return graph.RuntimeError("EntityNotFound", "DeletedEntityAccess", "the %s does not exist any more", what)
}

// Commit checks the constraints and makes the changes visible.
func (t *Tx) Commit(ctx context.Context) error {
	if err := t.check(ctx); err != nil {
		t.Rollback()
		return err
	}
	defer t.Rollback()
	if !t.write {
		return nil
	}
	for _, id := range t.touchedVertices {
		gone := t.state.vertex(id) == nil
		if gone && len(t.state.incident(id, false))+len(t.state.incident(id, true)) > 0 {
			return graph.RuntimeError("ConstraintVerificationFailed", "DeleteConnectedNode",
				"vertex %d still has edges, so it cannot be deleted; delete them first, or use DETACH DELETE", uint64(id))
		}
		if err := t.state.checkVertex(id); err != nil {
			return err
		}
	}
	for _, id := range t.touchedEdges {
		if err := t.state.checkEdge(id); err != nil {
			return err
		}
	}
	t.g.state.Store(t.state)
	return nil
}

// CheckUnique implements shard.Tx.
func (t *Tx) CheckUnique(context.Context) error {
	return t.state.checkUnique(t.touchedVertices, t.touchedEdges)
}

// Rollback ends the transaction.
func (t *Tx) Rollback() {
	if !t.ended.Swap(true) && t.write {
		t.g.unlock()
	}
}

// union returns the label set of the labels of both.
func (g *Graph) union(a, b graph.LabelSet) graph.LabelSet {
	return g.internLabelSet(slices.Concat(g.Labels(a), g.Labels(b)))
}
