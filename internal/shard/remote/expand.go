package remote

import (
	"slices"
	"sync"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// expansion is what the answer to one Expand needs memory for.
type expansion struct {
	n    shard.Neighbours
	seen graph.VertexSet // empty between requests
	ends []graph.VertexID
}

var expansions = sync.Pool{New: func() any { return new(expansion) }}

// keptEdges bounds the answers whose memory is kept for others.
const keptEdges = 1 << 17

func (m *expansion) release() {
	if cap(m.n.Targets) > keptEdges {
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
		b = appendSet(nil, &m.seen, -1)
	} else {
		slices.Sort(m.ends)
		b = appendSorted(nil, m.ends)
	}
	m.seen.RemoveAll(m.ends)
	return b
}

func encodeRanges(where []shard.EdgeRange) ([]*pb.EdgeRange, error) {
	out := make([]*pb.EdgeRange, len(where))
	for i := range where {
		in := &where[i].In
		bounds, err := appendValues(nil, []graph.Value{in.Lo, in.Hi})
		if err != nil {
			return nil, err
		}
		out[i] = &pb.EdgeRange{Prop: uint32(where[i].Prop), Bounds: bounds, LoOpen: in.LoOpen, HiOpen: in.HiOpen}
	}
	return out, nil
}

func decodeRanges(where []*pb.EdgeRange) ([]shard.EdgeRange, error) {
	out := make([]shard.EdgeRange, len(where))
	for i, w := range where {
		bounds, err := parseValues(nil, w.GetBounds(), 0, nil)
		if err != nil || len(bounds) != 2 || bounds[0].IsNull() && bounds[1].IsNull() {
			return nil, errCodec
		}
		for _, v := range bounds {
			if !v.IsNull() && !graph.Bounds(v) {
				return nil, errCodec
			}
		}
		out[i] = shard.EdgeRange{
			Prop: graph.PropID(w.GetProp()), In: graph.Interval{Lo: bounds[0], Hi: bounds[1], LoOpen: w.GetLoOpen(), HiOpen: w.GetHiOpen()},
		}
	}
	return out, nil
}
