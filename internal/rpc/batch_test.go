package rpc

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// batching makes a connection whose calls can travel as one.
func batching(t *testing.T) (*wired, *Batched) {
	w, c, _ := wire(t)
	return w, NewBatched(c, &BatchForm{
		Method: pb.ReadService_Batch_FullMethodName,
		Pack: func(method string, calls [][]byte) (in, out proto.Message) {
			return &pb.BatchRequest{Method: method, Requests: calls}, &pb.BatchResponse{}
		},
		Answers: func(out proto.Message) (answers []Answer) {
			for _, a := range out.(*pb.BatchResponse).GetAnswers() {
				answers = append(answers, Answer{a.GetMessage(), a.GetFailed()})
			}
			return answers
		},
	})
}

// Short calls of one kind that are made side by side travel as one, and each has an answer or an error of its own; others travel alone.
func TestBatch(t *testing.T) {
	w, l := batching(t)
	var n graph.Wire
	group := NewGroup(t.Context(), &n)
	reqs := []*pb.StepRequest{{From: []byte("a")}, {Pull: true}, {From: bytes.Repeat([]byte{7}, batchedBytes)}, {From: []byte("b")}}
	answers := make([]pb.StepResponse, len(reqs))
	var finish []func() error
	for i, r := range reqs {
		finish = append(finish, l.Start(t.Context(), pb.ReadService_Step_FullMethodName, r, &answers[i], group))
	}
	sets := l.Start(t.Context(), pb.ReadService_LabelSets_FullMethodName, &pb.LabelSetsRequest{}, &pb.LabelSetsResponse{}, group)
	group.Send()
	again := l.Start(t.Context(), pb.ReadService_Step_FullMethodName, reqs[0], &pb.StepResponse{}, group)
	for i, r := range reqs {
		err := finish[i]()
		if r.GetPull() {
			require.Equal(t, codes.FailedPrecondition, status.Code(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, r.GetFrom(), answers[i].GetTo())
	}
	require.NoError(t, again())
	require.Equal(t, codes.InvalidArgument, status.Code(sets()))
	require.EqualValues(t, 5, w.calls.Load())
	require.EqualValues(t, 4, n.Requests.Load()) // three steps, the long one, the sets, the one that came later
}

// A call that is given up does not end those that travel with it; the end of their request does.
func TestBatchCancelled(t *testing.T) {
	w, l := batching(t)
	ctx, cancel := context.WithCancel(t.Context())
	one, endOne := context.WithCancel(ctx)
	group := NewGroup(ctx, nil)
	first := l.Start(one, pb.ReadService_Large_FullMethodName, &pb.LargeRequest{}, &pb.LargeResponse{}, group)
	second := l.Start(ctx, pb.ReadService_Large_FullMethodName, &pb.LargeRequest{}, &pb.LargeResponse{}, group)
	group.Send()
	began := []context.Context{<-w.began, <-w.began}
	endOne()
	require.Equal(t, codes.Canceled, status.Code(first()))
	require.NoError(t, began[0].Err())
	require.NoError(t, began[1].Err())
	cancel()
	require.Equal(t, codes.Canceled, status.Code(second()))
	<-w.ended
	<-w.ended
}
