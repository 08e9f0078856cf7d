package remote

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // which pieces leaves all other messages to
	"google.golang.org/grpc/mem"
)

// piece is a message of a line: a part of a call or of an answer. It is a byte of flags, in the first piece of a call the
// length of the method's name (uvarint), the name and the nanoseconds until the deadline (uvarint, 0: none), and the body to
// the end.
type piece struct {
	call    bool // the first of a call
	more    bool // further pieces follow
	failed  bool // the body is a status
	method  string
	timeout time.Duration
	body    []byte
}

const (
	flagCall = 1 << iota
	flagMore
	flagFailed
)

// What stands before the body takes about usualHead, and less than longestHead if the method is one that there is.
const usualHead, longestHead = 80, 256

func (p *piece) appendHead(dst []byte) []byte {
	flags := byte(0)
	for i, f := range [...]bool{p.call, p.more, p.failed} {
		if f {
			flags |= 1 << i
		}
	}
	dst = append(dst, flags)
	if p.call {
		dst = binary.AppendUvarint(dst, uint64(len(p.method)))
		dst = append(dst, p.method...)
		dst = binary.AppendUvarint(dst, uint64(p.timeout))
	}
	return dst
}

// parse appends the body to that of p.
func (p *piece) parse(b []byte) error {
	if len(b) == 0 {
		return errCodec
	}
	flags := b[0]
	p.call, p.more, p.failed = flags&flagCall != 0, flags&flagMore != 0, flags&flagFailed != 0
	b = b[1:]
	if p.call {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return errCodec
		}
		name := b[size:][:n]
		if u := unaries[string(name)]; u != nil {
			p.method = u.method // no copy
		} else {
			p.method = string(name)
		}
		b = b[size:][n:]
		timeout, size := binary.Uvarint(b)
		if size <= 0 {
			return errCodec
		}
		p.timeout, b = time.Duration(timeout&(1<<63-1)), b[size:]
	}
	p.body = append(p.body, b...)
	return nil
}

// size is about what the message takes, its frame included.
func (p *piece) size() int {
	const frame = 5 + 9 // of gRPC and of HTTP/2
	var head [usualHead]byte
	return frame + len(p.appendHead(head[:0])) + len(p.body)
}

// pieces is a codec of gRPC that reads and writes pieces, and leaves other messages to protobuf.
type pieces struct{}

// Name implements encoding.CodecV2.
func (pieces) Name() string { return "proto" }

// Marshal implements encoding.CodecV2. The body of a piece is not copied.
func (pieces) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*piece)
	if !ok {
		return encoding.GetCodecV2("proto").Marshal(v)
	}
	return mem.BufferSlice{mem.SliceBuffer(p.appendHead(make([]byte, 0, usualHead))), mem.SliceBuffer(p.body)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (pieces) Unmarshal(data mem.BufferSlice, v any) error {
	p, ok := v.(*piece)
	if !ok {
		return encoding.GetCodecV2("proto").Unmarshal(data, v)
	}
	if len(data) == 0 {
		return fmt.Errorf("an empty piece: %w", errCodec)
	}
	if len(data) > 1 && data[0].Len() < longestHead {
		whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer whole.Free()
		return p.parse(whole.ReadOnlyData())
	}
	p.body = slices.Grow(p.body, data.Len())
	if err := p.parse(data[0].ReadOnlyData()); err != nil {
		return err
	}
	for _, b := range data[1:] {
		p.body = append(p.body, b.ReadOnlyData()...)
	}
	return nil
}
