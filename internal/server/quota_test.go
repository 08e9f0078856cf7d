package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/config"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// What is left of a quota is told over HTTP and gRPC, and each transport refuses what is beyond it so that clients know when to come back.
func TestQuotas(t *testing.T) {
	r := serve(t)
	put := func(amount string) {
		_, err := r.query(context.Background(), &pb.QueryRequest{
			Statement: "CALL db.quotas.put({name: 'calls', for: 'everyone', measure: 'requests', amount: " + amount + ", window: 'day', mode: 'enforce'})",
		})
		require.NoError(t, err)
	}
	post := func(path, body string) (*http.Response, string) {
		res, err := http.Post("http://"+r.addrs.HTTP+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res, string(text)
	}
	const statement = `{"statement": "RETURN 1 AS one"}`
	res, _ := post("/v1/query", statement)
	require.Empty(t, res.Header.Get("RateLimit"))
	put("4")
	res, _ = post("/v1/query", statement)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, `"calls";q=4;w=86400`, res.Header.Get("RateLimit-Policy"))
	require.Regexp(t, `^"calls";r=3;t=\d+$`, res.Header.Get("RateLimit"))
	res, _ = post("/get", `{"P": {}}`)
	require.Regexp(t, `^"calls";r=2;t=\d+$`, res.Header.Get("RateLimit"))
	res, _ = post("/v1/query", `{"statement": "RETURN"}`)
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	require.Regexp(t, `^"calls";r=1;t=\d+$`, res.Header.Get("RateLimit"), "a request that fails counts")

	stream, err := pb.NewGraphServiceClient(r.conn).Query(context.Background(), &pb.QueryRequest{Statement: "RETURN 1"})
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, io.EOF, err)
	require.Equal(t, []string{`"calls";q=4;w=86400`}, stream.Trailer().Get("ratelimit-policy"))
	require.Regexp(t, `^"calls";r=0;t=\d+$`, stream.Trailer().Get("ratelimit")[0])

	for path, body := range map[string]string{"/v1/query": statement, "/get": `{"P": {}}`, "/v1/vertices": `{"from": {"statement": "RETURN 1"}}`} {
		res, text := post(path, body)
		require.Contains(t, text, "the quota calls is used up, 4 requests a day", path)
		require.Regexp(t, `^[1-9]\d*$`, res.Header.Get("Retry-After"), path)
		require.Regexp(t, `^"calls";r=0;t=\d+$`, res.Header.Get("RateLimit"), path)
		if path != "/get" {
			require.Equal(t, http.StatusTooManyRequests, res.StatusCode, path)
			require.Contains(t, text, `"detail":"QuotaExceeded"`, path)
		}
	}
	stream, err = pb.NewGraphServiceClient(r.conn).Query(context.Background(), &pb.QueryRequest{Statement: "RETURN 1"})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Regexp(t, `^"calls";r=0;t=\d+$`, stream.Trailer().Get("ratelimit")[0])
	retry := false
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			retry = info.GetRetryDelay().AsDuration() > 0
		}
	}
	require.True(t, retry)

	d, err := neo4j.NewDriver("bolt://"+r.addrs.Bolt, neo4j.NoAuth(), func(c *config.Config) { c.MaxTransactionRetryTime = 1 })
	require.NoError(t, err)
	defer d.Close(context.Background())
	s := d.NewSession(context.Background(), neo4j.SessionConfig{})
	_, err = s.Run(context.Background(), "RETURN 1", nil)
	require.True(t, neo4j.IsRetryable(err), "%v", err)
	require.ErrorContains(t, err, "the quota calls is used up")
	tx, err := s.BeginTransaction(context.Background())
	require.NoError(t, err)
	_, err = tx.Run(context.Background(), "RETURN 1", nil)
	require.ErrorContains(t, err, "the quota calls is used up")
	require.NoError(t, s.Close(context.Background()))
	put("1000")
	res, _ = post("/v1/query", statement)
	require.Equal(t, http.StatusOK, res.StatusCode)
}
