package runtime

import "github.com/hopgate/hopgate/internal/graph"

// Deleted records what the statement has deleted; reading it is an error.
type Deleted struct {
	Vertices map[graph.VertexID]struct{}
	Edges    map[graph.EdgeID]struct{}
}

func errDeleted() error {
	return graph.RuntimeError("EntityNotFound", "DeletedEntityAccess", "the entity was deleted in this statement")
}

// CheckVertices fails if the statement has deleted one of the vertices.
func (r *Run) CheckVertices(ids []graph.VertexID) error {
	if len(r.Deleted.Vertices) == 0 {
		return nil
	}
	for _, id := range ids {
		if _, ok := r.Deleted.Vertices[id]; ok {
			return errDeleted()
		}
	}
	return nil
}

// CheckEdges fails if the statement has deleted one of the edges.
func (r *Run) CheckEdges(edges []graph.Edge) error {
	if len(r.Deleted.Edges) == 0 {
		return nil
	}
	for i := range edges {
		if _, ok := r.Deleted.Edges[edges[i].ID]; ok {
			return errDeleted()
		}
	}
	return nil
}

// AddVertex adds a vertex and reports whether it is new.
func (d *Deleted) AddVertex(id graph.VertexID) bool {
	if _, ok := d.Vertices[id]; ok {
		return false
	}
	if d.Vertices == nil {
		d.Vertices = map[graph.VertexID]struct{}{}
	}
	d.Vertices[id] = struct{}{}
	return true
}

// AddEdge adds an edge and reports whether it is new.
func (d *Deleted) AddEdge(id graph.EdgeID) bool {
	if _, ok := d.Edges[id]; ok {
		return false
	}
	if d.Edges == nil {
		d.Edges = map[graph.EdgeID]struct{}{}
	}
	d.Edges[id] = struct{}{}
	return true
}
