package server

import (
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// told is what an answer tells of its cost: a dictionary of structured fields.
var told = regexp.MustCompile(`^visits=(\d+), rows=(\d+), bytes=(\d+), cpu=\d+\.\d{1,3}, queue=\d+\.\d{1,3}(?:, estimate=(\d+))?$`)

// posted sends JSON with some headers and returns the answer, whose body is read.
func posted(t *testing.T, url, body string, header http.Header) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, text
}

// A short answer has its cost in a header, one that begins before its request has ended in a trailer, over HTTP and gRPC.
func TestCostIsTold(t *testing.T) {
	r := serve(t)
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "UNWIND range(1, 20000) AS i CREATE (:P {k: i})"})
	require.NoError(t, err)
	const many = `{"statement": "MATCH (p:P) RETURN p.k"}`
	for _, c := range []struct {
		path, accept, body string
		trailer            bool
		visits, rows       string
	}{
		{"/v1/query", "application/json", `{"statement": "MATCH (p:P) RETURN count(p.k) AS n"}`, false, "20000", "1"},
		{"/v1/query", "application/json", `{"statement": "CREATE (q:Q) RETURN q"}`, false, "1", "1"},
		{"/v1/query", "application/json", many, true, "20000", "20000"},
		{"/v1/query", "application/x-ndjson", many, true, "20000", "20000"},
		{"/v1/query", "application/vnd.apache.arrow.stream", many, true, "20000", "20000"},
		{"/v1/vertices", "application/json", `{"from": {"statement": "MATCH (q:Q) RETURN q"}}`, false, "1", "1"},
		{"/get", "application/json", `{"P[]": {"count": 3, "P": {}}}`, false, "1024", "3"}, // a whole batch
		{"/get", "application/json", `{"P[]": {"count": 0, "P": {}}}`, true, "20000", "20000"},
	} {
		res, body := posted(t, "http://"+r.addrs.HTTP+c.path, c.body, http.Header{"Accept": {c.accept}})
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
		in, out := res.Header, res.Trailer
		if c.trailer {
			in, out = out, in
		}
		require.Empty(t, out.Get("Hopgate-Cost"), c)
		require.Regexp(t, told, in.Get("Hopgate-Cost"), c)
		m := told.FindStringSubmatch(in.Get("Hopgate-Cost"))
		require.Equal(t, []string{c.visits, c.rows}, m[1:3], c)
		require.NotEqual(t, "0", m[3], c)
	}

	// A client that reads no trailers asks for it in the body.
	for _, accept := range []string{"application/json", "application/x-ndjson", "application/vnd.neo4j.query"} {
		_, body := posted(t, "http://"+r.addrs.HTTP+"/v1/query", many, http.Header{"Accept": {accept}, "Prefer": {"error-lines, cost"}})
		require.Regexp(t, `,"cost":\{"visits":20000,"rows":20000,"bytes":\d{5,},"cpuMs":[0-9.]+,"queueMs":0\.0(,"estimate":\d+)?\}}\n$`, string(body))
	}

	stream, err := pb.NewGraphServiceClient(r.conn).Query(context.Background(), &pb.QueryRequest{Statement: "MATCH (p:P) WHERE p.k > 19998 RETURN p.k"})
	require.NoError(t, err)
	var summary *pb.QuerySummary
	for part, err := stream.Recv(); err != io.EOF; part, err = stream.Recv() { //nolint:errorlint // gRPC returns it as it is.
		require.NoError(t, err)
		summary = part.GetSummary()
	}
	require.EqualValues(t, 20000, summary.GetCost().GetVisits())
	require.EqualValues(t, 2, summary.GetCost().GetRows())
	require.Regexp(t, "^visits=20000, rows=2, bytes=[1-9]", stream.Trailer().Get("hopgate-cost")[0])
}

// A request whose estimate exceeds its ceiling does not run, through any API. EXPLAIN is not refused.
func TestCeilings(t *testing.T) {
	r := serve(t)
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "UNWIND range(1, 2000) AS i CREATE (:P {k: i})"})
	require.NoError(t, err)
	for _, c := range []struct {
		path, body string
		header     http.Header
		status     int
		says       string
	}{
		{"/v1/query", `{"statement": "MATCH (p:P) RETURN p.k", "maxCost": 3999}`, nil, 422, "Neo.ClientError.Statement.CostTooHigh"},
		{"/v1/query", `{"statement": "MATCH (p:P) RETURN p.k", "maxCost": 3999}`, nil, 422, "expected to take 4000 units, more than 3999, its limit maxCost"},
		{"/v1/query", `{"statement": "MATCH (p:P) RETURN p.k", "maxCost": 4000}`, nil, 200, "counters"},
		{"/v1/query", `{"statement": "EXPLAIN MATCH (p:P) RETURN p.k", "maxCost": 1}`, nil, 200, "counters"},
		{"/v1/query", `{"statement": "MATCH (p:P) SET p.x = 1", "maxCost": 1}`, nil, 422, "CostTooHigh"},
		{"/v1/query", `{"statement": "MATCH (p:P) RETURN p.k"}`, http.Header{"Hopgate-Max-Cost": {"10"}}, 422, "more than 10"},
		{"/v1/query", `{"statement": "RETURN 1", "maxCost": -1}`, nil, 400, "maxCost: must be a whole number"},
		{"/v1/query", `{"statement": "RETURN 1"}`, http.Header{"Hopgate-Max-Cost": {"many"}}, 400, "Hopgate-Max-Cost: must be a whole number"},
		{"/v1/query", `{"statement": "RETURN 1"}`, http.Header{"Hopgate-Max-Cost": {"1", "2"}}, 400, "must be sent once"},
		{"/v1/vertices", `{"from": {"statement": "MATCH (p:P) RETURN p"}, "budget": {"maxCost": 10}}`, nil, 422, "CostTooHigh"},
		{"/get", `{"P[]": {"count": 0, "P": {}}}`, http.Header{"Hopgate-Max-Cost": {"10"}, "Prefer": {"http-status"}}, 422, `"code":422`},
		{"/get", `{"P[]": {"count": 0, "P": {}}}`, http.Header{"Hopgate-Max-Cost": {"x"}, "Prefer": {"http-status"}}, 406, "must be a whole number"},
		{"/db/neo4j/query/v2/tx", `{"statement": "MATCH (p:P) RETURN p.k", "maxCost": 10}`, nil, 422, "CostTooHigh"},
	} {
		res, body := posted(t, "http://"+r.addrs.HTTP+c.path, c.body, c.header)
		require.Equal(t, c.status, res.StatusCode, "%s: %s", c.body, body)
		require.Contains(t, string(body), c.says, c.body)
	}
	a, err := r.query(context.Background(), &pb.QueryRequest{Statement: "MATCH (p:P) WHERE p.x = 1 RETURN count(*)"})
	require.NoError(t, err)
	require.EqualValues(t, 0, rowsOf(a.values[0])[0][0], "what was refused has changed nothing")

	ctx := metadata.AppendToOutgoingContext(context.Background(), "hopgate-max-cost", "10")
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "MATCH (p:P) RETURN p.k"})
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorContains(t, err, "more than 10, its limit maxCost")
	_, err = r.query(ctx, &pb.QueryRequest{Statement: "RETURN 1"})
	require.NoError(t, err)
	_, err = r.query(metadata.AppendToOutgoingContext(context.Background(), "hopgate-max-cost", "0"), &pb.QueryRequest{Statement: "RETURN 1"})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// A caller's limit of cost holds for each of its requests.
func TestCeilingOfCallers(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{Admission: admission.Limits{Graph: access.Limits{Cost: 50}}}, Options{})
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "UNWIND range(1, 8) AS i UNWIND range(1, 10) AS j CREATE (:P {k: i})"})
	require.ErrorContains(t, err, `its limit cost of the graph "default" (graph-limits)`)
	_, err = r.query(context.Background(), &pb.QueryRequest{Statement: "UNWIND [1, 2] AS i CREATE (:P {k: i})"})
	require.NoError(t, err)
}

// EXPLAIN tells the most visits of a run, or why they have no bound, over HTTP and gRPC.
func TestQuoteIsTold(t *testing.T) {
	r := serve(t)
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "UNWIND range(1, 20) AS i CREATE (:P {k: i})"})
	require.NoError(t, err)
	const endless = "VarLengthExpand: the length has no upper bound"
	for _, c := range []struct {
		statement, json string
		quote           *pb.Quote
	}{
		{"EXPLAIN MATCH (p:P) RETURN p.k", `]},"quote":{"visits":20}}`, &pb.Quote{Visits: new(uint64(20))}},
		{"EXPLAIN MATCH (p:P)-[*]->(q) RETURN q", `]},"quote":{"reason":"` + endless + `"}}`, &pb.Quote{Reason: endless}},
		{"EXPLAIN CREATE INDEX FOR (p:P) ON (p.k)", `]}}`, nil},
		{"PROFILE MATCH (p:P) RETURN count(*) AS n", `]}}`, nil},
	} {
		res, err := http.Post("http://"+r.addrs.HTTP+"/v1/query", "application/json", strings.NewReader(`{"statement": "`+c.statement+`"}`))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.True(t, strings.HasSuffix(strings.TrimSpace(string(body)), c.json), "%s", body)

		stream, err := pb.NewGraphServiceClient(r.conn).Query(context.Background(), &pb.QueryRequest{Statement: c.statement})
		require.NoError(t, err)
		var quote *pb.Quote
		for part, err := stream.Recv(); err != io.EOF; part, err = stream.Recv() { //nolint:errorlint // gRPC returns it as it is.
			require.NoError(t, err)
			quote = part.GetSummary().GetQuote()
		}
		require.True(t, proto.Equal(c.quote, quote), "%v", quote)
	}
}
