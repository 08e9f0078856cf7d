package changes

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// Stream follows the changes of a graph across the failures of servers and connections.
type Stream struct {
	client pb.GraphServiceClient
	req    *pb.ChangesRequest
	lost   func(err error) // is told of each failure that the stream survives
	call   grpc.ServerStreamingClient[pb.ChangesResponse]
	begun  bool
}

// NewStream returns a stream of what a request asks for. lost is told of each failure after which it goes on.
func NewStream(client pb.GraphServiceClient, req *pb.ChangesRequest, lost func(error)) *Stream {
	return &Stream{client: client, req: proto.CloneOf(req), lost: lost}
}

// Next returns the next part; io.EOF says that the stream has ended, as it does if its request has a wait. Once there has been one part, a
// server that is unavailable ends the stream no more: Next waits until there is one, or ctx ends.
func (s *Stream) Next(ctx context.Context) (*pb.ChangesResponse, error) {
	pause := backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, RandomizationFactor: 0.3, Multiplier: 2, MaxInterval: 5 * time.Second}
	for {
		res, err := s.next(ctx)
		if err == nil {
			s.begun, s.req.From = true, res.GetToken()
			return res, nil
		}
		s.call = nil
		if !s.begun || status.Code(err) != codes.Unavailable {
			return nil, err
		}
		s.lost(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause.NextBackOff()):
		}
	}
}

func (s *Stream) next(ctx context.Context) (_ *pb.ChangesResponse, err error) {
	if s.call == nil {
		if s.call, err = s.client.Changes(ctx, s.req); err != nil {
			return nil, err
		}
	}
	return s.call.Recv()
}
