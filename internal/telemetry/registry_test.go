package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// What is collected is what was described, of all graphs and shards, and its names follow Prometheus' conventions.
func TestRegistry(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	e, l := query.New(store, query.Options{}), loader.New(store)
	for _, statement := range []string{"CREATE GRAPH g", "CREATE (:A {k: 1})", "RETURN 1", "RETURN"} {
		res, err := e.Query(context.Background(), query.Request{Statement: statement})
		if err == nil {
			res.Close()
		}
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newEngine(e), newStorage(store))
	r.MustRegister(newLoader(l)...)
	metrics, err := r.Gather()
	require.NoError(t, err)
	series := map[string]int{}
	for _, m := range metrics {
		require.True(t, strings.HasPrefix(m.GetName(), "hopgate_"), m.GetName())
		require.NotEmpty(t, m.GetHelp())
		counter := m.GetType().String() == "COUNTER"
		require.Equal(t, counter, strings.HasSuffix(m.GetName(), "_total"), m.GetName())
		series[m.GetName()] = len(m.GetMetric())
		if m.GetName() == "hopgate_statements_total" {
			for _, s := range m.GetMetric() {
				if s.GetLabel()[0].GetValue() == "ok" {
					require.InDelta(t, 3, s.GetCounter().GetValue(), 0)
				}
			}
		}
	}
	require.Equal(t, 8, series["hopgate_storage_disk_bytes"], "two graphs of two shards of two stores")
	require.Equal(t, 4, series["hopgate_storage_failed"])
	require.Equal(t, 1, series["hopgate_topology_cache_bytes"])
	require.NotNil(t, NewRegistry(e, l, store))
}
