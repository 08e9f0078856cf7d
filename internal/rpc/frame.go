package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// frame is a message of a stream: a part of a call or of an answer. It is a byte of flags; in the first frame of a call the
// length of the method's name (uvarint), the name, and the nanoseconds until the deadline (uvarint, 0: none); then the body.
type frame struct {
	call    bool // the first of a call
	more    bool // further frames follow
	failed  bool // the body is a status
	method  []byte
	timeout time.Duration
	body    []byte
}

var errFrame = errors.New("rpc: malformed frame")

const (
	flagCall = 1 << iota
	flagMore
	flagFailed
)

// The header takes about usualHead bytes, and less than longestHead if the method exists.
const usualHead, longestHead = 80, 256

func (p *frame) appendHead(dst []byte) []byte {
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
func (p *frame) parse(b []byte) error {
	if len(b) == 0 {
		return errFrame
	}
	flags := b[0]
	p.call, p.more, p.failed = flags&flagCall != 0, flags&flagMore != 0, flags&flagFailed != 0
	b = b[1:]
	if p.call {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return errFrame
		}
		p.method = append(p.method[:0], b[size:][:n]...)
		b = b[size:][n:]
		timeout, size := binary.Uvarint(b)
		if size <= 0 {
			return errFrame
		}
		p.timeout, b = time.Duration(timeout&(1<<63-1)), b[size:]
	}
	p.body = append(p.body, b...)
	return nil
}

// size estimates how many bytes the message takes on the wire.
func (p *frame) size() int {
	const overhead = 5 + 9 // of gRPC and of HTTP/2
	var head [usualHead]byte
	return overhead + len(p.appendHead(head[:0])) + len(p.body)
}

// frameCodec is a gRPC codec for frames. It leaves other messages to protobuf.
type frameCodec struct{}

// Name implements encoding.CodecV2.
func (frameCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2. It does not copy the body of a frame.
func (frameCodec) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*frame)
	if !ok {
		return encoding.GetCodecV2("proto").Marshal(v)
	}
	return mem.BufferSlice{mem.SliceBuffer(p.appendHead(make([]byte, 0, usualHead))), mem.SliceBuffer(p.body)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (frameCodec) Unmarshal(data mem.BufferSlice, v any) error {
	p, ok := v.(*frame)
	if !ok {
		return encoding.GetCodecV2("proto").Unmarshal(data, v)
	}
	if len(data) == 0 {
		return fmt.Errorf("an empty frame: %w", errFrame)
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
