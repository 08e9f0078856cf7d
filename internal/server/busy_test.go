package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // as the exporter of traces has it
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// A refused request gets the error of its protocol, and the time to retry.
func TestBusy(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{Admission: admission.Limits{Running: 1}}, Options{})
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

// Large requests share a memory budget: one that exceeds it must retry later, and a request that ends releases its share.
func TestLargeRequests(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{}, Options{LargeBytes: 100 << 10, QueueTimeout: time.Second})
	text := `{"statement": "RETURN size($p)", "parameters": {"p": "` + strings.Repeat("x", 90<<10) + `"}}`
	ask := func(body io.Reader) int {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", body)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		return res.StatusCode
	}
	answered := func(body func() io.Reader) { // the memory is released after the answer
		t.Helper()
		require.Eventually(t, func() bool { return ask(body()) == 200 }, time.Minute, time.Millisecond)
	}
	said := func() io.Reader { return strings.NewReader(text) }
	unsaid := func() io.Reader { return struct{ io.Reader }{strings.NewReader(text)} }
	for range 3 {
		answered(said)
		answered(unsaid)
	}
	var release func()
	require.Eventually(t, func() bool {
		var err error
		release, err = r.host.Memory.Acquire(t.Context(), 100<<10)
		return err == nil
	}, time.Minute, time.Millisecond)
	require.Equal(t, 429, ask(said()))
	require.Equal(t, 200, ask(strings.NewReader(`{"statement": "RETURN 1"}`)))
	require.Equal(t, 200, ask(struct{ io.Reader }{strings.NewReader(`{"statement": "RETURN 1"}`)}))
	release()
	answered(said)

	// Bodies that do not arrive keep no other from it, whether they say their size or not.
	for i := range 2 {
		in, out := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", in)
		require.NoError(t, err)
		if i%2 == 0 {
			req.ContentLength = int64(len(text))
		}
		first := make(chan struct{})
		go func() {
			defer close(first)
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		}()
		_, err = io.WriteString(out, text[:80<<10])
		require.NoError(t, err)
		t.Cleanup(func() { _ = out.CloseWithError(io.ErrUnexpectedEOF); <-first })
	}
	require.Equal(t, 200, ask(said()))
	require.Equal(t, 200, ask(unsaid()))
}

// Large messages share that memory with large bodies. Services without large messages use none.
func TestLargeMessages(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{}, Options{LargeBytes: 100 << 10, QueueTimeout: 50 * time.Millisecond, MaxRequestBytes: 200 << 10})
	ctx := t.Context()
	ask := func(size int, opts ...grpc.CallOption) codes.Code {
		params := map[string]*pb.Value{"p": toValue(strings.Repeat("x", size))}
		stream, err := pb.NewGraphServiceClient(r.conn).Query(ctx, &pb.QueryRequest{Statement: "RETURN size($p)", Parameters: params}, opts...)
		require.NoError(t, err)
		for err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			return codes.OK
		}
		return status.Code(err)
	}
	whole := func() (giveBack func()) { // the memory is released after the answer
		t.Helper()
		require.Eventually(t, func() (free bool) {
			release, err := r.host.Memory.Acquire(ctx, 100<<10)
			giveBack = release
			return err == nil
		}, time.Minute, time.Millisecond)
		return giveBack
	}
	answered := func(size int, opts ...grpc.CallOption) {
		t.Helper()
		require.Eventually(t, func() bool { return ask(size, opts...) == codes.OK }, time.Minute, time.Millisecond)
	}
	answered(90 << 10)
	answered(150 << 10)
	answered(150<<10, grpc.UseCompressor("gzip"))
	require.Equal(t, codes.ResourceExhausted, ask(300<<10))
	require.Equal(t, codes.ResourceExhausted, ask(300<<10, grpc.UseCompressor("gzip")))
	giveBack := whole()
	require.Equal(t, codes.ResourceExhausted, ask(90<<10))
	require.Equal(t, codes.ResourceExhausted, ask(1<<10, grpc.UseCompressor("gzip")), "it may be large")
	require.Equal(t, codes.OK, ask(1<<10))
	giveBack()
	answered(90 << 10)
	whole()()

	x := r.transact(ctx, t)
	require.NoError(t, x.begin(&pb.TransactBegin{}))
	rows, err := x.run("RETURN size($p)", map[string]any{"p": strings.Repeat("x", 90<<10)})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	whole()()
	_, err = pb.NewAdminServiceClient(r.conn).Schema(ctx, &pb.SchemaRequest{Graph: strings.Repeat("x", 90<<10)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}
