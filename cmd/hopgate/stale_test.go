package main_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// TestStaleReads kills two of three processes: the third one still answers what may be out of date, over HTTP and gRPC, and nothing else.
func TestStaleReads(t *testing.T) {
	ms, _ := startMembers(t, 3)
	last := ms[2]
	_, err := ask(last.http, "CREATE (:N {id: 1})-[:E]->(:N {id: 2})")
	require.NoError(t, err)
	// read sends a statement that may be out of date by some time.
	read := func(statement, within string) (status int, body string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+last.http+"/v1/query", strings.NewReader(`{"statement": "`+statement+`", "timeoutMs": 2000}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Hopgate-Max-Staleness", within)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	known := "MATCH (n:N)-[:E]->(m) RETURN m.id AS id"
	eventually(t, func() bool { // the replica of the process has what it is asked for below
		status, body := read(known, "1m")
		return status == http.StatusOK && strings.Contains(body, "[[2]]")
	}, 20*time.Millisecond)
	for _, p := range ms[:2] {
		p.kill(syscall.SIGKILL)
	}
	status, body := read(known, "1m")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "[[2]]")
	status, body = read("MATCH (n:N {id: 1}) RETURN count(n) AS n", "30s") // which has no plan yet
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "[[1]]")
	o := run(t, []string{"GRAPHCTL_ADDRESS=" + last.grpc}, "graphctl", "query", known, "-o", "csv", "--max-staleness", "1m")
	require.Equal(t, "id\n2\n", o.out, o.err)
	conn, err := grpc.NewClient(last.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	typed := func(within time.Duration) error { // traverses
		stream, err := pb.NewGraphServiceClient(conn).Traverse(t.Context(), &pb.TraverseRequest{
			From: &pb.VertexSelector{By: &pb.VertexSelector_Statement{Statement: "MATCH (n:N)-[:E]->() RETURN n"}}, Hops: []*pb.Hop{{Types: []string{"E"}}},
			MaxStaleness: durationpb.New(within), Budget: &pb.RequestBudget{Timeout: durationpb.New(2 * time.Second)},
		})
		rows := uint64(0)
		for err == nil {
			var part *pb.TraverseResponse
			if part, err = stream.Recv(); err == nil {
				rows += part.GetSummary().GetRows()
			}
		}
		if errors.Is(err, io.EOF) {
			require.EqualValues(t, 1, rows)
			return nil
		}
		return err
	}
	require.NoError(t, typed(time.Minute))
	eventually(t, func() bool { // the process may lead, and its lease lasts a while
		status, _ := read(known, "0s")
		return status >= http.StatusBadRequest
	}, 20*time.Millisecond)
	status, body = read(known, "1ms")
	require.GreaterOrEqual(t, status, http.StatusBadRequest, body)
	require.Error(t, typed(time.Millisecond))
	require.NoError(t, typed(time.Minute))
	status, body = read(known, "1m")
	require.Equal(t, http.StatusOK, status, body)
}
