package exec_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestProfile counts rows, batches and requests by operator, and no more time than has passed within the run.
func TestProfile(t *testing.T) {
	g := build(t, []string{`UNWIND range(1, 10) AS i CREATE (:P {n: i, m: i})`})
	q, _, err := cypher.Compile(`MATCH (p:P) WHERE p.n > 4 RETURN p.m`, cypher.Options{})
	require.NoError(t, err)
	optimize.Plan(q, optimize.Env{})
	p, err := exec.Compile(q, exec.Options{})
	require.NoError(t, err)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	rows, err := p.Run(context.Background(), g, tx, exec.Env{Profile: true})
	require.NoError(t, err)
	defer rows.Close()
	begin := time.Now()
	for {
		b, err := rows.Next(context.Background())
		require.NoError(t, err)
		if b == nil {
			break
		}
	}
	passed := time.Since(begin)
	stats := rows.Stats()
	var sum time.Duration
	for _, s := range stats {
		require.GreaterOrEqual(t, s.Time, time.Duration(0))
		sum += s.Time
	}
	require.Positive(t, sum)
	require.LessOrEqual(t, sum, passed)

	names := map[string]exec.Stat{}
	for op := p.Explain(); op != nil; op = first(op.Inputs) {
		names[op.Name] = stats[op.ID]
	}
	require.EqualValues(t, 10, names["LabelScan"].Rows)
	require.EqualValues(t, 1, names["LabelScan"].Requests)
	require.EqualValues(t, 6, names["Filter"].Rows)
	require.EqualValues(t, 1, names["Filter"].Requests)
	require.EqualValues(t, 6, names["Projection"].Rows)
	require.EqualValues(t, 1, names["Projection"].Requests)
	require.False(t, names["Projection"].Metered) // the oracle has no cache
}

func first(ops []*exec.Operator) *exec.Operator {
	if len(ops) == 0 {
		return nil
	}
	return ops[0]
}
