package server

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// told is what an answer tells of its cost: a dictionary of structured fields.
var told = regexp.MustCompile(`^visits=(\d+), rows=(\d+), bytes=(\d+), cpu=\d+\.\d{1,3}, queue=\d+\.\d{1,3}(?:, estimate=(\d+))?$`)

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
		{"/v1/query", "application/json", `{"statement": "CREATE (q:Q) RETURN q"}`, false, "0", "1"},
		{"/v1/query", "application/json", many, true, "20000", "20000"},
		{"/v1/query", "application/x-ndjson", many, true, "20000", "20000"},
		{"/v1/query", "application/vnd.apache.arrow.stream", many, true, "20000", "20000"},
		{"/v1/vertices", "application/json", `{"from": {"statement": "MATCH (q:Q) RETURN q"}}`, false, "1", "1"},
		{"/get", "application/json", `{"P[]": {"count": 3, "P": {}}}`, false, "1024", "3"}, // a whole batch
		{"/get", "application/json", `{"P[]": {"count": 0, "P": {}}}`, true, "20000", "20000"},
	} {
		req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+c.path, strings.NewReader(c.body))
		require.NoError(t, err)
		req.Header.Set("Accept", c.accept)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
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
	for accept, end := range map[string]string{"application/json": "}\n", "application/x-ndjson": "}\n", "application/vnd.neo4j.query": "}\n"} {
		req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", strings.NewReader(many))
		require.NoError(t, err)
		req.Header.Set("Accept", accept)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", "error-lines, cost")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Regexp(t, `,"cost":\{"visits":20000,"rows":20000,"bytes":\d{5,},"cpuMs":[0-9.]+,"queueMs":0\.0(,"estimate":\d+)?\}`+end+"$", string(body))
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
