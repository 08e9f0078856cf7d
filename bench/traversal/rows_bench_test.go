package traversal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// drain runs a statement and returns the number of its rows.
func drain(b testing.TB, e *query.Engine, statement string, params map[string]graph.Value) int {
	res, err := e.Query(context.Background(), query.Request{Statement: statement, Params: params})
	if err != nil {
		b.Fatal(err)
	}
	defer res.Close()
	rows := 0
	for {
		batch, err := res.Next()
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil {
			return rows
		}
		rows += batch.N
	}
}

// id is the parameter of a statement that starts at a person.
func id(n int64) map[string]graph.Value { return map[string]graph.Value{"id": graph.IntValue(n)} }

// processorTime returns the CPU time of this process.
func processorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRows reads three properties of every vertex within three hops, and reports the time per row and the CPU time per row, which is
// more meaningful on a busy machine.
func BenchmarkRows(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	from := starts(n)
	for name, statement := range map[string]string{
		"staged": "MATCH (p:Person {id: $id})-[:KNOWS]->(v1) WITH DISTINCT v1 MATCH (v1)-[:KNOWS]->(v2) WITH DISTINCT v2 " +
			"MATCH (v2)-[:KNOWS]->(v3) WITH DISTINCT v3 RETURN v3.id, v3.firstName, v3.birthday",
		"within":  "MATCH (p:Person {id: $id})-[:KNOWS*1..3]->(q) WITH DISTINCT q RETURN q.id, q.firstName, q.birthday",
		"pattern": "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(q) WITH DISTINCT q RETURN q.id, q.firstName, q.birthday",
		"values":  "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(q) RETURN DISTINCT q.id, q.firstName, q.birthday",
	} {
		b.Run(name, func(b *testing.B) {
			drain(b, n.Engine, statement, id(int64(from[0])+1))
			b.ResetTimer()
			before := processorTime(b)
			rows := 0
			for i := range b.N {
				rows += drain(b, n.Engine, statement, id(int64(from[i%len(from)])+1))
			}
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(rows), "cpu-ns/row")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
		})
	}
}

// BenchmarkPredicate alternates counts of what two hops reach with and without a condition on the edges, and reports the median of each.
func BenchmarkPredicate(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	from := starts(n)
	names := []string{"without", "with"}
	var statements []string
	for _, where := range []string{"", "WHERE r1.creationDate > 1300000000000 AND r2.creationDate > 1300000000000 "} {
		statements = append(statements, "MATCH (p:Person {id: $id})-[r1:KNOWS]->(a)-[r2:KNOWS]->(q) "+where+"RETURN count(DISTINCT q) AS n")
	}
	for i := range 64 * len(from) { // until the lists and their properties are cached
		for _, s := range statements {
			ask(b, n.Engine, s, int64(from[i%len(from)])+1)
		}
	}
	times := make([][]time.Duration, len(names))
	b.ResetTimer() // the setup would leave too few runs for a median
	for i := range b.N {
		for k, s := range statements {
			start := time.Now()
			ask(b, n.Engine, s, int64(from[i%len(from)])+1)
			times[k] = append(times[k], time.Since(start))
		}
	}
	for k, name := range names {
		slices.Sort(times[k])
		b.ReportMetric(float64(times[k][b.N/2].Nanoseconds())/1e3, name+"-p50-µs")
	}
}

// BenchmarkShortest finds shortest paths between two different people, most of them with distant keys.
func BenchmarkShortest(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	const statement = "MATCH (a:Person {id: $id}), (b:Person {id: $to}), p = shortestPath((a)-[:KNOWS*]-(b)) RETURN length(p)"
	b.ResetTimer()
	for i := range b.N {
		from, to := i*7919%n.Persons, (i*104729+n.Persons/2)%n.Persons
		if from == to {
			to = (to + 1) % n.Persons
		}
		params := id(int64(from) + 1)
		params["to"] = graph.IntValue(int64(to) + 1)
		drain(b, n.Engine, statement, params)
	}
}

// BenchmarkExchange compares the ends of two hops from one person in 20, on one processor and on all.
func BenchmarkExchange(b *testing.B) {
	byProcessors(b, "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c) WHERE a.id % 20 = 0 AND b.id % 7 > c.id % 11 RETURN count(*) AS n")
}

// BenchmarkGroups groups the ends of two hops from one person in 20 by a name, on one processor and on all.
func BenchmarkGroups(b *testing.B) {
	byProcessors(b, "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c) WHERE a.id % 20 = 0 RETURN c.firstName AS name, count(*) AS n, max(b.id) AS last")
}

// BenchmarkEdgeProperty takes the extremes of a property of all edges, and counts those behind an instant that is written as a text.
func BenchmarkEdgeProperty(b *testing.B) {
	b.Run("extremes", func(b *testing.B) {
		byProcessors(b, "MATCH (:Person)-[k:KNOWS]->(:Person) RETURN min(k.creationDate) AS first, max(k.creationDate) AS last, count(k.creationDate) AS n")
	})
	b.Run("instant", func(b *testing.B) {
		byProcessors(b, "MATCH (:Person)-[k:KNOWS]->(:Person) WHERE k.creationDate > datetime('2012-06-01T00:00:00Z') RETURN count(*) AS n")
	})
}

// BenchmarkDistinctPairs counts the pairs of names at the ends of edges.
func BenchmarkDistinctPairs(b *testing.B) {
	byProcessors(b, "MATCH (a:Person)-[:KNOWS]->(b:Person) WITH DISTINCT a.firstName AS x, b.firstName AS y RETURN count(*) AS n")
}

// BenchmarkMultiplicity counts the walks of three hops by path multiplicities, on one processor and on all.
func BenchmarkMultiplicity(b *testing.B) {
	byProcessors(b, "MATCH (a:Person)-[:KNOWS]->(b) MATCH (b)-[:KNOWS]->(c) MATCH (c)-[:KNOWS]->(d) RETURN count(*) AS n")
}

// byProcessors runs a statement on one processor and on all.
func byProcessors(b *testing.B, statement string) {
	n := network.Open(b, network.Persons(b))
	all := runtime.GOMAXPROCS(0)
	for range 3 { // until the plan counts as long-running
		drain(b, n.Engine, statement, nil)
	}
	time.Sleep(time.Second) // no short request must be recent
	for _, processors := range []int{1, all} {
		b.Run(fmt.Sprintf("processors=%d", processors), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			before := processorTime(b)
			for range b.N {
				drain(b, n.Engine, statement, nil)
			}
			b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms")
		})
	}
}

// BenchmarkLookup reads a few rows from a random person, as most requests do.
func BenchmarkLookup(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	for _, s := range []struct{ name, returns string }{
		{"property", " RETURN p.firstName"},
		{"properties", " RETURN p.firstName, p.lastName, p.birthday"},
		{"vertex", " RETURN p"},
		{"friends", "-[:KNOWS]->(q) RETURN q.firstName"},
	} {
		b.Run(s.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(4, 4))
			params := map[string]graph.Value{}
			b.ReportAllocs()
			for range b.N {
				params["id"] = graph.IntValue(1 + rng.Int64N(int64(n.Persons)))
				drain(b, n.Engine, "MATCH (p:Person {id: $id})"+s.returns, params)
			}
		})
	}
}
