package rpc

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/graph"
)

// FrameBytes is the size of the body of a frame, except for the last of a call or an answer.
const FrameBytes = 1 << 20

// streamName is the gRPC method of the streams.
const streamName = "Stream"

// streamAge is how long a stream is used, so that a stopping process need not wait for it, and how long it stays idle.
const streamAge = 2 * time.Second

// Caller makes unary calls to a process.
type Caller interface {
	// Start sends a call, with the others of group if that is not nil. finish waits for the answer and fills out; it must be called unless
	// ctx is cancelled. A failure is a status.
	Start(ctx context.Context, method string, in, out proto.Message, group *Group) (finish func() error)
}

// Conn is a Caller for the clients that protobuf generates, which also opens streams.
type Conn interface {
	Caller
	grpc.ClientConnInterface
}

// Invoke makes a call and waits for its answer.
func Invoke(ctx context.Context, c Caller, method string, args, reply any) error {
	in, isIn := args.(proto.Message)
	out, isOut := reply.(proto.Message)
	if !isIn || !isOut {
		return status.Error(codes.Unimplemented, method)
	}
	return c.Start(ctx, method, in, out, nil)()
}

// Connection makes calls to one process over streams. It implements Conn.
type Connection struct {
	conn      *grpc.ClientConn
	services  *Services
	heartbeat *Heartbeat // or nil

	mu    sync.Mutex
	idle  []*callStream // the most recently used last
	timed bool          // sweep will be called
}

// NewConnection returns a connection for the calls of services. They fail while heartbeat, if it is not nil, gets no answer.
func NewConnection(conn *grpc.ClientConn, services *Services, heartbeat *Heartbeat) *Connection {
	return &Connection{conn: conn, services: services, heartbeat: heartbeat}
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
func (c *Connection) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, life, cancel := c.heartbeat.alive(ctx)
	stream, err := c.conn.NewStream(ctx, desc, method, opts...)
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
func (c *Connection) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return Invoke(ctx, c, method, args, reply)
}

// Start implements Caller.
func (c *Connection) Start(ctx context.Context, method string, in, out proto.Message, group *Group) (finish func() error) {
	m, err := c.services.methods[method], ctx.Err()
	switch {
	case m == nil:
		err = status.Error(codes.Unimplemented, method)
	case err != nil:
		err = status.FromContextError(err).Err()
	}
	if err != nil {
		return func() error { return err }
	}
	call := &pending{c: c, method: m, in: in, out: out, t: c.take(m.idempotent), wire: group.wireCounter()}
	call.used = call.t != nil
	call.send(ctx)
	return func() error { return call.finish(ctx) }
}

// pending is a call that has been sent.
type pending struct {
	c       *Connection
	method  *method
	in, out proto.Message
	wire    *graph.Wire // counts the call, if not nil

	t    *callStream
	used bool // the stream has carried calls before
	sent int
	err  error       // of sending
	keep func() bool // stops the call's context from closing the stream
}

// finish waits for the answer.
func (p *pending) finish(ctx context.Context) error {
	for {
		answered, err := p.receive(ctx)
		if answered {
			p.c.put(p.t)
			return err
		}
		p.t.cancel()
		if !p.used || status.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
		// The process or the connection has failed since the stream was used, and so have the other streams.
		p.c.drop()
		p.t, p.used = nil, false
		p.send(ctx)
	}
}

// take returns an idle stream, or nil. A call that is not idempotent gets none: the stream may have failed since it was used.
func (c *Connection) take(idempotent bool) *callStream {
	if !idempotent {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	t := c.idle[n-1]
	c.idle[n-1] = nil
	c.idle = c.idle[:n-1]
	return t
}

// put returns a stream for further calls.
func (c *Connection) put(t *callStream) {
	if time.Since(t.since) > streamAge {
		t.end()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, t)
	if !c.timed {
		c.timed = true
		time.AfterFunc(streamAge, c.sweep)
	}
}

// sweep closes the streams that are too old.
func (c *Connection) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = slices.DeleteFunc(c.idle, func(t *callStream) bool {
		old := time.Since(t.since) > streamAge
		if old {
			t.end()
		}
		return old
	})
	if c.timed = len(c.idle) > 0; c.timed {
		time.AfterFunc(streamAge, c.sweep)
	}
}

// drop closes all idle streams.
func (c *Connection) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.idle {
		t.cancel()
	}
	clear(c.idle)
	c.idle = c.idle[:0]
}

// end closes an idle stream.
func (t *callStream) end() {
	_ = t.stream.CloseSend()
	t.cancel()
}

// send sends the call, over a new stream if it has none.
func (p *pending) send(ctx context.Context) {
	var streamCtx context.Context
	if !p.used {
		p.t = &callStream{since: time.Now()}
		streamCtx, p.t.life, p.t.cancel = p.c.heartbeat.alive(context.WithoutCancel(ctx))
	}
	t := p.t
	p.keep = context.AfterFunc(ctx, t.cancel)
	if !p.used {
		t.stream, p.err = p.c.conn.NewStream(streamCtx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+p.c.services.stream+"/"+streamName, grpc.ForceCodecV2(frameCodec{}))
		if p.err != nil {
			return
		}
	}
	if t.buf, p.err = (proto.MarshalOptions{}).MarshalAppend(t.buf[:0], p.in); p.err != nil {
		p.err = status.Error(codes.Internal, p.err.Error())
		return
	}
	first := frame{method: p.method.path, call: true}
	if by, ok := ctx.Deadline(); ok {
		first.timeout = max(time.Until(by), 1)
	}
	if p.sent, p.err = send(t.stream, &first, t.buf); errors.Is(p.err, io.EOF) {
		p.err = nil // receive returns why the stream has ended
	}
}

// receive waits for the answer. answered reports that there is one, possibly an error, and that the stream can carry further calls.
func (p *pending) receive(ctx context.Context) (answered bool, err error) {
	defer func() { answered = p.keep() && answered }() // false if the context has ended: the stream is closed, or will be
	if p.err != nil {
		return false, p.t.ended(ctx, p.err)
	}
	t := p.t
	body, received, err := receive(t.stream, &t.got, t.whole[:0])
	if err != nil {
		return false, t.ended(ctx, err)
	}
	if cap(body) <= FrameBytes {
		t.whole = body
	}
	p.wire.Count(p.sent, received)
	err, ok := parseAnswer(body, t.got.failed, p.out)
	if ok && cap(t.buf) > FrameBytes {
		t.buf = nil
	}
	return ok, err
}

// parseAnswer decodes an answer into out, or returns the status in it; ok is false if the body is malformed.
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
		p.body = body[:min(len(body), FrameBytes)]
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
	*first = frame{body: dst, method: first.method[:0]}
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
