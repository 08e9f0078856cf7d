package charttest

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// workload is a pod template and what runs it.
type workload struct {
	object
	pod    corev1.PodTemplateSpec
	claims []string
	server bool // a process of the server, which serves for as long as it can
}

func workloads(t *testing.T, all []object) []workload {
	t.Helper()
	var found []workload
	for _, o := range all {
		switch o.kind() {
		case "Deployment":
			d := decode[appsv1.Deployment](t, o)
			require.Equal(t, d.Spec.Selector.MatchLabels, subset(d.Spec.Template.Labels, d.Spec.Selector.MatchLabels))
			found = append(found, workload{object: o, pod: d.Spec.Template, server: d.Spec.Template.Spec.Containers[0].Name == "hopgate"})
		case "StatefulSet":
			s := decode[appsv1.StatefulSet](t, o)
			require.Equal(t, s.Spec.Selector.MatchLabels, subset(s.Spec.Template.Labels, s.Spec.Selector.MatchLabels))
			w := workload{object: o, pod: s.Spec.Template, server: true}
			for _, c := range s.Spec.VolumeClaimTemplates {
				w.claims = append(w.claims, c.Name)
			}
			found = append(found, w)
		case "Job":
			found = append(found, workload{object: o, pod: decode[batchv1.Job](t, o).Spec.Template})
		case "CronJob":
			found = append(found, workload{object: o, pod: decode[batchv1.CronJob](t, o).Spec.JobTemplate.Spec.Template})
		}
	}
	return found
}

// subset is what labels says of the keys of selector.
func subset(labels, selector map[string]string) map[string]string {
	s := map[string]string{}
	for k := range selector {
		if v, ok := labels[k]; ok {
			s[k] = v
		}
	}
	return s
}

func selected(all []workload, selector map[string]string) []workload {
	var found []workload
	for _, w := range all {
		if maps.Equal(subset(w.pod.Labels, selector), selector) {
			found = append(found, w)
		}
	}
	return found
}

// TestPodSecurity holds every pod against the restricted Pod Security Standard, as the admission of a namespace does.
func TestPodSecurity(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	each(t, func(t *testing.T, _ map[string]any, all []object) {
		for _, w := range workloads(t, all) {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &w.pod.ObjectMeta, &w.pod.Spec))
			require.True(t, result.Allowed, "%s: %s", w.name(), result.ForbiddenDetail())
		}
	})
}

// pinned is an image with a tag or a digest.
var pinned = regexp.MustCompile(`(:[^/:@]+|@sha256:[0-9a-f]{64})$`)

// TestPods checks what pods of the chart promise beside their security.
func TestPods(t *testing.T) {
	each(t, func(t *testing.T, _ map[string]any, all []object) {
		for _, w := range workloads(t, all) {
			spec := &w.pod.Spec
			require.NotNil(t, spec.AutomountServiceAccountToken)
			require.False(t, *spec.AutomountServiceAccountToken, w.name())
			volumes := slices.Clone(w.claims)
			for _, v := range spec.Volumes {
				volumes = append(volumes, v.Name)
			}
			for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
				require.Regexp(t, pinned, c.Image)
				require.NotContains(t, c.Image, ":latest")
				for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
					require.Contains(t, c.Resources.Requests, r, "%s/%s", w.name(), c.Name)
					require.Contains(t, c.Resources.Limits, r, "%s/%s", w.name(), c.Name)
				}
				require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, "%s/%s", w.name(), c.Name)
				for _, m := range c.VolumeMounts {
					require.Contains(t, volumes, m.Name, "%s/%s", w.name(), c.Name)
				}
			}
			if w.server {
				checkServer(t, w)
			}
		}
	})
}

// checkServer checks a process of the server: its probes, its end and its limits.
func checkServer(t *testing.T, w workload) {
	t.Helper()
	c := w.pod.Spec.Containers[0]
	require.Equal(t, "hopgate", c.Name)
	if slices.Equal(c.Args, []string{"idle"}) {
		require.Nil(t, c.ReadinessProbe, "a pod without the server has nothing to ask")
		return
	}
	for path, probe := range map[string]*corev1.Probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		require.Equal(t, path, probe.HTTPGet.Path)
		require.Equal(t, intstr.FromString("admin"), probe.HTTPGet.Port)
	}
	require.Equal(t, "/livez", c.StartupProbe.HTTPGet.Path, "a process that waits for others is not to be killed")
	require.GreaterOrEqual(t, c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds, int32(600))

	grace := map[string]int64{"StatefulSet": 300, "Deployment": 60}[w.kind()]
	require.Equal(t, grace, *w.pod.Spec.TerminationGracePeriodSeconds)
	require.Positive(t, c.Lifecycle.PreStop.Sleep.Seconds)

	limits := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil {
			limits[e.Name] = e.ValueFrom.ResourceFieldRef.Resource
		}
	}
	require.Equal(t, map[string]string{"GOMEMLIMIT": "limits.memory", "GOMAXPROCS": "limits.cpu"}, limits)
	require.False(t, *w.pod.Spec.EnableServiceLinks, "service links look like settings of the server")

	if a := w.pod.Spec.Affinity; w.kind() == "Deployment" && a != nil && a.PodAntiAffinity != nil {
		for _, term := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			require.Equal(t, []string{"pod-template-hash"}, term.MatchLabelKeys, "a new pod starts before the old one goes, and must fit beside it")
		}
	}
}

// TestStatefulSets checks what cannot be changed once a release has been installed.
func TestStatefulSets(t *testing.T) {
	each(t, func(t *testing.T, values map[string]any, all []object) {
		n := 0
		for _, o := range all {
			if o.kind() != "StatefulSet" {
				continue
			}
			n++
			s := decode[appsv1.StatefulSet](t, o)
			require.Equal(t, appsv1.ParallelPodManagement, s.Spec.PodManagementPolicy)
			require.Equal(t, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, s.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted)
			require.Equal(t, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled)
			keys := slices.Sorted(maps.Keys(s.Spec.Selector.MatchLabels))
			require.Equal(t, []string{"app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/name"}, keys)
			for _, c := range s.Spec.VolumeClaimTemplates {
				require.Equal(t, "data", c.Name)
				require.NotContains(t, c.Labels, "helm.sh/chart", "a claim template must be the same in every version")
				require.NotContains(t, c.Labels, "team")
			}
			service := find[corev1.Service](t, all, "Service", s.Spec.ServiceName)
			require.Equal(t, "None", service.Spec.ClusterIP)
		}
		require.Equal(t, 1, n)
	})
}

// find returns an object by kind and name.
func find[T any](t *testing.T, all []object, kind, name string) *T {
	t.Helper()
	for _, o := range all {
		if o.kind() == kind && o.name() == name {
			return decode[T](t, o)
		}
	}
	require.Fail(t, "there is no "+kind+" "+name)
	return nil
}
