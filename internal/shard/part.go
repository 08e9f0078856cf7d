package shard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
)

// PartTx reads the part of a snapshot that one process of a cluster has. What it shares with Tx does the same for that part: the caller
// asks every part, and merges the answers. A PartTx knows no names, so requests list all types.
type PartTx interface {
	Reader
	Indexes
	Composed

	// Pull is Step backwards: it adds to out every vertex of the part that an edge leads to from a vertex of from, which may hold
	// vertices of any shard. It returns false if its lists are not cached; the caller then uses Step.
	Pull(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) (bool, error)
	// Large reads large values of the part. Other methods return references for values of other parts; see LargeRef.
	Large(ctx context.Context, refs []LargeRef) ([]graph.Value, error)

	Features() Features
	// Rollback ends the transaction.
	Rollback()
}

// IndexRef is what Indexes need to know of an index to read it.
type IndexRef struct {
	ID     graph.IndexID
	Unique bool
	Width  int // properties, 1 for an id space
}

// Entry is an entry of an index. Entries are sorted by tuple, then by the id of their owner.
type Entry struct {
	Tuple []byte // the values, in their ordered encoding
	Owner graph.IndexOwner
}

// Compare orders entries.
func (e Entry) Compare(o Entry) int {
	return cmp.Or(bytes.Compare(e.Tuple, o.Tuple), cmp.Compare(e.Owner.ID(), o.Owner.ID()))
}

// Cursor returns the cursor of a range that continues after the entry: its tuple and the id of its owner.
func (e Entry) Cursor() []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(e.Tuple), e.Owner.ID())
}

// EntryAt returns an entry that compares like the one that a cursor was made of; ok is false if there is no such entry.
func EntryAt(cursor []byte) (e Entry, ok bool) {
	n := len(cursor) - 8
	if n < 0 {
		return e, false
	}
	return Entry{cursor[:n], graph.IndexOwner{Vertex: graph.VertexID(binary.BigEndian.Uint64(cursor[n:]))}}, true
}

// LargeRef locates a large value: its id, with the number of its shard in the high 16 bits, and its size in bytes.
type LargeRef struct {
	ID, Size uint64
}

// Value returns the placeholder for the value in answers of a part that does not hold it: a map, which no property can be.
func (r LargeRef) Value() graph.Value {
	return graph.MapValue([]graph.MapEntry{{Key: "id", Value: graph.IntValue(int64(r.ID))}, {Key: "size", Value: graph.IntValue(int64(r.Size))}})
}

// AsLargeRef returns the reference in a placeholder; ok is false if v is a value itself.
func AsLargeRef(v graph.Value) (ref LargeRef, ok bool) {
	if v.Kind() != graph.Map {
		return ref, false
	}
	m := v.Map()
	return LargeRef{ID: uint64(m[0].Value.Int()), Size: uint64(m[1].Value.Int())}, true
}
