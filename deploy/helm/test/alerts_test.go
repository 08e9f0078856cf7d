package charttest

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// TestAlertScope checks that the alerts of a release see its objects, whatever they are called, and those of no other release.
func TestAlertScope(t *testing.T) {
	for _, c := range []struct {
		values       string
		own, foreign []string // values of labels that name an object
	}{
		{
			`{}`,
			[]string{"graphs-hopgate-0", "data-graphs-hopgate-0", "graphs-hopgate", "graphs-hopgate-backup", "graphs-hopgate-backup-29123", "graphs-hopgate-tls", "graphs-hopgate-gateway"},
			[]string{"graphs-hopgate-b-0", "other-hopgate-0", "data-other-hopgate-0", "data-graphs-hopgate-shard-0", "graphs-hopgate-load-1a2b3c4d-x", "other-hopgate"},
		},
		{
			`{fullnameOverride: people, commonLabels: {app.kubernetes.io/part-of: shop}, standalone: {persistence: {existingClaim: mine}}, tls: {enabled: true, existingSecret: pem}}`,
			[]string{"people-0", "mine", "people", "people-backup", "people-backup-1", "pem", "people-gateway"},
			[]string{"graphs-hopgate-0", "data-people-0", "people-tls"},
		},
		{
			`{mode: cluster, nameOverride: people}`,
			[]string{"graphs-people-shard-2", "graphs-people-gateway-5f6d8c7b9d-x2x4z", "data-graphs-people-shard-0", "graphs-people-shard", "graphs-people-gateway", "graphs-people-backup", "graphs-people-backup-1", "graphs-people-tls"},
			[]string{"graphs-people-0", "data-graphs-people-0", "graphs-shard-0", "graphs-people-shard-x", "graphs-people"},
		},
	} {
		values := parse(t, c.values)
		values["metrics"] = parse(t, `{prometheusRule: {enabled: true}}`)
		text, err := render(t, values, nil)
		require.NoError(t, err)
		alerts, seen := 0, map[string]bool{}
		for _, o := range objects(t, text) {
			if o.kind() != "PrometheusRule" {
				continue
			}
			for _, g := range list(o["spec"].(map[string]any)["groups"]) {
				for _, r := range list(g.(map[string]any)["rules"]) {
					alerts++
					rule := r.(map[string]any)
					annotations := rule["annotations"].(map[string]any)["description"].(string)
					for _, word := range []string{"$set", "$namespace", "$backup", "$certificate"} {
						require.NotContains(t, annotations, word)
					}
					e, err := parser.NewParser(parser.Options{}).ParseExpr(rule["expr"].(string))
					require.NoError(t, err)
					parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
						v, ok := n.(*parser.VectorSelector)
						if !ok {
							return nil
						}
						scoped, named := false, false
						for _, m := range v.LabelMatchers {
							switch m.Name {
							case "namespace", "exported_namespace", "secret_namespace":
								scoped = m.Matches(namespace) && !m.Matches("elsewhere")
							case "pod", "persistentvolumeclaim", "statefulset", "deployment", "cronjob", "job_name", "name", "secret_name":
								for _, name := range c.own {
									if m.Matches(name) {
										named, seen[name] = true, true
									}
								}
								for _, name := range c.foreign {
									require.False(t, m.Matches(name), "%s is for %s too", v, name)
								}
							}
						}
						require.True(t, scoped, "%s is of every namespace", v)
						require.True(t, named, "%s is of every release", v)
						return nil
					})
				}
			}
		}
		require.Greater(t, alerts, 20)
		for _, name := range c.own {
			require.True(t, seen[name], "no alert is about %s: %s", name, strings.TrimSpace(c.values))
		}
	}
}
