package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

func get(t *testing.T, url string) (int, string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// Draining first clears readiness, then lets requests finish, and ends those that take too long.
func TestDrain(t *testing.T) {
	r := serve(t)
	admin := "http://" + r.addrs.Admin
	code, body := get(t, admin+"/readyz")
	require.Equal(t, 200, code, body)
	ended := make(chan error, 2)
	go func() {
		_, err := r.query(context.Background(), &pb.QueryRequest{Statement: slow})
		ended <- err
	}()
	go func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query",
			strings.NewReader(`{"statement": "`+slow+`"}`))
		if err == nil {
			var res *http.Response
			if res, err = http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 2 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan struct{})
	go func() {
		r.Drain(ctx)
		close(drained)
	}()
	require.Eventually(t, func() bool {
		code, body = get(t, admin+"/readyz")
		return code == 503
	}, time.Minute, time.Millisecond)
	require.Contains(t, body, "draining")
	code, _ = get(t, admin+"/livez")
	require.Equal(t, 200, code)
	select {
	case <-drained:
		t.Fatal("what runs was not waited for")
	case <-ended:
		t.Fatal("what runs was ended before its time")
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	select {
	case <-drained:
	case <-time.After(time.Minute):
		t.Fatal("what runs was not ended")
	}
	require.Error(t, <-ended)
	require.Error(t, <-ended)
	require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 0 }, time.Minute, time.Millisecond)
}

// Metrics count the answers.
func TestMetrics(t *testing.T) {
	r := serve(t)
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "RETURN 1"})
	require.NoError(t, err)
	code, body := get(t, "http://"+r.addrs.Admin+"/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, body, `hopgate_grpc_requests_total{code="OK",method="/hopgate.v1.GraphService/Query"} 1`)
	code, body = get(t, "http://"+r.addrs.Admin+"/debug/pprof/goroutine?debug=1")
	require.Equal(t, 200, code)
	require.Contains(t, body, "goroutine profile")
}

func TestReadyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ready")
	want := Addresses{"http": "127.0.0.1:1", "grpc": "127.0.0.1:2", Admin: "127.0.0.1:3"}
	require.NoError(t, WriteReadyFile(path, want))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var got Addresses
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, want, got)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Error(t, WriteReadyFile(filepath.Join(path, "nowhere"), want))
}

// A port in use is an error that names the listener, and leaves no listener open.
func TestListenTwice(t *testing.T) {
	a, b := serve(t), serve(t)
	_, err := b.Listen(context.Background(), Addresses{"http": "127.0.0.1:0", "grpc": a.addrs.GRPC, Admin: "127.0.0.1:0"})
	require.ErrorContains(t, err, "grpc listener: ")
}
