package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// summaryOf reads a stream to the last message that has a summary.
func summaryOf[M, S any](t *testing.T, stream grpc.ServerStreamingClient[M], err error, summary func(*M) *S) (last *S) {
	t.Helper()
	require.NoError(t, err)
	for last == nil {
		m, err := stream.Recv()
		require.NoError(t, err)
		last = summary(m)
	}
	return last
}

// TestGRPCNotifications reads by a label that the graph has not, in every call whose answer has a summary.
func TestGRPCNotifications(t *testing.T) {
	r := serve(t)
	ctx := t.Context()
	client := pb.NewGraphServiceClient(r.conn)
	_, err := r.query(ctx, &pb.QueryRequest{Statement: "CREATE (:Person {id: 1})-[:KNOWS]->(:Person {id: 2})"})
	require.NoError(t, err)

	want := &pb.Notification{
		Code: "Neo.ClientNotification.Statement.UnknownLabelWarning", Title: "The label is not in the graph",
		Description: "nothing in the graph has, or has had, the label `Persn`; did you mean `Person`?", Severity: "WARNING", Category: "UNRECOGNIZED",
		GqlStatus: "01N50", StatusDescription: "warn: label does not exist. The label `Persn` does not exist.", Suggestion: "Person",
		Position: &pb.Position{Offset: 17, Line: 2, Column: 4},
	}
	one := func(list []*pb.Notification) {
		t.Helper()
		require.Len(t, list, 1)
		require.True(t, proto.Equal(want, list[0]), "%v", list[0])
	}
	const text = "/* é */ MATCH\n(p:Persn) RETURN p"
	a, err := r.query(ctx, &pb.QueryRequest{Statement: text})
	require.NoError(t, err)
	one(a.summary.GetNotifications())

	x := r.transact(ctx, t)
	require.NoError(t, x.begin(&pb.TransactBegin{}))
	requireSent(t, x.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: text}}}))
	one(summaryOf(t, x, nil, func(m *pb.TransactResponse) *pb.QuerySummary { return m.GetResult().GetSummary() }).GetNotifications())
	require.NoError(t, x.rollback())

	want.Position = nil // the client has sent no text
	key := func(label string) *pb.VertexSelector {
		return &pb.VertexSelector{By: &pb.VertexSelector_Key{Key: &pb.KeySelector{
			Label: label, Property: "id", Values: []*pb.Value{{Kind: &pb.Value_Integer{Integer: 1}}},
		}}}
	}
	traverse, err := client.Traverse(ctx, &pb.TraverseRequest{From: key("Persn"), Hops: []*pb.Hop{{}}, MaxHops: 1})
	one(summaryOf(t, traverse, err, (*pb.TraverseResponse).GetSummary).GetNotifications())
	path, err := client.ShortestPath(ctx, &pb.ShortestPathRequest{From: key("Persn"), To: key("Person"), Hop: &pb.Hop{}})
	one(summaryOf(t, path, err, (*pb.PathResponse).GetSummary).GetNotifications())
	subgraph, err := client.Subgraph(ctx, &pb.SubgraphRequest{From: key("Persn"), Hops: []*pb.Hop{{}}, MaxHops: 1})
	one(summaryOf(t, subgraph, err, (*pb.SubgraphLayer).GetSummary).GetNotifications())
	subgraph, err = client.Subgraph(ctx, &pb.SubgraphRequest{From: key("Person"), Hops: []*pb.Hop{{}}, MaxHops: 1})
	require.Empty(t, summaryOf(t, subgraph, err, (*pb.SubgraphLayer).GetSummary).GetNotifications())
}
