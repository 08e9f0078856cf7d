package docs

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// process is a store with all that one may have metrics of.
type process struct {
	*local.Store
	telemetry.Hedger
}

// Replicas implements telemetry.Replicas.
func (process) Replicas() map[uint32]replica.GroupStatus { return nil }

var described = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "(.*)", unit: "[^"]*", constLabels: \{[^}]*\}, variableLabels: \{([^}]*)\}\}$`)

// TestMetricsReference compares the page of the metrics with those that a server, a gateway and a process with shards register.
func TestMetricsReference(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	e, l := query.New(store, query.Options{}), loader.New(store)
	p := process{Store: store}
	registry := telemetry.NewRegistry(e, l, p)
	telemetry.RegisterCertificate(registry, &tls.Config{})
	server.New(e, l, p, registry, server.Options{})
	ch := make(chan *prometheus.Desc)
	go func() { registry.Describe(ch); close(ch) }()
	type metric struct{ name, help, labels string }
	var all []metric
	for d := range ch {
		m := described.FindStringSubmatch(d.String())
		require.NotNil(t, m, d.String())
		if strings.HasPrefix(m[1], "hopgate_") {
			all = append(all, metric{m[1], m[2], m[3]})
		}
	}
	slices.SortFunc(all, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	require.Greater(t, len(all), 80)
	var b strings.Builder
	b.WriteString(Generated + `# Metrics

The admin listener serves metrics at ` + "`/metrics`" + ` in Prometheus' form:

` + "```sh\ncurl -s localhost:6060/metrics | grep hopgate_statements_total\n```" + `

| to see | ask Prometheus |
|---|---|
| the rate of a counter | ` + "`sum by (outcome) (rate(hopgate_statements_total[5m]))`" + ` |
| a latency of a histogram | ` + "`histogram_quantile(0.99, sum by (le) (rate(hopgate_statement_duration_seconds_bucket[5m])))`" + ` |
| a gauge | ` + "`sum by (graph) (hopgate_storage_disk_bytes)`" + ` |

The metrics of Go and of the process are there too, under their usual names. A process without replicas or shards lacks theirs. [load.md](../load.md#progress) has
those of a load.
`)
	b.WriteString("\n| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range all {
		labels := ""
		if m.labels != "" {
			labels = "`" + strings.Join(strings.Split(m.labels, ","), "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, kind(m.name), labels, escape(m.help))
	}
	Compare(t, "docs/reference/metrics.md", b.String())
}

// kind returns the kind of a metric by the conventions for names, which tests of telemetry check.
func kind(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "duration_seconds"):
		return "histogram"
	}
	return "gauge"
}
