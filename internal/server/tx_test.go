package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
)

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

// A stopping server ends the transactions that clients left open, and waits for running statements.
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
	require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 1 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.Drain(ctx)
	require.NoError(t, ctx.Err(), "an open transaction holds nothing up")
	require.Equal(t, 202, (<-running).status)
	require.Empty(t, r.engine.Running(context.Background()))
	require.EqualValues(t, 1, r.engine.Metrics().TxEnded.Load())
}

// Of two transactions that change the same vertex the first to commit wins; the other has to try again.
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
			require.Eventually(t, func() bool { return len(r.engine.Running(context.Background())) == 0 }, time.Minute, time.Millisecond)
		})
	}
	require.EqualValues(t, 2, r.engine.Metrics().Conflicts.Load())
}
