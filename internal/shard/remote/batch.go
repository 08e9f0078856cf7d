package remote

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// A process that keeps several shards gets the calls that one request makes to it as one, which costs hardly more than one of them. Each
// call is still hedged, and made again elsewhere, by itself.

// batchedBytes is the size of calls from which they travel alone: they gain little, and others need not wait for their encoding.
const batchedBytes = 16 << 10

// fanout is the calls that one request makes side by side. Those to one process wait for send and travel as one. It is used by one goroutine.
type fanout struct {
	ctx     context.Context // outlasts the calls
	wire    *graph.Wire     // counts them, if not nil
	sent    bool            // further calls travel alone
	batches []*batch
}

// alone returns a fanout whose calls travel alone, and count with those of f.
func (f *fanout) alone() *fanout {
	if f == nil {
		return nil
	}
	return &fanout{wire: f.wire, sent: true}
}

// batch is calls to one process that travel as one.
type batch struct {
	l     *connection
	u     *unary
	calls []batched
	// done is closed once the calls are answered, with an error of all or an answer to each.
	done    chan struct{}
	err     error
	answers []*pb.BatchAnswer
	single  func() error // waits for the answer to the only call, which travels alone
}

// batched is a call of a batch.
type batched struct {
	ctx     context.Context
	in, out proto.Message
}

// join makes a call wait for send if it can travel with others; finish is nil if it travels alone.
func (f *fanout) join(ctx context.Context, l *connection, u *unary, in, out proto.Message) (finish func() error) {
	if f == nil || f.sent || l.heartbeat == nil || proto.Size(in) >= batchedBytes {
		return nil
	}
	var b *batch
	for _, have := range f.batches {
		if have.l == l && have.u == u {
			b = have
		}
	}
	if b == nil {
		b = &batch{l: l, u: u}
		f.batches = append(f.batches, b)
	}
	i := len(b.calls)
	b.calls = append(b.calls, batched{ctx, in, out})
	return func() error { return b.finish(i) }
}

// send sends the calls that wait.
func (f *fanout) send() {
	f.sent = true
	for _, b := range f.batches {
		if len(b.calls) == 1 {
			c := &b.calls[0]
			b.single = b.l.start(c.ctx, b.u.method, c.in, c.out, f)
			continue
		}
		b.done = make(chan struct{})
		in, out := &pb.BatchRequest{Method: path.Base(b.u.method), Requests: make([][]byte, len(b.calls))}, &pb.BatchResponse{}
		for i := range b.calls {
			if in.Requests[i], b.err = proto.Marshal(b.calls[i].in); b.err != nil {
				b.err = status.Error(codes.Internal, b.err.Error())
				break
			}
		}
		if b.err != nil {
			close(b.done)
			continue
		}
		finish := b.l.start(f.ctx, pb.ReadService_Batch_FullMethodName, in, out, f)
		spawn(func() {
			defer close(b.done)
			if b.err = finish(); b.err == nil && len(out.GetAnswers()) != len(b.calls) {
				b.err = status.Error(codes.Internal, errCodec.Error())
			}
			b.answers = out.GetAnswers()
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
	err, _ := parseAnswer(b.answers[i].GetMessage(), b.answers[i].GetFailed(), c.out)
	return err
}

// Batch implements the call.
func (r *reader) Batch(ctx context.Context, req *pb.BatchRequest) (*pb.BatchResponse, error) {
	return answerBatch(ctx, r, req)
}

// answerBatch has a server answer calls side by side.
func answerBatch(ctx context.Context, server pb.ReadServiceServer, req *pb.BatchRequest) (*pb.BatchResponse, error) {
	u := unaries["/"+pb.ReadService_ServiceDesc.ServiceName+"/"+req.GetMethod()]
	if u == nil || u.method == pb.ReadService_Batch_FullMethodName {
		return nil, status.Error(codes.Unimplemented, "this process does not serve the call "+req.GetMethod())
	}
	out := &pb.BatchResponse{Answers: make([]*pb.BatchAnswer, len(req.GetRequests()))}
	errs := make([]error, len(out.Answers))
	var answering sync.WaitGroup
	for i, call := range req.GetRequests() {
		a := &pb.BatchAnswer{}
		out.Answers[i] = a
		one := func() { a.Message, a.Failed, errs[i] = u.answer(ctx, server, call, nil) }
		if i == len(errs)-1 {
			one()
			break
		}
		answering.Add(1)
		spawn(func() { defer answering.Done(); one() })
	}
	answering.Wait()
	return out, errors.Join(errs...)
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
