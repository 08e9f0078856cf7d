package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/server"
)

// transport carries the messages of groups between the processes of a cluster. It drops those to a process that does not answer, or that come
// faster than they can be sent: Raft repeats what matters.
type transport struct {
	layout  shard.Layout
	store   atomic.Pointer[replica.StoreID] // of this process
	boxes   atomic.Pointer[[]outboxes]      // by process; never changed, only replaced
	ctx     context.Context                 // ends with close
	end     context.CancelFunc
	running sync.WaitGroup
}

// outboxes are the two outboxes to a process, for urgent messages and for others; empty without a connection.
type outboxes struct {
	kinds [2]*outbox
	end   context.CancelFunc
}

// outbox queues the messages of one stream to another process.
type outbox struct {
	client   pb.ReplicaServiceClient
	store    *atomic.Pointer[replica.StoreID]
	messages chan outgoing
	bytes    atomic.Int64 // of the queued messages
}

type outgoing struct {
	group uint32
	m     *replica.Message
	size  int64
}

// Limits of an outbox, and of one gRPC message.
const (
	outboxMessages = 4096
	outboxBytes    = 32 << 20
	packetBytes    = 1 << 20
	packetMessages = 256
	resendPause    = 50 * time.Millisecond
)

func newTransport(layout shard.Layout) *transport {
	t := &transport{layout: layout}
	t.boxes.Store(&[]outboxes{})
	t.ctx, t.end = context.WithCancel(context.Background())
	return t
}

// reach opens outboxes to new processes, and closes those to removed ones.
func (t *transport) reach(all []*peers.Peer) {
	boxes := slices.Clone(*t.boxes.Load())
	for no, p := range all {
		if no == len(boxes) {
			boxes = append(boxes, outboxes{})
		}
		switch o := &boxes[no]; {
		case !p.Connected() && o.end != nil:
			o.end()
			*o = outboxes{}
		case p.Connected() && o.end == nil:
			var ctx context.Context
			ctx, o.end = context.WithCancel(t.ctx)
			for k := range o.kinds {
				b := &outbox{store: &t.store, client: pb.NewReplicaServiceClient(p.Raw), messages: make(chan outgoing, outboxMessages)}
				o.kinds[k] = b
				t.running.Go(func() { b.run(ctx) })
			}
		}
	}
	t.boxes.Store(&boxes)
}

func (t *transport) close() {
	t.end()
	t.running.Wait()
}

// send queues messages of a group, see replica.HostOptions. It drops them while the log store, which they name, is not known.
func (t *transport) send(group uint32, messages []*replica.Message) {
	if t.store.Load() == nil {
		return
	}
	boxes := *t.boxes.Load()
	for _, m := range messages {
		to := t.layout.Process(m.GetTo())
		if to >= len(boxes) || boxes[to].end == nil {
			continue
		}
		kind := 1
		if replica.Urgent(m) {
			kind = 0
		}
		b := boxes[to].kinds[kind]
		o := outgoing{group, m, replica.MessageSize(m)}
		if b.bytes.Add(o.size) > outboxBytes {
			b.bytes.Add(-o.size)
			continue
		}
		select {
		case b.messages <- o:
		default:
			b.bytes.Add(-o.size)
		}
	}
}

// run sends messages over streams, one after the other, until ctx ends.
func (b *outbox) run(ctx context.Context) {
	for ctx.Err() == nil {
		if b.stream(ctx) == nil {
			continue
		}
		// Queued messages are too old to be of use.
		for range len(b.messages) {
			o := <-b.messages
			b.bytes.Add(-o.size)
		}
		select {
		case <-time.After(resendPause):
		case <-ctx.Done():
		}
	}
}

// stream sends messages until the stream ends.
func (b *outbox) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var s grpc.ClientStreamingClient[pb.SendRequest, pb.SendResponse]
	for {
		var first outgoing
		select {
		case first = <-b.messages:
		case <-ctx.Done():
			return nil
		}
		packet, err := b.pack(first)
		if err == nil && s == nil {
			id := b.store.Load()
			packet.Store = id[:]
			s, err = b.client.Send(ctx)
		}
		if err == nil {
			err = s.Send(packet)
		}
		if err != nil {
			return err
		}
	}
}

// pack makes a packet of a message and other queued ones.
func (b *outbox) pack(next outgoing) (*pb.SendRequest, error) {
	packet := &pb.SendRequest{}
	for size := 0; ; {
		b.bytes.Add(-next.size)
		body, err := replica.AppendMessage(nil, next.m)
		if err != nil {
			return nil, err
		}
		packet.Messages = append(packet.Messages, &pb.RaftMessage{Group: next.group, Message: body})
		if size += len(body); size >= packetBytes || len(packet.Messages) == packetMessages {
			return packet, nil
		}
		select {
		case next = <-b.messages:
		default:
			return packet, nil
		}
	}
}

// replicaService answers ReplicaService.
type replicaService struct {
	pb.UnimplementedReplicaServiceServer
	p    *Process
	host *replica.Host
	log  *slog.Logger
}

// Send implements the call. All groups share the stream, so it survives a bad message: the first one is logged, and its error
// answers the stream when that ends.
func (r *replicaService) Send(stream grpc.ClientStreamingServer[pb.SendRequest, pb.SendResponse]) error {
	var refused error
	var from replica.StoreID
	for {
		packet, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if refused != nil {
				return refused
			}
			return stream.SendAndClose(&pb.SendResponse{})
		}
		if err != nil {
			return err
		}
		if from == (replica.StoreID{}) {
			if len(packet.GetStore()) != len(from) {
				return status.Error(codes.InvalidArgument, "the first messages do not name the log store of their process")
			}
			from = replica.StoreID(packet.GetStore())
		}
		for _, p := range packet.GetMessages() {
			err := r.step(from, p)
			if errors.Is(err, replica.ErrStopped) {
				return server.Status(err)
			}
			if err != nil && refused == nil {
				refused = err
				r.log.Warn("a message of another replica is dropped", slog.Uint64("group", uint64(p.GetGroup())), slog.Any("error", err))
			}
		}
	}
}

// step passes a message from a process with a log store on to its group.
func (r *replicaService) step(from replica.StoreID, p *pb.RaftMessage) error {
	m, err := replica.ReadMessage(p.GetMessage())
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "message of group %d: %v", p.GetGroup(), err)
	}
	if no := r.p.layout.Process(m.GetFrom()); r.p.peers.Removed(no) {
		return status.Errorf(codes.InvalidArgument, "message of group %d: process %d was removed", p.GetGroup(), no)
	}
	return r.host.Step(p.GetGroup(), from, m)
}
