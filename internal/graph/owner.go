package graph

// IndexOwner is the vertex or edge that an index entry leads to. The type of an edge is the index's.
type IndexOwner struct {
	Vertex VertexID // the source, if the owner is an edge
	Edge   EdgeID
	Dst    VertexID
	IsEdge bool
}

// ID returns the id of the vertex or edge.
func (o IndexOwner) ID() uint64 {
	if o.IsEdge {
		return uint64(o.Edge)
	}
	return uint64(o.Vertex)
}

// Local returns the number of the vertex or edge in its shard.
func (o IndexOwner) Local() uint64 {
	if o.IsEdge {
		return o.Edge.Local()
	}
	return o.Vertex.Local()
}
