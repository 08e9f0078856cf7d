package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const chart = "../../deploy/helm/hopgate"

// chartKeys are settings that the chart gives itself.
var chartKeys = []string{
	"dataDir", "http", "grpc", "admin", "drainTimeout", "readyFile", "tlsCert", "tlsKey", "tlsClientCa", "tokensFile", "shardAddresses", "shardOrdinal", "shardCa",
}

// settingKeys are the keys of all settings, as hopgate config prints them.
func settingKeys(t *testing.T) map[string]any {
	t.Helper()
	got := run(t, nil, "hopgate", "config")
	require.Zero(t, got.code, got.err)
	keys := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(got.out), &keys))
	return keys
}

// The chart's schema takes every setting of the server that the chart does not give itself, and no other.
func TestChartSettings(t *testing.T) {
	data, err := os.ReadFile(chart + "/values.schema.json")
	require.NoError(t, err)
	var schema struct {
		Definitions struct {
			Settings struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	known := schema.Definitions.Settings.Properties
	keys := settingKeys(t)
	for key := range keys {
		if !slices.Contains(chartKeys, key) {
			require.Contains(t, known, key, "name it in definitions.settings of %s/values.schema.json", chart)
		}
	}
	for key := range known {
		require.Contains(t, keys, key, "%s/values.schema.json has a setting that is none", chart)
		require.NotContains(t, chartKeys, key)
	}
}

// The server takes the files of settings that the chart renders for it.
func TestChartConfig(t *testing.T) {
	for _, name := range []string{"default", "ephemeral", "everything"} {
		text, err := os.ReadFile(filepath.Join(chart, "../golden", name+".yaml"))
		require.NoError(t, err)
		files := 0
		for d := yaml.NewDecoder(strings.NewReader(string(text))); ; {
			var o struct {
				Kind string
				Data map[string]any
			}
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, name)
			}
			file, ok := o.Data["config.yaml"].(string)
			if !ok {
				continue
			}
			files++
			path := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
			got := run(t, []string{"HOPGATE_SERVICE_HOST=10.0.0.1"}, "hopgate", "config", "--config", path)
			require.Zero(t, got.code, got.err)
			if strings.Contains(file, "dataDir") {
				require.Contains(t, got.out, "dataDir: /data/graphs")
			}
		}
		require.Positive(t, files, name)
	}
}

var (
	series    = regexp.MustCompile(`^([a-zA-Z0-9_:]+)(?:\{(.*)\})? `)
	labelName = regexp.MustCompile(`([a-z_]+)="`)
)

// scraped are the labels that the scrape adds, and foreign the metrics of others, with the labels that expressions use.
var (
	scraped = []string{"namespace", "pod", "app_kubernetes_io_part_of"}
	foreign = map[string][]string{
		"up": nil, "kubelet_volume_stats_available_bytes": {"persistentvolumeclaim"}, "kubelet_volume_stats_capacity_bytes": {"persistentvolumeclaim"},
	}
)

// Every expression of the chart's dashboard and alerts is PromQL about metrics that a running server or gateway has, with labels that they
// have there.
func TestChartMetrics(t *testing.T) {
	s := start(t, t.TempDir())
	got := run(t, nil, "graphctl", "query", "--address", s.addrs.GRPC, "CREATE (:A {k: 1})")
	require.Zero(t, got.code, got.err)
	res, err := http.Post("http://"+s.addrs.HTTP+"/v1/query", "application/json", strings.NewReader(`{"statement": "RETURN 1"}`))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	labels := metricLabels(t, s.addrs.Admin)
	for tries := 0; len(labels["hopgate_grpc_request_duration_seconds_bucket"]) == 0; tries++ { // a request is counted when it is over
		require.Less(t, tries, 500)
		<-time.After(20 * time.Millisecond)
		labels = metricLabels(t, s.addrs.Admin)
	}
	ss, _ := startCluster(t, 1, 0)
	g := &process{t: t, http: freeAddress(t)}
	admin := freeAddress(t)
	g.args = []string{"gateway", "--shard-addresses", ss[0].grpc, "--http", g.http, "--grpc", "127.0.0.1:0", "--admin", admin}
	g.start()
	t.Cleanup(func() { g.kill(syscall.SIGKILL) })
	require.Eventually(t, func() bool { _, err := ask(g.http, "RETURN 1"); return err == nil }, patience, 20*time.Millisecond)
	for name, have := range metricLabels(t, admin) {
		if strings.HasPrefix(name, "hopgate_gateway_") {
			labels[name] = have
		}
	}
	used := map[string]bool{}
	expressions := chartExpressions(t)
	require.Greater(t, len(expressions), 60)
	for _, text := range expressions {
		e, err := parser.ParseExpr(strings.ReplaceAll(text, "$__rate_interval", "5m"))
		require.NoError(t, err, text)
		have := slices.Clone(scraped)
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			v, ok := n.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			known, ok := foreign[v.Name]
			if !ok {
				require.Contains(t, labels, v.Name, text)
				known = labels[v.Name]
				used[v.Name] = true
			}
			for _, m := range v.LabelMatchers {
				if m.Name != promlabels.MetricName {
					require.Contains(t, slices.Concat(scraped, known), m.Name, text)
				}
			}
			have = append(have, known...)
			return nil
		})
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.AggregateExpr:
				for _, label := range n.Grouping {
					require.Contains(t, have, label, text)
				}
			case *parser.BinaryExpr:
				if n.VectorMatching != nil {
					for _, label := range slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include) {
						require.Contains(t, have, label, text)
					}
				}
			}
			return nil
		})
	}
	for name := range labels {
		if strings.HasPrefix(name, "hopgate_storage_stall") || strings.HasPrefix(name, "hopgate_operator") || strings.HasPrefix(name, "hopgate_shard") || strings.HasPrefix(name, "hopgate_gateway") {
			require.Contains(t, used, name, "nobody is shown it")
		}
	}
}

// metricLabels gives the labels of each series that the server with an admin listener shows, by its name, all of which follow Prometheus' conventions.
func metricLabels(t *testing.T, admin string) map[string][]string {
	res, err := http.Get("http://" + admin + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	faults, err := promlint.New(bytes.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, faults)
	labels := map[string][]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if m := series.FindStringSubmatch(lines.Text()); m != nil {
			labels[m[1]] = append(labels[m[1]], "")
			for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
				labels[m[1]] = append(labels[m[1]], l[1])
			}
		}
	}
	return labels
}

// chartExpressions gives the PromQL of the dashboard's panels and of the alerts.
func chartExpressions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(chart + "/files/dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(data, &dashboard))
	var all []string
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	data, err = os.ReadFile(chart + "/files/alerts.yaml")
	require.NoError(t, err)
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &alerts))
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			require.NotEmpty(t, r.Alert)
			all = append(all, r.Expr)
		}
	}
	return all
}
