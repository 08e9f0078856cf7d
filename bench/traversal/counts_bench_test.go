package traversal

import (
	"testing"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/query"
)

// BenchmarkCounts counts the rows of patterns in which a type occurs more than once. None enumerates: the chain of two has 135 million
// rows.
func BenchmarkCounts(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	e := query.New(n.Store, query.Options{})
	for name, statement := range map[string]string{
		"chain2": "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN count(*)",
		"star":   "MATCH (a)<-[:KNOWS]-(b)-[:KNOWS]->(c) RETURN count(*)",
		"both":   "MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c) RETURN count(*)",
		"filter": "MATCH (a:Person {gender: 'male'})-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN count(*)",
		"chain3": "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(d) RETURN count(*)",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				drain(b, e, statement, nil)
			}
		})
	}
}
