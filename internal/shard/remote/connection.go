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

// Calls travel over streams that last. A stream carries one call after the other, each call and each answer in frames far
// smaller than the largest message. So a call pays neither for a stream nor for its headers, which cost more than most
// calls compute. A call carries its deadline. Cancelling it closes the stream, which cancels its context at the server at once.

// frameBytes is the size of the body of a frame, but for the last of a call or an answer.
const frameBytes = 1 << 20

// streamMethod is the gRPC method of the streams.
const streamMethod = "/hopgate.shard.v1.ConnectionService/Stream"

// streamAge is how long a stream is used, so that a stopping process need not wait for it, and how long it stays idle.
const streamAge = 2 * time.Second

// unary is a unary call that a connection carries.
type unary struct {
	method     string // as gRPC names it
	service    string
	desc       *grpc.MethodDesc
	idempotent bool // it may be made again, as its idempotency_level says
}

// carried are the services whose calls connections carry.
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

// caller makes calls to one process.
type caller interface {
	grpc.ClientConnInterface
	// start sends a call, with the others of fan if that is not nil. finish waits for the answer and fills out; it must be called unless ctx
	// is cancelled.
	start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error)
}

// connection implements caller by streams that last.
type connection struct {
	conn      *grpc.ClientConn
	heartbeat *heartbeat // or nil

	mu    sync.Mutex
	idle  []*callStream // the most recently used last
	timed bool          // sweep will be called
}

func newConnection(c *grpc.ClientConn) *connection { return &connection{conn: c} }

// newMonitored returns a connection whose calls fail when the process stops answering; see startHeartbeat. The caller closes its heartbeat.
func newMonitored(c *grpc.ClientConn, changed func(changes uint32)) *connection {
	return &connection{conn: c, heartbeat: startHeartbeat(c, changed)}
}

// callStream is a stream. One call at a time owns it.
type callStream struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	life   context.Context // of the process
	since  time.Time
	buf    []byte // of the call
	got    frame
	whole  []byte // of an answer in several frames
}

// NewStream implements grpc.ClientConnInterface.
func (l *connection) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, life, cancel := l.heartbeat.alive(ctx)
	stream, err := l.conn.NewStream(ctx, desc, method, opts...)
	if err != nil {
		cancel()
		if life.Err() != nil {
			err = errSilent
		}
		return nil, err
	}
	return &aliveStream{stream, life}, nil
}

// Invoke implements grpc.ClientConnInterface.
func (l *connection) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	in, isIn := args.(proto.Message)
	out, isOut := reply.(proto.Message)
	if !isIn || !isOut {
		return status.Error(codes.Unimplemented, method)
	}
	return l.start(ctx, method, in, out, nil)()
}

// start implements caller.
func (l *connection) start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error) {
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
	c := &pending{l: l, u: u, in: in, out: out, t: l.take(u.idempotent)}
	if fan != nil {
		c.wire = fan.wire
	}
	c.used = c.t != nil
	c.send(ctx)
	return func() error { return c.finish(ctx) }
}

// pending is a call that has been sent.
type pending struct {
	l       *connection
	u       *unary
	in, out proto.Message
	wire    *graph.Wire // counts the call, if not nil

	t    *callStream
	used bool // the stream has carried calls before
	sent int
	err  error       // of sending
	keep func() bool // keeps the end of the call's context from closing the stream
}

// finish waits for the answer.
func (c *pending) finish(ctx context.Context) error {
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
		// The process or the connection has failed since the stream was used, and so have the other streams.
		c.l.drop()
		c.t, c.used = nil, false
		c.send(ctx)
	}
}

// take returns an idle stream, or nil. A call that is not idempotent gets none: the stream may have failed since it was used.
func (l *connection) take(idempotent bool) *callStream {
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

// put returns a stream for further calls.
func (l *connection) put(t *callStream) {
	if time.Since(t.since) > streamAge {
		t.end()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, t)
	if !l.timed {
		l.timed = true
		time.AfterFunc(streamAge, l.sweep)
	}
}

// sweep closes the streams that are too old.
func (l *connection) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.idle[:0]
	for _, t := range l.idle {
		if time.Since(t.since) > streamAge {
			t.end()
			continue
		}
		kept = append(kept, t)
	}
	clear(l.idle[len(kept):])
	l.idle = kept
	if l.timed = len(kept) > 0; l.timed {
		time.AfterFunc(streamAge, l.sweep)
	}
}

// drop closes all idle streams.
func (l *connection) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range l.idle {
		t.cancel()
		l.idle[i] = nil
	}
	l.idle = l.idle[:0]
}

// end closes an idle stream.
func (t *callStream) end() {
	_ = t.stream.CloseSend()
	t.cancel()
}

// send sends the call, on a new stream if it has none.
func (c *pending) send(ctx context.Context) {
	var streamCtx context.Context
	if !c.used {
		c.t = &callStream{since: time.Now()}
		streamCtx, c.t.life, c.t.cancel = c.l.heartbeat.alive(context.WithoutCancel(ctx))
	}
	t := c.t
	c.keep = context.AfterFunc(ctx, t.cancel)
	if !c.used {
		t.stream, c.err = c.l.conn.NewStream(streamCtx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, streamMethod, grpc.ForceCodecV2(frameCodec{}))
		if c.err != nil {
			return
		}
	}
	if t.buf, c.err = (proto.MarshalOptions{}).MarshalAppend(t.buf[:0], c.in); c.err != nil {
		c.err = status.Error(codes.Internal, c.err.Error())
		return
	}
	first := frame{method: c.u.method, call: true}
	if by, ok := ctx.Deadline(); ok {
		first.timeout = max(time.Until(by), 1)
	}
	if c.sent, c.err = send(t.stream, &first, t.buf); errors.Is(c.err, io.EOF) {
		c.err = nil // receive returns why the stream has ended
	}
}

// receive waits for the answer. answered reports that one came, possibly an error, and that the stream can be used again.
func (c *pending) receive(ctx context.Context) (answered bool, err error) {
	defer func() { answered = c.keep() && answered }() // else the stream is closed, however late
	if c.err != nil {
		return false, c.t.ended(ctx, c.err)
	}
	t := c.t
	body, received, err := receive(t.stream, &t.got, t.whole[:0])
	if err != nil {
		return false, t.ended(ctx, err)
	}
	if cap(body) <= frameBytes {
		t.whole = body
	}
	c.wire.Count(c.sent, received)
	err, ok := parseAnswer(body, t.got.failed, c.out)
	if ok && cap(t.buf) > frameBytes {
		t.buf = nil
	}
	return ok, err
}

// parseAnswer fills out from the body of an answer, or returns the error that it carries; ok is false if the body is damaged.
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

// ended returns why a stream has ended: its call was cancelled, the process stopped answering, or the stream failed.
func (t *callStream) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if t.life.Err() != nil {
		return errSilent
	}
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "the stream was closed")
	}
	return err
}

// send sends a call or an answer and returns the number of bytes.
func send(s interface{ SendMsg(m any) error }, first *frame, body []byte) (n int, err error) {
	p := first
	for {
		p.body = body[:min(len(body), frameBytes)]
		body = body[len(p.body):]
		p.more = len(body) > 0
		if err := s.SendMsg(p); err != nil {
			return n, err
		}
		n += p.size()
		if !p.more {
			return n, nil
		}
		p = &frame{}
	}
}

// receive appends the body of a call or an answer to dst, and puts the header of its first frame into first.
func receive(s interface{ RecvMsg(m any) error }, first *frame, dst []byte) (body []byte, n int, err error) {
	*first = frame{body: dst}
	if err := s.RecvMsg(first); err != nil {
		return dst, 0, err
	}
	n = first.size() - len(dst)
	next := *first
	for next.more {
		before := len(next.body)
		next = frame{body: next.body}
		if err := s.RecvMsg(&next); err != nil {
			return dst, n, err
		}
		n += next.size() - before
	}
	return next.body, n, nil
}

// callServer is the server of the streams.
type callServer struct {
	servers map[string]any // by service
}

// register makes a gRPC server take calls over streams too.
func (l *callServer) register(s grpc.ServiceRegistrar) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "hopgate.shard.v1.ConnectionService", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Stream", Handler: l.serve, ClientStreams: true, ServerStreams: true}},
	}, l)
}

// serve answers the calls of one stream.
func (l *callServer) serve(_ any, stream grpc.ServerStream) error {
	var first frame
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
		out := frame{}
		if answer, out.failed, err = l.answer(stream.Context(), &first, call, answer[:0]); err != nil {
			return err
		}
		if _, err := send(stream, &out, answer); err != nil {
			return err
		}
		if cap(call) > frameBytes {
			call = nil
		}
		if cap(answer) > frameBytes {
			answer = nil
		}
	}
}

// answer appends the answer to a call to dst, a status if failed is set.
func (l *callServer) answer(ctx context.Context, first *frame, call, dst []byte) (body []byte, failed bool, err error) {
	u := unaries[first.method]
	if u == nil || l.servers[u.service] == nil {
		return appendStatus(dst, status.Error(codes.Unimplemented, "this process does not serve the call"))
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
		st = status.FromContextError(failure) // as gRPC does
	}
	body, err = (proto.MarshalOptions{}).MarshalAppend(dst, st.Proto())
	return body, true, err
}
