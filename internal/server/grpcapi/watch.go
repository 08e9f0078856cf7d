package grpcapi

import (
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	usualInterval    = time.Second
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Hour
	// tracesWaiting bounds the requests that wait for a slow client; further ones are dropped.
	tracesWaiting = 256
	// tracedText bounds the bytes of a statement in a trace.
	tracedText = 64 << 10
)

// Top counts operations and sends the counts after each interval. If no operation ends in the first interval, it sends the last interval in
// which one did.
func (s *adminService) Top(req *pb.TopRequest, stream grpc.ServerStreamingServer[pb.TopResponse]) error {
	interval := usualInterval
	if d := req.GetInterval(); d != nil {
		if interval = d.AsDuration(); d.CheckValid() != nil || interval < shortestInterval || interval > longestInterval {
			return wire.GRPCError(wire.RequestError("interval: must be from 100ms to 1h"))
		}
	}
	past := request.PastTop(s.e.Watch(), interval) // before counting begins, so that nothing counts twice
	t := request.NewTop(time.Now())
	defer s.e.Watch().Add(&watch.Watcher{Ended: t.Add})()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for first := true; ; first = false {
		select {
		case now := <-ticker.C:
			res := t.Take(now)
			if first && len(res.Operations) == 0 && past != nil {
				res = past
			}
			members, err := s.replicas(stream.Context())
			if err != nil {
				return wire.GRPCError(err)
			}
			if err := stream.Send(topProto(res, members)); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return wire.GRPCError(graph.DeadlineError(stream.Context().Err()))
		case <-s.drained.Done():
			return wire.GRPCError(wire.Draining())
		}
	}
}

// Trace streams requests as they end, with their stages.
func (s *adminService) Trace(req *pb.TraceRequest, stream grpc.ServerStreamingServer[pb.TraceResponse]) error {
	least, err := timeoutOf(req.GetMin())
	if err != nil {
		return wire.GRPCError(wire.RequestError("min: must be a duration from 0"))
	}
	match, err := regexp.Compile(req.GetMatch())
	if err != nil {
		return wire.GRPCError(wire.RequestError("match: " + err.Error()))
	}
	waiting, missed := make(chan *watch.Ended, tracesWaiting), atomic.Uint64{}
	defer s.e.Watch().Add(&watch.Watcher{Stages: true, Ended: func(r *watch.Ended) {
		if r.Stages == nil || r.Elapsed < least || !match.MatchString(r.Statement) {
			return // a request without stages began before tracing
		}
		select {
		case waiting <- r:
		default:
			missed.Add(1)
		}
	}})()
	for n := uint32(0); ; {
		select {
		case r := <-waiting:
			out := traceProto(r)
			out.Missed = missed.Swap(0)
			if err := stream.Send(out); err != nil {
				return err
			}
			if n++; n == req.GetLimit() {
				return nil
			}
		case <-stream.Context().Done():
			return wire.GRPCError(graph.DeadlineError(stream.Context().Err()))
		case <-s.drained.Done():
			return wire.GRPCError(wire.Draining())
		}
	}
}

func traceProto(r *watch.Ended) *pb.TraceResponse {
	digits, _ := watch.Fingerprint(r.Kind, r.Statement)
	out := &pb.TraceResponse{
		Id: r.ID, Kind: string(r.Kind), Graph: r.Graph, Statement: strings.ToValidUTF8(r.Statement[:min(len(r.Statement), tracedText)], ""), Fingerprint: digits, Start: timestamppb.New(r.Start),
		Elapsed: durationpb.New(r.Elapsed), Rows: uint64(r.Rows), Stages: stagesProto(r.Stages),
	}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	return out
}

func stagesProto(in []*watch.Stage) []*pb.Stage {
	out := make([]*pb.Stage, len(in))
	for i, s := range in {
		out[i] = &pb.Stage{
			Name: s.Name, Detail: s.Detail, Time: durationpb.New(s.Time), Rows: uint64(s.Rows), Requests: uint64(s.Requests),
			Bytes: uint64(s.Bytes), Stages: stagesProto(s.Stages),
		}
	}
	return out
}
