package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// The registry collects exactly the metrics that it describes, for all graphs and shards, with names in Prometheus' conventions.
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
	faults, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	require.Empty(t, faults)
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
	metrics, err = NewRegistry(e, l, hedger{store}).Gather()
	require.NoError(t, err)
	hedged := map[string]float64{}
	for _, m := range metrics {
		if strings.HasPrefix(m.GetName(), "hopgate_gateway_") {
			for _, s := range m.GetMetric() {
				name := m.GetName()
				for _, label := range s.GetLabel() {
					name += " " + label.GetValue()
				}
				hedged[name] = s.GetCounter().GetValue()
			}
		}
	}
	require.Equal(t, map[string]float64{
		"hopgate_gateway_hedged_reads_total": 3, "hopgate_gateway_hedged_reads_won_total": 2,
		"hopgate_gateway_lost_calls_total failed": 4, "hopgate_gateway_lost_calls_total moved": 0,
	}, hedged)
}

type hedger struct{ Storage }

func (hedger) Hedged() (made, won uint64) { return 3, 2 }

func (hedger) LostCalls() map[string]uint64 { return map[string]uint64{"failed": 4, "moved": 0} }

// The metric of a certificate follows the file when that changes.
func TestCertificate(t *testing.T) {
	until := time.Unix(4_000_000_000, 0)
	c := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{{Leaf: &x509.Certificate{NotAfter: until}}}, MinVersion: tls.VersionTLS13}, nil
	}, MinVersion: tls.VersionTLS13}
	r := prometheus.NewPedanticRegistry()
	RegisterCertificate(r, nil)
	RegisterCertificate(r, c)
	for _, until = range []time.Time{until, until.Add(time.Hour)} {
		metrics, err := r.Gather()
		require.NoError(t, err)
		require.Len(t, metrics, 1)
		require.InDelta(t, until.Unix(), metrics[0].GetMetric()[0].GetGauge().GetValue(), 0)
	}
	r.MustRegister(process()...)
	metrics, err := r.Gather()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(metrics, func(m *dto.MetricFamily) bool { return m.GetName() == "hopgate_build_info" }))
}
