package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// TestLimits exceeds every limit of a request over both transports: each has its own code, and temporary ones include the time to
// retry.
func TestLimits(t *testing.T) {
	const (
		ends   = "Neo.ClientError.Transaction.TransactionTimedOut"
		memory = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
		pool   = "Neo.TransientError.General.OutOfMemoryError"
		busy   = "Neo.TransientError.Request.NoThreadsAvailable"
		bad    = "Neo.ClientError.Request.Invalid"
		many   = "UNWIND range(1, 1000000000) AS x "
	)
	edges := "UNWIND range(1, 30) AS x CREATE (:N {k: x}) WITH count(*) AS n MATCH (a:N), (b:N) CREATE (a)-[:R]->(b)"
	occupied := admission.Limits{Running: 1}
	for _, c := range []struct {
		name      string
		limit     query.Options
		size      int64 // of a request
		occupy    bool  // another request runs
		relieve   bool  // memory is short while it runs
		statement string
		timeout   time.Duration
		says      string
		code      string
		http      int
		grpc      codes.Code
		retry     string
	}{
		{
			name: "time of the server", limit: query.Options{Timeout: 20 * time.Millisecond}, statement: slow,
			says: "query-timeout", code: ends, http: 408, grpc: codes.DeadlineExceeded,
		},
		{
			name: "time of the request", statement: slow, timeout: 20 * time.Millisecond,
			says: "ended before it finished", code: ends, http: 408, grpc: codes.DeadlineExceeded,
		},
		{
			name: "the most time", limit: query.Options{MaxTimeout: 20 * time.Millisecond}, statement: slow, timeout: time.Hour,
			says: "ended before it finished", code: ends, http: 408, grpc: codes.DeadlineExceeded,
		},
		{
			name: "memory of a query", limit: query.Options{QueryBytes: 1 << 20}, statement: many + "RETURN collect(x)",
			says: "operator Aggregate holds", code: memory, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "memory of all queries", limit: query.Options{PoolBytes: 1 << 20}, statement: many + "RETURN collect(x)",
			says: "operator Aggregate", code: pool, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "memory of the process", relieve: true, statement: "WITH range(1, 100000) AS l " + many + "WITH l, x WHERE x < 0 RETURN collect(l)",
			says: "the server uses 2 bytes of the 1 of memory", code: pool, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "rows", limit: query.Options{MaxRows: 100}, statement: "UNWIND range(1, 101) AS x RETURN x",
			says: "max-rows", code: memory, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "visited edges", limit: query.Options{MaxVisits: 5000}, statement: "MATCH (a:N)-->(b)-->(c)-->(d) WHERE a.k + d.k < 0 RETURN a.k",
			says: "max-visits", code: memory, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "size of a request", size: 64 << 10, statement: "RETURN '" + strings.Repeat("x", 100<<10) + "'",
			says: "", code: bad, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "size of a statement", statement: "RETURN '" + strings.Repeat("x", (16<<20)) + "'",
			says: "the statement is larger than", code: bad, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "words of a statement", statement: "RETURN [" + strings.Repeat("1,", 600_000) + "1]",
			says: "words and signs", code: memory, http: 413, grpc: codes.ResourceExhausted,
		},
		{
			name: "requests that run", limit: query.Options{Admission: occupied}, occupy: true, statement: "RETURN 1",
			says: "max-queries", code: busy, http: 429, grpc: codes.ResourceExhausted, retry: "1",
		},
		{
			name: "time in the queue", limit: query.Options{Admission: admission.Limits{Running: 1, Queue: 4, Wait: time.Millisecond}}, occupy: true,
			statement: "RETURN 1", says: "queue-timeout", code: busy, http: 429, grpc: codes.ResourceExhausted, retry: "1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serveOver(t, newOracle(t), c.limit, Options{MaxRequestBytes: c.size})
			if strings.Contains(c.statement, "-->") {
				r = serveOver(t, newOracle(t), c.limit, Options{})
				_, err := r.query(context.Background(), &pb.QueryRequest{Statement: edges})
				require.NoError(t, err)
			}
			if c.occupy {
				res, err := r.engine.Query(context.Background(), query.Request{Statement: "RETURN 1"})
				require.NoError(t, err)
				defer res.Close()
			}
			relieved := func() func() {
				stop, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					for tick := time.NewTicker(time.Millisecond); c.relieve; {
						select {
						case <-tick.C:
							r.engine.Relieve(2, 1, 1<<16)
						case <-stop:
							tick.Stop()
							return
						}
					}
				}()
				return func() { close(stop); <-done }
			}

			end := relieved()
			body := map[string]any{"statement": c.statement}
			if c.timeout > 0 {
				body["timeoutMs"] = c.timeout.Milliseconds()
			}
			text, err := json.Marshal(body)
			require.NoError(t, err)
			req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", bytes.NewReader(text))
			require.NoError(t, err)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			answer, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			end()
			require.Equal(t, c.http, res.StatusCode, "%.300s", answer)
			require.Equal(t, c.retry, res.Header.Get("Retry-After"))
			require.Contains(t, string(answer), `"code":"`+c.code+`"`)
			require.Contains(t, string(answer), c.says)

			end = relieved()
			call := &pb.QueryRequest{Statement: c.statement}
			if c.timeout > 0 {
				call.Timeout = durationpb.New(c.timeout)
			}
			_, err = r.query(context.Background(), call)
			end()
			st := status.Convert(err)
			require.Equal(t, c.grpc, st.Code(), st.Message())
			retry := ""
			for _, d := range st.Details() {
				switch d := d.(type) {
				case *errdetails.RetryInfo:
					retry = "1"
					require.Equal(t, time.Second, d.GetRetryDelay().AsDuration())
				case *errdetails.ErrorInfo:
					require.Equal(t, c.code, d.GetReason())
				}
			}
			require.Equal(t, c.retry, retry)
		})
	}
}
