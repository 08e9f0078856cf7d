package exec

import "github.com/hopgate/hopgate/internal/graph"

// deleted remembers what the statement has deleted, since reading it is an error.
type deleted struct {
	vertices map[graph.VertexID]struct{}
	edges    map[graph.EdgeID]struct{}
}

func errDeleted() error {
	return graph.RuntimeError("EntityNotFound", "DeletedEntityAccess", "the entity was deleted in this statement")
}

// checkVertices fails if the statement has deleted one of the vertices.
func (r *run) checkVertices(ids []graph.VertexID) error {
	if len(r.deleted.vertices) == 0 {
		return nil
	}
	for _, id := range ids {
		if _, ok := r.deleted.vertices[id]; ok {
			return errDeleted()
		}
	}
	return nil
}

// checkEdges fails if the statement has deleted one of the edges.
func (r *run) checkEdges(edges []graph.Edge) error {
	if len(r.deleted.edges) == 0 {
		return nil
	}
	for i := range edges {
		if _, ok := r.deleted.edges[edges[i].ID]; ok {
			return errDeleted()
		}
	}
	return nil
}

// addVertex notes a vertex and reports whether it is new.
func (d *deleted) addVertex(id graph.VertexID) bool {
	if _, ok := d.vertices[id]; ok {
		return false
	}
	if d.vertices == nil {
		d.vertices = map[graph.VertexID]struct{}{}
	}
	d.vertices[id] = struct{}{}
	return true
}

// addEdge notes an edge and reports whether it is new.
func (d *deleted) addEdge(id graph.EdgeID) bool {
	if _, ok := d.edges[id]; ok {
		return false
	}
	if d.edges == nil {
		d.edges = map[graph.EdgeID]struct{}{}
	}
	d.edges[id] = struct{}{}
	return true
}
