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
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const chart = "../../deploy/helm/hopgate"

// chartKeys are settings that the chart sets itself.
var chartKeys = []string{
	"dataDir", "http", "grpc", "bolt", "admin", "drainTimeout", "readyFile", "tlsCert", "tlsKey", "tlsClientCa", "tokensFile", "shardCa", "join", "peer",
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

// The chart's schema accepts every setting of the server that the chart does not set itself, and no other.
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
	for _, name := range []string{"default", "ephemeral", "everything", "replicated"} {
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

// A running server or gateway has the metrics that the chart's expressions use, with the labels that these name. The list of
// both is what deploy/helm/test checks the expressions against.
func TestChartMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	got := run(t, nil, "graphctl", "query", "--address", s.addrs.GRPC, "CREATE (:A {k: 1})")
	require.Zero(t, got.code, got.err)
	res, err := http.Post("http://"+s.addrs.HTTP+"/v1/query", "application/json", strings.NewReader(`{"statement": "RETURN 1"}`))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	var labels map[string][]string
	eventually(t, func() bool { // a request is counted when it is over
		labels = metricLabels(t, s.addrs.Admin)
		return len(labels["hopgate_grpc_request_duration_seconds_bucket"]) > 0
	}, 20*time.Millisecond)
	ms, _ := startMembers(t, 3)
	lag := func() bool {
		text, err := get("http://" + leaderOf(t, ms, 0).admin + "/metrics")
		return err == nil && strings.Contains(text, "hopgate_replica_lag_bytes") // from the leader's first tick on
	}
	eventually(t, lag, 20*time.Millisecond)
	for name, have := range metricLabels(t, leaderOf(t, ms, 0).admin) {
		if strings.HasPrefix(name, "hopgate_gateway_") || strings.HasPrefix(name, "hopgate_replica_") {
			labels[name] = have
		}
	}
	text, err := os.ReadFile("../../deploy/helm/test/testdata/metrics")
	require.NoError(t, err)
	used := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		require.NotEmpty(t, words)
		require.Contains(t, labels, words[0])
		used[words[0]] = true
		for _, label := range words[1:] {
			require.Contains(t, labels[words[0]], label, line)
		}
	}
	for name := range labels {
		if strings.HasPrefix(name, "hopgate_storage_stall") || strings.HasPrefix(name, "hopgate_operator") || strings.HasPrefix(name, "hopgate_shard") || strings.HasPrefix(name, "hopgate_gateway") {
			require.Contains(t, used, name, "no panel and no alert uses it")
		}
	}
}

// metricLabels returns the labels of each series that the server with an admin listener exports, by name, and checks Prometheus' naming conventions.
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
