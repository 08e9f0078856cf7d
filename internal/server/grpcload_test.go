package server

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

func openLoad(t *testing.T, r *running, first *pb.LoadRequest) grpc.BidiStreamingClient[pb.LoadRequest, pb.LoadResponse] {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stream, err := pb.NewLoadServiceClient(r.conn).Load(ctx)
	require.NoError(t, err)
	requireSent(t, stream.Send(first))
	return stream
}

// requireSent checks the result of a send on a stream and tells whether the message is under way: io.EOF says that the server has
// ended the stream, and Recv why.
func requireSent(t testing.TB, err error) bool {
	if !errors.Is(err, io.EOF) {
		require.NoError(t, err)
	}
	return err == nil
}

func loadOpen() *pb.LoadRequest {
	return &pb.LoadRequest{Part: &pb.LoadRequest_Open{Open: &pb.LoadOpen{
		Stream: "s", Spaces: []*pb.IdSpace{{Name: "p", Label: "Person", Property: "id"}},
	}}}
}

func loadBatch(seq uint64, keys *pb.LoadColumn) *pb.LoadRequest {
	return &pb.LoadRequest{Part: &pb.LoadRequest_Batch{Batch: &pb.LoadBatch{Seq: seq, Mark: []byte{byte(seq)}, Vertices: []*pb.VertexRows{
		{Labels: []string{"Person"}, Keys: keys, Properties: []*pb.PropertyColumn{{Name: "id", Values: keys}}},
	}}}}
}

func intKeys(keys ...int64) *pb.LoadColumn {
	return &pb.LoadColumn{Data: &pb.LoadColumn_Integers{Integers: &pb.IntColumn{Values: keys}}}
}

// Acknowledged batches remain when a later one is malformed; the next run of the load continues after them.
func TestLoad(t *testing.T) {
	r := serve(t)
	stream := openLoad(t, r, loadOpen())
	res, err := stream.Recv()
	require.NoError(t, err)
	require.Zero(t, res.GetOpened().GetSeq())
	requireSent(t, stream.Send(loadBatch(1, intKeys(1, 2, 3))))
	res, err = stream.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 1, res.GetAck().GetSeq())
	require.EqualValues(t, 3, res.GetAck().GetVertices())
	requireSent(t, stream.Send(loadBatch(2, &pb.LoadColumn{Data: &pb.LoadColumn_Texts{Texts: &pb.TextColumn{Text: []byte("é"), Ends: []uint32{1, 2}}}})))
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)
	require.Contains(t, info(t, err).GetReason(), "Request.Invalid")

	stream = openLoad(t, r, loadOpen())
	res, err = stream.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 1, res.GetOpened().GetSeq())
	require.Equal(t, []byte{1}, res.GetOpened().GetMark())
	requireSent(t, stream.Send(loadBatch(1, intKeys(1, 2, 3)))) // sent again, it counts once
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.NoError(t, err)
	a, err := r.query(context.Background(), &pb.QueryRequest{Statement: "MATCH (p:Person) RETURN sum(p.id) AS s"})
	require.NoError(t, err)
	require.Equal(t, []int64{6}, a.values[0].GetColumns()[0].GetIntegers().GetValues())
}

// A load that is no load is refused.
func TestLoadMisuse(t *testing.T) {
	r := serve(t)
	for name, first := range map[string]*pb.LoadRequest{"batch first": loadBatch(1, intKeys(1)), "empty": {}} {
		_, err := openLoad(t, r, first).Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", name, err)
	}
	stream := openLoad(t, r, &pb.LoadRequest{Part: &pb.LoadRequest_Open{Open: &pb.LoadOpen{Graph: "nowhere"}}})
	_, err := stream.Recv()
	require.Equal(t, codes.NotFound, status.Code(err))
	stream = openLoad(t, r, loadOpen())
	requireSent(t, stream.Send(loadOpen()))
	_, err = stream.Recv()
	require.NoError(t, err) // it was opened
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)
}
