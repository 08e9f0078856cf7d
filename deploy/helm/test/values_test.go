package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestValuesRefused renders the chart with wrong values: the error names the key and the reason.
func TestValuesRefused(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{`{replicas: 3}`, "replicas"},
		{`{gatway: {}}`, "gatway"},
		{`{gateway: {autoscaling: {minReplica: 3}}}`, "minReplica"},
		{`{shard: {persistence: {sise: 1Gi}}}`, "sise"},
		{`{config: {quiryTimeout: 1s}}`, "quiryTimeout"},
		{`{config: {dataDir: /tmp}}`, "dataDir"},
		{`{tls: {certManager: {issuer: a}}}`, "issuer"},
		{`{mode: both}`, "mode"},
		{`{image: {tag: latest}}`, "tag"},
		{`{shard: {replicas: 0}}`, "replicas"},
		{`{standalone: {persistence: {size: big}}}`, "size"},
		{`{standalone: {terminationGracePeriodSeconds: 60}}`, "standalone: preStopSleepSeconds (5) and drainSeconds (60)"},
		{`{mode: cluster, gateway: {drainSeconds: 55}}`, "gateway: preStopSleepSeconds (10) and drainSeconds (55)"},
		{`{nameOverride: Graphs}`, "nameOverride"},
		{`{commonLabels: {app.kubernetes.io/component: db}}`, "app.kubernetes.io/component"},
		{`{podLabels: {app.kubernetes.io/name: x}}`, "app.kubernetes.io/name"},
		{`{podAnnotations: {checksum/config: x}}`, "checksum/config"},
		{`{service: {httpPort: 9090}}`, "httpPort and grpcPort are both 9090"},
		{`{service: {boltPort: 8080}}`, "httpPort and boltPort are both 8080"},
		{`{mode: cluster, gateway: {autoscaling: {minReplicas: 5, maxReplicas: 2}}}`, "minReplicas (5) is above maxReplicas (2)"},
		{`{backup: {enabled: true}}`, "backup.destination"},
		{`{gatewayAPI: {http: {enabled: true}}}`, "gatewayAPI.http.parentRefs"},
		{`{tls: {enabled: true, certManager: {enabled: true}}}`, "tls.certManager.issuerRef.name"},
		{`{config: {replication: 3}}`, "config.replication: 3 copies of each shard need mode: cluster"},
		{`{mode: cluster, config: {replication: 5}}`, "shard.replicas: 3 pods cannot keep config.replication: 5"},
		{`{mode: cluster, config: {replication: 2}}`, "replication"},
	} {
		_, err := render(t, parse(t, c.values), nil)
		require.ErrorContains(t, err, c.want, c.values)
	}
}

// TestHosts: without tokens the server answers to the names by which the chart's objects lead to it, and to those of the settings.
func TestHosts(t *testing.T) {
	hosts := func(values string) any {
		text, err := render(t, parse(t, values), nil)
		require.NoError(t, err)
		config := parse(t, find[corev1.ConfigMap](t, objects(t, text), "ConfigMap", "graphs-hopgate-server").Data["config.yaml"])
		if config["httpHosts"] == nil {
			return nil
		}
		return strings.Split(config["httpHosts"].(string), ",")
	}
	require.Subset(t, hosts(`{}`), []string{"graphs-hopgate", "graphs-hopgate.apps.svc.cluster.local", "*.graphs-hopgate-grpc.apps.svc.cluster.local"})
	require.Subset(t, hosts(`{
		ingress: {enabled: true, hosts: [{host: graphs.example.com, paths: [{path: /, pathType: Prefix}]}]},
		gatewayAPI: {http: {enabled: true, parentRefs: [{name: g}], hostnames: ["*.inner.example.com"]}},
		config: {httpHosts: "lb.example.com, other.example.com"}}`),
		[]string{"graphs-hopgate", "graphs.example.com", "*.inner.example.com", "lb.example.com", " other.example.com"})
	require.Nil(t, hosts(`{auth: {enabled: true}}`))
}

// TestConfig sets values twice: those of a component override common ones, and none overrides the chart's own.
func TestConfig(t *testing.T) {
	text, err := render(t, parse(t, `{mode: cluster, config: {maxRows: 10, slowLog: 5}, gateway: {config: {maxRows: 0}}}`), nil)
	require.NoError(t, err)
	all := objects(t, text)
	settings := func(name string) map[string]any {
		return parse(t, find[corev1.ConfigMap](t, all, "ConfigMap", name).Data["config.yaml"])
	}
	gateway := settings("graphs-hopgate-gateway")
	require.EqualValues(t, 0, gateway["maxRows"])
	require.EqualValues(t, 5, gateway["slowLog"])
	require.Equal(t, "json", gateway["logFormat"])
	require.Equal(t, "40s", gateway["drainTimeout"])
	require.Equal(t, "graphs-hopgate-shard-0.graphs-hopgate-shard.apps.svc.cluster.local:9190,"+
		"graphs-hopgate-shard-1.graphs-hopgate-shard.apps.svc.cluster.local:9190,"+
		"graphs-hopgate-shard-2.graphs-hopgate-shard.apps.svc.cluster.local:9190", gateway["shardAddresses"])
	require.NotContains(t, gateway, "dataDir")
	shard := settings("graphs-hopgate-shard")
	require.EqualValues(t, 10, shard["maxRows"])
	require.Equal(t, "0.0.0.0:9190", shard["grpc"])
	require.NotContains(t, shard, "http")
}

// TestLoadJob changes a load: its Job, whose template cannot change, gets another name, and the same load the same.
func TestLoadJob(t *testing.T) {
	name := func(values string) string {
		text, err := render(t, parse(t, values), nil)
		require.NoError(t, err)
		for _, o := range objects(t, text) {
			if o.kind() == "Job" && o.metadata()["annotations"] == nil {
				return o.name()
			}
		}
		return ""
	}
	first := name(`{load: {enabled: true}}`)
	require.NotEmpty(t, first)
	require.Equal(t, first, name(`{load: {enabled: true}, config: {logLevel: debug}}`))
	require.NotEqual(t, first, name(`{load: {enabled: true, args: [/input/people.csv]}}`))
	require.NotEqual(t, first, name(`{load: {enabled: true, mapping: "version: 1"}}`))
	require.NotEqual(t, first, name(`{load: {enabled: true}, image: {tag: 9.9.9}}`))
}

// TestReadme checks that helm-docs has been run since the values were changed.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	require.NoError(t, err)
	values, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	require.NoError(t, err)
	documented, under := 0, []string{}
	described := false
	for line := range strings.Lines(string(values)) {
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "# -- ") {
			described = true
			continue
		}
		key, _, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "-") {
			continue
		}
		under = append(under[:min(depth, len(under))], key)
		if described {
			documented++
			require.Contains(t, string(readme), "| "+strings.Join(under, ".")+" |", "run: make chart-docs")
		}
		described = false
	}
	require.Greater(t, documented, 100)
}
