package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// A request over its rate is refused before it is read, with the error of its protocol and the time to retry.
func TestRates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	text, tokens := "tokens:\n", map[string]string{}
	for name, limits := range map[string]string{"often": "requests=0.001", "much": "bytes=1kB", "free": "", "other": ""} {
		token, entry := access.NewToken(name, access.Admin)
		text += strings.TrimSuffix(entry, "}\n") + `, limits: "` + limits + `"}` + "\n"
		tokens[name] = token
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	auth, err := access.New(access.Options{TokensFile: path}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	rates := access.NewRates(access.Limits{}, access.Limits{Requests: 0.01})
	r := serveOver(t, newOracle(t), query.Options{Rates: rates}, Options{Auth: auth, Rates: rates})

	post := func(name, path string, body io.Reader) (code, retry int) {
		req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+path, body)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+tokens[name])
		req.Header.Set("Prefer", "http-status")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		retry, _ = strconv.Atoi(res.Header.Get("Retry-After"))
		return res.StatusCode, retry
	}
	call := func(name, graphName string) (codes.Code, float64) {
		ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+tokens[name])
		_, err := r.query(ctx, &pb.QueryRequest{Statement: "RETURN 1", Graph: graphName})
		st, after := status.Convert(err), 0.0
		for _, d := range st.Details() {
			if d, ok := d.(*errdetails.RetryInfo); ok {
				after = d.GetRetryDelay().AsDuration().Seconds()
			}
		}
		return st.Code(), after
	}
	const ok = `{"statement": "RETURN 1", "graph": "one"}`
	code, _ := post("often", "/v1/query", strings.NewReader(`{`))
	require.Equal(t, 400, code)
	endless, stop := io.Pipe()
	for _, path := range []string{"/v1/query", "/db/one/query/v2/tx", "/get"} {
		code, retry := post("often", path, endless)
		require.Equal(t, 429, code, path)
		require.InDelta(t, 1000, retry, 30, path)
	}
	require.NoError(t, stop.Close())
	grpcCode, after := call("often", "default")
	require.Equal(t, codes.ResourceExhausted, grpcCode)
	require.InDelta(t, 1000, after, 30)

	code, _ = post("much", "/v1/query", strings.NewReader(`{"statement": "RETURN`+strings.Repeat(" ", 100_000)+`x", "graph": "one"}`))
	require.Equal(t, 404, code)
	code, retry := post("much", "/v1/query", strings.NewReader(ok))
	require.Equal(t, 429, code)
	require.InDelta(t, 100, retry, 30)
	grpcCode, _ = call("much", "default")
	require.Equal(t, codes.ResourceExhausted, grpcCode)

	grpcCode, _ = call("free", "default")
	require.Equal(t, codes.OK, grpcCode)
	for _, name := range []string{"free", "other"} {
		grpcCode, after = call(name, "default")
		require.Equal(t, codes.ResourceExhausted, grpcCode, "the graph's rate is that of all")
		require.InDelta(t, 100, after, 30)
		code, _ = post(name, "/get?graph=default", strings.NewReader("{}"))
		require.Equal(t, 429, code)
	}
	require.Equal(t, uint64(10), r.engine.Load().Refused[admission.RateLimit])
}

// A client whose headers are too large is refused, and so is a message, before either is in memory.
func TestSizes(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{}, Options{MaxRequestBytes: 64 << 10})
	req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", strings.NewReader("{}"))
	require.NoError(t, err)
	req.Header.Set("X-Much", strings.Repeat("x", 128<<10))
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, res.StatusCode)
	_, err = r.query(context.Background(), &pb.QueryRequest{Statement: strings.Repeat("x", 64<<10)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-much", strings.Repeat("x", 128<<10))
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "RETURN 1"})
	require.Error(t, err)
}
