package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Batch implements the call.
func (r *readService) Batch(ctx context.Context, req *pb.BatchRequest) (*pb.BatchResponse, error) {
	method := wire.ReadPrefix + req.GetMethod()
	if method == pb.ReadService_Batch_FullMethodName {
		return nil, status.Error(codes.Unimplemented, "a batch cannot contain a batch")
	}
	answers, err := wire.Services.AnswerEach(ctx, r, method, req.GetRequests())
	if err != nil {
		return nil, err
	}
	out := &pb.BatchResponse{Answers: make([]*pb.BatchAnswer, len(answers))}
	for i, a := range answers {
		out.Answers[i] = &pb.BatchAnswer{Message: a.Body, Failed: a.Failed}
	}
	return out, nil
}
