package traversal

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/hopgate/hopgate/bench/csr"
	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

func TestMain(m *testing.M) {
	code := m.Run()
	network.Close()
	os.Exit(code)
}

// starts are the start vertices of walks, evenly spread over the network.
func starts(n *network.Network) []uint32 {
	out := make([]uint32, 16)
	for i := range out {
		out[i] = uint32(i * n.Persons / len(out))
	}
	return out
}

// staged counts distinct ends with a new set at every hop.
func staged(hops int) string {
	s := "MATCH (p:Person {id: $id})-[:KNOWS]->(v1) "
	for i := 2; i <= hops; i++ {
		s += fmt.Sprintf("WITH DISTINCT v%d MATCH (v%d)-[:KNOWS]->(v%d) ", i-1, i-1, i)
	}
	return s + fmt.Sprintf("RETURN count(DISTINCT v%d) AS n", hops)
}

func ask(b testing.TB, e *query.Engine, statement string, id int64) int64 {
	return askBy(b, e, statement, map[string]graph.Value{}, id)
}

// askBy is ask with a reusable map for the parameters.
func askBy(b testing.TB, e *query.Engine, statement string, params map[string]graph.Value, id int64) int64 {
	params["id"] = graph.IntValue(id)
	res, err := e.Query(context.Background(), query.Request{Statement: statement, Params: params})
	if err != nil {
		b.Fatal(err)
	}
	defer res.Close()
	batch, err := res.Next()
	if err != nil {
		b.Fatal(err)
	}
	return batch.Cols[0].Value(0).Int()
}

// BenchmarkDistinct counts distinct ends of 1 to 5 hops by bare arrays and by the engine.
func BenchmarkDistinct(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	b.Logf("%d persons, %d edges, edges loaded at %.0f/s", n.Persons, n.Edges, float64(n.Edges)/n.LoadTime.Seconds())
	from := starts(n)
	for _, hops := range []int{1, 2, 3, 5} {
		b.Run(fmt.Sprintf("csr/hops=%d", hops), func(b *testing.B) {
			w := csr.NewWalk(n.Knows)
			for i := range b.N {
				w.Count(from[i%len(from)], hops)
			}
		})
		for name, statement := range map[string]string{
			"staged":  staged(hops),
			"within":  fmt.Sprintf("MATCH (p:Person {id: $id})-[:KNOWS*1..%d]->(q) RETURN count(DISTINCT q) AS n", hops),
			"exactly": fmt.Sprintf("MATCH (p:Person {id: $id})-[:KNOWS*%d]->(q) RETURN count(DISTINCT q) AS n", hops),
		} {
			if name == "exactly" && hops > 3 {
				continue
			}
			b.Run(fmt.Sprintf("%s/hops=%d", name, hops), func(b *testing.B) {
				w := csr.NewWalk(n.Knows)
				for _, s := range from[:2] {
					got := ask(b, n.Engine, statement, int64(s)+1)
					if want := int64(w.Count(s, hops)); name == "staged" && got != want {
						b.Fatalf("%d, want %d", got, want)
					}
				}
				params := map[string]graph.Value{} // reused by all runs, like the memory of the walk
				b.ResetTimer()
				for i := range b.N {
					askBy(b, n.Engine, statement, params, int64(from[i%len(from)])+1)
				}
			})
		}
	}
}
