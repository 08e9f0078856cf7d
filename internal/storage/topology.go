package storage

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// The topology of a segment is the far ends and ids of its edges. It is stored as
//
//	uvarint  number of edges
//	uvarint  number of edges in the whole list, in the list's first segment; else 0
//	uvarint  size of the neighbours in bytes
//	bytes    neighbours: the first id, then differences, uvarints
//	byte     how the edge ids are stored: their width in bytes (0 to 8), idsFollow or idsAlong
//	uvarint  least edge id; for idsFollow the first one; for idsAlong the slope
//	bytes    for a width: edges × (edge id - least), little-endian;
//	         for idsAlong: size in bytes (uvarint), then the differences of the distances (zigzag varints)
//
// idsFollow is for out lists whose edges were made together: each id is one more than the last.
//
// idsAlong is for in lists, whose edges' ids ascend with their sources if they were given out source by source. The
// slope is about how many ids there are from one source to the next; an id's distance is how far it is from
// slope × source in the source's shard.
type topology struct {
	n, total   int
	neighbours []byte
	way        byte
	least      uint64
	ids        []byte
}

const (
	idsFollow byte = 9
	idsAlong  byte = 10
)

// parse opens a topology, whose bytes it shares, checks its sizes and gives what follows.
func (t *topology) parse(b []byte) ([]byte, error) {
	n, b := uvarint(b)
	total, b := uvarint(b)
	size, b := uvarint(b)
	if b == nil || n > uint64(len(b)) || size > uint64(len(b)) {
		return nil, errSegment
	}
	*t = topology{n: int(n), total: int(total), neighbours: b[:size]}
	if b = b[size:]; len(b) == 0 || b[0] > idsAlong {
		return nil, errSegment
	}
	t.way = b[0]
	if t.least, b = uvarint(b[1:]); b == nil {
		return nil, errSegment
	}
	size = n * uint64(t.way)
	switch t.way {
	case idsFollow:
		size = 0
	case idsAlong:
		size, b = uvarint(b)
	}
	if b == nil || size > uint64(len(b)) {
		return nil, errSegment
	}
	t.ids = b[:size]
	return b[size:], nil
}

// uvarint reads a number and gives what is left, nil if there was none.
func uvarint(b []byte) (uint64, []byte) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

// appendNeighbours appends the neighbours.
func (t *topology) appendNeighbours(dst []graph.VertexID) ([]graph.VertexID, error) {
	b, id := t.neighbours, uint64(0)
	for range t.n {
		if len(b) > 0 && b[0] < 0x80 {
			id += uint64(b[0])
			b = b[1:]
		} else {
			d, n := binary.Uvarint(b)
			if n <= 0 {
				return dst, errSegment
			}
			id += d
			b = b[n:]
		}
		dst = append(dst, graph.VertexID(id))
	}
	return dst, nil
}

// appendIDs appends the edge ids; neighbours are those that appendNeighbours gives.
func (t *topology) appendIDs(dst []graph.EdgeID, neighbours []graph.VertexID) ([]graph.EdgeID, error) {
	dst = slices.Grow(dst, t.n)
	switch t.way {
	case idsFollow:
		for i := range t.n {
			dst = append(dst, graph.EdgeID(t.least+uint64(i)))
		}
	case idsAlong:
		b, distance := t.ids, uint64(0)
		for _, v := range neighbours {
			var z uint64
			switch {
			case len(b) > 0 && b[0] < 0x80:
				z, b = uint64(b[0]), b[1:]
			case len(b) > 1 && b[1] < 0x80:
				z, b = uint64(b[0]&0x7f)|uint64(b[1])<<7, b[2:]
			default:
				var n int
				if z, n = binary.Uvarint(b); n <= 0 {
					return dst, errSegment
				}
				b = b[n:]
			}
			distance += z>>1 ^ -(z & 1)
			dst = append(dst, graph.EdgeID(along(v, t.least)+distance))
		}
	default:
		for i := range t.n {
			dst = append(dst, graph.EdgeID(t.least+fixed(t.ids, i, int(t.way))))
		}
	}
	return dst, nil
}

// along is about which id an edge of an in list has, whose source v is.
func along(v graph.VertexID, slope uint64) uint64 {
	return uint64(v)&^(1<<graph.LocalBits-1) + v.Local()*slope
}

// ends are the far ends and ids of edges, sorted.
type ends struct {
	neighbours []graph.VertexID
	ids        []graph.EdgeID
}

func (e *ends) reset() { e.neighbours, e.ids = e.neighbours[:0], e.ids[:0] }

func (e *ends) add(v graph.VertexID, id graph.EdgeID) {
	e.neighbours, e.ids = append(e.neighbours, v), append(e.ids, id)
}

// set takes the ends of edges.
func (e *ends) set(edges []ListEdge) {
	e.reset()
	for i := range edges {
		e.add(edges[i].Neighbour, edges[i].Edge)
	}
}

// appendTopology appends edges; total is how many their list has if this is its first segment, else 0.
func appendTopology(dst []byte, e *ends, total int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(e.ids)))
	dst = binary.AppendUvarint(dst, uint64(total))
	last, size := uint64(0), 0
	for _, v := range e.neighbours {
		size += uvarintSize(uint64(v) - last)
		last = uint64(v)
	}
	dst = binary.AppendUvarint(dst, uint64(size))
	last = 0
	for _, v := range e.neighbours {
		dst = binary.AppendUvarint(dst, uint64(v)-last)
		last = uint64(v)
	}
	return e.appendIDs(dst)
}

// appendIDs appends the edge ids in the way that takes least.
func (e *ends) appendIDs(dst []byte) []byte {
	least, most, follow := uint64(math.MaxUint64), uint64(0), len(e.ids) > 1
	for i, id := range e.ids {
		least, most = min(least, uint64(id)), max(most, uint64(id))
		follow = follow && id == e.ids[0]+graph.EdgeID(i)
	}
	if follow {
		return binary.AppendUvarint(append(dst, idsFollow), least)
	}
	if len(e.ids) == 0 {
		least = 0
	}
	width := widthOf(max(most, least) - least)
	if slope := e.slope(); slope > 0 && width > 1 {
		if size := e.sizeAlong(slope); uvarintSize(slope)+uvarintSize(uint64(size))+size < uvarintSize(least)+len(e.ids)*width {
			return e.appendAlong(dst, slope, size)
		}
	}
	dst = binary.AppendUvarint(append(dst, byte(width)), least)
	for _, id := range e.ids {
		dst = appendFixed(dst, uint64(id)-least, width)
	}
	return dst
}

// slope is by how much ids rise from one neighbour to the next where they do; 0 if they never do.
func (e *ends) slope() uint64 {
	var run, rise uint64
	for i := 1; i < len(e.ids); i++ {
		v, w := e.neighbours[i-1], e.neighbours[i]
		if v.Shard() == w.Shard() && e.ids[i-1].Shard() == e.ids[i].Shard() && e.ids[i-1] < e.ids[i] {
			run += uint64(w - v)
			rise += uint64(e.ids[i] - e.ids[i-1])
		}
	}
	return rise / max(run, 1)
}

// sizeAlong is how many bytes the differences of appendAlong take.
func (e *ends) sizeAlong(slope uint64) int {
	size, distance := 0, uint64(0)
	for i, id := range e.ids {
		d := uint64(id) - along(e.neighbours[i], slope)
		size += uvarintSize(zigzag(d - distance))
		distance = d
	}
	return size
}

// appendAlong appends the edge ids as idsAlong; size is what sizeAlong gives.
func (e *ends) appendAlong(dst []byte, slope uint64, size int) []byte {
	dst = binary.AppendUvarint(append(dst, idsAlong), slope)
	dst = binary.AppendUvarint(dst, uint64(size))
	distance := uint64(0)
	for i, id := range e.ids {
		d := uint64(id) - along(e.neighbours[i], slope)
		dst = binary.AppendUvarint(dst, zigzag(d-distance))
		distance = d
	}
	return dst
}

// zigzag makes a small number of a small difference of either sign.
func zigzag(d uint64) uint64 { return d<<1 ^ -(d >> 63) }

// uvarintSize is how many bytes v takes.
func uvarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
