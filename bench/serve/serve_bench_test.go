package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/bench/workload"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(order); text != "" {
		if err := obey(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	network.Close()
	os.Exit(code)
}

// post sends a request and returns the size of the response and the time to its first byte.
func post(b *testing.B, c *http.Client, url, body string) (size int64, first time.Duration) {
	b.Helper()
	start := time.Now()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		b.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	first = time.Since(start)
	size, err = io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		b.Fatalf("status %d, %v", res.StatusCode, err)
	}
	return size, first
}

// percentiles reports the median and the 99th percentile of times, in microseconds.
func percentiles(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// newHandler returns the handler of the HTTP API.
func newHandler(e *query.Engine) *httpapi.Handler {
	return httpapi.New(&request.Host{Engine: e}, httpapi.Options{})
}

// BenchmarkHTTP measures warm requests through a real connection on the loopback interface.
func BenchmarkHTTP(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	srv := httptest.NewServer(newHandler(n.Engine))
	defer srv.Close()
	for _, q := range workload.Hops.Requests {
		b.Run(q.Name, func(b *testing.B) {
			body := func(i int) string {
				id := 1 + (i*7919)%(n.Persons-5000)
				return fmt.Sprintf(`{"statement": %q, "parameters": {"id": %d, "to": %d}}`, q.Statement, id, id+5000)
			}
			for i := range 50 {
				post(b, srv.Client(), srv.URL+"/v1/query", body(i))
			}
			var times []time.Duration
			for i := range b.N {
				start := time.Now()
				post(b, srv.Client(), srv.URL+"/v1/query", body(i))
				times = append(times, time.Since(start))
			}
			percentiles(b, times)
		})
	}
}

// BenchmarkParameters alternates statements with literals and statements with parameters in a warm engine. It reports the ratio of their
// times.
func BenchmarkParameters(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	params := map[string]graph.Value{"id": graph.IntValue(77), "n": graph.IntValue(2)}
	run := func(statement string, params map[string]graph.Value) time.Duration {
		start := time.Now()
		res, err := n.Engine.Query(b.Context(), query.Request{Statement: statement, Params: params})
		if err != nil {
			b.Fatal(err)
		}
		defer res.Close()
		for {
			batch, err := res.Next()
			if err != nil {
				b.Fatal(err)
			}
			if batch == nil {
				return time.Since(start)
			}
		}
	}
	for _, q := range []struct{ name, literals, parameters string }{
		{"key", "MATCH (p:Person {id: 77}) RETURN p.firstName", "MATCH (p:Person {id: $id}) RETURN p.firstName"},
		{"length", "MATCH (p:Person {id: 77})-[:KNOWS*2]->(q) RETURN count(DISTINCT q)", "MATCH (p:Person {id: $id})-[:KNOWS*$n]->(q) RETURN count(DISTINCT q)"},
		{"bound", "MATCH (p:Person {id: 77})-[:KNOWS*1..2]->(q) RETURN count(DISTINCT q)", "MATCH (p:Person {id: $id})-[:KNOWS*1..$n]->(q) RETURN count(DISTINCT q)"},
		{"limit", "MATCH (p:Person {id: 77})-[:KNOWS]->(q) RETURN q.id ORDER BY q.id SKIP 2 LIMIT 2", "MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN q.id ORDER BY q.id SKIP $n LIMIT $n"},
	} {
		b.Run(q.name, func(b *testing.B) {
			var literals, parameters []time.Duration
			for range 50 {
				run(q.literals, nil)
				run(q.parameters, params)
			}
			for i := range b.N {
				if i%2 == 0 { // so that neither always runs after the other
					literals = append(literals, run(q.literals, nil))
				}
				parameters = append(parameters, run(q.parameters, params))
				if i%2 == 1 {
					literals = append(literals, run(q.literals, nil))
				}
			}
			slices.Sort(literals)
			slices.Sort(parameters)
			b.ReportMetric(float64(parameters[len(parameters)/2])/float64(literals[len(literals)/2]), "p50-ratio")
		})
	}
}

// BenchmarkFetch measures arrays of people with all their 8 columns.
func BenchmarkFetch(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	srv := httptest.NewServer(newHandler(n.Engine))
	defer srv.Close()
	for _, count := range []int{100, n.Persons} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			body := fmt.Sprintf(`{"Person[]": {"count": %d, "Person": {}}}`, count%n.Persons)
			size, _ := post(b, srv.Client(), srv.URL+"/get", body)
			b.SetBytes(size)
			var times, firsts []time.Duration
			for b.Loop() {
				start := time.Now()
				_, first := post(b, srv.Client(), srv.URL+"/get", body)
				times, firsts = append(times, time.Since(start)), append(firsts, first)
			}
			percentiles(b, times)
			slices.Sort(firsts)
			b.ReportMetric(float64(firsts[len(firsts)/2].Nanoseconds())/1e3, "first-byte-p50-µs")
		})
	}
}
