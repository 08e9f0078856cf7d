package grpcapi

import (
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/server/request"
)

// topProto converts the counts of an interval.
func topProto(i *request.Interval, members []*pb.Member) *pb.TopResponse {
	out := &pb.TopResponse{End: timestamppb.New(i.End), Interval: durationpb.New(i.Length), Members: members}
	for _, o := range i.Operations {
		out.Operations = append(out.Operations, &pb.Operation{
			Kind: o.Kind, Graph: o.Graph, Fingerprint: o.Fingerprint, Text: o.Text, Calls: o.Calls, Errors: o.Errors, Rows: uint64(o.Rows),
			Rate: o.Rate, Mean: durationpb.New(o.Mean), P99: durationpb.New(o.P99), Share: o.Share,
		})
	}
	return out
}
