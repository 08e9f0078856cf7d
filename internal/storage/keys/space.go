package keys

import (
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Space is the first byte of every key: the keyspaces, in their order in a shard's graph instance.
// Records that are read together share one; docs/format.md draws them. The numbers are stored.
type Space byte

// The keyspaces.
const (
	Applied    Space = 0x00 // the last log entry that a store without a write-ahead log has
	Meta       Space = 0x01 // what a shard is and the next ids to give out
	Name       Space = 0x02 // catalog: labels, types, property keys, label sets
	IndexDef   Space = 0x03 // catalog: indexes and constraints
	Presence   Space = 0x04 // which properties vertices of a label set may have
	Counter    Space = 0x05 // counts kept on every write
	Sketch     Space = 0x06 // distinct counts of indexes
	LoadMark   Space = 0x07 // how far a bulk load came
	Intent     Space = 0x08 // a commit over several shards that may not have reached all of them
	Garbage    Space = 0x09 // large values without a reference
	IndexMark  Space = 0x0a // how far the building of an index came
	Degree     Space = 0x0b // degree histograms
	Outcome    Space = 0x0c // the ids of recent commits
	Written    Space = 0x0d // the vertices that a bulk load has written
	Definition Space = 0x0e // catalog: what users define beside the data
	Log        Space = 0x0f // what the last commits changed
	Adjacency  Space = 0x10 // packed edge lists
	DeltaEdge  Space = 0x11 // edges written since their list was packed
	DeltaGroup Space = 0x12 // edges of many lists that one commit appended
	LogRange   Space = 0x13 // what the commit log leaves to the graph
	Column     Space = 0x20 // chunks of one property of consecutive vertices
	DeltaProp  Space = 0x21 // properties written since their chunks were packed
	Member     Space = 0x30 // bitmaps of the vertices of a label
	DeltaLabel Space = 0x31 // memberships written since their bitmap was packed
	Entry      Space = 0x40 // index entries
	TextChange Space = 0x41 // what full-text indexes must read again
)

// LocalSize is the size of a local id in a key.
const LocalSize = 6

// Sizes of keys and of prefixes that readers compare.
const (
	ListSize     = 1 + 4 + 1 + LocalSize // a list's first segment; the prefix of all its keys
	SegmentSize  = ListSize + 16         // a list's further segments
	DeltaOneSize = ListSize + 1 + 16     // one delta edge
	DeltaRunSize = ListSize + 1 + 8      // a run of delta edges
	GroupSize    = ListSize + 8          // runs of delta edges of the lists of a chunk
	ChunkSize    = 1 + 4 + LocalSize
	DeltaVSize   = 1 + LocalSize
	MemberSize   = 1 + 4 + 4
	DeltaLSize   = 1 + 4 + LocalSize
	LogSize      = 1 + 8 + 4
)

// Bounds returns the bounds of a keyspace for an iterator.
func Bounds(s Space) (lower, upper []byte) { return []byte{byte(s)}, []byte{byte(s) + 1} }

// AppendLocal appends a local id, 6 bytes in order.
func AppendLocal(dst []byte, local uint64) []byte {
	return append(dst, byte(local>>40), byte(local>>32), byte(local>>24), byte(local>>16), byte(local>>8), byte(local))
}

// Local reads a local id from the first 6 bytes of b.
func Local(b []byte) uint64 {
	_ = b[5]
	return uint64(b[0])<<40 | uint64(b[1])<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

func appendID(dst []byte, s Space, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, byte(s)), id)
}

// AppendList appends the prefix of all keys of an edge list, which is the key of its first segment.
func AppendList(dst []byte, t graph.TypeID, dir graph.Direction, local uint64) []byte {
	dst = append(appendID(dst, Adjacency, uint32(t)), byte(dir))
	return AppendLocal(dst, local)
}

// AppendSegment appends the key of a further segment: all its edges are at or after (neighbour, edge).
func AppendSegment(dst []byte, t graph.TypeID, dir graph.Direction, local uint64, neighbour graph.VertexID, edge graph.EdgeID) []byte {
	return AppendPair(AppendList(dst, t, dir, local), neighbour, edge)
}

// AppendPair appends the order of an edge within its list.
func AppendPair(dst []byte, neighbour graph.VertexID, edge graph.EdgeID) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(neighbour))
	return binary.BigEndian.AppendUint64(dst, uint64(edge))
}

// Pair reads what AppendPair appended.
func Pair(b []byte) (graph.VertexID, graph.EdgeID) {
	return graph.VertexID(binary.BigEndian.Uint64(b)), graph.EdgeID(binary.BigEndian.Uint64(b[8:]))
}

// The kinds of delta edge records; the byte stands after the list's prefix.
const (
	DeltaRun byte = 0 // new edges that one batch appended to a list, packed like a segment
	DeltaOne byte = 1 // the latest state of one edge
)

// AppendDelta appends the prefix of all delta records of an edge list.
func AppendDelta(dst []byte, t graph.TypeID, dir graph.Direction, local uint64) []byte {
	dst = append(appendID(dst, DeltaEdge, uint32(t)), byte(dir))
	return AppendLocal(dst, local)
}

// AppendDeltaRun appends the key of a run of delta edges; first is the smallest edge id in it.
func AppendDeltaRun(dst []byte, t graph.TypeID, dir graph.Direction, local uint64, first graph.EdgeID) []byte {
	dst = append(AppendDelta(dst, t, dir, local), DeltaRun)
	return binary.BigEndian.AppendUint64(dst, uint64(first))
}

// AppendDeltaOne appends the key of one delta edge.
func AppendDeltaOne(dst []byte, t graph.TypeID, dir graph.Direction, local uint64, neighbour graph.VertexID, edge graph.EdgeID) []byte {
	dst = append(AppendDelta(dst, t, dir, local), DeltaOne)
	return AppendPair(dst, neighbour, edge)
}

// GroupBits is the binary logarithm of the number of local ids whose lists share groups.
const GroupBits = 16

// AppendGroups appends the prefix of all groups that may hold runs of a vertex's list.
func AppendGroups(dst []byte, t graph.TypeID, dir graph.Direction, local uint64) []byte {
	dst = append(appendID(dst, DeltaGroup, uint32(t)), byte(dir))
	return AppendLocal(dst, local>>GroupBits<<GroupBits)
}

// AppendGroup appends the key of a group; first is the smallest edge id in it.
func AppendGroup(dst []byte, t graph.TypeID, dir graph.Direction, local uint64, first graph.EdgeID) []byte {
	return binary.BigEndian.AppendUint64(AppendGroups(dst, t, dir, local), uint64(first))
}

// GroupFirst reads the first edge from a whole key of DeltaGroup.
func GroupFirst(key []byte) graph.EdgeID {
	return graph.EdgeID(binary.BigEndian.Uint64(key[ListSize:]))
}

// List reads type, direction and vertex from the prefix of a key of Adjacency or DeltaEdge, or of DeltaGroup, whose
// vertex is the first that it may hold runs of.
func List(key []byte) (graph.TypeID, graph.Direction, uint64) {
	return graph.TypeID(binary.BigEndian.Uint32(key[1:])), graph.Direction(key[5]), Local(key[6:])
}

// AppendChunk appends the key of the column chunk whose last local id is last. So the first chunk at or after the key
// of a local id is the only one that may hold it.
func AppendChunk(dst []byte, p graph.PropID, last uint64) []byte {
	return AppendLocal(appendID(dst, Column, uint32(p)), last)
}

// Chunk reads the key of a column chunk.
func Chunk(key []byte) (graph.PropID, uint64) {
	return graph.PropID(binary.BigEndian.Uint32(key[1:])), Local(key[5:])
}

// AppendDeltaProps appends the key of a vertex's delta properties.
func AppendDeltaProps(dst []byte, local uint64) []byte {
	return AppendLocal(append(dst, byte(DeltaProp)), local)
}

// AppendMember appends the key of the bitmap that holds 65,536 local ids from chunk<<16.
func AppendMember(dst []byte, l graph.LabelID, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(appendID(dst, Member, uint32(l)), chunk)
}

// AppendDeltaMember appends the key of one delta membership.
func AppendDeltaMember(dst []byte, l graph.LabelID, local uint64) []byte {
	return AppendLocal(appendID(dst, DeltaLabel, uint32(l)), local)
}

// AppendEntry appends the prefix of an index's entries; the indexed values follow, ordered, and in a plain index the
// vertex.
func AppendEntry(dst []byte, ix graph.IndexID) []byte { return appendID(dst, Entry, uint32(ix)) }

// EntrySize is the length of AppendEntry's prefix.
const EntrySize = 1 + 4

// AppendSuccessor appends the smallest key that is greater than all keys that begin with prefix, or nothing if there
// is none.
func AppendSuccessor(dst, prefix []byte) []byte {
	for i, p := range slices.Backward(prefix) {
		if p != 0xff {
			return append(append(dst, prefix[:i]...), p+1)
		}
	}
	return dst
}

// AppendPredecessor appends a key that is smaller than a key that is not empty, and greater than all that are much smaller: between them are
// only some that begin like it.
func AppendPredecessor(dst, key []byte) []byte {
	last := len(key) - 1
	dst = append(dst, key[:last]...)
	if key[last] == 0 {
		return dst
	}
	return append(dst, key[last]-1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// The records of Meta.
const (
	MetaFormat     byte = 'f' // version of the format and what the shard is
	MetaNextVertex byte = 'v' // next local vertex id
	MetaNextEdge   byte = 'e' // next local edge id
	MetaNextValue  byte = 'x' // next id of a large value
	MetaNextText   byte = 't' // number of the next change for a full-text index
	MetaIntent     byte = 'i' // number of the last commit over several shards that was applied here
	MetaPurged     byte = 'o' // Unix milliseconds before which the ids of commits are deleted
	MetaVersion    byte = 'p' // of a shard that a process keeps for another: epoch of the writer and version
	MetaCommit     byte = 'c' // number and time of the last commit that changed the shard, and the bytes of the log by then
	MetaLog        byte = 'l' // mode and key of the commit log, in shard 0
	MetaLogFirst   byte = 'b' // number and time of the commit that precedes the first one in the log, and the bytes before it
)

// MetaKey is the key of a record of Meta.
func MetaKey(what byte) []byte { return []byte{byte(Meta), what} }

// AppendGarbage appends the key that marks a large value as garbage.
func AppendGarbage(dst []byte, value uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byte(Garbage)), value)
}

// AppendValueKey appends the key of a large value in the values instance.
func AppendValueKey(dst []byte, value uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, value)
}

// AppendNumbered appends a key of a space whose records are numbered or named further by b.
func AppendNumbered(dst []byte, s Space, id uint32, rest ...byte) []byte {
	return append(appendID(dst, s, id), rest...)
}

// GroupChunk names a chunk of 1<<GroupBits lists of one type and direction, whose delta edges share groups.
type GroupChunk struct {
	Type  graph.TypeID
	Dir   graph.Direction
	Chunk uint64
}

// ChunkOf returns the chunk of a vertex's list.
func ChunkOf(t graph.TypeID, dir graph.Direction, local uint64) GroupChunk {
	return GroupChunk{t, dir, local >> GroupBits}
}

// MarkKey is the key of the mark of a stream of load batches.
func MarkKey(stream string) []byte { return append([]byte{byte(LoadMark)}, stream...) }

// AppendLog appends the key of a part of the record of a commit.
func AppendLog(dst []byte, commit uint64, part int) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(Log)), commit)
	return binary.BigEndian.AppendUint32(dst, uint32(part))
}

// ReadLog reads what AppendLog appended; ok is false if it is another key.
func ReadLog(key []byte) (commit uint64, part int, ok bool) {
	if len(key) != LogSize {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), int(binary.BigEndian.Uint32(key[9:])), true
}

// AppendLogRange appends the key of what a commit did to vertices that a commit made and whose values are not in the log: the same commit has
// made them, or a later one has changed some.
func AppendLogRange(dst []byte, made, commit uint64) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(LogRange)), made)
	return binary.BigEndian.AppendUint64(dst, commit)
}

// ReadLogRange reads what AppendLogRange appended; ok is false if it is another key.
func ReadLogRange(key []byte) (made, commit uint64, ok bool) {
	if len(key) != 1+8+8 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), binary.BigEndian.Uint64(key[9:]), true
}

// AppendWritten appends the prefix of all keys of the vertices that a stream of load batches has written; the number of a batch follows it.
func AppendWritten(dst []byte, stream string) []byte {
	return append(appendID(dst, Written, uint32(len(stream))), stream...)
}
