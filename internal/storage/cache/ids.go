package cache

import (
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// IDs packs vertex ids into 32 bits: the shard in as many high bits as a graph's shards need, the local id below.
// Packed ids have the order of the ids.
type IDs struct {
	shards int
	local  uint // bits
}

// NewIDs returns the packing for a graph of so many shards.
func NewIDs(shards int) IDs {
	return IDs{shards, 32 - uint(bits.Len(uint(max(shards, 1)-1)))}
}

// Shards is the number of shards.
func (p IDs) Shards() int { return p.shards }

// Pack packs an id, or reports that it does not fit.
func (p IDs) Pack(v graph.VertexID) (uint32, bool) {
	shard, local := v.Shard(), v.Local()
	if local>>p.local != 0 || shard >= p.shards {
		return 0, false
	}
	return uint32(uint64(shard)<<p.local | local), true
}

// unpack returns the id back.
func (p IDs) unpack(c uint32) graph.VertexID {
	return graph.VertexID(uint64(c)>>p.local<<graph.LocalBits | uint64(c)&(1<<p.local-1))
}

// Shard is the shard of a packed id.
func (p IDs) Shard(c uint32) int { return int(uint64(c) >> p.local) }

// Local is the local id of a packed id.
func (p IDs) Local(c uint32) uint32 { return uint32(uint64(c) & (1<<p.local - 1)) }

// AppendTo appends the ids of a list.
func (p IDs) AppendTo(dst []graph.VertexID, list []uint32) []graph.VertexID {
	n := len(dst)
	if cap(dst)-n < len(list) {
		grown := make([]graph.VertexID, n, max(n+len(list), 2*cap(dst)))
		copy(grown, dst)
		dst = grown
	}
	dst = dst[:n+len(list)]
	out := dst[n:]
	if p.shards <= 1 {
		for i, t := range list {
			out[i] = graph.VertexID(t)
		}
		return dst
	}
	for i, t := range list {
		out[i] = p.unpack(t)
	}
	return dst
}

// AppendPlaces appends the ids at some places of a list.
func (p IDs) AppendPlaces(dst []graph.VertexID, list, places []uint32) []graph.VertexID {
	n := len(dst)
	dst = slices.Grow(dst, len(places))[:n+len(places)]
	out := dst[n:]
	if p.shards <= 1 {
		for i, at := range places {
			out[i] = graph.VertexID(list[at])
		}
		return dst
	}
	for i, at := range places {
		out[i] = p.unpack(list[at])
	}
	return dst
}
