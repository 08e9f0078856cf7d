package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// manifest is what runs and serves pods of an object that the chart renders.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Replicas    int
		ServiceName string
		Selector    map[string]any
		Ports       []struct {
			Port       int
			TargetPort string
		}
		Template    podTemplate
		JobTemplate struct {
			Spec struct{ Template podTemplate }
		}
	}
}

type podTemplate struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct {
		Containers []container
		Volumes    []struct {
			Name      string
			ConfigMap struct{ Name string }
			Secret    struct {
				SecretName string
				Items      []struct{ Key, Path string }
			}
			PersistentVolumeClaim struct{ ClaimName string }
		}
	}
}

type container struct {
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			ResourceFieldRef struct{ Resource string }
			FieldRef         struct{ FieldPath string }
			SecretKeyRef     struct{ Name, Key string }
		}
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe struct{ HTTPGet struct{ Path, Port string } }
	Resources                                   struct{ Limits map[string]string }
	VolumeMounts                                []struct{ Name, MountPath string }
}

// golden reads a render of the chart that is checked in.
func golden(t *testing.T, name string) (all []manifest) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "../golden", name+".yaml"))
	require.NoError(t, err)
	for d := yaml.NewDecoder(strings.NewReader(string(text))); ; {
		var o any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		data, err := json.Marshal(o) // whose names of fields may be written in either case
		require.NoError(t, err)
		var m manifest
		require.NoError(t, json.Unmarshal(data, &m))
		all = append(all, m)
	}
}

// node runs the containers of the chart as processes, with the environment and files that Kubernetes would provide, in directories
// of their own, and with addresses of this machine.
type node struct {
	t         *testing.T
	objects   []manifest
	files     map[string]map[string]string // of ConfigMaps, Secrets and claims, by their names
	addresses []string                     // pairs of an address within the cluster and one of this machine
}

// pod is a pod of the server.
type pod struct {
	of        *manifest
	name      string
	labels    map[string]string
	addresses []string // pairs of its own
	ports     map[string]string
	*process
}

// pods lays out the pods of the server, shards first, and the names under which they are reached.
func (n *node) pods() (all []*pod) {
	for _, kind := range []string{"StatefulSet", "Deployment"} {
		for i := range n.objects {
			o := &n.objects[i]
			if o.Kind != kind || len(o.Spec.Template.Spec.Containers[0].Ports) == 0 { // a client, such as what ships logs
				continue
			}
			for ordinal := range max(1, o.Spec.Replicas) {
				p := &pod{of: o, labels: maps.Clone(o.Spec.Template.Metadata.Labels), ports: map[string]string{}}
				p.name = fmt.Sprintf("%s-%d", o.Metadata.Name, ordinal)
				for _, port := range o.Spec.Template.Spec.Containers[0].Ports {
					at := freeAddress(n.t)
					p.ports[port.Name] = at
					p.addresses = append(p.addresses, fmt.Sprintf("0.0.0.0:%d", port.ContainerPort), at)
					if kind == "StatefulSet" {
						n.addresses = append(n.addresses, fmt.Sprintf("%s-%d.%s.%s.svc.cluster.local:%d",
							o.Metadata.Name, ordinal, o.Spec.ServiceName, o.Metadata.Namespace, port.ContainerPort), at)
					}
				}
				all = append(all, p)
			}
		}
	}
	for _, o := range n.objects {
		if o.Kind != "Service" {
			continue
		}
		at := slices.IndexFunc(all, func(p *pod) bool {
			for k, v := range o.Spec.Selector {
				if p.labels[k] != v {
					return false
				}
			}
			return true
		})
		require.GreaterOrEqual(n.t, at, 0, o.Metadata.Name)
		for _, port := range o.Spec.Ports {
			name := fmt.Sprintf("%s.%s.svc.cluster.local:%d", o.Metadata.Name, o.Metadata.Namespace, port.Port)
			n.addresses = append(n.addresses, name, all[at].ports[port.TargetPort])
		}
	}
	return all
}

// lay returns the arguments and the environment of the first container of a pod, whose volumes are laid out below a new directory.
func (n *node) lay(template podTemplate, pod string, addresses []string) (args, env []string) {
	root := n.t.TempDir()
	c := template.Spec.Containers[0]
	pairs := append(slices.Clone(addresses), n.addresses...)
	for _, m := range c.VolumeMounts {
		dir := filepath.Join(root, m.Name)
		pairs = append(pairs, m.MountPath+"/", dir+"/", m.MountPath+"\x00", dir+"\x00")
	}
	replacer := strings.NewReplacer(pairs...)
	local := func(s string) string { return strings.TrimSuffix(replacer.Replace(s+"\x00"), "\x00") }
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		require.NoError(n.t, os.MkdirAll(filepath.Join(root, m.Name), 0o700))
		mounted[m.Name] = true
	}
	for _, v := range template.Spec.Volumes {
		if !mounted[v.Name] {
			continue
		}
		content := n.files[v.ConfigMap.Name+v.Secret.SecretName+v.PersistentVolumeClaim.ClaimName]
		if len(v.Secret.Items) > 0 {
			content = map[string]string{}
			for _, item := range v.Secret.Items {
				content[item.Path] = n.files[v.Secret.SecretName][item.Key]
			}
		}
		if v.ConfigMap.Name+v.Secret.SecretName != "" {
			require.NotEmpty(n.t, content, "no volume is defined for %+v", v)
		}
		for name, text := range content {
			require.NoError(n.t, os.WriteFile(filepath.Join(root, v.Name, name), []byte(local(text)), 0o600))
		}
	}
	var expand []string // $(NAME) of the variables before
	for _, e := range c.Env {
		value := local(strings.NewReplacer(expand...).Replace(e.Value))
		switch from := e.ValueFrom; {
		case from.ResourceFieldRef.Resource != "":
			value = quantity(n.t, c.Resources.Limits[strings.TrimPrefix(from.ResourceFieldRef.Resource, "limits.")])
		case from.FieldRef.FieldPath != "":
			require.Equal(n.t, "metadata.name", from.FieldRef.FieldPath)
			value = pod
		case from.SecretKeyRef.Key != "":
			value = n.files[from.SecretKeyRef.Name][from.SecretKeyRef.Key]
			require.NotEmpty(n.t, value, e.Name)
		}
		expand = append(expand, "$("+e.Name+")", value)
		env = append(env, e.Name+"="+value)
	}
	for _, a := range c.Args {
		args = append(args, local(a))
	}
	return args, append(env, "TMPDIR="+filepath.Join(root, "tmp"))
}

// quantity is a quantity as a pod gets it: rounded up to a whole number.
func quantity(t *testing.T, text string) string {
	t.Helper()
	digits := strings.TrimRight(text, "KMGTim")
	unit, ok := map[string]float64{"": 1, "m": 1e-3, "Mi": 1 << 20, "Gi": 1 << 30}[text[len(digits):]]
	require.True(t, ok, text)
	f, err := strconv.ParseFloat(digits, 64)
	require.NoError(t, err)
	return strconv.FormatFloat(math.Ceil(f*unit), 'f', -1, 64)
}

// job runs the first container of the Job or CronJob whose name begins with a prefix, which must succeed, and returns its output.
func (n *node) job(prefix string) string {
	n.t.Helper()
	at := slices.IndexFunc(n.objects, func(o manifest) bool {
		return strings.HasSuffix(o.Kind, "Job") && strings.HasPrefix(o.Metadata.Name, prefix)
	})
	require.GreaterOrEqual(n.t, at, 0, prefix)
	template := n.objects[at].Spec.Template
	if n.objects[at].Kind == "CronJob" {
		template = n.objects[at].Spec.JobTemplate.Spec.Template
	}
	args, env := n.lay(template, "", nil)
	o := run(n.t, env, filepath.Base(template.Spec.Containers[0].Command[0]), args...)
	require.Zero(n.t, o.code, "%q: %s%s", args, o.out, o.err)
	return o.out
}

// The programs take the command lines, environments and files of every pod that the chart renders: servers start, answer their probes, run
// the load, the test and the backup of the chart, and end well.
func TestChartPods(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.sign(t, "hopgate", "127.0.0.1")
	secret := map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": ca.pem}
	tokens := map[string]string{
		"token":       "secret",
		"tokens.yaml": fmt.Sprintf("tokens: [{name: admin, sha256: %x, role: admin}]", sha256.Sum256([]byte("secret"))),
	}
	dir, persons, _ := network(t, "--persons", "50")
	people := map[string]string{"person.csv": "id,name\n1,Ann\n2,Bob\n"}
	social := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		social[e.Name()] = string(text)
	}
	for _, c := range []struct {
		name    string
		pods    int
		load    map[string]string
		rows    int
		backups bool
	}{
		{"default", 1, nil, 0, false},
		{"ephemeral", 1, nil, 0, false},
		{"standalone-full", 1, social, persons, true},
		{"cluster", 4, nil, 0, false},
		{"everything", 5, people, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &node{t: t, objects: golden(t, c.name), files: map[string]map[string]string{
				"graphs-hopgate-tls": secret, "graphs-hopgate-tokens": tokens, "tokens": tokens, "files": c.load,
			}}
			for _, o := range n.objects {
				if o.Kind == "ConfigMap" {
					n.files[o.Metadata.Name] = o.Data
				}
			}
			all := n.pods()
			require.Len(t, all, c.pods)
			for _, p := range all {
				p.process = &process{t: t}
				p.args, p.env = n.lay(p.of.Spec.Template, p.name, p.addresses)
				p.start()
			}
			for _, p := range all {
				server := p.of.Spec.Template.Spec.Containers[0]
				for _, probe := range []struct{ Path, Port string }{server.StartupProbe.HTTPGet, server.LivenessProbe.HTTPGet, server.ReadinessProbe.HTTPGet} {
					eventually(t, func() bool {
						res, err := (&http.Client{Timeout: patience}).Get("http://" + p.ports[probe.Port] + probe.Path)
						return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
					}, 20*time.Millisecond, "%s %s", p.of.Metadata.Name, probe.Path)
				}
			}
			if c.load != nil {
				n.job("graphs-hopgate-load-")
			}
			require.Regexp(t, fmt.Sprintf(`\b%d\b`, c.rows), n.job("graphs-hopgate-test-query"))
			if c.backups {
				n.job("graphs-hopgate-backup")
			}
			for _, p := range slices.Backward(all) {
				p.kill(syscall.SIGTERM)
				require.Zero(t, p.cmd.ProcessState.ExitCode(), p.of.Metadata.Name)
			}
		})
	}
}
