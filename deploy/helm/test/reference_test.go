package charttest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestNames checks that names are unique and fit, and that every object says whose it is.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, _ map[string]any, all []object) {
		seen := map[string]bool{}
		for _, o := range all {
			key := o.kind() + " " + o.name()
			require.False(t, seen[key], key)
			seen[key] = true
			require.Empty(t, validation.IsDNS1123Label(o.name()), key)
			require.LessOrEqual(t, len(o.name()), 63-len("-5f6d8c7b9d"), "%s: pods carry it with a hash as a label", key)
			require.Equal(t, namespace, o.metadata()["namespace"], key)
			labels := o.metadata()["labels"].(map[string]any)
			for _, label := range []string{"name", "instance", "component", "version", "managed-by", "part-of"} {
				value, _ := labels["app.kubernetes.io/"+label].(string)
				require.NotEmpty(t, value, key)
				require.Empty(t, validation.IsValidLabelValue(value), key)
			}
		}
	})
}

// TestSelectors checks that whatever selects pods selects the pods that it means, with the ports that it names.
func TestSelectors(t *testing.T) {
	each(t, func(t *testing.T, _ map[string]any, all []object) {
		pods := workloads(t, all)
		one := func(o object, selector map[string]string) workload {
			t.Helper()
			found := selected(pods, selector)
			require.Len(t, found, 1, "%s %s", o.kind(), o.name())
			require.True(t, found[0].server)
			return found[0]
		}
		disrupted := map[string]bool{}
		for _, o := range all {
			switch o.kind() {
			case "Service":
				s := decode[corev1.Service](t, o)
				ports := portNames(one(o, s.Spec.Selector))
				for _, p := range s.Spec.Ports {
					require.Contains(t, ports, p.TargetPort.StrVal, o.name())
				}
			case "PodDisruptionBudget":
				w := one(o, decode[policyv1.PodDisruptionBudget](t, o).Spec.Selector.MatchLabels)
				require.False(t, disrupted[w.name()], "an eviction fails if two budgets hold")
				disrupted[w.name()] = true
			case "NetworkPolicy":
				n := decode[networkingv1.NetworkPolicy](t, o)
				ports := portNames(one(o, n.Spec.PodSelector.MatchLabels))
				for _, rule := range n.Spec.Ingress {
					for _, p := range rule.Ports {
						if p.Port.StrVal != "" {
							require.Contains(t, ports, p.Port.StrVal)
						}
					}
				}
			case "HorizontalPodAutoscaler":
				h := decode[autoscalingv2.HorizontalPodAutoscaler](t, o)
				require.Equal(t, "Deployment", h.Spec.ScaleTargetRef.Kind)
				require.True(t, slices.ContainsFunc(pods, func(w workload) bool { return w.name() == h.Spec.ScaleTargetRef.Name && w.kind() == "Deployment" }))
			}
		}
	})
}

func portNames(w workload) []string {
	var names []string
	for _, p := range w.pod.Spec.Containers[0].Ports {
		names = append(names, p.Name)
	}
	return names
}

// TestReferences checks that what pods and routes name is made by the chart or was named in the values.
func TestReferences(t *testing.T) {
	given := []string{"mine", "tokens", "default", "files", "settings"}
	each(t, func(t *testing.T, _ map[string]any, all []object) {
		made := map[string][]string{}
		for _, o := range all {
			made[o.kind()] = append(made[o.kind()], o.name())
			if o.kind() == "Certificate" {
				made["Secret"] = append(made["Secret"], o["spec"].(map[string]any)["secretName"].(string))
			}
		}
		there := func(kind, name string) {
			t.Helper()
			require.Contains(t, slices.Concat(made[kind], given), name, kind)
		}
		for _, w := range workloads(t, all) {
			there("ServiceAccount", w.pod.Spec.ServiceAccountName)
			for _, v := range w.pod.Spec.Volumes {
				if v.ConfigMap != nil {
					there("ConfigMap", v.ConfigMap.Name)
				}
				if v.Secret != nil {
					there("Secret", v.Secret.SecretName)
				}
			}
			for _, c := range w.pod.Spec.Containers {
				for _, e := range c.Env {
					if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
						there("Secret", e.ValueFrom.SecretKeyRef.Name)
					}
					if e.Name == "GRAPHCTL_ADDRESS" {
						service, _, _ := strings.Cut(e.Value, ".")
						there("Service", service)
					}
				}
			}
		}
		for _, o := range all {
			switch o.kind() {
			case "Ingress":
				for _, r := range decode[networkingv1.Ingress](t, o).Spec.Rules {
					for _, p := range r.HTTP.Paths {
						there("Service", p.Backend.Service.Name)
					}
				}
			case "HTTPRoute", "GRPCRoute":
				for _, r := range o["spec"].(map[string]any)["rules"].([]any) {
					for _, b := range r.(map[string]any)["backendRefs"].([]any) {
						there("Service", b.(map[string]any)["name"].(string))
					}
				}
			}
		}
	})
}

// TestScraped checks that the ServiceMonitor finds every process of the server once, and that the NetworkPolicies let it.
func TestScraped(t *testing.T) {
	each(t, func(t *testing.T, values map[string]any, all []object) {
		if !slices.ContainsFunc(all, func(o object) bool { return o.kind() == "ServiceMonitor" }) {
			return
		}
		pods, scraped := workloads(t, all), map[string]int{}
		for _, o := range all {
			if o.kind() != "Service" {
				continue
			}
			s := decode[corev1.Service](t, o)
			for _, p := range s.Spec.Ports {
				if p.Name == "admin" {
					for _, w := range selected(pods, s.Spec.Selector) {
						scraped[w.name()]++
					}
				}
			}
		}
		for _, w := range pods {
			if w.server {
				require.Equal(t, 1, scraped[w.name()], w.name())
				delete(scraped, w.name())
			}
		}
		require.Empty(t, slices.Collect(maps.Keys(scraped)))
	})
}
