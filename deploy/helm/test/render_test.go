package charttest

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the golden renders")

const (
	chartDir  = "../hopgate"
	goldenDir = "../golden"
	release   = "graphs"
	namespace = "apps"
)

// object is one object of a rendered chart.
type object map[string]any

func (o object) kind() string { s, _ := o["kind"].(string); return s }

func (o object) name() string { s, _ := o.metadata()["name"].(string); return s }

func (o object) metadata() map[string]any { m, _ := o["metadata"].(map[string]any); return m }

// decode reads the object as one of Kubernetes' own types, which must know each of its fields.
func decode[T any](t *testing.T, o object) *T {
	t.Helper()
	data, err := yaml.Marshal(o)
	require.NoError(t, err)
	into := new(T)
	require.NoError(t, yaml.UnmarshalStrict(data, into), "%s %s", o.kind(), o.name())
	return into
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	require.NoError(t, err)
	return c
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &values))
	return values
}

// render returns the text of all manifests, hooks and notes among them, in the order of their files. live answers the
// chart's look-ups; nil finds nothing, as in helm template.
func render(t *testing.T, values map[string]any, live engine.ClientProvider) (string, error) {
	t.Helper()
	files, err := renderAs(t, release, values, live)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if body := strings.TrimSpace(files[name]); body != "" && strings.HasSuffix(name, ".yaml") {
			b.WriteString("---\n# Source: " + name + "\n" + strings.TrimPrefix(body, "---\n") + "\n")
		}
	}
	return b.String(), nil
}

// renderAs returns the rendered files of a release with a name.
func renderAs(t *testing.T, name string, values map[string]any, live engine.ClientProvider) (map[string]string, error) {
	t.Helper()
	c := loadChart(t)
	caps := common.DefaultCapabilities
	vals, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}, caps)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return engine.Render(c, vals)
	}
	return engine.RenderWithClientProvider(c, vals, live)
}

// objects splits rendered text.
func objects(t *testing.T, text string) []object {
	t.Helper()
	var all []object
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		var o object
		require.NoError(t, yaml.UnmarshalStrict([]byte(doc), (*map[string]any)(&o)), doc)
		if len(o) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// cases are the files of values beside the chart, by name, and each single switch of the chart in both modes.
func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for name, text := range files(t) {
		all[name] = parse(t, text)
	}
	switches := []string{
		`{}`, `{nameOverride: g}`, `{fullnameOverride: a-name-that-is-longer-than-what-a-label-of-kubernetes-bears}`,
		`{serviceAccount: {create: false, name: mine}}`, `{image: {digest: "sha256:` + strings.Repeat("0a", 32) + `"}}`,
		`{commonLabels: {app.kubernetes.io/part-of: shop, team: a}, podLabels: {team: b}, podAnnotations: {kubectl.kubernetes.io/default-container: mine}}`,
		`{antiAffinity: hard}`, `{antiAffinity: none}`, `{networkPolicy: {enabled: false}}`, `{networkPolicy: {scrapeFrom: []}}`,
		`{tls: {enabled: true}}`, `{tls: {enabled: true, existingSecret: mine, clientAuth: true}}`,
		`{tls: {enabled: true, certManager: {enabled: true, issuerRef: {name: ca}}}}`,
		`{auth: {enabled: true, plainShards: true}}`, `{auth: {enabled: true, existingSecret: mine}, tls: {enabled: true}}`,
		`{config: {oidcIssuer: "https://id.example.com", oidcAudience: hopgate}, tls: {enabled: true}}`,
		`{config: {oidcIssuer: "https://id.example.com", oidcAudience: hopgate}, tls: {enabled: true}, auth: {jobToken: {secret: mine, key: jwt}}, backup: {enabled: true, destination: "s3://b"}}`,
		`{config: {adminTls: true}, tls: {enabled: true}, metrics: {serviceMonitor: {enabled: true}}}`,
		`{service: {unready: true, type: LoadBalancer, loadBalancerIP: 192.0.2.1, ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4]}}`,
		`{standalone: {maintenance: true}, shard: {maintenance: true}, restore: {enabled: true, source: "s3://b", backup: x}}`,
		`{standalone: {persistence: {snapshots: [a]}}, shard: {persistence: {snapshots: [a, b, c]}}}`,
		`{standalone: {persistence: {existingClaim: mine}}}`,
		`{standalone: {nodeSelector: {disk: ssd}, podAnnotations: {a: b}, podLabels: {c: d}}, shard: {tolerations: [{operator: Exists}], priorityClassName: p}}`,
		`{ingress: {enabled: true}}`, `{service: {type: LoadBalancer, loadBalancerClass: c}}`,
		`{load: {enabled: true}}`, `{backup: {enabled: true, destination: "s3://b"}}`,
		`{metrics: {serviceMonitor: {enabled: true, relabelings: [{action: labeldrop, regex: x}]}}}`,
		`{standalone: {persistence: {enabled: false}}, shard: {persistence: {enabled: false}}}`,
		`{standalone: {podDisruptionBudget: {enabled: false}}, gateway: {autoscaling: {enabled: false}, podDisruptionBudget: {maxUnavailable: 20%}}}`,
		`{standalone: {affinity: {nodeAffinity: {}}, topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]}}`,
	}
	for _, mode := range []string{"standalone", "cluster"} {
		for _, s := range switches {
			values := parse(t, s)
			values["mode"] = mode
			all[mode+" "+s] = values
		}
	}
	return all
}

// files are the texts of the files of values beside the chart.
func files(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	all := map[string]string{}
	for _, file := range found {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = string(text)
	}
	return all
}

// each runs f with the objects of every case.
func each(t *testing.T, f func(t *testing.T, values map[string]any, all []object)) {
	t.Helper()
	for name, values := range cases(t) {
		t.Run(name, func(t *testing.T) {
			text, err := render(t, values, nil)
			require.NoError(t, err)
			f(t, values, objects(t, text))
		})
	}
}

// secret finds what differs from one rendering to the next.
var secret = regexp.MustCompile(`(?m)^(  (?:ca\.crt|tls\.crt|tls\.key|token|tokens\.yaml): )\S{40,}$`)

// TestGolden compares renders with those that are checked in, so that a review sees what a change does to a release.
func TestGolden(t *testing.T) {
	for name, text := range files(t) {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, parse(t, text), nil)
			require.NoError(t, err)
			got = secret.ReplaceAllString(got, "${1}GENERATED")
			file := filepath.Join(goldenDir, name+".yaml")
			if *rewrite {
				require.NoError(t, os.MkdirAll(goldenDir, 0o755))
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "run: make chart-golden")
		})
	}
}
