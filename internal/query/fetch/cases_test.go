package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// fetchCase is a request with the answer of the protocol's own implementation.
type fetchCase struct {
	ID, Method, Kind, Compare string
	Request                   json.RawMessage
	Code                      any
	Expected                  any
}

// TestCases replays the cases of APIJSON.
func TestCases(t *testing.T) {
	w := newWorld(t, 1)
	w.loadTables(filepath.Dir(conformance.APIJSON.Need(t)))
	runCases(t, "engine", w.fetch)
}

// TestCasesServed replays them over the real store and through the transports of its server.
func TestCasesServed(t *testing.T) {
	dir := filepath.Dir(conformance.APIJSON.Need(t))
	store := must[*local.Store](t)(local.Open(local.Options{Dir: "data", FS: vfs.NewMem()}))
	w := newWorld(t, 1)
	w.g = must[shard.Graph](t)(store.Graph(local.DefaultGraph))
	w.loadTables(dir)
	runCases(t, "store", w.fetch)

	opt := server.Options{Logger: slog.New(slog.DiscardHandler)}
	s := server.New(query.New(store, query.Options{}), loader.New(store), nil, prometheus.NewRegistry(), opt)
	addrs := must[server.Addresses](t)(s.Listen(context.Background(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0"}))
	conn := must[*grpc.ClientConn](t)(grpc.NewClient(addrs["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials())))
	t.Cleanup(func() {
		_ = conn.Close()
		http.DefaultClient.CloseIdleConnections()
		s.Drain(context.Background())
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	runCases(t, "HTTP", func(method, body string) string {
		req := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addrs["http"]+"/"+method, strings.NewReader(body)))
		req.Header.Set("Content-Type", "application/json")
		res := must[*http.Response](t)(http.DefaultClient.Do(req))
		defer res.Body.Close()
		return string(must[[]byte](t)(io.ReadAll(res.Body)))
	})
	runCases(t, "gRPC", func(method, body string) string {
		req := &pb.FetchRequest{Method: method, Request: []byte(body)}
		stream := must[grpc.ServerStreamingClient[pb.FetchResponse]](t)(pb.NewGraphServiceClient(conn).Fetch(t.Context(), req))
		var out strings.Builder
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return out.String()
			}
			if err != nil {
				t.Fatal(err)
			}
			out.Write(part.GetChunk())
		}
	})
}

// runCases replays the cases by fetch.
func runCases(t *testing.T, over string, fetch func(method, body string) string) {
	cases := conformance.Cases[fetchCase](t, conformance.APIJSON)
	for _, c := range cases {
		answer := fetch(c.Method, string(c.Request))
		var got map[string]any
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Errorf("%s: %v\n%s", c.ID, err, answer)
			continue
		}
		if c.good(got) {
			continue
		}
		want, _ := json.Marshal(c.Expected)
		if c.Kind == "error" {
			want, _ = json.Marshal(c.Code)
		}
		t.Errorf("%s over %s: %s\nwant %s\ngot  %s", c.ID, over, c.Request, want, answer)
	}
	conformance.APIJSON.Ran(t, over, len(cases))
}

func (c *fetchCase) good(got map[string]any) bool {
	if c.Kind != "error" {
		return got["code"] == 200.0 && same(clean(got, true), clean(c.Expected, true), c.Compare != "exact")
	}
	codes, ok := c.Code.([]any)
	if !ok {
		codes = []any{c.Code}
	}
	for _, code := range codes {
		if got["ok"] == false && got["code"] == code {
			return true
		}
	}
	return false
}

var envelope = map[string]bool{"ok": true, "code": true, "msg": true, "time": true, "tag": true, "version": true, "format": true}

// clean drops the envelope at the top, and nulls and @explain anywhere.
func clean(x any, top bool) any {
	switch x := x.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, v := range x {
			if v != nil && k != "@explain" && !(top && envelope[k]) {
				m[k] = clean(v, false)
			}
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, v := range x {
			l[i] = clean(v, false)
		}
		return l
	}
	return x
}

func same(a, b any, bag bool) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !same(v, w, bag) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		rest := append([]any(nil), y...)
		for i, v := range x {
			if !bag {
				if !same(v, y[i], bag) {
					return false
				}
				continue
			}
			found := false
			for j, w := range rest {
				if same(v, w, bag) {
					rest = append(rest[:j], rest[j+1:]...)
					found = true
					break
				}
			}
			if !found {
				return false
			}
		}
		return true
	}
	if x, y, ok := numbers(a, b); ok {
		return math.Abs(x-y) <= 1e-9*math.Max(1, math.Abs(x))
	}
	return a == b
}

// numbers reads both values as numbers. One of them may be a string.
func numbers(a, b any) (x, y float64, ok bool) {
	x, aNum := a.(float64)
	y, bNum := b.(float64)
	if s, is := a.(string); is && bNum {
		f, err := strconv.ParseFloat(s, 64)
		x, aNum = f, err == nil
	}
	if s, is := b.(string); is && aNum {
		f, err := strconv.ParseFloat(s, 64)
		y, bNum = f, err == nil
	}
	return x, y, aNum && bNum
}
