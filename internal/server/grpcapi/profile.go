package grpcapi

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	usualProfile   = 10 * time.Second
	longestProfile = 10 * time.Minute
)

// Profile takes a profile of the process. Only one CPU profile can run at a time.
func (s *adminService) Profile(req *pb.ProfileRequest, stream grpc.ServerStreamingServer[pb.ProfileResponse]) error {
	watch, err := timeoutOf(req.GetDuration())
	if err != nil {
		return wire.GRPCError(err)
	}
	if watch == 0 {
		watch = usualProfile
	}
	if watch > longestProfile {
		return wire.GRPCError(wire.RequestError("duration: must be at most " + longestProfile.String()))
	}
	var b bytes.Buffer
	switch kind := req.GetKind(); kind {
	case "cpu", "heap", "goroutine", "mutex", "block":
		if until := req.GetUntil(); until != nil {
			err = admin.KeptProfile(s.profiles, kind, req.GetFrom().AsTime(), until.AsTime(), &b)
			break
		}
		if kind != "cpu" {
			err = pprof.Lookup(kind).WriteTo(&b, 0)
			break
		}
		defer s.profiles.Yield()()
		defer s.e.LabelProfiles()()
		err = request.WatchCPU(stream.Context(), watch, &b)
	default:
		err = wire.RequestError("kind: must be cpu, heap, goroutine, mutex or block, was " + strconv.Quote(kind))
	}
	if err != nil {
		return wire.GRPCError(err)
	}
	for b.Len() > 0 {
		if err := stream.Send(&pb.ProfileResponse{Chunk: b.Next(rowBytes)}); err != nil {
			return err
		}
	}
	return nil
}

// KeptProfiles lists the continuous profiles of the server.
func (s *adminService) KeptProfiles(context.Context, *pb.KeptProfilesRequest) (*pb.KeptProfilesResponse, error) {
	list, err := s.profiles.List()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	res := &pb.KeptProfilesResponse{}
	for _, k := range list {
		res.Profiles = append(res.Profiles, &pb.KeptProfile{Time: timestamppb.New(k.Time), Kind: k.Kind, Bytes: uint64(k.Bytes)})
	}
	return res, nil
}
