package query

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/watch"
)

// BenchmarkWatch compares a short request with its overhead for watchers, traces, labels and metrics when there is no watcher.
func BenchmarkWatch(b *testing.B) {
	e := New(stores["local"](b), Options{})
	_, err := e.rows(Request{Statement: "UNWIND range(1, 1000) AS x CREATE (:N {k: x})"})
	require.NoError(b, err)
	_, err = e.rows(Request{Statement: "MATCH (a:N), (b:N) WHERE b.k = a.k + 1 CREATE (a)-[:R]->(b)"})
	require.NoError(b, err)
	_, err = e.rows(Request{Statement: "CREATE INDEX FOR (n:N) ON (n.k)"})
	require.NoError(b, err)
	ctx := context.Background()
	for name, statement := range map[string]string{
		"seek": "MATCH (n:N {k: $k}) RETURN n.k", "hop": "MATCH (:N {k: $k})-[:R]->(m) RETURN m.k",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				res, err := e.Query(ctx, Request{Statement: statement, Params: map[string]graph.Value{"k": graph.IntValue(int64(i % 1000))}})
				require.NoError(b, err)
				for batch, err := res.Next(); batch != nil; batch, err = res.Next() {
					require.NoError(b, err)
				}
				res.Close()
			}
		})
	}
	b.Run("hooks", func(b *testing.B) {
		b.ReportAllocs()
		q := &Running{}
		for b.Loop() {
			start := time.Now()
			if e.watch.Tracing() {
				b.Fatal("somebody watches")
			}
			ctx := e.watch.Arrived(ctx, start)
			e.watched(ctx, q, watch.StatementKind, start)
			e.label(ctx, q)
			q.trace.Enter("plan")
			q.trace.Enter("begin")
			q.trace.Enter("execute")
			q.trace.Stream()
			q.trace.Pull(q.trace.Began())
			q.trace.Pull(q.trace.Began())
			q.trace.Executed(nil, nil)
			elapsed := time.Since(start)
			e.watch.End(ctx, watch.Ended{Start: start, Elapsed: elapsed, Rows: 1}, q.trace, nil)
			e.metrics.Observe(q.kind, elapsed, &cost.Cost{Rows: 1}, nil)
			if e.watch.Watched() {
				b.Fatal("somebody watches")
			}
		}
	})
}
