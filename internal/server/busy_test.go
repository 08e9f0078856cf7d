package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
)

// Who is not let in is told so in the way of its protocol, and when to come back.
func TestBusy(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{Admission: query.Admission{Running: 1}}, Options{})
	res, err := r.engine.Query(context.Background(), query.Request{Statement: "RETURN 1"})
	require.NoError(t, err)
	defer res.Close()
	_, err = r.query(context.Background(), &pb.QueryRequest{Statement: "RETURN 1"})
	st := status.Convert(err)
	require.Equal(t, codes.ResourceExhausted, st.Code())
	require.Equal(t, "Neo.TransientError.Request.NoThreadsAvailable", info(t, err).GetReason())
	var retry *errdetails.RetryInfo
	for _, d := range st.Details() {
		if d, ok := d.(*errdetails.RetryInfo); ok {
			retry = d
		}
	}
	require.Positive(t, retry.GetRetryDelay().AsDuration())
	for path, body := range map[string]string{
		"/v1/query": `{"statement": "RETURN 1"}`, "/db/default/query/v2": `{"statement": "RETURN 1"}`,
		"/db/default/query/v2/tx": `{"statement": "RETURN 1"}`, "/get": `{}`,
	} {
		req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Prefer", "http-status")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 429, res.StatusCode, "%s: %s", path, text)
		require.Equal(t, "1", res.Header.Get("Retry-After"), path)
	}
}
