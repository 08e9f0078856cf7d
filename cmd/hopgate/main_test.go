package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bin is the directory of the two programs, built once.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hopgate-bin-")
	if err == nil {
		bin = dir
		var out []byte
		out, err = exec.CommandContext(context.Background(), "go", "build", "-o", dir+"/", "./../...").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "build:", err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience bounds the wait for an event that should occur immediately.
const patience = 2 * time.Minute

// environ is the environment of the programs, without Hopgate's settings of the caller.
func environ(more ...string) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HOPGATE_") && !strings.HasPrefix(e, "GRAPHCTL_") {
			env = append(env, e)
		}
	}
	return append(env, more...)
}

// outcome is how a program ended.
type outcome struct {
	code     int
	out, err string
}

func run(t *testing.T, env []string, program string, args ...string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
	cmd.Env = environ(env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%s %q", program, args)
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// server is a running hopgate.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   *bytes.Buffer
	ended chan error
	addrs struct{ HTTP, GRPC, Admin, Bolt string }
}

// start starts a server on free ports and waits until it is ready.
func start(t *testing.T, dataDir string, args ...string) *server {
	ready := filepath.Join(t.TempDir(), "ready.json")
	require.NoError(t, os.WriteFile(ready, []byte(`stale`), 0o600))
	s := &server{t: t, log: &bytes.Buffer{}, ended: make(chan error, 1)}
	s.cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "hopgate"), append([]string{
		"serve", "--data-dir", dataDir, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready,
		"--query-timeout", "5m", "--tx-idle-timeout", "5m", // a machine may stand still for some time
	}, args...)...)
	s.cmd.Env, s.cmd.Stderr = environ(), s.log
	require.NoError(t, s.cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.ended <- s.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		select {
		case <-s.ended:
		default:
		}
	})
	eventually(t, func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		data, err := os.ReadFile(ready)
		return err == nil && string(data) != "stale" && json.Unmarshal(data, &s.addrs) == nil
	}, 5*time.Millisecond)
	require.NotEmpty(t, s.addrs.HTTP, s.log) // it has not ended
	return s
}

// stop sends a signal and returns the exit code.
func (s *server) stop(signal syscall.Signal) int {
	require.NoError(s.t, s.cmd.Process.Signal(signal))
	select {
	case err := <-s.ended:
		s.ended <- err
	case <-time.After(patience):
		s.t.Fatalf("the server did not end\n%s", s.log)
	}
	return s.cmd.ProcessState.ExitCode()
}

// graphctl runs the client, which must succeed, and returns its output.
func (s *server) graphctl(args ...string) string {
	o := run(s.t, []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC}, "graphctl", args...)
	require.Zero(s.t, o.code, "%q: %s%s", args, o.out, o.err)
	return o.out
}

func (s *server) http(method, address, path, body string) (int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(data)
}

// metric reads one series, or -1.
func (s *server) metric(series string) float64 {
	_, text := s.http(http.MethodGet, s.addrs.Admin, "/metrics", "")
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			require.NoError(s.t, err)
			return f
		}
	}
	return -1
}

// network writes a network and returns its directory and size.
func network(t *testing.T, args ...string) (dir string, vertices, edges int) {
	dir = filepath.Join(t.TempDir(), "network")
	o := run(t, nil, "graphctl", append([]string{"generate", "social", "-d", dir}, args...)...)
	require.Zero(t, o.code, o.err)
	_, err := fmt.Sscanf(o.out, "wrote %d vertices and %d edges", &vertices, &edges)
	require.NoError(t, err, o.out)
	return dir, vertices, edges
}

// counts asks for the number of vertices and edges, by counters and by walking.
func (s *server) counts() [4]int {
	var n [4]int
	out := s.graphctl("stats")
	for i, what := range []string{"vertices", "edges"} {
		m := regexp.MustCompile(what + ` +(\d+)`).FindStringSubmatch(out)
		require.NotNil(s.t, m, out)
		n[i], _ = strconv.Atoi(m[1])
	}
	for i, statement := range []string{"MATCH (n) WITH n, 1 AS one RETURN sum(one)", "MATCH (a)-[r]->(b) WITH r, 1 AS one RETURN sum(one)"} {
		out := strings.Fields(s.graphctl("query", statement, "-o", "csv"))
		n[2+i], _ = strconv.Atoi(out[len(out)-1])
	}
	return n
}

// The whole road: serve, load, query, fetch, look inside, drain, open again.
func TestRoad(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	dir, vertices, edges := network(t, "--persons", "500", "--comment-bytes", "1KiB..3KiB")
	s := start(t, data)
	code, body := s.http(http.MethodGet, s.addrs.Admin, "/readyz", "")
	require.Equal(t, 200, code, body)
	report := filepath.Join(t.TempDir(), "report.json")
	s.graphctl("load", dir, "--report", report)
	require.FileExists(t, report)
	want := [4]int{vertices, edges, vertices, edges}
	require.Equal(t, want, s.counts())

	reached := s.graphctl("query", "MATCH (p:Person {id: $id})-[:KNOWS*1..2]->(q) RETURN count(DISTINCT q) AS reached", "-p", "id=42", "-o", "csv")
	require.Regexp(t, `^reached\n[1-9]\d*\n$`, reached)
	code, body = s.http(http.MethodPost, s.addrs.HTTP, "/v1/query", `{"statement": "MATCH (p:Person {id: 42}) RETURN p.id AS id"}`)
	require.Equal(t, 200, code, body)
	require.Contains(t, body, `"values":[[42]]`)
	code, body = s.http(http.MethodPost, s.addrs.HTTP, "/get", `{"Person": {"id": 42, "@column": "id"}}`)
	require.Equal(t, 200, code, body)
	require.Contains(t, body, `{"Person":{"id":42},"ok":true,"code":200`)
	require.Contains(t, s.graphctl("fetch", `{"Person": {"id": 42, "@column": "id"}}`), `{"Person":{"id":42}`)

	sun, flame, profile := filepath.Join(t.TempDir(), "sun.html"), filepath.Join(t.TempDir(), "flame.html"), filepath.Join(t.TempDir(), "heap.pb.gz")
	require.Contains(t, s.graphctl("profile", "MATCH (p:Person)-[:KNOWS]->(q) RETURN count(q)", "--sunburst", sun), "rows")
	s.graphctl("pprof", "heap", "--flame", flame, "-O", profile)
	// The server's continuous profiles: a requested CPU profile ends the first one.
	s.graphctl("pprof", "cpu", "--seconds", "1", "-O", filepath.Join(t.TempDir(), "cpu.pb.gz"))
	eventually(t, func() bool {
		kept := s.graphctl("pprof", "kept")
		return strings.Contains(kept, "cpu") && strings.Contains(kept, "heap")
	}, time.Minute, 10*time.Millisecond)
	s.graphctl("pprof", "cpu", "--from", "1h", "--flame", flame)
	s.graphctl("pprof", "heap", "--until", "0s", "--base", profile, "--flame", flame)
	require.Contains(t, s.graphctl("pprof", profile, "--base", profile), "+0.0%")
	code, list := s.http(http.MethodGet, s.addrs.Admin, "/debug/profiles", "")
	require.Equal(t, 200, code)
	require.Contains(t, list, `"kind": "heap"`)
	code, _ = s.http(http.MethodGet, s.addrs.Admin, "/debug/profiles/cpu?from=2020-01-02T15:04:05Z", "")
	require.Equal(t, 200, code)
	code, _ = s.http(http.MethodGet, s.addrs.Admin, "/debug/profiles/cpu?until=2020-01-02T15:04:05Z", "")
	require.Equal(t, 404, code)
	code, _ = s.http(http.MethodGet, s.addrs.Admin, "/debug/profiles/mutex", "")
	require.Equal(t, 400, code)
	for _, page := range []string{sun, flame} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.NotRegexp(t, `(src|href)=|https?://[^w]`, string(text), "%s must need nothing but itself", page)
	}
	require.Contains(t, s.graphctl("slowlog", "-n", "1"), " row, ")
	require.Contains(t, s.graphctl("ps"), "STATEMENT")
	require.Contains(t, s.graphctl("version"), "hopgate ")
	require.InDelta(t, vertices, s.metric("hopgate_load_vertices_total"), 0)
	require.Positive(t, s.metric(`hopgate_storage_disk_bytes{graph="default",shard="0",store="values"}`))
	code, _ = s.http(http.MethodGet, s.addrs.Admin, "/debug/pprof/goroutine?debug=1", "")
	require.Equal(t, 200, code)

	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
	require.Contains(t, s.log.String(), `open_to="this machine"`)
	require.Equal(t, 1, strings.Count(s.log.String(), "msg=ready"))
	s = start(t, data)
	require.Equal(t, want, s.counts())
	require.Zero(t, s.stop(syscall.SIGINT), s.log)
}

// A second process on the same directory fails immediately with the reason; the first is unaffected.
func TestSecondProcess(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, data)
	o := run(t, nil, "hopgate", "serve", "--data-dir", data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "the data directory "+data+" is in use by another process")
	code, _ := s.http(http.MethodGet, s.addrs.Admin, "/readyz", "")
	require.Equal(t, 200, code)
	require.Zero(t, s.stop(syscall.SIGTERM))
}

// Killed in the middle of a load, the server loses nothing that it acknowledged, and the load, run again, ends with exactly the
// contents of the files.
func TestKillDuringLoad(t *testing.T) {
	persons := "20000"
	if testing.Short() {
		persons = "4000"
	}
	dir, vertices, edges := network(t, "--persons", persons, "--comment-bytes", "1KiB..4KiB")
	data := filepath.Join(t.TempDir(), "data")
	for _, after := range []float64{1, 200, 50000} {
		s := start(t, data)
		loading := make(chan outcome, 1)
		go func() {
			loading <- run(t, []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC}, "graphctl", "load", dir, "--memory", "16MiB")
		}()
		var o outcome
		over := false
		for !over && s.metric("hopgate_load_vertices_total")+s.metric("hopgate_load_edges_total") < after {
			select {
			case o = <-loading:
				over = true
			case <-time.After(time.Millisecond):
			}
		}
		acked := int(s.metric("hopgate_load_vertices_total"))
		s.stop(syscall.SIGKILL)
		if !over {
			o = <-loading
		}
		t.Logf("killed after %v rows, %d vertices acknowledged; the load ended with %d: %s", after, acked, o.code, strings.TrimSpace(o.err))
		s = start(t, data)
		got := s.counts()
		require.GreaterOrEqual(t, got[0], acked)
		require.Equal(t, got[:2], got[2:], "counters and contents")
		require.Zero(t, s.stop(syscall.SIGTERM), s.log)
	}
	s := start(t, data)
	summary := s.graphctl("load", dir)
	require.Equal(t, [4]int{vertices, edges, vertices, edges}, s.counts())
	for noun, n := range map[string]int{"vertices": vertices, "edges": edges} {
		require.Regexp(t, fmt.Sprintf(`(?m)^%s( of the whole load)?: %d created 0 overwritten 0 unchanged$`, noun, n), strings.ReplaceAll(summary, ",", ""))
	}
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}

// A statement that runs too long does not keep the server from stopping cleanly.
func TestDrainTimeout(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"), "--drain-timeout", "200ms")
	failed := make(chan int, 1)
	go func() {
		code, _ := s.http(http.MethodPost, s.addrs.HTTP, "/v1/query",
			`{"statement": "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c UNWIND range(1, 1000) AS d RETURN count(*)"}`)
		failed <- code
	}()
	eventually(t, func() bool { return s.metric("hopgate_statements_running") == 1 }, 5*time.Millisecond)
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
	require.NotEqual(t, 200, <-failed)
}

// Exit codes: 0, 1 for a failure, 2 for a wrong command line or configuration, with one line that names the fault.
func TestUsage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("shrads: 1\n"), 0o600))
	for _, c := range []struct {
		code    int
		says    string
		program string
		args    []string
	}{
		{0, "", "hopgate", []string{"config"}},
		{0, "", "hopgate", []string{"version"}},
		{2, "unknown flag: --shrads", "hopgate", []string{"serve", "--shrads", "1"}},
		{2, "shrads: there is no such setting", "hopgate", []string{"config", "--config", file}},
		{2, "no such file", "hopgate", []string{"serve", "--config", file + "x"}},
		{2, "must be an address", "hopgate", []string{"serve", "--http", "nowhere"}},
		{2, `unknown command "serv"`, "hopgate", []string{"serv"}},
		{1, "data directory", "hopgate", []string{"serve", "--data-dir", file}},
		{2, "must be 1, 3, 5 or 7, is 2", "hopgate", []string{"serve", "--replicas", "2", "--join", "a:9190,b:9190"}},
		{2, "it names 2", "hopgate", []string{"serve", "--replicas", "3", "--join", "a:9190,b:9190"}},
		{2, "raise shards", "hopgate", []string{"serve", "--replicas", "3", "--join", "a:1,b:1,c:1,d:1"}},
		{2, "replicas: must be 1, 3, 5 or 7 with join", "hopgate", []string{"serve", "--join", "a:9190,b:9190"}},
		{2, "name the addresses of all processes", "hopgate", []string{"shard"}},
		{2, "name the addresses of all processes", "hopgate", []string{"gateway"}},
		{2, "it names 4 processes, and 1 shards with 3 replicas occupy only 3", "hopgate", []string{"shard", "--replicas", "3", "--shards", "1", "--join", "a:1,b:1,c:1,d:1"}},
		{2, "need join", "hopgate", []string{"serve", "--replicas", "3"}},
		{2, "3 of the addresses are this machine's", "hopgate", []string{"serve", "--replicas", "3", "--join", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"}},
		{2, "it names no address of this machine", "hopgate", []string{"serve", "--replicas", "3", "--join", "203.0.113.1:1,203.0.113.2:1,203.0.113.3:1"}},
		{0, "", "graphctl", []string{"completion", "bash"}},
		{0, "", "graphctl", []string{"version", "--address", "127.0.0.1:1"}},
		{1, "cannot be reached", "graphctl", []string{"query", "RETURN 1", "--address", "127.0.0.1:1"}},
		{2, `unknown command "quer"`, "graphctl", []string{"quer"}},
		{2, "must be table, json, ndjson, csv, arrow or parquet", "graphctl", []string{"query", "RETURN 1", "-o", "xml"}},
		{2, "-p x", "graphctl", []string{"query", "RETURN 1", "-p", "x"}},
		{2, "must be cpu", "graphctl", []string{"pprof", "brain"}},
		{2, "give either a request or -f FILE", "graphctl", []string{"fetch"}},
		{2, `"persons" not set`, "graphctl", []string{"generate", "social"}},
		{2, "--timeout -1s", "graphctl", []string{"query", "RETURN 1", "--timeout", "-1s"}},
	} {
		o := run(t, nil, c.program, c.args...)
		require.Equal(t, c.code, o.code, "%s %q: %s", c.program, c.args, o.err)
		if c.code != 0 {
			require.Contains(t, o.err, c.says)
			require.Equal(t, 1, strings.Count(o.err, "\n"), "one line: %q", o.err)
		}
	}
}

// Output and errors of graphctl against a server.
func TestGraphctl(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "data"), "--test-procedures")
	s.graphctl("query", "CREATE (:A {k: 1, s: 'x\"y'})")
	env := []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC}
	for form, want := range map[string]string{
		"table":  "k  s\n-  ---\n1  x\"y\n(1 row)\n",
		"json":   "[{\"k\":1,\"s\":\"x\\\"y\"}]\n",
		"ndjson": "{\"k\":1,\"s\":\"x\\\"y\"}\n",
		"csv":    "k,s\n1,\"x\"\"y\"\n",
	} {
		require.Equal(t, want, s.graphctl("query", "MATCH (a:A) RETURN a.k AS k, a.s AS s", "-o", form), form)
	}
	require.Equal(t, "p,q,r\nbare,2.5,\"[1,null]\"\n", s.graphctl("query", "RETURN $p AS p, $q AS q, $r AS r", "-o", "csv", "-p", "p=bare", "-p", "q=2.5", "-p", "r=[1,null]"))
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{1, "Neo.ClientError.Statement.SyntaxError: ", []string{"query", "RETURN"}},
		{1, "(line 1, column 8)", []string{"query", "RETURN x"}},
		{1, "WRITE", []string{"query", "--read", "CREATE ()"}},
		{1, "DatabaseNotFound", []string{"query", "RETURN 1", "--graph", "nowhere"}},
		{1, "no answer within 50ms", []string{"query", "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c RETURN count(*)", "--timeout", "50ms"}},
		{1, "query 99 is not running", []string{"kill", "99"}},
		{1, "code 404", []string{"fetch", `{"Nobody": {}}`}},
	} {
		o := run(t, env, "graphctl", c.args...)
		require.Equal(t, c.code, o.code, "%q: %s", c.args, o.err)
		require.Contains(t, strings.ReplaceAll(o.err, "access mode is READ", "WRITE"), c.says)
		require.Equal(t, 1, strings.Count(o.err, "\n"), "one line: %q", o.err)
	}
	require.Zero(t, s.stop(syscall.SIGTERM))
}
