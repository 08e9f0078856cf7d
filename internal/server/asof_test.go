package server

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// Each call of gRPC that reads takes a moment.
func TestAsOf(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler), LogBytes: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r := serveOver(t, past.NewStore(store, past.DefaultBytes), query.Options{}, Options{})
	ctx := context.Background()
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "CREATE (:User {id: 1})-[:KNOWS]->(:User {id: 2})"})
	require.NoError(t, err)
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	st, err := g.ChangeLog().LogState(ctx)
	require.NoError(t, err)
	at := time.Unix(0, st.LastTime).UTC().Format(time.RFC3339Nano)
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "MATCH (n) DETACH DELETE n"})
	require.NoError(t, err)

	for at, rows := range map[string]int{at: 2, "": 0} {
		_, flown, err := flightRows(flightClient(t, r).DoGet(ctx, &flight.Ticket{Ticket: []byte(`{"statement": "MATCH (n:User) RETURN n.id", "at": "` + at + `"}`)}))
		require.NoError(t, err)
		require.Len(t, flown, rows)
		a, err := r.query(ctx, &pb.QueryRequest{Statement: "MATCH (n:User) RETURN n.id", At: at})
		require.NoError(t, err)
		require.Equal(t, rows, a.rows)
		client := pb.NewGraphServiceClient(r.conn)
		fetch, err := client.Fetch(ctx, &pb.FetchRequest{Request: []byte(`{"User": {"id": 2}}`), At: at})
		require.NoError(t, err)
		var text strings.Builder
		for {
			part, err := fetch.Recv()
			if err == io.EOF { //nolint:errorlint // as returned
				break
			}
			require.NoError(t, err)
			text.Write(part.GetChunk())
		}
		require.Equal(t, rows > 0, strings.Contains(text.String(), `"id":2`), text.String())
		tx, err := client.Transact(ctx)
		require.NoError(t, err)
		require.NoError(t, tx.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{At: at, AccessMode: pb.AccessMode_ACCESS_MODE_READ}}}))
		require.NoError(t, tx.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: "MATCH (n:User) RETURN n.id"}}}))
		require.NoError(t, tx.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.TransactRollback{}}}))
		require.NoError(t, tx.CloseSend())
		got := 0
		for {
			part, err := tx.Recv()
			if err == io.EOF { //nolint:errorlint // as returned
				break
			}
			require.NoError(t, err)
			got += int(part.GetResult().GetRows().GetRows())
		}
		require.Equal(t, rows, got)
		subgraph, err := client.GetVertices(ctx, &pb.GetVerticesRequest{From: &pb.VertexSelector{By: &pb.VertexSelector_Statement{Statement: "MATCH (n:User) RETURN n"}}, At: at})
		require.NoError(t, err)
		_, err = subgraph.Recv()
		if rows == 0 {
			require.ErrorIs(t, err, io.EOF)
		} else {
			require.NoError(t, err)
		}
	}
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "CREATE (n)", At: at})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	for _, wrong := range []string{`{"statement": "RETURN 1", "at": "-"}`, `{"route": "traverse", "at": "` + at + `", "body": {}}`} {
		_, _, err = flightRows(flightClient(t, r).DoGet(ctx, &flight.Ticket{Ticket: []byte(wrong)}))
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "RETURN 1", At: "-"})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}
