package server

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

const (
	usualProfile   = 10 * time.Second
	longestProfile = 10 * time.Minute
)

// Profile takes a profile of the process. One CPU profile can be taken at a time.
func (s *adminService) Profile(req *pb.ProfileRequest, stream grpc.ServerStreamingServer[pb.ProfileResponse]) error {
	watch, err := timeoutOf(req.GetDuration())
	if err != nil {
		return grpcError(err)
	}
	if watch == 0 {
		watch = usualProfile
	}
	if watch > longestProfile {
		return grpcError(requestError("duration: must be at most " + longestProfile.String()))
	}
	var b bytes.Buffer
	switch kind := req.GetKind(); kind {
	case "cpu":
		defer s.e.LabelProfiles()()
		err = cpuProfile(stream.Context(), watch, &b)
	case "heap", "goroutine", "mutex", "block":
		err = pprof.Lookup(kind).WriteTo(&b, 0)
	default:
		err = requestError("kind: must be cpu, heap, goroutine, mutex or block, was " + strconv.Quote(kind))
	}
	if err != nil {
		return grpcError(err)
	}
	for b.Len() > 0 {
		if err := stream.Send(&pb.ProfileResponse{Chunk: b.Next(rowBytes)}); err != nil {
			return err
		}
	}
	return nil
}

// cpuProfile watches the processors for a while, or until the client goes away.
func cpuProfile(ctx context.Context, watch time.Duration, b *bytes.Buffer) error {
	if err := pprof.StartCPUProfile(b); err != nil {
		return &graph.Error{
			Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "RequestError",
			Phase: graph.PhaseRuntime, Detail: "ProfileRuns", Msg: "another CPU profile is being taken", Err: err,
		}
	}
	defer pprof.StopCPUProfile()
	timer := time.NewTimer(watch)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return graph.DeadlineError(context.Cause(ctx))
	}
}
