package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
)

var (
	txID    = regexp.MustCompile(`"transaction":\{"id":"([^"]+)"`)
	expires = regexp.MustCompile(`"expires":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)
)

// Scripts in testdata/tx: as TestHTTP, with {tx} for the id of the transaction that was begun last.
func TestHTTPTransactions(t *testing.T) {
	for name, open := range map[string]func(testing.TB) shard.Store{"oracle": newOracle, "local": newLocal} {
		t.Run(name, func(t *testing.T) {
			datadriven.Walk(t, "testdata/tx", func(t *testing.T, path string) {
				h := newHTTP(open(t), query.Options{MaxRows: 5000}, Options{})
				defer h.txs.close()
				id := "none"
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					res := do(t, h, strings.ReplaceAll(d.Input, "{tx}", id))
					defer res.Body.Close()
					body, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					if m := txID.FindSubmatch(body); m != nil {
						id = string(m[1])
					}
					out := strings.ReplaceAll(expires.ReplaceAllString(short(string(body)), `"expires":"…"`), id, "{tx}")
					if allow := res.Header.Get("Allow"); allow != "" {
						out = "Allow: " + allow + "\n" + out
					}
					return fmt.Sprintf("%d %s\n", res.StatusCode, res.Header.Get("Content-Type")) + out
				})
			})
		})
	}
}

// txAnswer is an answer of the Query API.
type txAnswer struct {
	status int
	Data   struct {
		Fields []string            `json:"fields"`
		Values [][]json.RawMessage `json:"values"`
	} `json:"data"`
	Transaction struct {
		ID      string    `json:"id"`
		Expires time.Time `json:"expires"`
	} `json:"transaction"`
	Errors []struct{ Code, Message string } `json:"errors"`
}

// code is the status code of an answer's error, "" for none.
func (a *txAnswer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Code
}

// post sends a request of the Query API to a handler.
func post(t testing.TB, h http.Handler, method, path, body string) *txAnswer {
	res := do(t, h, method+" "+path+"\nContent-Type: application/json\n\n"+body)
	defer res.Body.Close()
	a := &txAnswer{status: res.StatusCode}
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, a), "%s", data)
	return a
}

// An idle transaction is rolled back without a request, and each use puts that off.
func TestHTTPTransactionIdle(t *testing.T) {
	h := newHTTP(newLocal(t), query.Options{}, Options{TxIdle: 50 * time.Millisecond})
	a := post(t, h, "POST", "/db/neo4j/query/v2/tx", `{"statement": "CREATE (:A)"}`)
	require.Equal(t, 202, a.status)
	require.WithinDuration(t, time.Now(), a.Transaction.Expires, time.Minute)
	require.Eventually(t, func() bool { return len(h.e.Running(context.Background())) == 0 }, 10*time.Second, time.Millisecond)
	b := post(t, h, "POST", "/db/neo4j/query/v2/tx/"+a.Transaction.ID, `{"statement": "RETURN 1"}`)
	require.Equal(t, 404, b.status)
	require.Equal(t, "Neo.ClientError.Transaction.TransactionNotFound", b.code())
	b = post(t, h, "POST", "/db/neo4j/query/v2", `{"statement": "MATCH (n) RETURN count(n)"}`)
	require.Equal(t, "0", string(b.Data.Values[0][0]))
	require.Empty(t, h.txs.byID)

	h = newHTTP(newOracle(t), query.Options{}, Options{TxIdle: time.Hour})
	defer h.txs.close()
	a = post(t, h, "POST", "/db/neo4j/query/v2/tx", "")
	for range 3 {
		time.Sleep(2 * time.Millisecond) // the times are told in milliseconds
		b = post(t, h, "POST", "/db/neo4j/query/v2/tx/"+a.Transaction.ID, "")
		require.Equal(t, a.Transaction.ID, b.Transaction.ID)
		require.True(t, b.Transaction.Expires.After(a.Transaction.Expires))
		a = b
	}
}

// A transaction's own time ends it, whatever runs in it.
func TestHTTPTransactionTimeout(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	a := post(t, h, "POST", "/db/neo4j/query/v2/tx", `{"timeoutMs": 30}`)
	require.Less(t, time.Until(a.Transaction.Expires), time.Second)
	b := post(t, h, "POST", "/db/neo4j/query/v2/tx/"+a.Transaction.ID, `{"statement": "`+slow+`"}`)
	require.Contains(t, []int{404, 408}, b.status)
	require.Eventually(t, func() bool { return len(h.e.Running(context.Background())) == 0 }, 10*time.Second, time.Millisecond)
	require.Empty(t, h.txs.byID)
}

// A transaction serves one request at a time.
func TestHTTPTransactionConcurrent(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	defer h.txs.close()
	path := "/db/neo4j/query/v2/tx/" + post(t, h, "POST", "/db/neo4j/query/v2/tx", "").Transaction.ID
	first := make(chan *txAnswer, 1)
	go func() { first <- post(t, h, "POST", path, `{"statement": "`+slow+`"}`) }()
	require.Eventually(t, func() bool { return h.e.ActiveQueries() == 1 }, 10*time.Second, time.Millisecond)
	b := post(t, h, "POST", path, `{"statement": "RETURN 1"}`)
	require.Equal(t, 400, b.status)
	require.Equal(t, "Neo.ClientError.Transaction.TransactionAccessedConcurrently", b.code())
	require.Equal(t, 200, post(t, h, "DELETE", path, "").status) // ends what runs
	require.Equal(t, "Neo.ClientError.Transaction.Terminated", (<-first).code())
	require.Equal(t, 404, post(t, h, "DELETE", path, "").status)
}

// What a client of the server does not end, the server does when it stops; a statement that runs is waited for.
func TestDrainTransactions(t *testing.T) {
	r := serve(t)
	url := "http://" + r.addrs.HTTP + "/db/neo4j/query/v2/tx"
	send := func(url, body string) *txAnswer {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		a := &txAnswer{status: res.StatusCode}
		require.NoError(t, json.NewDecoder(res.Body).Decode(a))
		return a
	}
	a := send(url, `{"accessMode": "READ"}`)
	require.Equal(t, 202, a.status)
	running := make(chan *txAnswer, 1)
	go func() {
		running <- send(url+"/"+a.Transaction.ID, `{"statement": "`+strings.ReplaceAll(slow, "1000", "50")+` AS n"}`)
	}()
	require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 1 }, 10*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.Drain(ctx)
	require.NoError(t, ctx.Err(), "an open transaction holds nothing up")
	require.Equal(t, 202, (<-running).status)
	require.Empty(t, r.engine.Running(context.Background()))
	require.EqualValues(t, 1, r.engine.Metrics().TxEnded.Load())
}

// Of two transactions that change the same vertex the first to commit wins; the other is told to try again.
func TestTransactionConflict(t *testing.T) {
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	base := "http://" + r.addrs.HTTP + "/db/neo4j/query/v2/tx"
	for name, s := range map[string]func() session{
		"http": func() session { return &httpSession{base: base} },
		"grpc": func() session { return &grpcSession{client: pb.NewGraphServiceClient(r.conn)} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []string{"MATCH (n) DETACH DELETE n", "CREATE (:P {n: 0}), (:Q)"} {
				_, err := r.query(context.Background(), &pb.QueryRequest{Statement: s})
				require.NoError(t, err)
			}
			first, second, third := s(), s(), s()
			for i, x := range []session{first, second} {
				require.NoError(t, x.begin(false))
				rows, err := x.run("MATCH (p:P) SET p.n = p.n + $n RETURN p.n", map[string]any{"n": i + 1})
				require.NoError(t, err)
				require.Equal(t, [][]any{{int64(i + 1)}}, rows, "neither sees the other")
			}
			require.NoError(t, third.begin(false))
			_, err := third.run("MATCH (q:Q) SET q.n = 1", nil)
			require.NoError(t, err)
			require.NoError(t, second.commit())
			err = first.commit()
			require.True(t, retriable(err), err)
			if name == "grpc" {
				require.Equal(t, codes.Aborted, status.Code(err))
			}
			require.NoError(t, third.commit(), "it has changed something else")
			a, err := r.query(context.Background(), &pb.QueryRequest{Statement: "MATCH (p:P), (q:Q) RETURN p.n, q.n"})
			require.NoError(t, err)
			require.Equal(t, [][]any{{int64(2), int64(1)}}, rowsOf(a.values[0]))
			require.Eventually(t, func() bool { return len(r.engine.Running(context.Background())) == 0 }, 10*time.Second, time.Millisecond)
		})
	}
	require.EqualValues(t, 2, r.engine.Metrics().Conflicts.Load())
}
