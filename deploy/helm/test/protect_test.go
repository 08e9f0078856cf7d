package charttest

import (
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
	plural := map[string]string{"StatefulSet": "statefulsets", "Secret": "secrets"}[kind]
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
		{"more shards", `{mode: cluster}`, `{mode: cluster, shard: {replicas: 5}}`, "", ""},
		{"other size", `{}`, `{standalone: {persistence: {size: 20Gi}}}`, "standalone.persistence.size: was 10Gi", "kubectl -n apps patch pvc data-graphs-hopgate-N"},
		{"other size of shards", `{mode: cluster}`, `{mode: cluster, shard: {persistence: {size: 0.5Ti}}}`, "shard.persistence.size: was 20Gi", "--cascade=orphan"},
		{"other class", `{}`, `{standalone: {persistence: {storageClass: fast}}}`, "storageClass", "restore"},
		{"other access", `{}`, `{standalone: {persistence: {accessModes: [ReadWriteOncePod]}}}`, "accessModes", "--cascade=orphan"},
		{"no volume", `{}`, `{standalone: {persistence: {enabled: false}}}`, "standalone.persistence.enabled: was true", "restore"},
		{"a volume", `{mode: cluster, shard: {persistence: {enabled: false}}}`, `{mode: cluster}`, "shard.persistence.enabled: was false", "restore"},
		{"replicas", `{mode: cluster}`, `{mode: cluster, config: {replication: 3}}`, "config.replication: was 0", "kubectl -n apps scale statefulset graphs-hopgate-shard --replicas=0"},
		{"no replicas", `{mode: cluster, config: {replication: 3}}`, `{mode: cluster}`, "config.replication: was 3", "graphctl export"},
		{"the same replicas", `{mode: cluster, config: {replication: 3}}`, `{mode: cluster, config: {replication: 3}}`, "", ""},
		{"more pods with replicas", `{mode: cluster, config: {replication: 3}}`, `{mode: cluster, config: {replication: 3}, shard: {replicas: 5}}`, "shard.replicas: was 3", "second release"},
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

// TestProtectReplicas upgrades a release whose pods have been stopped: they may start with replicas.
func TestProtectReplicas(t *testing.T) {
	live := running(t, `{mode: cluster}`)
	sets := live.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}).Namespace("apps")
	set, err := sets.Get(t.Context(), "graphs-hopgate-shard", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(set.Object, int64(0), "spec", "replicas"))
	_, err = sets.Update(t.Context(), set, metav1.UpdateOptions{})
	require.NoError(t, err)
	out, err := render(t, parse(t, `{mode: cluster, config: {replication: 3}}`), live)
	require.NoError(t, err)
	require.Contains(t, out, `hopgate/replication: "3"`)
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
