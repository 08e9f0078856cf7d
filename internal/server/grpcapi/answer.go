package grpcapi

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// encoded is a message that is encoded already.
type encoded struct {
	data mem.BufferSlice
	size int
}

// codec is gRPC's of protocol buffers, which also takes messages that are encoded already.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*encoded); ok {
		return m.data, nil
	}
	return c.CodecV2.Marshal(v)
}

// The fields of QueryResponse.part.
const (
	headerPart  protowire.Number = 1
	rowsPart    protowire.Number = 2
	summaryPart protowire.Number = 3
)

// answer sends messages of QueryResponse. A short answer has three of them, whose bytes share memory.
type answer struct {
	stream grpc.ServerStream
	header pb.QueryHeader
	buf    []byte // of the short messages
	used   int    // of first
	first  [3]struct {
		encoded
		slice mem.SliceBuffer
		data  [1]mem.Buffer
	}
}

// shortAnswer is the memory for the short messages of an answer.
const shortAnswer = 256

// begin implements resultSender.
func (a *answer) begin(columns []string) error {
	a.header.Fields = columns
	return a.send(headerPart, &a.header, protobuf.Size(&a.header))
}

// rows implements resultSender.
func (a *answer) rows(rows *pb.RowBatch, size int) error { return a.send(rowsPart, rows, size) }

// end implements resultSender.
func (a *answer) end(s *pb.QuerySummary) error { return a.send(summaryPart, s, protobuf.Size(s)) }

// send sends a part, whose size has just been computed.
func (a *answer) send(field protowire.Number, part protobuf.Message, size int) error {
	whole := protowire.SizeTag(field) + protowire.SizeBytes(size)
	if whole > shortAnswer || a.used == len(a.first) {
		pool := mem.DefaultBufferPool()
		buf := pool.Get(whole)
		if _, err := appendPart((*buf)[:0], field, part, size); err != nil {
			pool.Put(buf)
			return err
		}
		return a.stream.SendMsg(&encoded{mem.BufferSlice{mem.NewBuffer(buf, pool)}, whole})
	}
	if cap(a.buf)-len(a.buf) < whole {
		a.buf = make([]byte, 0, shortAnswer)
	}
	at := len(a.buf)
	buf, err := appendPart(a.buf, field, part, size)
	if err != nil {
		return err
	}
	a.buf = buf
	m := &a.first[a.used]
	a.used++
	m.slice, m.size = buf[at:], whole
	m.data[0] = &m.slice
	m.encoded.data = m.data[:]
	return a.stream.SendMsg(&m.encoded)
}

// appendPart appends a message of QueryResponse with a part.
func appendPart(dst []byte, field protowire.Number, part protobuf.Message, size int) ([]byte, error) {
	dst = protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.BytesType), uint64(size))
	return protobuf.MarshalOptions{UseCachedSize: true}.MarshalAppend(dst, part)
}
