package grpcapi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// frames is the transport's interface to the messages of a call. gRPC itself reads a message as soon as it knows its length; receiving
// reserves memory in between.
type frames interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
	ender
}

// bounded reads the messages of streams within the memory that large requests share. gRPC itself bounds the messages of other calls, which
// are all small, by request.SmallBody.
func bounded(e *query.Engine, host *request.Host) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		f, ok := grpc.ServerTransportStreamFromContext(ss.Context()).(frames)
		if !ok {
			return status.Error(codes.Internal, "unexpected gRPC transport")
		}
		s := &receiving{ServerStream: ss, e: e, host: host, ctx: ss.Context(), caller: ss.Context(), frames: f, many: info.IsClientStream, brief: info.FullMethod == pb.LoadService_Load_FullMethodName}
		defer s.end()
		return next(srv, s)
	}
}

// mostPieceTime bounds how long a client may take for what the server asks of a message at a time.
const mostPieceTime = time.Minute

// senderOf returns the sender of a call.
func senderOf(ctx context.Context) string {
	address := ""
	if p, ok := peer.FromContext(ctx); ok {
		address = p.Addr.String()
	}
	return request.Sender(ctx, address)
}

type receivingKey struct{}

// Context returns the context of the call, in which the receiver of its messages is found.
func (s *receiving) Context() context.Context { return (*receivingContext)(s) }

// receivingContext is a receiving as the context of its call, whose methods a stream has for other things.
type receivingContext receiving

// Value implements context.Context.
func (c *receivingContext) Value(key any) any {
	if key == (receivingKey{}) {
		return (*receiving)(c)
	}
	return c.ctx.Value(key)
}

// Deadline implements context.Context.
func (c *receivingContext) Deadline() (time.Time, bool) { return c.ctx.Deadline() }

// Done implements context.Context.
func (c *receivingContext) Done() <-chan struct{} { return c.ctx.Done() }

// Err implements context.Context.
func (c *receivingContext) Err() error { return c.ctx.Err() }

// receiving is a stream whose large messages wait for memory.
type receiving struct {
	grpc.ServerStream
	e      *query.Engine
	host   *request.Host
	ctx    context.Context // of the transport
	frames frames
	head   [5]byte // the compression flag and the length of the message that is read
	many   bool    // the client may send several messages
	// brief returns the memory of a message once it is read: a load bounds its own memory.
	brief bool

	mu      sync.Mutex // handlers may read concurrently and end earlier
	over    bool
	caller  context.Context // of the call: with its caller, once that is known
	release func()          // for the last message, or nil
}

// keep releases the memory of the last message; release is that of the next one, or nil.
func (s *receiving) keep(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release != nil {
		s.release()
	}
	if s.release = release; s.over && release != nil {
		release()
		s.release = nil
	}
}

// also adds what is released with the last message.
func (s *receiving) also(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.release
	s.release = func() {
		release()
		if before != nil {
			before()
		}
	}
}

// end releases all memory, current and future.
func (s *receiving) end() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.keep(nil)
}

// RecvMsg receives a message and releases the memory of the previous one.
func (s *receiving) RecvMsg(m any) error {
	s.keep(nil)
	if err := s.next(m); err != nil {
		s.keep(nil)
		if !s.many && errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "the call has no message")
		}
		return err
	}
	if s.brief {
		s.keep(nil)
	}
	if s.many {
		return nil
	}
	switch err := s.frames.ReadMessageHeader(s.head[:1]); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return s.broken(err)
	}
	return status.Error(codes.Internal, "the call has more than one message")
}

// next reads the next message.
func (s *receiving) next(m any) error {
	header := s.head[:]
	switch err := s.frames.ReadMessageHeader(header); {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return s.broken(err)
	}
	compressed, length, most := header[0] != 0, int64(binary.BigEndian.Uint32(header[1:])), s.host.MaxRequestBytes
	if length > most {
		return s.tooLarge()
	}
	size := length
	if compressed {
		size = most
	}
	var arrival *request.Arrival
	if size > request.SmallBody {
		arrival = s.host.Memory.Arrive(senderOf(s.caller))
		defer arrival.Release()
	}
	data, err := s.read(int(length), arrival)
	if err != nil {
		return err
	}
	defer func() { data.Free() }()
	release, err := arrival.Complete(s.Context(), size)
	if err != nil {
		return wire.GRPCError(err)
	}
	s.keep(release)
	if compressed {
		c := encoding.GetCompressor(s.frames.RecvCompress())
		if c == nil {
			return status.Errorf(codes.Unimplemented, "unsupported compression %q", s.frames.RecvCompress())
		}
		plain, err := plainOf(c, data, most)
		if err != nil {
			return status.Errorf(codes.Internal, "cannot decompress the message: %v", err)
		}
		data.Free()
		if data = plain; int64(data.Len()) > most {
			return s.tooLarge()
		}
	}
	if p, ok := m.(protoreflect.ProtoMessage); ok && data.Len() > request.SmallBody && !s.brief {
		plain := data.MaterializeToBuffer(mem.DefaultBufferPool())
		data.Free()
		data = mem.BufferSlice{plain}
		charge := s.e.Charge(s.Context())
		s.also(charge.Release)
		if err := charge.Add(decodedSize(p.ProtoReflect().Descriptor(), plain.ReadOnlyData(), math.MaxInt)); err != nil {
			return wire.GRPCError(err)
		}
	}
	if err := encoding.GetCodecV2(proto.Name).Unmarshal(data, m); err != nil {
		return status.Errorf(codes.Internal, "cannot read the message: %v", err)
	}
	return nil
}

// read reads the bytes of a message, which holds memory for at most twice those that have arrived. Asking for many at a time spares the client
// waits for windows.
func (s *receiving) read(length int, arrival *request.Arrival) (data mem.BufferSlice, err error) {
	if length <= request.SmallBody {
		if data, err = s.frames.Read(length); err != nil {
			return nil, s.broken(err)
		}
		return data, nil
	}
	late := time.AfterFunc(mostPieceTime, func() {
		_ = s.frames.WriteStatus(status.New(codes.DeadlineExceeded, fmt.Sprintf("the message did not arrive in time: each %d bytes of it have %v", request.BodyPiece, request.PieceTime)))
	})
	defer late.Stop()
	for at := 0; at < length; {
		n := min(length-at, max(request.BodyPiece, at))
		late.Stop()
		if err := arrival.Grow(s.Context(), int64(at+n)); err != nil {
			data.Free()
			return nil, wire.GRPCError(err)
		}
		late.Reset(min(request.PieceTime*time.Duration((n+request.BodyPiece-1)/request.BodyPiece), mostPieceTime))
		piece, err := s.frames.Read(n)
		if err != nil {
			data.Free()
			return nil, s.broken(err)
		}
		data = append(data, piece...)
		at += n
	}
	return data, nil
}

// plainOf decompresses data, up to one byte more than most.
func plainOf(c encoding.Compressor, data mem.BufferSlice, most int64) (mem.BufferSlice, error) {
	in := data.Reader()
	defer func() { _ = in.Close() }()
	plain, err := c.Decompress(in)
	if err != nil {
		return nil, err
	}
	return mem.ReadAll(io.LimitReader(plain, most+1), mem.DefaultBufferPool())
}

func (s *receiving) tooLarge() error {
	return status.Error(codes.ResourceExhausted, fmt.Sprintf("the message is larger than %d bytes, the limit max-request", s.host.MaxRequestBytes))
}

// broken returns the error for an incomplete message.
func (s *receiving) broken(err error) error {
	if ended := s.Context().Err(); ended != nil {
		return status.FromContextError(ended).Err()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Errorf(codes.Internal, "the message is incomplete: %v", err)
}
