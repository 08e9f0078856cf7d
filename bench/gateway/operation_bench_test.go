package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/server"
)

// statement is a look-up by key.
const statement = "MATCH (p:Person {id: $id}) RETURN p.firstName AS name"

// open returns a network whose default graph has the statement as the operation lookUp.
func open(b *testing.B) (*network.Network, string) {
	b.Helper()
	n := network.Open(b, network.Persons(b))
	all, err := operation.Parse("bench.cypher", "// name: lookUp\n// param: id :: INTEGER\n"+statement)
	if err != nil {
		b.Fatal(err)
	}
	put, err := n.Engine.Operations.Put(context.Background(), "", all)
	if err != nil {
		b.Fatal(err)
	}
	return n, put[0].Hash
}

// way is a way to send the look-up.
type way struct {
	name string
	call func(id int64)
}

// measure runs all ways in turns, and reports the median of each and its ratio to that of the first. Each way is as often the first that reads a
// person: the next ones find it in the caches of the cores.
func measure(b *testing.B, persons int, ways []way) {
	b.Helper()
	times := make([][]time.Duration, len(ways))
	id := func(i int) int64 { return int64(1 + i*7919%persons) }
	for i := range 200 {
		for _, w := range ways {
			w.call(id(i))
		}
	}
	b.ResetTimer()
	for i := range b.N {
		for j := range ways {
			k := (i + j) % len(ways)
			start := time.Now()
			ways[k].call(id(i))
			times[k] = append(times[k], time.Since(start))
		}
	}
	first := 0.0
	for k, w := range ways {
		slices.Sort(times[k])
		median := float64(times[k][len(times[k])/2])
		b.ReportMetric(median, w.name+"-ns")
		if k == 0 {
			first = median
			continue
		}
		b.ReportMetric(median/first, w.name+"/"+ways[0].name)
	}
}

// BenchmarkOperationEngine compares, in the engine, a statement with a trusted operation that has its text, by name and by hash.
func BenchmarkOperationEngine(b *testing.B) {
	n, hash := open(b)
	run := func(req query.Request, id int64) {
		req.Params = map[string]graph.Value{"id": graph.IntValue(id)}
		res, err := n.Engine.Query(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Close()
		if rows, err := res.Next(); err != nil || rows.N != 1 {
			b.Fatal(err, "no row")
		}
	}
	measure(b, n.Persons, []way{
		{"text", func(id int64) { run(query.Request{Statement: statement}, id) }},
		{"name", func(id int64) { run(query.Request{Operation: &trusted.Call{Name: "lookUp"}}, id) }},
		{"hash", func(id int64) { run(query.Request{Operation: &trusted.Call{Hash: hash}}, id) }},
	})
}

// serve serves a network over HTTP on the loopback interface.
func serve(b *testing.B, n *network.Network) (address string, client *http.Client) {
	b.Helper()
	s := server.New(n.Engine, loader.New(n.Store), nil, prometheus.NewRegistry(), server.Options{Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(context.Background(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", server.Admin: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	b.Cleanup(func() {
		client.CloseIdleConnections()
		s.Drain(context.Background())
	})
	return addrs["http"], client
}

// BenchmarkOperationHTTP does so over HTTP on the loopback interface.
func BenchmarkOperationHTTP(b *testing.B) {
	n, hash := open(b)
	address, client := serve(b, n)
	send := func(method, path, body string) {
		req, err := http.NewRequestWithContext(b.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(err, string(answer))
		}
	}
	text := fmt.Sprintf(`{"statement": %q, "parameters": {"id": `, statement)
	byHash := fmt.Sprintf(`{"hash": %q, "parameters": {"id": `, hash)
	measure(b, n.Persons, []way{
		{"text", func(id int64) { send(http.MethodPost, "/v1/query", fmt.Sprint(text, id, "}}")) }},
		{"post", func(id int64) { send(http.MethodPost, "/v1/op/lookUp", fmt.Sprint(`{"id": `, id, "}")) }},
		{"get", func(id int64) { send(http.MethodGet, fmt.Sprint("/v1/op/lookUp?id=", id), "") }},
		{"hash", func(id int64) { send(http.MethodPost, "/v1/query", fmt.Sprint(byHash, id, "}}")) }},
	})
}
