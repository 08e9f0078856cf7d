package charttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
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
		{`{config: {replicas: 3}}`, "config.replicas: 3 copies of each shard need mode: cluster"},
		{`{mode: cluster, config: {replicas: 5}}`, "shard.replicas: 3 pods cannot keep config.replicas: 5"},
		{`{mode: cluster, config: {replicas: 2}}`, "replicas"},
		{`{config: {logLevel: warning}}`, "logLevel"},
		{`{standalone: {config: {logLevel: TRACE}}}`, "logLevel"},
		{`{config: {logFormat: logfmt}}`, "logFormat"},
		{`{config: {memory: 2Gi}}`, "memory"},
		{`{config: {memory: 32MiB}}`, "config.memory: must be 0 or at least 64MiB, is 32MiB"},
		{`{config: {memory: 3GiB}}`, "config.memory: 3GiB is more than standalone.resources.limits.memory, 2Gi"},
		{`{standalone: {config: {memory: 2147483649}}}`, "config.memory: 2147483649 is more than standalone.resources.limits.memory, 2Gi"},
		{`{mode: cluster, config: {memory: 2 GiB}}`, "config.memory: 2 GiB is more than gateway.resources.limits.memory, 1Gi"},
		{`{mode: cluster, shard: {config: {memory: 5GB}}}`, "config.memory: 5GB is more than shard.resources.limits.memory, 4Gi"},
		{`{config: {maxRequest: 2GiB}}`, "config.maxRequest: must be from 1KiB to 1GiB"},
		{`{config: {maxRequest: 100}}`, "config.maxRequest: must be from 1KiB to 1GiB"},
		{`{config: {valueThreshold: 8B}}`, "config.valueThreshold: must be at least 16 bytes"},
		{`{config: {queryTimeout: 30}}`, "queryTimeout"},
		{`{config: {queryTimeout: 2h, maxTimeout: 90m}}`, "config.queryTimeout: 2h is more than config.maxTimeout, 90m"},
		{`{config: {queryTimeout: 25h}}`, "config.queryTimeout: 25h is more than config.maxTimeout, 24h"},
		{`{config: {txIdleTimeout: 0s}}`, "txIdleTimeout"},
		{`{config: {cacheMode: none}}`, "cacheMode"},
		{`{config: {slowLog: 0}}`, "slowLog"},
		{`{config: {userLimits: "queries=200%"}}`, "userLimits"},
		{`{config: {httpHosts: "https://graphs.example.com"}}`, "httpHosts"},
		{`{config: {otlpEndpoint: "collector:4317"}}`, "otlpEndpoint"},
		{`{config: {adminTls: true}}`, "config.adminTls: needs tls.enabled"},
		{`{config: {adminTls: true}, tls: {enabled: true, clientAuth: true}}`, "config.adminTls: with tls.clientAuth"},
		{`{mode: cluster, tls: {enabled: true}, shard: {config: {adminTls: true}}}`, "shard.config.adminTls"},
		{`{mode: cluster, shard: {config: {replicas: 3}}}`, "shard.config.replicas"},
		{`{mode: cluster, gateway: {config: {replicas: 3}}}`, "gateway.config.replicas"},
		{`{mode: cluster, config: {shards: 2}}`, "config.shards: 2 shards with 1 copies occupy only 2 of the 3 pods"},
		{`{mode: cluster, config: {replicas: 3, shards: 1}, shard: {replicas: 5}}`, "config.shards: 1 shards with 3 copies occupy only 3 of the 5 pods"},
		{`{mode: cluster, config: {replicas: 3}, shard: {persistence: {enabled: false}}}`, "shard.persistence.enabled: 3 copies need volumes"},
		{`{mode: cluster, config: {replicas: 3}, shard: {podDisruptionBudget: {maxUnavailable: 2}}}`, "shard.podDisruptionBudget.maxUnavailable: 2 lets 2 of 3 pods go"},
		{`{mode: cluster, config: {replicas: 3}, shard: {podDisruptionBudget: {maxUnavailable: 50%}}}`, "shard.podDisruptionBudget.maxUnavailable: 50% lets 2 of 3 pods go"},
		{`{mode: cluster, config: {replicas: 5}, shard: {replicas: 5, podDisruptionBudget: {maxUnavailable: 3}}}`, "of 5 copies of a shard only 2 may be away"},
		{`{mode: cluster, config: {replicas: 3, stopWait: 5m}}`, "config.stopWait (300s)"},
		{`{mode: cluster, auth: {enabled: true}}`, "auth.enabled: the shards ask for no tokens"},
		{`{mode: cluster, config: {oidcIssuer: "https://id.example.com", oidcAudience: a}}`, "config.oidcIssuer: the shards ask for no tokens"},
		{`{mode: cluster, gateway: {config: {oidcIssuer: "https://id.example.com", oidcAudience: a}}}`, "auth.plainShards"},
		{`{config: {oidcIssuer: "https://id.example.com"}}`, "config.oidcIssuer: needs config.oidcAudience"},
		{`{config: {oidcIssuer: "https://id.example.com", oidcAudience: a}, load: {enabled: true}}`, "load.enabled: its Job needs a token: set auth.jobToken.secret"},
		{`{config: {oidcIssuer: "https://id.example.com", oidcAudience: a}, backup: {enabled: true, destination: "s3://b"}}`, "backup.enabled: its Job needs a token"},
		{`{backup: {enabled: true, destination: /backup/a}}`, "backup.destination: /backup/a is a directory of the Job"},
		{`{restore: {enabled: true}}`, "restore.source"},
		{`{restore: {enabled: true, source: "s3://b"}}`, "restore.enabled: needs standalone.maintenance"},
		{`{mode: cluster, restore: {enabled: true, source: "s3://b"}, shard: {maintenance: true}}`, "restore.backup: must name the backup"},
		{`{restore: {enabled: true, source: "s3://b"}, standalone: {maintenance: true, persistence: {accessModes: [ReadWriteOncePod]}}}`, "standalone.persistence.accessModes"},
		{`{mode: cluster, shard: {persistence: {snapshots: [a]}}}`, "shard.persistence.snapshots: names 1, and there are 3 pods"},
		{`{standalone: {persistence: {snapshots: [a], existingClaim: mine}}}`, "standalone.persistence.snapshots"},
		{`{mode: cluster, shard: {persistence: {existingClaim: mine}}}`, "existingClaim"},
		{`{service: {ipFamilyPolicy: Dual}}`, "ipFamilyPolicy"},
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
	require.Nil(t, hosts(`{config: {oidcIssuer: "https://id.example.com", oidcAudience: a}}`))
}

// TestReleaseName: a release may have a name that no service may have, which is refused unless the objects get another one.
func TestReleaseName(t *testing.T) {
	for _, name := range []string{"my.graphs", "1graphs"} {
		_, err := renderAs(t, name, nil, nil)
		require.ErrorContains(t, err, fmt.Sprintf("release name %q", name))
		_, err = renderAs(t, name, parse(t, `{fullnameOverride: graphs}`), nil)
		require.NoError(t, err)
	}
}

// template returns the annotation by which an upgrade knows whether pods change.
func template(t *testing.T, values, set string) string {
	t.Helper()
	text, err := render(t, parse(t, values), nil)
	require.NoError(t, err)
	for _, o := range objects(t, text) {
		if o.kind() == "StatefulSet" {
			require.Equal(t, set, o.name())
			return o.metadata()["annotations"].(map[string]any)["hopgate/template"].(string)
		}
	}
	return ""
}

// TestShardsStay: what concerns clients alone restarts no shard.
func TestShardsStay(t *testing.T) {
	const set = "graphs-hopgate-shard"
	was := template(t, `{mode: cluster}`, set)
	require.NotEmpty(t, was)
	for _, values := range []string{
		`{mode: cluster, ingress: {enabled: true}}`,
		`{mode: cluster, gatewayAPI: {http: {enabled: true, parentRefs: [{name: g}], hostnames: [a.example.com]}}}`,
		`{mode: cluster, config: {httpHosts: lb.example.com}}`,
		`{mode: cluster, tls: {dnsNames: [a.example.com]}}`,
		`{mode: cluster, gateway: {config: {maxRows: 5}, podAnnotations: {a: b}}}`,
		`{mode: cluster, auth: {enabled: true, plainShards: true}}`,
		`{mode: cluster, service: {unready: true, type: LoadBalancer}}`,
	} {
		require.Equal(t, was, template(t, values, set), values)
	}
	require.NotEqual(t, was, template(t, `{mode: cluster, config: {maxRows: 5}}`, set))
	require.NotEqual(t, was, template(t, `{mode: cluster, shard: {podAnnotations: {a: b}}}`, set))
}

// TestNotes: the notes say who may write, and what to do where the chart has no token.
func TestNotes(t *testing.T) {
	for values, want := range map[string]struct{ says, not string }{
		`{}`:                      {"Everybody who reaches the service may read and write", "OpenID"},
		`{auth: {enabled: true}}`: {"The token of the administrator", "Everybody"},
		`{config: {oidcIssuer: "https://id.example.com", oidcAudience: a}}`: {
			"Clients need a token of the OpenID Connect issuer https://id.example.com. The chart has none: helm test runs nothing", "Everybody"},
		`{config: {oidcIssuer: "https://id.example.com", oidcAudience: a}, auth: {jobToken: {secret: mine}}}`: {"test graphs", "Everybody"},
		`{standalone: {maintenance: true}}`: {"No server runs: the pods keep the volumes", "OpenID"},
	} {
		out, err := renderAs(t, release, parse(t, values), nil)
		require.NoError(t, err)
		notes := out["hopgate/templates/NOTES.txt"]
		require.Contains(t, notes, want.says, values)
		require.NotContains(t, notes, want.not, values)
	}
}

// TestJobTokens: the chart's Jobs send the token that the values name, and without any there is no test.
func TestJobTokens(t *testing.T) {
	const oidc = `config: {oidcIssuer: "https://id.example.com", oidcAudience: a}`
	for values, want := range map[string]string{
		`{}`:                      "",
		`{auth: {enabled: true}}`: "graphs-hopgate-tokens/token",
		`{` + oidc + `, auth: {jobToken: {secret: mine, key: jwt}}}`:                 "mine/jwt",
		`{` + oidc + `, auth: {enabled: true, existingSecret: mine}}`:                "mine/token",
		`{auth: {enabled: true, existingSecret: mine, jobToken: {secret: another}}}`: "another/token",
	} {
		text, err := render(t, parse(t, values), nil)
		require.NoError(t, err)
		job := find[batchv1.Job](t, objects(t, text), "Job", "graphs-hopgate-test-query")
		got := ""
		for _, e := range job.Spec.Template.Spec.Containers[0].Env {
			if e.Name == "GRAPHCTL_TOKEN" {
				got = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
			}
		}
		require.Equal(t, want, got, values)
	}
	text, err := render(t, parse(t, `{`+oidc+`}`), nil)
	require.NoError(t, err)
	require.NotContains(t, text, "test-query", "it would fail without a token")
}

// TestAdminTLS: probes and scrapes use TLS where the admin listener does.
func TestAdminTLS(t *testing.T) {
	text, err := render(t, parse(t, `{mode: cluster, config: {adminTls: true}, tls: {enabled: true}, metrics: {serviceMonitor: {enabled: true}}}`), nil)
	require.NoError(t, err)
	for _, w := range workloads(t, objects(t, text)) {
		if c := w.pod.Spec.Containers[0]; w.server {
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				require.Equal(t, corev1.URISchemeHTTPS, p.HTTPGet.Scheme, w.name())
			}
		}
	}
	require.Contains(t, text, "scheme: https\n")
}

// TestRestoreJobs: each pod with data has a Job with its claim and the arguments of its process.
func TestRestoreJobs(t *testing.T) {
	jobs := func(values string) (args [][]string, claims []string) {
		text, err := render(t, parse(t, values), nil)
		require.NoError(t, err)
		for _, w := range workloads(t, objects(t, text)) {
			if !strings.HasPrefix(w.name(), "graphs-hopgate-restore-") {
				continue
			}
			args = append(args, w.pod.Spec.Containers[0].Args)
			for _, v := range w.pod.Spec.Volumes {
				if v.PersistentVolumeClaim != nil {
					claims = append(claims, v.PersistentVolumeClaim.ClaimName)
				}
			}
		}
		return args, claims
	}
	args, claims := jobs(`{restore: {enabled: true, source: "s3://b"}, standalone: {maintenance: true}}`)
	require.Equal(t, [][]string{{"restore", "s3://b", "--data-dir=/data/graphs"}}, args)
	require.Equal(t, []string{"data-graphs-hopgate-0"}, claims)
	args, claims = jobs(`{mode: cluster, restore: {enabled: true, source: "s3://b", backup: x}, shard: {replicas: 2, maintenance: true}}`)
	require.Equal(t, []string{"restore", "s3://b", "--data-dir=/data/graphs", "--backup=x", "--replicas=1", "--processes=2", "--process=1"}, args[1])
	require.Equal(t, []string{"data-graphs-hopgate-shard-0", "data-graphs-hopgate-shard-1"}, claims)
	args, _ = jobs(`{mode: cluster, config: {replicas: 3, shards: 8}, restore: {enabled: true, source: "s3://b", backup: x}, shard: {maintenance: true}}`)
	require.Len(t, args, 3)
	require.Equal(t, []string{"restore", "s3://b", "--data-dir=/data/graphs", "--backup=x", "--replicas=3", "--processes=3", "--process=2", "--shards=8"}, args[2])
}

// TestExtraObjects: further objects may use what templates know.
func TestExtraObjects(t *testing.T) {
	text, err := render(t, parse(t, `{extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}]}`), nil)
	require.NoError(t, err)
	require.NotNil(t, find[corev1.ConfigMap](t, objects(t, text), "ConfigMap", "graphs-more"))
}

// TestBoltRecords: the service without an address has the port that config.boltGateways asks SRV records of.
func TestBoltRecords(t *testing.T) {
	text, err := render(t, parse(t, `{mode: cluster}`), nil)
	require.NoError(t, err)
	s := find[corev1.Service](t, objects(t, text), "Service", "graphs-hopgate-grpc")
	require.Equal(t, "None", s.Spec.ClusterIP)
	require.True(t, slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "bolt" && p.Port == 7687 }))
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
		"graphs-hopgate-shard-2.graphs-hopgate-shard.apps.svc.cluster.local:9190", gateway["join"])
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
