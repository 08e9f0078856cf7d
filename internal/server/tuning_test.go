package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/admin"
)

// logged takes a log that is read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A request has the id that its client gave it, or a new one, in its answer and in the audit log.
func TestRequestID(t *testing.T) {
	var log logged
	audit := access.NewAudit(&log)
	r := serveOver(t, newOracle(t), query.Options{Audit: audit}, Options{Audit: audit})
	ask := func(id string) string {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "CREATE (:A)"}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Request-ID", id)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.Header.Get("X-Request-Id")
	}
	require.Equal(t, "mine-1", ask("mine-1"))
	logged := func(id string) {
		t.Helper() // the line may follow the answer
		require.Eventually(t, func() bool { return strings.Contains(log.String(), `"request":"`+id+`"`) }, time.Minute, time.Millisecond)
	}
	logged("mine-1")
	one, other := ask(""), ask("not an id")
	require.NotEmpty(t, one)
	require.NotEqual(t, "not an id", other)
	require.NotEqual(t, one, other)

	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-request-id", "mine-2")
	stream, err := pb.NewGraphServiceClient(r.conn).Query(ctx, &pb.QueryRequest{Statement: "CREATE (:B)"})
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Recv()
	}
	require.ErrorIs(t, err, io.EOF)
	header, err := stream.Header()
	require.NoError(t, err)
	require.Equal(t, []string{"mine-2"}, header.Get("x-request-id"))
	logged("mine-2")
}

// The log's level and the profiles of contention can be set while the server runs, and nothing else.
func TestSettings(t *testing.T) {
	level := new(slog.LevelVar)
	tuning := &admin.Tuning{Level: level}
	tuning.Set(100, 1_000_000)
	r := serveOver(t, newOracle(t), query.Options{}, Options{Tuning: tuning})
	ask := func(method, body string) (int, string) {
		req, err := http.NewRequestWithContext(context.Background(), method, "http://"+r.addrs.Admin+"/debug/settings", strings.NewReader(body))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	_, text := ask(http.MethodGet, "")
	require.JSONEq(t, `{"logLevel": "INFO", "mutexFraction": 100, "blockNanos": 1000000}`, text)
	code, text := ask(http.MethodPut, `{"logLevel": "debug", "blockNanos": 0}`)
	require.Equal(t, 200, code)
	require.JSONEq(t, `{"logLevel": "DEBUG", "mutexFraction": 100, "blockNanos": 0}`, text)
	require.Equal(t, slog.LevelDebug, level.Level())
	for _, body := range []string{`{"logLevel": "loud"}`, `{"mutexFraction": -1}`, `{"other": 1}`, `{`} {
		code, text = ask(http.MethodPut, body)
		require.Equal(t, 400, code, text)
	}
	require.Equal(t, slog.LevelDebug, level.Level())
	tuning.Set(0, 0)
}
