package charttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

// cluster answers look-ups with objects that are there.
type cluster struct{ dynamic.Interface }

func (c cluster) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	plural := map[string]string{"StatefulSet": "statefulsets", "Secret": "secrets", "Pod": "pods"}[kind]
	return c.Resource(gv.WithResource(plural)), true, err
}

// running is a cluster in which the chart was installed with values.
func running(t *testing.T, text string) cluster {
	t.Helper()
	out, err := render(t, parse(t, text), nil)
	require.NoError(t, err)
	var live []runtime.Object
	for _, o := range objects(t, out) {
		if o.kind() == "StatefulSet" || o.kind() == "Secret" {
			live = append(live, &unstructured.Unstructured{Object: o})
		}
	}
	lists := map[schema.GroupVersionResource]string{{Group: "apps", Version: "v1", Resource: "statefulsets"}: "StatefulSetList"}
	return cluster{fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, live...)}
}

// TestProtect upgrades releases: what would lose their graphs is refused with the way to do it.
func TestProtect(t *testing.T) {
	for _, c := range []struct{ name, before, after, refused, way string }{
		{"the same", `{}`, `{}`, "", ""},
		{"the same size in other units", `{}`, `{standalone: {persistence: {size: 10240Mi}}}`, "", ""},
		{"other mode", `{}`, `{mode: cluster}`, "mode:", "graphctl export"},
		{"back to one server", `{mode: cluster}`, `{}`, "mode:", "graphctl export"},
		{"other name", `{}`, `{fullnameOverride: people}`, "the StatefulSet graphs-hopgate", "restore"},
		{"other name of shards", `{mode: cluster}`, `{mode: cluster, nameOverride: people}`, "the StatefulSet graphs-hopgate-shard", "restore"},
		{"other name and mode", `{}`, `{mode: cluster, fullnameOverride: people}`, "mode:", "graphctl export"},
		{"fewer shards", `{mode: cluster}`, `{mode: cluster, shard: {replicas: 2}}`, "shard.replicas: 2 is fewer than the 3", "second release"},
		{"more shards", `{mode: cluster}`, `{mode: cluster, shard: {replicas: 5}}`, "shard.replicas: was 3", "second release"},
		{"other size", `{}`, `{standalone: {persistence: {size: 20Gi}}}`, "standalone.persistence.size: was 10Gi", "kubectl -n apps patch pvc data-graphs-hopgate-N"},
		{"other size of shards", `{mode: cluster}`, `{mode: cluster, shard: {persistence: {size: 0.5Ti}}}`, "shard.persistence.size: was 20Gi", "--cascade=orphan"},
		{"other class", `{}`, `{standalone: {persistence: {storageClass: fast}}}`, "storageClass", "restore"},
		{"other access", `{}`, `{standalone: {persistence: {accessModes: [ReadWriteOncePod]}}}`, "accessModes", "--cascade=orphan"},
		{"no volume", `{}`, `{standalone: {persistence: {enabled: false}}}`, "standalone.persistence.enabled: was true", "restore"},
		{"a volume", `{mode: cluster, shard: {persistence: {enabled: false}}}`, `{mode: cluster}`, "shard.persistence.enabled: was false", "restore"},
		{"replicas", `{mode: cluster}`, `{mode: cluster, config: {replicas: 3}}`, "config.replicas: was 1", "kubectl -n apps scale statefulset graphs-hopgate-shard --replicas=0"},
		{"no replicas", `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster}`, "config.replicas: was 3", "graphctl export"},
		{"the same replicas", `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}}`, "", ""},
		{"replicas and other pods", `{mode: cluster}`, `{mode: cluster, config: {replicas: 3}, shard: {replicas: 4}}`, "shard.replicas: was 3", "Leave shard.replicas: 3"},
		{"replicas and fewer pods", `{mode: cluster, shard: {replicas: 4}}`, `{mode: cluster, config: {replicas: 3}}`, "shard.replicas: 3 is fewer than the 4", "second release"},
		{"replicas and other shards", `{mode: cluster}`, `{mode: cluster, config: {replicas: 3, shards: 16}}`, "config.shards: was 3", "second release"},
		{"other shards with replicas", `{mode: cluster, config: {replicas: 3, shards: 16}}`, `{mode: cluster, config: {replicas: 3, shards: 32}}`, "config.shards: was 16", "second release"},
		{"shards as many as pods", `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3, shards: 3}}`, "", ""},
		{"TLS with replicas", `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, tls: {enabled: true}}`, "tls.enabled: was false", "scale statefulset graphs-hopgate-shard --replicas=0"},
		{"no TLS with replicas", `{mode: cluster, config: {replicas: 3}, tls: {enabled: true}}`, `{mode: cluster, config: {replicas: 3}}`, "tls.enabled: was true", "scale statefulset graphs-hopgate-shard --replicas=0"},
		{"TLS without replicas", `{mode: cluster}`, `{mode: cluster, tls: {enabled: true}}`, "", ""},
		{"maintenance with replicas", `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, shard: {maintenance: true}}`, "shard.maintenance: was false", "scale statefulset"},
		{"the end of maintenance", `{mode: cluster, config: {replicas: 3}, shard: {maintenance: true}}`, `{mode: cluster, config: {replicas: 3}}`, "shard.maintenance: was true", "scale statefulset"},
		{"maintenance of one server", `{}`, `{standalone: {maintenance: true}}`, "", ""},
		{"an existing claim", `{standalone: {persistence: {existingClaim: mine}}}`, `{standalone: {persistence: {existingClaim: mine}}}`, "", ""},
		{"another existing claim", `{standalone: {persistence: {existingClaim: mine}}}`, `{standalone: {persistence: {existingClaim: yours}}}`, "standalone.persistence.existingClaim: was \"mine\"", "restore"},
		{"an existing claim instead", `{}`, `{standalone: {persistence: {existingClaim: mine}}}`, "standalone.persistence.existingClaim: was \"\"", "restore"},
		{"no existing claim any more", `{standalone: {persistence: {existingClaim: mine}}}`, `{}`, "standalone.persistence.existingClaim: was \"mine\"", "restore"},
		{"more pods with replicas", `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, shard: {replicas: 5}}`, "shard.replicas: was 3", "second release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := render(t, parse(t, c.after), running(t, c.before))
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.refused)
			require.ErrorContains(t, err, c.way)
		})
	}
}

// set changes the StatefulSet that runs.
func (c cluster) set(t *testing.T, name string, to any, path ...string) {
	t.Helper()
	sets := c.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}).Namespace(namespace)
	live, err := sets.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(live.Object, to, path...))
	_, err = sets.Update(t.Context(), live, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// TestProtectStopped upgrades releases whose pods have been stopped: what needs a full stop is taken then, and the same values start the pods
// again. What would lose graphs is still refused.
func TestProtectStopped(t *testing.T) {
	for _, c := range []struct{ before, after, refused string }{
		{`{mode: cluster}`, `{mode: cluster, config: {replicas: 3}}`, ""},
		{`{mode: cluster}`, `{mode: cluster, config: {replicas: 3}, shard: {replicas: 4}}`, "shard.replicas: was 3"},
		{`{mode: cluster, shard: {replicas: 4}}`, `{mode: cluster, config: {replicas: 3}}`, "shard.replicas: 3 is fewer than the 4"},
		{`{mode: cluster}`, `{mode: cluster, config: {replicas: 3, shards: 8}}`, "config.shards: was 3"},
		{`{mode: cluster}`, `{mode: cluster, shard: {replicas: 2}}`, "shard.replicas: 2 is fewer than the 3"},
		{`{mode: cluster}`, `{mode: cluster}`, ""},
		{`{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}}`, ""},
		{`{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, shard: {replicas: 5}}`, "shard.replicas: was 3"},
		{`{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, tls: {enabled: true}}`, ""},
		{`{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, shard: {maintenance: true}}`, ""},
		{`{mode: cluster, config: {replicas: 3}, shard: {maintenance: true}}`, `{mode: cluster, config: {replicas: 3}}`, ""},
	} {
		live := running(t, c.before)
		live.set(t, "graphs-hopgate-shard", int64(0), "spec", "replicas")
		live.set(t, "graphs-hopgate-shard", map[string]any{"replicas": int64(0)}, "status")
		out, err := render(t, parse(t, c.after), live)
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, c.after)
			continue
		}
		require.NoError(t, err, c.after)
		require.Contains(t, out, "replicas: 3\n")
		live.set(t, "graphs-hopgate-shard", map[string]any{"replicas": int64(1)}, "status")
		if _, err = render(t, parse(t, c.after), live); c.before != c.after {
			require.ErrorContains(t, err, "Wait until they have ended", c.after)
		}
	}
}

// TestProtectMajority upgrades a release with copies while pods are away: Kubernetes replaces pods from the last one on, without a look at the
// others.
func TestProtectMajority(t *testing.T) {
	const before, after = `{mode: cluster, config: {replicas: 3}}`, `{mode: cluster, config: {replicas: 3}, image: {tag: 9.9.9}}`
	for _, c := range []struct {
		name, after string
		ready       []bool
		refused     string
	}{
		{"all are ready", after, []bool{true, true, true}, ""},
		{"one is away", after, []bool{false, true, true}, "2 of 3 pods are ready, without graphs-hopgate-shard-0"},
		{"the middle one is away", after, []bool{true, false, true}, "without graphs-hopgate-shard-1"},
		{"the last one is away, and replaced first", after, []bool{true, true, false}, ""},
		{"there is no majority to lose", after, []bool{false, false, true}, ""},
		{"no pod changes", before, []bool{false, true, true}, ""},
		{"no pod changes but a service", `{mode: cluster, config: {replicas: 3}, service: {unready: true}}`, []bool{false, true, true}, ""},
		{"whatever happens", `{mode: cluster, config: {replicas: 3}, image: {tag: 9.9.9}, shard: {upgradeWhileAway: true}}`, []bool{false, true, true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := running(t, before)
			ready := int64(0)
			for i, up := range c.ready {
				status := map[bool]string{true: "True", false: "False"}[up]
				pod := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": namespace, "name": fmt.Sprintf("graphs-hopgate-shard-%d", i)},
					"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}},
				}}
				_, err := live.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
				require.NoError(t, err)
				if up {
					ready++
				}
			}
			live.set(t, "graphs-hopgate-shard", map[string]any{"replicas": int64(3), "readyReplicas": ready}, "status")
			_, err := render(t, parse(t, c.after), live)
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.refused)
			require.ErrorContains(t, err, "shard.upgradeWhileAway")
		})
	}
}

// TestSecretsStay upgrades a release with generated secrets: they are those of the installation.
func TestSecretsStay(t *testing.T) {
	const values = `{tls: {enabled: true}, auth: {enabled: true}}`
	live := running(t, values)
	first, err := render(t, parse(t, values), live)
	require.NoError(t, err)
	second, err := render(t, parse(t, values), live)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Len(t, secret.FindAllString(first, -1), 5)
}
