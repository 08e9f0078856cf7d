package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestValuesRefused gives values that are wrong: the error names what is wrong about which key.
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
		{`{backup: {enabled: true}}`, "backup.destination"},
		{`{gatewayAPI: {http: {enabled: true}}}`, "gatewayAPI.http.parentRefs"},
		{`{tls: {enabled: true, certManager: {enabled: true}}}`, "tls.certManager.issuerRef.name"},
	} {
		_, err := render(t, parse(t, c.values), nil)
		require.ErrorContains(t, err, c.want, c.values)
	}
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
