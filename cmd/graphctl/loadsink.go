package main

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/shard"
)

// maxMessage bounds the messages of a load. Each contains a batch.
const maxMessage = 256 << 20

// grpcSink sends a load to a server.
type grpcSink struct {
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[pb.LoadRequest, pb.LoadResponse]
}

func newGRPCSink(conn *grpc.ClientConn) loader.Sink { return &grpcSink{conn: conn} }

func (s *grpcSink) Begin(ctx context.Context, o loader.Open) (loader.Opened, error) {
	var err error
	s.stream, err = pb.NewLoadServiceClient(s.conn).Load(ctx, grpc.MaxCallSendMsgSize(maxMessage), grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return loader.Opened{}, err
	}
	open := &pb.LoadOpen{Graph: o.Graph, Stream: o.Stream, Restart: o.Restart, Confirms: o.Confirms, Remember: o.Remember, Unlogged: o.Unlogged}
	for _, sp := range o.Spaces {
		open.Spaces = append(open.Spaces, &pb.IdSpace{Name: sp.Name, Label: sp.Label, Property: sp.Property, Labels: sp.Labels})
	}
	if err := s.stream.Send(&pb.LoadRequest{Part: &pb.LoadRequest_Open{Open: open}}); err != nil {
		// Recv returns the reason.
		_, err2 := s.stream.Recv()
		return loader.Opened{}, errors.Join(err2, nil)
	}
	resp, err := s.stream.Recv()
	if err != nil {
		return loader.Opened{}, err
	}
	if resp.GetOpened() == nil {
		return loader.Opened{}, errors.New("the server did not open the load")
	}
	p := resp.GetOpened()
	opened := loader.Opened{
		Seq: p.GetSeq(), Mark: p.GetMark(), Confirmed: p.GetConfirmed(), ConfirmedMark: p.GetConfirmedMark(),
		Counts: countsOf(p.GetVertexCounts(), p.GetEdgeCounts()),
	}
	for _, a := range p.GetRefused() {
		opened.Refused = append(opened.Refused, ackOf(a))
	}
	return opened, nil
}

func (s *grpcSink) Pack(b *loader.Batch) (any, bool) { return batchProto(b), true }

func (s *grpcSink) Send(msg any) error { return s.stream.Send(msg.(*pb.LoadRequest)) }

func (s *grpcSink) Finish() error { return s.stream.CloseSend() }

func (s *grpcSink) Recv() (loader.Ack, error) {
	resp, err := s.stream.Recv()
	if err != nil {
		return loader.Ack{}, err
	}
	a := resp.GetAck()
	if a == nil {
		return loader.Ack{}, errors.New("the server sent an invalid acknowledgement")
	}
	return ackOf(a), nil
}

func countsOf(vertices, edges *pb.LoadCounts) shard.LoadCounts {
	of := func(c *pb.LoadCounts) shard.RowCounts {
		return shard.RowCounts{
			Created: int(c.GetCreated()), Overwritten: int(c.GetOverwritten()), Unchanged: int(c.GetUnchanged()), Deleted: int(c.GetDeleted()),
			Repeated: int(c.GetRepeatedKeys()),
		}
	}
	return shard.LoadCounts{Vertices: of(vertices), Edges: of(edges)}
}

func ackOf(a *pb.LoadAck) loader.Ack {
	out := loader.Ack{
		Seq: a.GetSeq(), Counts: countsOf(a.GetVertexCounts(), a.GetEdgeCounts()),
		Resolve: time.Duration(a.GetResolveSeconds() * 1e9), Commit: time.Duration(a.GetCommitSeconds() * 1e9),
	}
	for _, r := range a.GetRejected() {
		out.Rejected = append(out.Rejected, shard.Rejected{
			Edge: r.GetEdge(), Group: int(r.GetGroup()), Row: int(r.GetRow()), Code: r.GetCode(), Msg: r.GetMessage(),
		})
	}
	return out
}
