package view

import (
	"encoding/binary"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Cursors makes cursors of ranges of indexes. It implements shard.Positioner.
type Cursors struct{}

// CursorAt returns the cursor of a range that continues at some values: their tuple, or the one before it in the order of the range, and
// the id of an owner.
func (Cursors) CursorAt(values []graph.Value, id *graph.VertexID, down bool) (cursor []byte, ok bool) {
	var tuple []byte
	for _, v := range values {
		if tuple, ok = keys.AppendOrdered(tuple, v); !ok {
			return nil, false
		}
	}
	owner := uint64(math.MaxUint64)
	switch {
	case id != nil:
		owner = uint64(*id)
	case down:
		tuple = keys.AppendSuccessor(nil, tuple)
	default:
		tuple = keys.AppendPredecessor(nil, tuple)
	}
	return binary.BigEndian.AppendUint64(tuple, owner), true
}
