package bulk

import (
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
)

// sortedRecord is an edge that is being sorted by one of its ends. It is spilled as
//
//	byte          flags, and in the high bits the size of the properties or, if it is more, recordSize
//	2 or 4 bytes  place of that end in its bucket
//	4 or 8 bytes  the other end
//	4 or 8 bytes  for in lists alone: the edge's id
//	uvarint       the size of the properties if it is not in the flags
//	bytes         properties: each its number, the size of its cell (uvarints) and the cell
//
// Numbers of fixed width are little-endian.
type sortedRecord struct {
	upsert bool // for out lists alone
	place  uint32
	other  graph.VertexID
	id     graph.EdgeID
	props  []byte
}

const (
	recordUpsert    byte = 1
	recordLongPlace byte = 2
	recordLongOther byte = 4
	recordLongID    byte = 8

	recordSizeAt = 4
	recordSize   = 1<<(8-recordSizeAt) - 1
)

// append appends the record of an edge in a list of a direction.
func (r *sortedRecord) append(b []byte, dir graph.Direction) []byte {
	flags, at := byte(0), len(b)
	if r.upsert {
		flags = recordUpsert
	}
	b = append(b, 0)
	if r.place < 1<<16 {
		b = binary.LittleEndian.AppendUint16(b, uint16(r.place))
	} else {
		flags |= recordLongPlace
		b = binary.LittleEndian.AppendUint32(b, r.place)
	}
	if r.other < 1<<32 {
		b = binary.LittleEndian.AppendUint32(b, uint32(r.other))
	} else {
		flags |= recordLongOther
		b = binary.LittleEndian.AppendUint64(b, uint64(r.other))
	}
	if dir == graph.In {
		if r.id < 1<<32 {
			b = binary.LittleEndian.AppendUint32(b, uint32(r.id))
		} else {
			flags |= recordLongID
			b = binary.LittleEndian.AppendUint64(b, uint64(r.id))
		}
	}
	if n := len(r.props); n < recordSize {
		flags |= byte(n) << recordSizeAt
	} else {
		flags |= recordSize << recordSizeAt
		b = binary.AppendUvarint(b, uint64(n))
	}
	b[at] = flags
	return append(b, r.props...)
}

// read reads the record at the beginning of b, whose memory it shares, and returns its size.
func (r *sortedRecord) read(b []byte, dir graph.Direction) (size int) {
	flags, at := b[0], 3
	r.upsert = flags&recordUpsert != 0
	if flags&recordLongPlace == 0 {
		r.place = uint32(binary.LittleEndian.Uint16(b[1:]))
	} else {
		r.place, at = binary.LittleEndian.Uint32(b[1:]), 5
	}
	if flags&recordLongOther == 0 {
		r.other = graph.VertexID(binary.LittleEndian.Uint32(b[at:]))
		at += 4
	} else {
		r.other = graph.VertexID(binary.LittleEndian.Uint64(b[at:]))
		at += 8
	}
	if dir == graph.In {
		if flags&recordLongID == 0 {
			r.id = graph.EdgeID(binary.LittleEndian.Uint32(b[at:]))
			at += 4
		} else {
			r.id = graph.EdgeID(binary.LittleEndian.Uint64(b[at:]))
			at += 8
		}
	}
	n := int(flags >> recordSizeAt)
	if n == recordSize {
		v, k := binary.Uvarint(b[at:])
		n, at = int(v), at+k
	}
	r.props = b[at : at+n : at+n]
	return at + n
}
