package remote

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// The calls of the services travel over streams that last: a stream takes one call after the other, in pieces that are
// far below what a message may have, and so does its answer. A call then costs neither a stream nor its headers, which is
// more than most of them compute. It names its deadline; a caller who gives a call up ends the stream, which ends the
// call's context at the other side at once.

// pieceBytes is how much of a call or an answer one message carries.
const pieceBytes = 1 << 20

// talkMethod is the stream of lines.
const talkMethod = "/hopgate.shard.v1.LineService/Talk"

// lineAge bounds how long a stream is used, so that a process that ends need not wait for them, and how long one is kept.
const lineAge = 2 * time.Second

// unary is a call that lines can carry.
type unary struct {
	method     string // as gRPC names it, which all versions of the processes agree on
	service    string
	desc       *grpc.MethodDesc
	idempotent bool // it may be made again, as its idempotency_level says
}

// carried are the services whose calls lines can carry.
var carried = []*grpc.ServiceDesc{&pb.ReadService_ServiceDesc, &pb.KeepService_ServiceDesc, &pb.LeadService_ServiceDesc}

// unaries are the calls by the names of their methods.
var unaries = listUnaries()

func listUnaries() map[string]*unary {
	all := map[string]*unary{}
	for _, s := range carried {
		for i := range s.Methods {
			m := &s.Methods[i]
			u := &unary{"/" + s.ServiceName + "/" + m.MethodName, s.ServiceName, m, false}
			// UNKNOWN, the default, stands for a call that must not be made again.
			u.idempotent = methodOptions(u).GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
			all[u.method] = u
		}
	}
	return all
}

// methodOptions returns the options of a call in its .proto file.
func methodOptions(u *unary) *descriptorpb.MethodOptions {
	name := protoreflect.FullName(u.service).Append(protoreflect.Name(u.desc.MethodName))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		panic(err) // the generated code registers all methods
	}
	return d.Options().(*descriptorpb.MethodOptions)
}

// caller carries the calls to one process.
type caller interface {
	grpc.ClientConnInterface
	// start sends a call, one of those of fan if it is not nil, and gives a function that waits for the answer and fills out. It must be called,
	// unless ctx is ended instead.
	start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error)
}

// line implements caller by streams that last.
type line struct {
	conn  *grpc.ClientConn
	pulse *pulse // or nil

	mu    sync.Mutex
	idle  []*talk // the last used last
	timed bool    // sweep will be called
}

func newLine(c *grpc.ClientConn) *line { return &line{conn: c} }

// newPulsedLine returns a line whose calls end when the process stops answering; see startPulse. The caller closes its pulse.
func newPulsedLine(c *grpc.ClientConn, heard func(changes uint32)) *line {
	return &line{conn: c, pulse: startPulse(c, heard)}
}

// talk is a stream, which one call at a time has.
type talk struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	life   context.Context // of the process
	since  time.Time
	buf    []byte // of the call
	got    piece
	whole  []byte // of an answer in several pieces
}

// NewStream implements grpc.ClientConnInterface.
func (l *line) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, life, cancel := l.pulse.lived(ctx)
	stream, err := l.conn.NewStream(ctx, desc, method, opts...)
	if err != nil {
		cancel()
		if life.Err() != nil {
			err = errSilent
		}
		return nil, err
	}
	return &livedStream{stream, life}, nil
}

// Invoke implements grpc.ClientConnInterface.
func (l *line) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	in, isIn := args.(proto.Message)
	out, isOut := reply.(proto.Message)
	if !isIn || !isOut {
		return status.Error(codes.Unimplemented, method)
	}
	return l.start(ctx, method, in, out, nil)()
}

// start implements caller.
func (l *line) start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error) {
	u, err := unaries[method], ctx.Err()
	switch {
	case u == nil:
		err = status.Error(codes.Unimplemented, method)
	case err != nil:
		err = status.FromContextError(err).Err()
	}
	if err != nil {
		return func() error { return err }
	}
	if finish := fan.join(ctx, l, u, in, out); finish != nil {
		return finish
	}
	c := &underway{l: l, u: u, in: in, out: out, t: l.take(u.idempotent)}
	if fan != nil {
		c.wire = fan.wire
	}
	c.used = c.t != nil
	c.send(ctx)
	return func() error { return c.finish(ctx) }
}

// underway is a call that has been sent.
type underway struct {
	l       *line
	u       *unary
	in, out proto.Message
	wire    *graph.Wire // counts the call, if not nil

	t    *talk
	used bool // the stream has carried calls before
	sent int
	err  error       // of sending
	keep func() bool // keeps the stream from being ended with the call's context
}

// finish waits for the answer.
func (c *underway) finish(ctx context.Context) error {
	for {
		answered, err := c.receive(ctx)
		if answered {
			c.l.put(c.t)
			return err
		}
		c.t.cancel()
		if !c.used || status.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
		// The process, or the connection, has ended since the stream was used, and the other streams are gone with it.
		c.l.drop()
		c.t, c.used = nil, false
		c.send(ctx)
	}
}

// take returns a stream that was used before, if there is one and the call may be made again, should it have ended meanwhile.
func (l *line) take(idempotent bool) *talk {
	if !idempotent {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return nil
	}
	t := l.idle[n-1]
	l.idle[n-1] = nil
	l.idle = l.idle[:n-1]
	return t
}

// put keeps a stream for further calls.
func (l *line) put(t *talk) {
	if time.Since(t.since) > lineAge {
		t.end()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, t)
	if !l.timed {
		l.timed = true
		time.AfterFunc(lineAge, l.sweep)
	}
}

// sweep ends the streams that are too old.
func (l *line) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.idle[:0]
	for _, t := range l.idle {
		if time.Since(t.since) > lineAge {
			t.end()
			continue
		}
		kept = append(kept, t)
	}
	clear(l.idle[len(kept):])
	l.idle = kept
	if l.timed = len(kept) > 0; l.timed {
		time.AfterFunc(lineAge, l.sweep)
	}
}

// drop ends all idle streams.
func (l *line) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range l.idle {
		t.cancel()
		l.idle[i] = nil
	}
	l.idle = l.idle[:0]
}

// end ends an idle stream.
func (t *talk) end() {
	_ = t.stream.CloseSend()
	t.cancel()
}

// send sends the call, on a new stream if it has none.
func (c *underway) send(ctx context.Context) {
	var streamCtx context.Context
	if !c.used {
		c.t = &talk{since: time.Now()}
		streamCtx, c.t.life, c.t.cancel = c.l.pulse.lived(context.WithoutCancel(ctx))
	}
	t := c.t
	c.keep = context.AfterFunc(ctx, t.cancel)
	if !c.used {
		t.stream, c.err = c.l.conn.NewStream(streamCtx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, talkMethod, grpc.ForceCodecV2(pieces{}))
		if c.err != nil {
			return
		}
	}
	if t.buf, c.err = (proto.MarshalOptions{}).MarshalAppend(t.buf[:0], c.in); c.err != nil {
		c.err = status.Error(codes.Internal, c.err.Error())
		return
	}
	first := piece{method: c.u.method, call: true}
	if by, ok := ctx.Deadline(); ok {
		first.timeout = max(time.Until(by), 1)
	}
	if c.sent, c.err = send(t.stream, &first, t.buf); errors.Is(c.err, io.EOF) {
		c.err = nil // of an end of the stream the answer tells
	}
}

// receive waits for the answer; answered tells that there was one, possibly an error, and that the stream can be used again.
func (c *underway) receive(ctx context.Context) (answered bool, err error) {
	defer func() { answered = c.keep() && answered }() // or the stream is ended, however late
	if c.err != nil {
		return false, c.t.ended(ctx, c.err)
	}
	t := c.t
	body, received, err := receive(t.stream, &t.got, t.whole[:0])
	if err != nil {
		return false, t.ended(ctx, err)
	}
	if cap(body) <= pieceBytes {
		t.whole = body
	}
	c.wire.Count(c.sent, received)
	err, ok := parseAnswer(body, t.got.failed, c.out)
	if ok && cap(t.buf) > pieceBytes {
		t.buf = nil
	}
	return ok, err
}

// parseAnswer fills out from the body of an answer, or returns the error that it is; ok is false if the body is damaged.
func parseAnswer(body []byte, failed bool, out proto.Message) (err error, ok bool) {
	var st spb.Status
	if failed {
		out = &st
	}
	if err := proto.Unmarshal(body, out); err != nil {
		return status.Error(codes.Internal, err.Error()), false
	}
	return status.ErrorProto(&st), true
}

// ended returns the error of a stream that has ended, which may be because of the call's own context or the process's life.
func (t *talk) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if t.life.Err() != nil {
		return errSilent
	}
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "the stream has ended")
	}
	return err
}

// send sends a call or an answer and returns the number of bytes.
func send(s interface{ SendMsg(m any) error }, first *piece, body []byte) (n int, err error) {
	p := first
	for {
		p.body = body[:min(len(body), pieceBytes)]
		body = body[len(p.body):]
		p.more = len(body) > 0
		if err := s.SendMsg(p); err != nil {
			return n, err
		}
		n += p.size()
		if !p.more {
			return n, nil
		}
		p = &piece{}
	}
}

// receive appends the body of a call or an answer to dst, with the rest of its first piece in first.
func receive(s interface{ RecvMsg(m any) error }, first *piece, dst []byte) (body []byte, n int, err error) {
	*first = piece{body: dst}
	if err := s.RecvMsg(first); err != nil {
		return dst, 0, err
	}
	n = first.size() - len(dst)
	next := *first
	for next.more {
		before := len(next.body)
		next = piece{body: next.body}
		if err := s.RecvMsg(&next); err != nil {
			return dst, n, err
		}
		n += next.size() - before
	}
	return next.body, n, nil
}

// lines answers at the other end.
type lines struct {
	servers map[string]any // by service
}

// register makes a gRPC server take the calls of some services over lines too.
func (l *lines) register(s grpc.ServiceRegistrar) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "hopgate.shard.v1.LineService", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Talk", Handler: l.talk, ClientStreams: true, ServerStreams: true}},
	}, l)
}

// talk answers the calls of one stream.
func (l *lines) talk(_ any, stream grpc.ServerStream) error {
	var first piece
	var call, answer []byte
	for {
		var err error
		call, _, err = receive(stream, &first, call[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out := piece{}
		if answer, out.failed, err = l.answer(stream.Context(), &first, call, answer[:0]); err != nil {
			return err
		}
		if _, err := send(stream, &out, answer); err != nil {
			return err
		}
		if cap(call) > pieceBytes {
			call = nil
		}
		if cap(answer) > pieceBytes {
			answer = nil
		}
	}
}

// answer appends the answer to a call to dst, a status if failed is set.
func (l *lines) answer(ctx context.Context, first *piece, call, dst []byte) (body []byte, failed bool, err error) {
	u := unaries[first.method]
	if u == nil || l.servers[u.service] == nil {
		return appendStatus(dst, status.Error(codes.Unimplemented, "this process does not take the call"))
	}
	if first.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, first.timeout)
		defer cancel()
	}
	return u.answer(ctx, l.servers[u.service], call, dst)
}

// answer appends what a server answers to a call to dst, a status if failed is set.
func (u *unary) answer(ctx context.Context, server any, call, dst []byte) (body []byte, failed bool, err error) {
	out, err := u.desc.Handler(server, ctx, func(m any) error {
		in, ok := m.(proto.Message)
		if !ok {
			return status.Error(codes.Internal, "no message")
		}
		return proto.Unmarshal(call, in)
	}, nil)
	m, ok := out.(proto.Message)
	if err == nil && !ok {
		err = status.Error(codes.Internal, "no message")
	}
	if err != nil {
		return appendStatus(dst, err)
	}
	if body, err = (proto.MarshalOptions{}).MarshalAppend(dst, m); err != nil {
		return appendStatus(dst, err)
	}
	return body, false, nil
}

// appendStatus appends the answer to a call that has failed.
func appendStatus(dst []byte, failure error) (body []byte, failed bool, err error) {
	st, ok := status.FromError(failure)
	if !ok {
		st = status.FromContextError(failure) // as a call of gRPC has it
	}
	body, err = (proto.MarshalOptions{}).MarshalAppend(dst, st.Proto())
	return body, true, err
}
