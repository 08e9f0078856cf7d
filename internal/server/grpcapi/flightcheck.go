package grpcapi

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	// maxMetadata is how much the parts of a message's metadata may take together, each counted as often as it is named.
	maxMetadata = 16 << 20
	// partSize is the size charged for a part beside its vectors: about what the library allocates for it.
	partSize = 1 << 10
)

// checkMetadata checks the metadata of a message of Arrow, a FlatBuffer, before the library reads it: the library allocates what
// vectors and compressed buffers claim to hold, and follows offsets as often as they name a part.
func checkMetadata(data []byte) (err error) {
	if len(data) == 0 {
		return nil
	}
	defer func() {
		if p := recover(); p != nil { // an offset that leads out of the data
			err = wire.RequestError(fmt.Sprintf("cannot read the Arrow data: %v", p))
		}
	}()
	c := &headerCheck{left: maxMetadata}
	m := part{Table: flatbuffers.Table{Bytes: data, Pos: flatbuffers.GetUOffsetT(data)}, c: c}
	m.each(4, part.pair)
	switch header, kind := m.child(2), m.number(1); {
	case header.c == nil:
	case kind == 1: // Schema
		header.each(1, part.field)
		header.each(2, part.pair)
		header.vector(3, 8)
	case kind == 2: // DictionaryBatch
		if header.number(2) != 0 {
			panic("dictionary deltas are not supported")
		}
		header.child(1).batch()
	case kind == 3: // RecordBatch
		header.batch()
	}
	return nil
}

// headerCheck counts the parts of one message.
type headerCheck struct{ left int }

func (c *headerCheck) use(n int) {
	if c.left -= n; c.left < 0 {
		panic(fmt.Sprintf("their metadata exceed %d bytes", maxMetadata))
	}
}

// part is a table of the metadata. Its fields have the numbers of Arrow's definition, Message.fbs and Schema.fbs.
type part struct {
	flatbuffers.Table
	c     *headerCheck // nil: there is no such table
	depth int
}

// offset is that of a field, or 0.
func (p part) offset(field int) flatbuffers.UOffsetT {
	if p.c == nil {
		return 0
	}
	return flatbuffers.UOffsetT(p.Offset(flatbuffers.VOffsetT(4 + 2*field)))
}

// number is a field of one byte.
func (p part) number(field int) byte {
	if o := p.offset(field); o != 0 {
		return p.Bytes[p.Pos+o]
	}
	return 0
}

// child is a table inside of the part.
func (p part) child(field int) part {
	o := p.offset(field)
	if o == 0 {
		return part{}
	}
	return p.at(p.Indirect(p.Pos + o))
}

func (p part) at(pos flatbuffers.UOffsetT) part {
	if p.depth == wire.MaxDepth {
		panic(fmt.Sprintf("their metadata are nested deeper than %d", wire.MaxDepth))
	}
	p.c.use(partSize)
	return part{Table: flatbuffers.Table{Bytes: p.Bytes, Pos: pos}, c: p.c, depth: p.depth + 1}
}

// vector checks a vector of elements of a size, and returns its start and length.
func (p part) vector(field, size int) (start flatbuffers.UOffsetT, n int) {
	o := p.offset(field)
	if o == 0 {
		return 0, 0
	}
	start, n = p.Vector(o), p.VectorLen(o)
	if int64(start)+int64(n)*int64(size) > int64(len(p.Bytes)) {
		panic(fmt.Sprintf("a vector of %d elements extends past the metadata", n))
	}
	p.c.use(n * size)
	return start, n
}

// each checks the tables of a vector.
func (p part) each(field int, check func(part)) {
	start, n := p.vector(field, flatbuffers.SizeUOffsetT)
	for i := range n {
		check(p.at(p.Indirect(start + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))))
	}
}

// pair checks a KeyValue.
func (p part) pair() {
	p.vector(0, 1)
	p.vector(1, 1)
}

// field checks a Field.
func (p part) field() {
	p.vector(0, 1)
	switch typ := p.child(3); p.number(2) {
	case 10: // Timestamp: its zone
		typ.vector(1, 1)
	case 14: // Union: the ids of its types
		typ.vector(1, 4)
	}
	p.child(4).child(1) // DictionaryEncoding: the type of its indices
	p.each(5, part.field)
	p.each(6, part.pair)
}

// batch checks a RecordBatch. It must not be compressed, so that its size is known before it is read.
func (p part) batch() {
	if p.offset(3) != 0 {
		panic("compressed buffers are not supported")
	}
	p.vector(1, 16)
	p.vector(2, 16)
	p.vector(4, 8)
}
