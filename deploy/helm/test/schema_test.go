package charttest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The modules whose files hold the schemas. Only their files are read; nothing of them is compiled.
const (
	kubernetes  = "k8s.io/kubernetes@v1.36.0"
	gatewayAPI  = "sigs.k8s.io/gateway-api@v1.6.0"
	certManager = "github.com/cert-manager/cert-manager@v1.21.2"
	prometheus  = "github.com/prometheus-operator/prometheus-operator@v0.90.1"
)

// builtIn are the files of the OpenAPI description of Kubernetes that describe what the chart may make.
var builtIn = []string{
	"api__v1", "apis__apps__v1", "apis__autoscaling__v2", "apis__batch__v1", "apis__networking.k8s.io__v1", "apis__policy__v1",
}

// custom are definitions of custom resources, by module.
var custom = map[string][]string{
	gatewayAPI:  {"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml", "config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml"},
	certManager: {"deploy/crds/cert-manager.io_certificates.yaml"},
	prometheus: {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
}

// moduleDir returns the directory of a module in the module cache, to which it is downloaded if it is not there.
func moduleDir(module string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &info); jerr != nil {
		return "", fmt.Errorf("%s: %w: %s", module, err, out)
	}
	if info.Error != "" {
		return "", fmt.Errorf("%s: %s", module, info.Error)
	}
	return info.Dir, nil
}

// schemas are compiled schemas by apiVersion and kind.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // OpenAPI 3.0 is a dialect of it
	at := map[string]string{}
	dir, err := moduleDir(kubernetes)
	if err != nil {
		return nil, err
	}
	for _, name := range builtIn {
		data, err := os.ReadFile(filepath.Join(dir, "api/openapi-spec/v3", name+"_openapi.json"))
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			return nil, err
		}
		defined := doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
		for id, s := range defined {
			closeObjects(s)
			for _, gvk := range list(s.(map[string]any)["x-kubernetes-group-version-kind"]) {
				g := gvk.(map[string]any)
				version := strings.TrimPrefix(fmt.Sprintf("%s/%s", g["group"], g["version"]), "/")
				at[fmt.Sprintf("%s %s", version, g["kind"])] = "kubernetes:" + name + "#/components/schemas/" + id
			}
		}
		if err := c.AddResource("kubernetes:"+name, doc); err != nil {
			return nil, err
		}
	}
	for module, files := range custom {
		if err := addCustom(c, at, module, files); err != nil {
			return nil, err
		}
	}
	compiled := map[string]*jsonschema.Schema{}
	for gvk, location := range at {
		s, err := c.Compile(location)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", gvk, err)
		}
		compiled[gvk] = s
	}
	return compiled, nil
})

// addCustom adds the schemas of the definitions of custom resources in a module's files.
func addCustom(c *jsonschema.Compiler, at map[string]string, module string, files []string) error {
	dir, err := moduleDir(module)
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return err
		}
		for _, v := range crd.Spec.Versions {
			closeObjects(v.Schema.OpenAPIV3Schema)
			location := fmt.Sprintf("custom:%s.%s.%s", crd.Spec.Group, v.Name, crd.Spec.Names.Kind)
			if err := c.AddResource(location, any(v.Schema.OpenAPIV3Schema)); err != nil {
				return err
			}
			at[fmt.Sprintf("%s/%s %s", crd.Spec.Group, v.Name, crd.Spec.Names.Kind)] = location
		}
	}
	return nil
}

func list(v any) []any { l, _ := v.([]any); return l }

// closeObjects makes schemas refuse the properties that they do not name: an API server drops them without a word.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, named := v["properties"].(map[string]any)
		_, more := v["additionalProperties"]
		if named && !more && v["type"] == "object" && v["x-kubernetes-preserve-unknown-fields"] != true {
			v["additionalProperties"] = false
		}
		for _, child := range v {
			closeObjects(child)
		}
	case []any:
		for _, child := range v {
			closeObjects(child)
		}
	}
}

// TestSchemas holds every object of every case against the schema of its kind.
func TestSchemas(t *testing.T) {
	known, err := schemas()
	require.NoError(t, err)
	seen := map[string]bool{}
	each(t, func(t *testing.T, _ map[string]any, all []object) {
		for _, o := range all {
			gvk := fmt.Sprintf("%s %s", o["apiVersion"], o.kind())
			require.Contains(t, known, gvk)
			seen[gvk] = true
			data, err := json.Marshal(o)
			require.NoError(t, err)
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
			require.NoError(t, err)
			require.NoError(t, known[gvk].Validate(v), "%s %s", gvk, o.name())
		}
	})
	for _, kind := range []string{
		"apps/v1 Deployment", "apps/v1 StatefulSet", "autoscaling/v2 HorizontalPodAutoscaler", "batch/v1 CronJob", "batch/v1 Job",
		"cert-manager.io/v1 Certificate", "gateway.networking.k8s.io/v1 GRPCRoute", "gateway.networking.k8s.io/v1 HTTPRoute",
		"monitoring.coreos.com/v1 PrometheusRule", "monitoring.coreos.com/v1 ServiceMonitor", "networking.k8s.io/v1 Ingress",
		"networking.k8s.io/v1 NetworkPolicy", "policy/v1 PodDisruptionBudget", "v1 ConfigMap", "v1 Secret", "v1 Service", "v1 ServiceAccount",
	} {
		require.True(t, seen[kind], "no case makes a %s", kind)
	}
}

// TestSchemasRefuse shows that the schemas are strict: a field that is misspelt, of the wrong type or missing is found.
func TestSchemasRefuse(t *testing.T) {
	known, err := schemas()
	require.NoError(t, err)
	for gvk, text := range map[string]string{
		"v1 Service":                              `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {portz: []}}`,
		"policy/v1 PodDisruptionBudget":           `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: true}}`,
		"apps/v1 StatefulSet":                     `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: "1"}}`,
		"apps/v1 Deployment":                      `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {}, template: {spec: {containers: [{image: a}]}}}}`,
		"monitoring.coreos.com/v1 ServiceMonitor": `{apiVersion: v1, kind: ServiceMonitor, spec: {selector: {}, endpoints: [{prt: a}]}}`,
	} {
		data, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		require.NoError(t, err)
		require.Error(t, known[gvk].Validate(v), gvk)
	}
}
