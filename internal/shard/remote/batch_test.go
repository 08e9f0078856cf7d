package remote

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// batching makes a connection whose calls can travel as one.
func batching(t *testing.T) (*wired, *connection) {
	w, l, _ := wire(t)
	l.heartbeat = startHeartbeat(l.conn, nil)
	t.Cleanup(l.heartbeat.close)
	return w, l
}

// Short calls of one kind that are made side by side travel as one, and each has an answer or an error of its own; others travel alone.
func TestBatch(t *testing.T) {
	w, l := batching(t)
	var n graph.Wire
	fan := &fanout{ctx: t.Context(), wire: &n}
	reqs := []*pb.StepRequest{{From: []byte("a")}, {Pull: true}, {From: bytes.Repeat([]byte{7}, batchedBytes)}, {From: []byte("b")}}
	answers := make([]pb.StepResponse, len(reqs))
	var finish []func() error
	for i, r := range reqs {
		finish = append(finish, l.start(t.Context(), pb.ReadService_Step_FullMethodName, r, &answers[i], fan))
	}
	sets := l.start(t.Context(), pb.ReadService_LabelSets_FullMethodName, &pb.LabelSetsRequest{}, &pb.LabelSetsResponse{}, fan)
	fan.send()
	again := l.start(t.Context(), pb.ReadService_Step_FullMethodName, reqs[0], &pb.StepResponse{}, fan)
	for i, r := range reqs {
		err, lost := fromStatus(t.Context(), "the process", finish[i]())
		require.False(t, lost)
		if r.GetPull() {
			require.Equal(t, shard.SnapshotAhead, graph.AsError(err).Detail)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, r.GetFrom(), answers[i].GetTo())
	}
	require.NoError(t, again())
	err, _ := fromStatus(t.Context(), "the process", sets())
	require.Equal(t, "InvalidArgumentType", graph.AsError(err).Detail)
	require.EqualValues(t, 5, w.calls.Load())
	require.EqualValues(t, 4, n.Requests.Load()) // three steps, the long one, the sets, the one that came later
}

// A batch carries no other batch.
func TestBatchRefused(t *testing.T) {
	_, l := batching(t)
	err := l.Invoke(t.Context(), pb.ReadService_Batch_FullMethodName, &pb.BatchRequest{Method: "Batch"}, &pb.BatchResponse{})
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

// A call that is given up does not end those that travel with it; the end of their request does.
func TestBatchCancelled(t *testing.T) {
	w, l := batching(t)
	ctx, cancel := context.WithCancel(t.Context())
	one, endOne := context.WithCancel(ctx)
	fan := &fanout{ctx: ctx}
	first := l.start(one, pb.ReadService_Large_FullMethodName, &pb.LargeRequest{}, &pb.LargeResponse{}, fan)
	second := l.start(ctx, pb.ReadService_Large_FullMethodName, &pb.LargeRequest{}, &pb.LargeResponse{}, fan)
	fan.send()
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
