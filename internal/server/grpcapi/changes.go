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
	out := changesPart{values: req.GetFormat() <= pb.ChangeFormat_CHANGE_FORMAT_VALUES}
	for {
		events, err := f.Next()
		switch {
		case errors.Is(err, io.EOF) && s.drained.Err() != nil:
			return wire.GRPCError(graph.Unavailable("ChangesError", "Draining", "the server is about to stop; continue from the last token", nil))
		case errors.Is(err, io.EOF): // selectors may have taken none of the last events
			return stream.Send(&pb.ChangesResponse{Token: f.Token()})
		case err != nil:
			return wire.GRPCError(err)
		}
		out.reset()
		for i := range events {
			if out.add(f, &events[i]); out.size < changesBytes || i+1 == len(events) {
				continue
			}
			if err := stream.Send(&pb.ChangesResponse{Events: out.events, Token: events[i].ID()}); err != nil {
				return err
			}
			out.reset()
		}
		if err := stream.Send(&pb.ChangesResponse{Events: out.events, Token: f.Token()}); err != nil {
			return err
		}
	}
}

// changesPart are the events of a message.
type changesPart struct {
	values bool // as values
	events []*pb.ChangeEvent
	size   int
	text   []byte // of all events
}

// reset empties the part once its message has been sent, which encodes it.
func (p *changesPart) reset() { p.events, p.size, p.text = p.events[:0], 0, p.text[:0] }

func (p *changesPart) add(f *feed.Feed, e *changes.Event) {
	out := &pb.ChangeEvent{Id: e.ID(), TxId: e.TxID, Seq: e.Seq, Last: e.Last}
	if p.values {
		c := e.Columns()
		out.Metadata, out.Event = wire.ToProto(c[3]), wire.ToProto(c[4])
		p.size += proto.Size(out)
	} else {
		at := len(p.text)
		p.text = f.Append(p.text, e)
		out.Json = p.text[at:len(p.text):len(p.text)]
		p.size += len(out.Json) + len(out.Id)
	}
	p.events = append(p.events, out)
}
