package exec_test

import (
	"context"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// BenchmarkRows runs row operators over 100,000 rows, without a graph.
func BenchmarkRows(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"unwind", `UNWIND range(1, 100000) AS x RETURN count(*)`},
		{"filter", `UNWIND range(1, 100000) AS x WITH x WHERE x > 50000 AND x % 3 = 0 RETURN count(*)`},
		{"project", `UNWIND range(1, 100000) AS x WITH x * 2 + 1 AS y RETURN max(y)`},
		{"group", `UNWIND range(1, 100000) AS x RETURN x % 1000 AS g, count(*), sum(x)`},
		{"distinct", `UNWIND range(1, 100000) AS x WITH DISTINCT x % 5000 AS y RETURN count(*)`},
		{"sort", `UNWIND range(1, 100000) AS x WITH x ORDER BY x % 1000, x RETURN count(x)`},
		{"top", `UNWIND range(1, 100000) AS x RETURN x ORDER BY x % 1000, x LIMIT 20`},
		{"comprehension", `UNWIND range(1, 10000) AS x RETURN sum(size([y IN range(1, 10) WHERE y % 2 = 0 | y + x]))`},
		{"string", `UNWIND range(1, 100000) AS x WITH toString(x) AS s WHERE s STARTS WITH '99' RETURN count(s)`},
	} {
		b.Run(c.name, func(b *testing.B) { benchStatement(b, c.text) })
	}
}

// BenchmarkStart runs a statement of one row, to measure the cost of a run before its first row.
func BenchmarkStart(b *testing.B) {
	benchStatement(b, `MATCH (p:Nobody {id: 1})-[k:KNOWS]->(f) WHERE f.x > 1 RETURN f.firstName AS a, f.lastName AS b, k.date AS c ORDER BY a LIMIT 10`)
}

func benchStatement(b *testing.B, text string) {
	ctx := context.Background()
	q, _, err := cypher.Compile(text, cypher.Options{})
	if err != nil {
		b.Fatal(err)
	}
	g := oracle.NewGraph(1)
	tx, err := g.Begin(ctx, shard.Read)
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback()
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics()})
	p, err := exec.Compile(q, exec.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rows, err := p.Run(ctx, g, tx, exec.Env{Params: map[string]graph.Value{}})
		if err != nil {
			b.Fatal(err)
		}
		for {
			out, err := rows.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if out == nil {
				break
			}
		}
		rows.Close()
	}
}
