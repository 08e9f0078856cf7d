package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// post sends a body to the HTTP listener and reads the answer.
func (r *running) post(t testing.TB, path, body string) {
	res, err := http.Post("http://"+r.addrs.HTTP+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
}

// untilWatched waits until the server has registered a watching call, which the caller cannot see otherwise.
func (r *running) untilWatched(t testing.TB) {
	require.Eventually(t, r.engine.Watch().Watched, time.Minute, time.Millisecond)
}

func TestTop(t *testing.T) {
	r := serve(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	require.False(t, r.engine.Watch().Watched())
	stream, err := pb.NewAdminServiceClient(r.conn).Top(ctx, &pb.TopRequest{Interval: durationpb.New(100 * time.Millisecond)})
	require.NoError(t, err)
	r.untilWatched(t)
	for _, body := range []string{`{"statement": "RETURN 1 AS x"}`, `{"statement": "RETURN  2 AS x"}`, `{"statement": "RETURN nothing"}`} {
		r.post(t, "/v1/query", body)
	}
	r.post(t, "/get", `{"A[]": {"A": {"x": 1}}}`)
	r.post(t, "/get", `{"A[]": {"A": {"x": 2}}}`)
	calls, errs := map[string]uint64{}, map[string]uint64{}
	for ended := uint64(0); ended < 10; {
		res, err := stream.Recv()
		require.NoError(t, err)
		require.Positive(t, res.GetInterval().AsDuration())
		for _, o := range res.GetOperations() {
			ended += o.GetCalls()
			calls[o.GetKind()+" "+o.GetText()] += o.GetCalls()
			errs[o.GetKind()+" "+o.GetText()] += o.GetErrors()
			require.Equal(t, o.GetKind() == "route", o.GetFingerprint() == "")
			require.Positive(t, o.GetMean().AsDuration())
			require.Positive(t, o.GetP99().AsDuration())
			require.Positive(t, o.GetRate())
			require.LessOrEqual(t, o.GetShare(), 1.0)
		}
	}
	require.Equal(t, map[string]uint64{
		"statement RETURN ? AS x": 2, "statement RETURN nothing": 1, `fetch get {"A[]":{"A":{"x":?}}}`: 2,
		"route POST /v1/query": 3, "route POST /get": 2,
	}, calls)
	require.Equal(t, uint64(1), errs["statement RETURN nothing"])
	require.Equal(t, uint64(1), errs["route POST /v1/query"])
	cancel()
	require.Eventually(t, func() bool { return !r.engine.Watch().Watched() }, time.Minute, time.Millisecond)

	// A call after the end of all requests receives the last interval first, and then nothing.
	before := time.Now()
	stream, err = pb.NewAdminServiceClient(r.conn).Top(context.Background(), &pb.TopRequest{Interval: durationpb.New(100 * time.Millisecond)})
	require.NoError(t, err)
	res, err := stream.Recv()
	require.NoError(t, err)
	require.NotEmpty(t, res.GetOperations())
	require.True(t, res.GetEnd().AsTime().Before(before))
	for _, o := range res.GetOperations() {
		require.NotEqual(t, "route", o.GetKind())
		require.Len(t, o.GetFingerprint(), 16)
	}
	res, err = stream.Recv()
	require.NoError(t, err)
	require.Empty(t, res.GetOperations())

	stream, err = pb.NewAdminServiceClient(r.conn).Top(context.Background(), &pb.TopRequest{Interval: durationpb.New(time.Millisecond)})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestTrace(t *testing.T) {
	r := serve(t)
	r.post(t, "/v1/query", `{"statement": "CREATE (:A {x: 1})-[:R]->(:A {x: 2})"}`)
	names := func(in []*pb.Stage) (out []string) {
		for _, s := range in {
			out = append(out, s.GetName())
			require.GreaterOrEqual(t, s.GetTime().AsDuration(), time.Duration(0))
		}
		return out
	}
	for _, c := range []struct {
		path, body, kind string
		stages           []string
	}{
		{"/v1/query", `{"statement": "MATCH (a:A) RETURN a.x AS traced"}`, "statement", []string{"decode", "queue", "plan", "begin", "execute", "encode"}},
		{"/v1/query", `{"statement": "CREATE (a:B {traced: 1})"}`, "statement", []string{"decode", "queue", "plan", "begin", "execute", "commit", "encode"}},
		{"/get", `{"traced[]": {"A": {"x": 1}}}`, "fetch", []string{"decode", "queue", "plan", "begin", "execute", "encode"}},
		{"/v1/query", `{"statement": "RETURN traced"}`, "statement", []string{"decode", "queue", "plan"}},
	} {
		stream, err := pb.NewAdminServiceClient(r.conn).Trace(context.Background(), &pb.TraceRequest{Match: "traced", Limit: 1})
		require.NoError(t, err)
		r.untilWatched(t)
		r.post(t, "/v1/query", `{"statement": "RETURN 1"}`)
		r.post(t, c.path, c.body)
		got, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, c.kind, got.GetKind())
		require.Contains(t, got.GetStatement(), "traced")
		require.Equal(t, c.stages, names(got.GetStages()), c.body)
		for _, s := range got.GetStages() {
			if s.GetName() == "execute" {
				require.NotEmpty(t, s.GetStages(), "operators of %s", c.body)
			}
		}
		_, err = stream.Recv()
		require.Equal(t, io.EOF, err)
		require.Eventually(t, func() bool { return !r.engine.Watch().Watched() }, time.Minute, time.Millisecond)
	}
	stream, err := pb.NewAdminServiceClient(r.conn).Trace(context.Background(), &pb.TraceRequest{Match: "("})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}
