package graph

// VertexID names a vertex for ever: the shard in the high 16 bits, then a local number given out densely in load order.
// Ids are never given out again.
type VertexID uint64

// LocalBits is the width of the local part of vertex and edge ids.
const LocalBits = 48

const localMask = 1<<LocalBits - 1

// NoVertex is not the id of any vertex.
const NoVertex = ^VertexID(0)

// MakeVertexID joins a shard number and a local number.
func MakeVertexID(shard int, local uint64) VertexID {
	return VertexID(uint64(shard)<<LocalBits | local&localMask)
}

// Shard is the number of the shard that owns the vertex.
func (v VertexID) Shard() int { return int(v >> LocalBits) }

// Local is the vertex's dense number within its shard, from 0.
func (v VertexID) Local() uint64 { return uint64(v) & localMask }

// EdgeID names an edge for ever; it has the form of a VertexID, with the shard of the edge's source vertex.
type EdgeID uint64

// MakeEdgeID joins a shard number and a local number.
func MakeEdgeID(shard int, local uint64) EdgeID {
	return EdgeID(uint64(shard)<<LocalBits | local&localMask)
}

// Shard is the number of the shard that owns the edge's source vertex.
func (e EdgeID) Shard() int { return int(e >> LocalBits) }

// Local is the edge's dense number within its shard, from 0.
func (e EdgeID) Local() uint64 { return uint64(e) & localMask }

// The names of a graph's catalog are numbered from 1; 0 is none.
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

// Edge is all that is needed to find an edge: its source, target and type lead to the adjacency list that holds it.
type Edge struct {
	ID       EdgeID
	Src, Dst VertexID
	Type     TypeID
}

// Direction says which of a vertex's edges are meant.
type Direction uint8

// The directions. A self-loop stands once in Both.
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

// String gives out, in or both.
func (d Direction) String() string { return [...]string{"out", "in", "both"}[d] }

// Property is one property of a vertex or edge.
type Property struct {
	ID    PropID
	Value Value
}
