package grpcapi

import (
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// checkEvery is the interval of progress messages.
const checkEvery = 200 * time.Millisecond

// Check verifies a graph.
func (s *adminService) Check(req *pb.CheckRequest, stream grpc.ServerStreamingServer[pb.CheckResponse]) error {
	if s.maintainer == nil {
		return wire.GRPCError(noKeeper())
	}
	name := req.GetGraph()
	if name == "" {
		name = query.DefaultGraph
	}
	var last time.Time
	var failed error
	stage := ""
	rep, err := s.maintainer.Check(stream.Context(), name, shard.CheckOptions{
		Repair: req.GetRepair(),
		Progress: func(now string, records uint64) {
			if now != "" {
				stage = now
			}
			if failed != nil || time.Since(last) < checkEvery {
				return
			}
			last = time.Now()
			p := &pb.CheckResponse_Progress{Progress: &pb.CheckProgress{Stage: stage, Records: records}}
			failed = stream.Send(&pb.CheckResponse{What: p})
		},
	})
	if err != nil {
		return wire.GRPCError(err)
	}
	if failed != nil {
		return failed
	}
	return stream.Send(&pb.CheckResponse{What: &pb.CheckResponse_Report{Report: wire.CheckReport(name, rep)}})
}
