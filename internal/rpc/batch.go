package rpc

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/graph"
)

// The calls that one request makes to one process travel as one, which costs hardly more than one of them. Each is still hedged, and repeated at
// another process, on its own.

// batchedBytes is the size from which calls travel alone: a batch would save little, and delay the others.
const batchedBytes = 16 << 10

// BatchForm is how calls of a service travel as one call of it.
type BatchForm struct {
	Method string // of that call, as gRPC names it
	// Pack returns the call, and an empty answer. The name of the method is that without its service.
	Pack func(method string, calls [][]byte) (in, out proto.Message)
	// Answers returns the answers in one of the batch.
	Answers func(out proto.Message) []Answer
}

// Answer is the answer to a call of a batch: a message or, if the call failed, a status.
type Answer struct {
	Body   []byte
	Failed bool
}

// Group is the calls that one request makes in parallel. Send sends those of one method to one Batched as one. One goroutine uses it.
type Group struct {
	ctx     context.Context // outlasts the calls
	wire    *graph.Wire     // counts them, if not nil
	sent    bool            // further calls travel alone
	batches []*batch
}

// NewGroup returns a group of calls, which end with ctx. wire counts them, if not nil.
func NewGroup(ctx context.Context, wire *graph.Wire) *Group { return &Group{ctx: ctx, wire: wire} }

// alone returns a group whose calls travel alone, with the counter of g.
func (g *Group) alone() *Group {
	if g == nil {
		return nil
	}
	return &Group{wire: g.wire, sent: true}
}

func (g *Group) wireCounter() *graph.Wire {
	if g == nil {
		return nil
	}
	return g.wire
}

// Batched makes short calls of one group travel as one. It implements Conn.
type Batched struct {
	Conn
	form *BatchForm
}

// NewBatched returns a Batched over c.
func NewBatched(c Conn, form *BatchForm) *Batched { return &Batched{c, form} }

// Start implements Caller.
func (c *Batched) Start(ctx context.Context, method string, in, out proto.Message, group *Group) (finish func() error) {
	if group == nil || group.sent || ctx.Err() != nil || proto.Size(in) >= batchedBytes {
		return c.Conn.Start(ctx, method, in, out, group)
	}
	return group.join(ctx, c, method, in, out)
}

// batch is calls to one process that travel as one.
type batch struct {
	to     *Batched
	method string
	calls  []batched
	// done is closed once err or answers is set.
	done    chan struct{}
	err     error
	answers []Answer
	single  func() error // waits for the answer to the only call, which travels alone
}

// batched is a call of a batch.
type batched struct {
	ctx     context.Context
	in, out proto.Message
}

// join queues a call until Send.
func (g *Group) join(ctx context.Context, to *Batched, method string, in, out proto.Message) (finish func() error) {
	var b *batch
	for _, have := range g.batches {
		if have.to == to && have.method == method {
			b = have
		}
	}
	if b == nil {
		b = &batch{to: to, method: method}
		g.batches = append(g.batches, b)
	}
	i := len(b.calls)
	b.calls = append(b.calls, batched{ctx, in, out})
	return func() error { return b.finish(i) }
}

// Send sends the queued calls. Later ones travel alone.
func (g *Group) Send() {
	g.sent = true
	for _, b := range g.batches {
		if len(b.calls) == 1 {
			c := &b.calls[0]
			b.single = b.to.Conn.Start(c.ctx, b.method, c.in, c.out, g)
			continue
		}
		b.done = make(chan struct{})
		calls := make([][]byte, len(b.calls))
		for i := range b.calls {
			if calls[i], b.err = proto.Marshal(b.calls[i].in); b.err != nil {
				b.err = status.Error(codes.Internal, b.err.Error())
				break
			}
		}
		if b.err != nil {
			close(b.done)
			continue
		}
		in, out := b.to.form.Pack(path.Base(b.method), calls)
		finish := b.to.Conn.Start(g.ctx, b.to.form.Method, in, out, g)
		spawn(func() {
			defer close(b.done)
			if b.err = finish(); b.err != nil {
				return
			}
			if b.answers = b.to.form.Answers(out); len(b.answers) != len(b.calls) {
				b.err = status.Error(codes.Internal, "rpc: malformed batch")
			}
		})
	}
}

// finish waits for the answer to a call.
func (b *batch) finish(i int) error {
	if b.single != nil {
		return b.single()
	}
	c := &b.calls[i]
	select {
	case <-b.done:
	case <-c.ctx.Done():
		return status.FromContextError(c.ctx.Err()).Err()
	}
	if b.err != nil {
		return b.err
	}
	err, _ := parseAnswer(b.answers[i].Body, b.answers[i].Failed, c.out)
	return err
}

// AnswerEach has a server answer calls of a method, as gRPC names it, in parallel.
func (s *Services) AnswerEach(ctx context.Context, server any, method string, calls [][]byte) ([]Answer, error) {
	m := s.methods[method]
	if m == nil {
		return nil, status.Error(codes.Unimplemented, "this process does not serve the call "+method)
	}
	answers, errs := make([]Answer, len(calls)), make([]error, len(calls))
	var answering sync.WaitGroup
	for i, call := range calls {
		one := func() { answers[i].Body, answers[i].Failed, errs[i] = m.answer(ctx, server, call, nil) }
		if i == len(calls)-1 {
			one()
			break
		}
		answering.Add(1)
		spawn(func() { defer answering.Done(); one() })
	}
	answering.Wait()
	return answers, errors.Join(errs...)
}

// idleWorkers takes the next function of an idle worker. Workers are reused so that calls do not regrow a stack.
var idleWorkers = make(chan func())

// spawn runs a function on another goroutine.
func spawn(f func()) {
	select {
	case idleWorkers <- f:
	default:
		go func() {
			idle := time.NewTimer(streamAge)
			defer idle.Stop()
			for {
				f()
				idle.Reset(streamAge)
				select {
				case f = <-idleWorkers:
				case <-idle.C:
					return
				}
			}
		}()
	}
}
