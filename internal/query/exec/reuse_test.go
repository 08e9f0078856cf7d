package exec_test

import (
	"context"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// lender gives strings as the values of properties, and notes where they lie.
type lender struct {
	shard.Tx
	lent []weak.Pointer[[64]byte]
}

func (l *lender) value() graph.Value {
	b := new([64]byte)
	l.lent = append(l.lent, weak.Make(b))
	return graph.StringValue(unsafe.String(&b[0], len(b)))
}

func (l *lender) Properties(_ context.Context, ids []graph.VertexID, _ []graph.PropID, out [][]graph.Value) error {
	for _, col := range out {
		for i := range ids {
			col[i] = l.value()
		}
	}
	return nil
}

func (l *lender) Records(_ context.Context, ids []graph.VertexID, out []shard.Record) error {
	for i := range ids {
		out[i] = shard.Record{Props: []graph.Property{{ID: 1, Value: l.value()}}}
	}
	return nil
}

// Operators kept for later runs hold no property values, which may lie in memory that ends with the transaction.
func TestKeptOperatorsHoldNoValues(t *testing.T) {
	g := build(t, []string{`CREATE (a:P {n: 1}) WITH a UNWIND range(2, 50) AS n CREATE (a)-[:R]->(:P {n: n})`})
	require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Name: "n", Label: "P", Props: []string{"n"}, Unique: true, Indexed: true}))
	for _, text := range []string{
		`MATCH (a:P {n: $n}) RETURN a.n`,
		`MATCH (a:P {n: $n}) RETURN a.n, a`,
		`MATCH (a:P {n: $n})-[r:R]->(b) RETURN b.n, a.n, r`,
		`MATCH (a:P {n: $n})-[:R]->(b:P) WITH b.n AS n, b RETURN n, b`,
		`MATCH (a:P {n: $n})-[:R]->(b) RETURN b.n, b SKIP 1 LIMIT $n`,
		`MATCH (a:P {n: $n}) WHERE NOT a.n < $s RETURN a.n`,
	} {
		q, _, err := cypher.Compile(text, cypher.Options{})
		require.NoError(t, err)
		tx, err := g.Begin(t.Context(), shard.Read)
		require.NoError(t, err)
		optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: g.Indexes(), Features: g.Features()})
		p, err := exec.Compile(q, exec.Options{})
		require.NoError(t, err)
		l := &lender{Tx: tx}
		run := func() {
			rows, err := p.Run(t.Context(), g, l, exec.Env{Params: map[string]graph.Value{"n": graph.IntValue(1), "s": graph.StringValue("")}})
			require.NoError(t, err)
			b, err := rows.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, 64, len(b.Cols[0].Value(0).Str()))
			rows.Close()
		}
		run()
		runtime.GC() // pooled memory outlives one collection
		require.NotEmpty(t, l.lent)
		for _, w := range l.lent {
			require.Nil(t, w.Value(), text)
		}
		runtime.KeepAlive(p)
		tx.Rollback()
	}
}
