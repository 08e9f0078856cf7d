package grpcapi

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/server/feed"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// changesBytes is the size from which on a message of events is sent.
const changesBytes = 256 << 10

// Changes streams what changes in a graph.
func (s *graphService) Changes(req *pb.ChangesRequest, stream grpc.ServerStreamingServer[pb.ChangesResponse]) error {
	r := feed.Request{Graph: req.GetGraph(), From: req.GetFrom(), Selectors: req.GetSelectors(), Wait: -1}
	switch f := req.GetFormat(); f {
	case pb.ChangeFormat_CHANGE_FORMAT_UNSPECIFIED, pb.ChangeFormat_CHANGE_FORMAT_VALUES, pb.ChangeFormat_CHANGE_FORMAT_JSON:
	case pb.ChangeFormat_CHANGE_FORMAT_DEBEZIUM:
		r.Format = feed.Debezium
	default:
		return wire.GRPCError(wire.RequestError(fmt.Sprintf("format: %d is unknown", f)))
	}
	if d := req.GetWait(); d != nil {
		if r.Wait = d.AsDuration(); d.CheckValid() != nil || r.Wait < 0 {
			return wire.GRPCError(wire.RequestError("wait: must be a duration from 0"))
		}
	}
	if d := req.GetHeartbeat(); d != nil {
		r.Heartbeat = d.AsDuration()
		if err := feed.CheckHeartbeat(r.Heartbeat); err != nil {
			return wire.GRPCError(err)
		}
	}
	f, err := s.feeds.Open(stream.Context(), "grpc", r)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer f.Close()
	if err := stream.Send(&pb.ChangesResponse{Token: f.Token()}); err != nil {
		return err
	}
	values := req.GetFormat() <= pb.ChangeFormat_CHANGE_FORMAT_VALUES
	for {
		events, err := f.Next(stream.Context())
		switch {
		case errors.Is(err, io.EOF) && s.drained.Err() != nil:
			return wire.GRPCError(graph.Unavailable("ChangesError", "Draining", "the server is about to stop; continue from the last token", nil))
		case errors.Is(err, io.EOF): // selectors may have taken none of the last events
			return stream.Send(&pb.ChangesResponse{Token: f.Token()})
		case err != nil:
			return wire.GRPCError(err)
		}
		out, size := &pb.ChangesResponse{}, 0
		for i := range events {
			e := changeProto(f, &events[i], values)
			out.Events = append(out.Events, e)
			if size += proto.Size(e); size < changesBytes || i+1 == len(events) {
				continue
			}
			out.Token = e.GetId()
			if err := stream.Send(out); err != nil {
				return err
			}
			out, size = &pb.ChangesResponse{}, 0
		}
		out.Token = f.Token()
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

func changeProto(f *feed.Feed, e *changes.Event, values bool) *pb.ChangeEvent {
	out := &pb.ChangeEvent{Id: e.ID(), TxId: e.TxID, Seq: e.Seq, Last: e.Last}
	if !values {
		out.Json = f.Append(nil, e)
		return out
	}
	c := e.Columns()
	out.Metadata, out.Event = wire.ToProto(c[3]), wire.ToProto(c[4])
	return out
}
