package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// friends is a read of some milliseconds.
const friends = "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) WITH DISTINCT f RETURN f.firstName AS name, count(*) AS people ORDER BY people DESC, name LIMIT 20"

// BenchmarkUnmodified compares, over HTTP on the loopback interface, a read with the same one whose client has the answer.
func BenchmarkUnmodified(b *testing.B) {
	n, _ := open(b)
	address, client := serve(b, n)
	tags := map[int64]string{}
	send := func(id int64, none string, want int) string {
		body := fmt.Sprintf(`{"statement": %q, "parameters": {"id": %d}}`, friends, id)
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+address+"/v1/query", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if none != "" {
			req.Header.Set("If-None-Match", none)
		}
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != want {
			b.Fatal(err, res.Status, string(answer))
		}
		return res.Header.Get("ETag")
	}
	few := func(id int64) int64 { return 1 + id%16 }
	for id := range int64(16) {
		tags[few(id)] = send(few(id), `""`, http.StatusOK)
	}
	measure(b, n.Persons, []way{
		{"200", func(id int64) { send(few(id), "", http.StatusOK) }},
		{"304", func(id int64) { send(few(id), tags[few(id)], http.StatusNotModified) }},
	})
}

// BenchmarkTogether sends 10,000 identical reads at once, and counts how many of them ran.
func BenchmarkTogether(b *testing.B) {
	const clients = 10_000
	n, _ := open(b)
	for i := range b.N {
		shared := n.Engine.Reused.Shared.Load()
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				<-start
				res, err := n.Engine.Query(b.Context(), query.Request{Statement: friends, Params: map[string]graph.Value{"id": graph.IntValue(int64(1 + i%n.Persons))}})
				if err != nil {
					b.Error(err)
					return
				}
				defer res.Close()
				for rows, err := res.Next(); rows != nil; rows, err = res.Next() {
					if err != nil {
						b.Error(err)
					}
				}
			})
		}
		close(start)
		wg.Wait()
		b.ReportMetric(float64(clients-(n.Engine.Reused.Shared.Load()-shared)), "executions")
	}
}

// BenchmarkAlone measures a look-up by key that has none alike.
func BenchmarkAlone(b *testing.B) {
	n, _ := open(b)
	i := int64(0)
	for b.Loop() {
		i++
		res, err := n.Engine.Query(b.Context(), query.Request{Statement: statement, Params: map[string]graph.Value{"id": graph.IntValue(1 + i*7919%int64(n.Persons))}})
		if err != nil {
			b.Fatal(err)
		}
		if rows, err := res.Next(); err != nil || rows.N != 1 {
			b.Fatal(err, "no row")
		}
		res.Close()
	}
}
