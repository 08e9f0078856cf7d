package server

import (
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// expansion is the memory for the answer to one Expand.
type expansion struct {
	n    shard.Neighbours
	seen graph.VertexSet // empty between requests
	ends []graph.VertexID
}

var expansions = sync.Pool{New: func() any { return new(expansion) }}

// reusedEdges bounds the answers whose memory is reused.
const reusedEdges = 1 << 17

func (m *expansion) release() {
	if cap(m.n.Targets) > reusedEdges {
		return
	}
	for _, col := range m.n.Props {
		clear(col)
	}
	expansions.Put(m)
}

// set encodes the far ends of the answer as a set.
func (m *expansion) set() []byte {
	m.ends = m.seen.AppendNew(m.ends[:0], m.n.Targets)
	words := 0
	for no := range m.seen.Shards() {
		words += len(m.seen.Bitmap(no))
	}
	var b []byte
	if len(m.ends) >= words/8 {
		b = wire.EncodeSet(&m.seen, -1)
	} else {
		slices.Sort(m.ends)
		b = wire.EncodeSorted(m.ends)
	}
	m.seen.RemoveAll(m.ends)
	return b
}
