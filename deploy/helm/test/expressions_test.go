package charttest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// scraped are the labels that the scrape adds, and foreign the metrics of others, with the labels that expressions use.
var (
	scraped = []string{"namespace", "pod", "app_kubernetes_io_part_of"}
	foreign = map[string][]string{
		"kube_statefulset_status_replicas_ready": {"statefulset"}, "kube_statefulset_replicas": {"statefulset"},
		"kube_deployment_status_replicas_available": {"deployment"}, "kube_deployment_spec_replicas": {"deployment"},
		"kube_job_status_start_time": {"job_name"}, "kube_job_failed": {"job_name", "condition"}, "kube_cronjob_created": {"cronjob"},
		"kube_cronjob_status_last_successful_time": {"cronjob"}, "kube_cronjob_status_last_schedule_time": {"cronjob"},
		"certmanager_certificate_expiration_timestamp_seconds": {"exported_namespace", "name"}, "x509_cert_not_after": {"secret_namespace", "secret_name"},
		"up": nil, "kubelet_volume_stats_available_bytes": {"persistentvolumeclaim"}, "kubelet_volume_stats_capacity_bytes": {"persistentvolumeclaim"},
	}
)

// TestExpressions checks that every expression of the dashboard and the alerts is PromQL about metrics that
// testdata/metrics lists with their labels, and that each of these is used. A test in cmd/hopgate checks that a running
// server has the metrics of the list.
func TestExpressions(t *testing.T) {
	text, err := os.ReadFile("testdata/metrics")
	require.NoError(t, err)
	labels := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		labels[words[0]] = words[1:]
	}
	used := map[string]bool{}
	named := map[string]bool{}
	expressions := chartExpressions(t)
	require.Greater(t, len(expressions), 60)
	for _, text := range expressions {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(text, "$__rate_interval", "5m"))
		require.NoError(t, err, text)
		have := slices.Clone(scraped)
		own := []string{}
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
				own = append(own, v.Name)
			}
			for _, m := range v.LabelMatchers {
				if m.Name != promlabels.MetricName {
					require.Contains(t, slices.Concat(scraped, known), m.Name, text)
					named[v.Name+" "+m.Name] = true
				}
			}
			have = append(have, known...)
			return nil
		})
		group := func(names []string) {
			for _, label := range names {
				require.Contains(t, have, label, text)
				for _, metric := range own {
					named[metric+" "+label] = true
				}
			}
		}
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.AggregateExpr:
				group(n.Grouping)
			case *parser.BinaryExpr:
				if n.VectorMatching != nil {
					group(slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include))
				}
			}
			return nil
		})
	}
	for name, known := range labels {
		require.True(t, used[name], "testdata/metrics lists %s, which no expression uses", name)
		for _, label := range known {
			require.True(t, named[name+" "+label], "testdata/metrics lists the label %s of %s, which no expression names", label, name)
		}
	}
}

// chartExpressions returns the PromQL of the dashboard's panels and of the alerts.
func chartExpressions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(chartDir + "/files/dashboard.json")
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
	data, err = os.ReadFile(chartDir + "/files/alerts.yaml")
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
