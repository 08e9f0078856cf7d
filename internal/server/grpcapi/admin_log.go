package grpcapi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// logPiece is about how many bytes of commits a message of ReadLog has.
const logPiece = 1 << 20

// ReadLog sends the commits of a log that follow one, up to the last one that there is as it begins.
func (s *adminService) ReadLog(req *pb.ReadLogRequest, stream grpc.ServerStreamingServer[pb.ReadLogResponse]) error {
	ctx := stream.Context()
	now := time.Now()
	if req.GetGraph() == "" {
		return stream.Send(&pb.ReadLogResponse{What: &pb.ReadLogResponse_State{State: &pb.LogState{Graphs: query.GraphsOf(s.e), Now: timestamppb.New(now)}}})
	}
	log, names, err := query.LogOf(ctx, s.e, req.GetGraph())
	if err != nil {
		return wire.GRPCError(err)
	}
	st, err := log.LogState(ctx)
	if err != nil {
		return wire.GRPCError(err)
	}
	out := &pb.LogState{
		GraphId: changelog.GraphID(st.Key), Mode: st.Mode.String(), First: st.First, FirstTime: st.FirstTime, Last: st.Last, LastTime: st.LastTime,
		Now: timestamppb.New(now),
	}
	after := req.GetAfter()
	reads := req.After != nil && st.Mode != changelog.Off && st.First <= after && after <= st.Last
	if reads {
		if out.AfterTime, err = timeOf(ctx, log, &st, after); err != nil {
			return wire.GRPCError(err)
		}
	}
	if err := stream.Send(&pb.ReadLogResponse{What: &pb.ReadLogResponse_State{State: out}}); err != nil || !reads {
		return err
	}
	for at := after; at < st.Last; {
		b, err := log.ReadLog(ctx, at, logPiece, nil)
		if err != nil {
			return wire.GRPCError(err)
		}
		for rest := b; len(rest) > 0; {
			var c changelog.Commit
			if rest, err = c.Read(rest); err != nil {
				return wire.GRPCError(err)
			}
			at = c.Number
		}
		n, err := names() // after the commits, so it has what they name
		if err != nil {
			return wire.GRPCError(err)
		}
		for ; len(b) > logPiece; b = b[logPiece:] {
			piece := &pb.LogCommits{Commits: b[:logPiece]}
			if err := stream.Send(&pb.ReadLogResponse{What: &pb.ReadLogResponse_Commits{Commits: piece}}); err != nil {
				return err
			}
		}
		piece := &pb.LogCommits{Commits: b, Whole: true, Labels: n.Labels, Types: n.Types, Properties: n.Props}
		for _, set := range n.Sets {
			ls := &pb.LogLabelSet{}
			for _, l := range set {
				ls.Labels = append(ls.Labels, uint32(l))
			}
			piece.LabelSets = append(piece.LabelSets, ls)
		}
		if err := stream.Send(&pb.ReadLogResponse{What: &pb.ReadLogResponse_Commits{Commits: piece}}); err != nil {
			return err
		}
	}
	return nil
}

// timeOf returns the time of a commit of the log, or of the one before it.
func timeOf(ctx context.Context, log shard.ChangeLog, st *shard.LogState, commit uint64) (int64, error) {
	switch commit {
	case st.First:
		return st.FirstTime, nil
	case st.Last:
		return st.LastTime, nil
	}
	b, err := log.ReadLog(ctx, commit-1, 1, nil)
	if err != nil {
		return 0, err
	}
	c, _, err := changelog.ReadCommit(b)
	if err != nil {
		return 0, err
	}
	return c.Time, nil
}
