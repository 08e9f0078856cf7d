package graph

// VertexID identifies a vertex: the shard in the high 16 bits, then a local number assigned densely in load order. Ids are never reused.
type VertexID uint64

// LocalBits is the width of the local part of vertex and edge ids.
const LocalBits = 48

const localMask = 1<<LocalBits - 1

// NoVertex is never the id of a vertex.
const NoVertex = ^VertexID(0)

// MakeVertexID combines a shard number and a local number.
func MakeVertexID(shard int, local uint64) VertexID {
	return VertexID(uint64(shard)<<LocalBits | local&localMask)
}

// Shard returns the number of the shard that owns the vertex.
func (v VertexID) Shard() int { return int(v >> LocalBits) }

// Local returns the vertex's dense number within its shard, from 0.
func (v VertexID) Local() uint64 { return uint64(v) & localMask }

// EdgeID identifies an edge. It has the form of a VertexID, with the shard of the edge's source.
type EdgeID uint64

// MakeEdgeID combines a shard number and a local number.
func MakeEdgeID(shard int, local uint64) EdgeID {
	return EdgeID(uint64(shard)<<LocalBits | local&localMask)
}

// Shard returns the number of the shard that owns the edge's source vertex.
func (e EdgeID) Shard() int { return int(e >> LocalBits) }

// Local returns the edge's dense number within its shard, from 0.
func (e EdgeID) Local() uint64 { return uint64(e) & localMask }

// Names in a graph's catalog are numbered from 1; 0 means none.
type (
	// LabelID is the number of a vertex label.
	LabelID uint32
	// TypeID is the number of an edge type.
	TypeID uint32
	// PropID is the number of a property key.
	PropID uint32
	// IndexID is the number of an index or constraint.
	IndexID uint32
	// LabelSet is the number of a set of labels that some vertex has had, from 1, the empty set.
	LabelSet uint32
)

// NoLabels is the label set without labels; the label set 0 means "no such vertex".
const NoLabels LabelSet = 1

// Edge identifies an edge and its position: source, target and type determine its adjacency list.
type Edge struct {
	ID       EdgeID
	Src, Dst VertexID
	Type     TypeID
}

// Direction selects edges of a vertex.
type Direction uint8

// A self-loop occurs once in Both.
const (
	Out Direction = iota
	In
	Both
)

// Reverse swaps Out and In.
func (d Direction) Reverse() Direction {
	switch d {
	case Out:
		return In
	case In:
		return Out
	}
	return Both
}

// String returns out, in or both.
func (d Direction) String() string { return [...]string{"out", "in", "both"}[d] }

// Property is one property of a vertex or edge.
type Property struct {
	ID    PropID
	Value Value
}
