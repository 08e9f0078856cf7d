package codec

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
	N, Total   int
	neighbours []byte
	way        byte
	least      uint64
	ids        []byte
}

// How edge ids are stored, besides a width in bytes.
const (
	IDsFollow byte = 9
	IDsAlong  byte = 10
)

// Parse opens a topology, whose bytes it shares, checks its sizes and returns the bytes after it.
func (t *topology) parse(b []byte) ([]byte, error) {
	n, b := Uvarint(b)
	total, b := Uvarint(b)
	size, b := Uvarint(b)
	if b == nil || n > uint64(len(b)) || size > uint64(len(b)) {
		return nil, ErrSegment
	}
	*t = topology{N: int(n), Total: int(total), neighbours: b[:size]}
	if b = b[size:]; len(b) == 0 || b[0] > IDsAlong {
		return nil, ErrSegment
	}
	t.way = b[0]
	if t.least, b = Uvarint(b[1:]); b == nil {
		return nil, ErrSegment
	}
	size = n * uint64(t.way)
	switch t.way {
	case IDsFollow:
		size = 0
	case IDsAlong:
		size, b = Uvarint(b)
	}
	if b == nil || size > uint64(len(b)) {
		return nil, ErrSegment
	}
	t.ids = b[:size]
	return b[size:], nil
}

// Uvarint reads a number and returns the bytes after it, nil if there is no number.
func Uvarint(b []byte) (uint64, []byte) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

// AppendNeighbours appends the neighbours.
func (t *topology) AppendNeighbours(dst []graph.VertexID) ([]graph.VertexID, error) {
	b, id := t.neighbours, uint64(0)
	for range t.N {
		if len(b) > 0 && b[0] < 0x80 {
			id += uint64(b[0])
			b = b[1:]
		} else {
			d, n := binary.Uvarint(b)
			if n <= 0 {
				return dst, ErrSegment
			}
			id += d
			b = b[n:]
		}
		dst = append(dst, graph.VertexID(id))
	}
	return dst, nil
}

// AppendIDs appends the edge ids; neighbours are those that appendNeighbours gives.
func (t *topology) AppendIDs(dst []graph.EdgeID, neighbours []graph.VertexID) ([]graph.EdgeID, error) {
	dst = slices.Grow(dst, t.N)
	switch t.way {
	case IDsFollow:
		for i := range t.N {
			dst = append(dst, graph.EdgeID(t.least+uint64(i)))
		}
	case IDsAlong:
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
					return dst, ErrSegment
				}
				b = b[n:]
			}
			distance += z>>1 ^ -(z & 1)
			dst = append(dst, graph.EdgeID(along(v, t.least)+distance))
		}
	default:
		for i := range t.N {
			dst = append(dst, graph.EdgeID(t.least+Fixed(t.ids, i, int(t.way))))
		}
	}
	return dst, nil
}

// along is about which id an edge of an in list has, whose source v is.
func along(v graph.VertexID, slope uint64) uint64 {
	return uint64(v)&^(1<<graph.LocalBits-1) + v.Local()*slope
}

// Ends are the far ends and ids of edges, sorted.
type Ends struct {
	Neighbours []graph.VertexID
	IDs        []graph.EdgeID
}

func (e *Ends) reset() { e.Neighbours, e.IDs = e.Neighbours[:0], e.IDs[:0] }

func (e *Ends) add(v graph.VertexID, id graph.EdgeID) {
	e.Neighbours, e.IDs = append(e.Neighbours, v), append(e.IDs, id)
}

// Set takes the ends of edges.
func (e *Ends) Set(edges []ListEdge) {
	e.reset()
	for i := range edges {
		e.add(edges[i].Neighbour, edges[i].Edge)
	}
}

// AppendTopology appends edges; total is how many their list has if this is its first segment, else 0.
func AppendTopology(dst []byte, e *Ends, total int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(e.IDs)))
	dst = binary.AppendUvarint(dst, uint64(total))
	last, size := uint64(0), 0
	for _, v := range e.Neighbours {
		size += uvarintSize(uint64(v) - last)
		last = uint64(v)
	}
	dst = binary.AppendUvarint(dst, uint64(size))
	last = 0
	for _, v := range e.Neighbours {
		dst = binary.AppendUvarint(dst, uint64(v)-last)
		last = uint64(v)
	}
	return e.appendIDs(dst)
}

// appendIDs appends the edge ids in the way that takes least.
func (e *Ends) appendIDs(dst []byte) []byte {
	least, most, follow := uint64(math.MaxUint64), uint64(0), len(e.IDs) > 1
	for i, id := range e.IDs {
		least, most = min(least, uint64(id)), max(most, uint64(id))
		follow = follow && id == e.IDs[0]+graph.EdgeID(i)
	}
	if follow {
		return binary.AppendUvarint(append(dst, IDsFollow), least)
	}
	if len(e.IDs) == 0 {
		least = 0
	}
	width := WidthOf(max(most, least) - least)
	if slope := e.slope(); slope > 0 && width > 1 {
		if size := e.sizeAlong(slope); uvarintSize(slope)+uvarintSize(uint64(size))+size < uvarintSize(least)+len(e.IDs)*width {
			return e.appendAlong(dst, slope, size)
		}
	}
	dst = binary.AppendUvarint(append(dst, byte(width)), least)
	for _, id := range e.IDs {
		dst = AppendFixed(dst, uint64(id)-least, width)
	}
	return dst
}

// slope is by how much ids rise from one neighbour to the next where they do; 0 if they never do.
func (e *Ends) slope() uint64 {
	var run, rise uint64
	for i := 1; i < len(e.IDs); i++ {
		v, w := e.Neighbours[i-1], e.Neighbours[i]
		if v.Shard() == w.Shard() && e.IDs[i-1].Shard() == e.IDs[i].Shard() && e.IDs[i-1] < e.IDs[i] {
			run += uint64(w - v)
			rise += uint64(e.IDs[i] - e.IDs[i-1])
		}
	}
	return rise / max(run, 1)
}

// sizeAlong is how many bytes the differences of appendAlong take.
func (e *Ends) sizeAlong(slope uint64) int {
	size, distance := 0, uint64(0)
	for i, id := range e.IDs {
		d := uint64(id) - along(e.Neighbours[i], slope)
		size += uvarintSize(zigzag(d - distance))
		distance = d
	}
	return size
}

// appendAlong appends the edge ids as idsAlong; size is what sizeAlong gives.
func (e *Ends) appendAlong(dst []byte, slope uint64, size int) []byte {
	dst = binary.AppendUvarint(append(dst, IDsAlong), slope)
	dst = binary.AppendUvarint(dst, uint64(size))
	distance := uint64(0)
	for i, id := range e.IDs {
		d := uint64(id) - along(e.Neighbours[i], slope)
		dst = binary.AppendUvarint(dst, zigzag(d-distance))
		distance = d
	}
	return dst
}

// zigzag makes a small number of a small difference of either sign.
func zigzag(d uint64) uint64 { return d<<1 ^ -(d >> 63) }

// uvarintSize is how many bytes v takes.
func uvarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// ListEdge is an edge in a list.
type ListEdge struct {
	Vertex    uint64 // local id of the list's vertex
	Neighbour graph.VertexID
	Edge      graph.EdgeID
	Row       int32 // of the property columns
}
