package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// updates is a load that depends on every row: it sums, appends and unites, for vertices and edges, from CSV, JSON lines and
// Parquet. An unused column leads to many batches. Some rows are refused, and d.csv has vertices of which the first row counts.
const updates = `
version: 1
defaults: {delimiter: ","}
inputs:
  - {path: a.csv.gz, vertices: &v [{label: P, id: id, properties: {id: {type: int}, visits: {type: int}, log: {type: "string[]"}, tags: {type: "string[]"}}}], update: &u {strategies: {visits: SUM, log: APPEND, tags: UNION}}}
  - {path: b.jsonl.zst, vertices: *v, update: *u}
  - {path: c.parquet, vertices: *v, update: *u}
  - {path: d.csv, vertices: [{label: Q, id: id, onDuplicate: keep-first, properties: {id: {type: int}, log: {type: "string[]"}}}]}
  - {path: d.csv, vertices: *v, update: *u}
  - path: e.csv.zst
    edges: [{type: K, from: {column: a, idSpace: P}, to: {column: b, idSpace: P}, properties: {w: {type: int}}}]
    update: {strategies: {w: SUM}}
`

// updateRow is a row of c.parquet.
type updateRow struct {
	ID     int64    `parquet:"id"`
	Visits int64    `parquet:"visits"`
	Log    []string `parquet:"log,list"`
	Tags   []string `parquet:"tags,list"`
	Pad    string   `parquet:"pad"`
}

// writeUpdates writes the mapping and its files.
func writeUpdates(t *testing.T, dir string) {
	rng := rand.New(rand.NewPCG(5, 6))
	const people, rows = 1500, 12_000
	pad := func() string {
		b := make([]byte, 200)
		for i := range b {
			b[i] = 'a' + byte(rng.IntN(26))
		}
		return string(b)
	}
	write := func(name, text string, close func(io.Writer) io.WriteCloser) {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		w := io.WriteCloser(f)
		if close != nil {
			w = close(f)
		}
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		if close != nil {
			require.NoError(t, f.Close())
		}
	}
	gz := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	zst := func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		require.NoError(t, err)
		return z
	}
	var a, b, d, e strings.Builder
	var c []updateRow
	a.WriteString("id,visits,log,tags,pad\n")
	d.WriteString("id,visits,log,tags,pad\n")
	e.WriteString("a,b,w,pad\n")
	for i := range rows {
		if i%1000 == 7 {
			fmt.Fprintf(&a, "x%d,1,,,\n", i)
			fmt.Fprintf(&b, `{"id": "x%d"}`+"\n", i)
		}
		fmt.Fprintf(&a, "%d,%d,a%d,t%d;t%d,%s\n", rng.IntN(people), rng.IntN(10), i, rng.IntN(9), rng.IntN(9), pad())
		fmt.Fprintf(&b, `{"id": %d, "visits": %d, "log": ["b%d"], "tags": ["t%d"], "pad": "%s"}`+"\n", rng.IntN(people), rng.IntN(10), i, rng.IntN(9), pad())
		c = append(c, updateRow{int64(rng.IntN(people)), 1, []string{fmt.Sprint("c", i)}, []string{fmt.Sprint("t", rng.IntN(9))}, pad()})
		fmt.Fprintf(&d, "%d,%d,d%d,,%s\n", rng.IntN(people), rng.IntN(10), i, pad())
		target := rng.IntN(20)
		if i%100 == 3 {
			target = -i // which the server refuses
		}
		fmt.Fprintf(&e, "%d,%d,%d,%s\n", rng.IntN(people), target, rng.IntN(5), pad())
	}
	write("mapping.yaml", updates, nil)
	write("a.csv.gz", a.String(), gz)
	write("b.jsonl.zst", b.String(), zst)
	require.NoError(t, parquet.WriteFile(filepath.Join(dir, "c.parquet"), c))
	write("d.csv", d.String(), nil)
	write("e.csv.zst", e.String(), zst)
}

// killed is a load that is killed now and then.
type killed struct {
	t       *testing.T
	s       *server
	dir     string // of its files
	graph   string
	rejects string
}

func newKilled(t *testing.T, s *server, dir, graph string) *killed {
	s.graphctl("query", "CREATE GRAPH "+graph)
	return &killed{t, s, dir, graph, t.TempDir()}
}

// start starts the client.
func (k *killed) start() (cmd *exec.Cmd, ended chan error, stderr *bytes.Buffer) {
	cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "graphctl"), "load", filepath.Join(k.dir, "mapping.yaml"), "--graph", k.graph,
		"--address", k.s.addrs.GRPC, "--rejects-dir", k.rejects, "--max-rejects", "1000", "--memory", "16MiB")
	ended, stderr = make(chan error, 1), &bytes.Buffer{}
	cmd.Env, cmd.Stderr = environ(), stderr
	require.NoError(k.t, cmd.Start())
	go func() { ended <- cmd.Wait() }()
	return cmd, ended, stderr
}

// run runs the client to its end, unless after that time kill ends it.
func (k *killed) run(after time.Duration, kill func(client *exec.Cmd)) (finished bool) {
	cmd, ended, stderr := k.start()
	var moment <-chan time.Time
	if kill != nil {
		moment = time.After(after)
	}
	select {
	case <-ended:
	case <-moment:
		kill(cmd)
		select {
		case <-ended:
		case <-time.After(4 * patience):
			k.t.Fatal("the client does not end")
		}
	}
	code := cmd.ProcessState.ExitCode()
	require.Contains(k.t, []int{-1, 0, 1, 3}, code, stderr)
	if kill == nil {
		require.NotEqual(k.t, 1, code, stderr)
	}
	return code == 0 || code == 3
}

// state is the graph that the load has built, and its refused rows.
func (k *killed) state() string {
	var out strings.Builder
	for _, q := range []string{
		"MATCH (p:P) RETURN p.id, p.visits, p.log, p.tags ORDER BY p.id",
		"MATCH (q:Q) RETURN q.id, q.log ORDER BY q.id",
		"MATCH (a:P)-[k:K]->(b:P) RETURN a.id, b.id, k.w ORDER BY a.id, b.id, k.w",
	} {
		out.WriteString(k.s.graphctl("query", q, "-o", "csv", "--graph", k.graph))
	}
	text, err := os.ReadFile(filepath.Join(k.rejects, "rejects.jsonl"))
	require.NoError(k.t, err)
	lines := strings.Split(string(text), "\n")
	slices.Sort(lines)
	return out.String() + strings.Join(lines, "\n")
}

// A load whose client or server is killed again and again at any moment ends, run again, as one that nothing disturbed:
// each row counts once.
func TestLoadKilled(t *testing.T) {
	dir, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeUpdates(t, dir)
	s := start(t, data, "--memory", "256MiB")
	whole := newKilled(t, s, dir, "whole")
	began := time.Now()
	require.True(t, whole.run(0, nil))
	took := time.Since(began)
	want := whole.state()
	require.Contains(t, want, "BadType")
	require.Contains(t, want, "DanglingEdge")

	end := func(k *killed) {
		require.Equal(t, want, k.state(), k.graph)
		k.s.graphctl("query", "DROP GRAPH "+k.graph)
	}
	// kill kills a number of times, as many loads as that takes; all of them must end in the same state.
	kill := func(name string, kill func(k *killed, client *exec.Cmd)) {
		n, loads := 0, 0
		for ; n < rounds(3); loads++ {
			k := newKilled(t, s, dir, fmt.Sprint(name, loads))
			for finished := false; !finished; {
				at := rand.N(took)
				k.s = s
				finished = k.run(at, func(client *exec.Cmd) { n++; kill(k, client) })
			}
			end(k)
		}
		t.Logf("%s: %d kills, %d loads, each of %v", name, n, loads, took.Round(time.Millisecond))
	}
	kill("client", func(_ *killed, client *exec.Cmd) { require.NoError(t, client.Process.Kill()) })
	kill("server", func(k *killed, _ *exec.Cmd) {
		s.stop(syscall.SIGKILL)
		s = start(t, data, "--memory", "256MiB")
		k.s = s
	})
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}

// While a load runs, --admin serves its metrics and profiles.
func TestLoadAdmin(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	mapping := filepath.Join(t.TempDir(), "m.yaml")
	require.NoError(t, os.WriteFile(mapping, []byte("version: 1\ninputs: [{path: '-', format: csv, vertices: [{label: P, id: id, properties: {id: {type: int}}}]}]\n"), 0o600))
	in, feed := io.Pipe()
	cmd := exec.CommandContext(context.Background(), filepath.Join(bin, "graphctl"), "load", mapping, "--address", s.addrs.GRPC, "--admin", "127.0.0.1:0")
	cmd.Env, cmd.Stdin = environ(), in
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var text strings.Builder
	text.WriteString("id\n")
	for i := range 400_000 {
		fmt.Fprintln(&text, i)
	}
	_, err = io.WriteString(feed, text.String())
	require.NoError(t, err)
	client := &server{t: t}
	line := make([]byte, 200)
	n, err := stderr.Read(line)
	require.NoError(t, err)
	_, err = fmt.Sscanf(string(line[:n]), "metrics and profiles: http://%s\n", &client.addrs.Admin)
	require.NoError(t, err, string(line[:n]))
	eventually(t, func() bool { return client.metric(`hopgate_loader_vertices_total{input="-"}`) > 0 }, 10*time.Millisecond)
	require.Positive(t, client.metric("hopgate_loader_window_bytes"))
	require.Positive(t, client.metric(`hopgate_loader_stage_seconds_total{stage="parse"}`))
	require.InDelta(t, -1, client.metric("hopgate_loader_left_seconds"), 0)
	code, body := client.http("GET", client.addrs.Admin, "/debug/pprof/goroutine?debug=1", "")
	require.Equal(t, 200, code)
	require.Contains(t, body, "loader")
	require.NoError(t, feed.Close())
	rest, err := io.ReadAll(stderr)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), string(rest))
	require.Equal(t, 400_000, s.counts()[0])
	file := filepath.Join(t.TempDir(), "p.csv")
	require.NoError(t, os.WriteFile(file, []byte("id:ID(P),:LABEL\na,P\n"), 0o600))
	o := run(t, nil, "graphctl", "load", file, "--address", s.addrs.GRPC, "--admin", s.addrs.Admin)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "--admin")
	require.Zero(t, s.stop(syscall.SIGTERM))
}

// Related tables load with the mapping that --init writes, and loading them again leaves all unchanged. A file without a key must be left out
// expressly.
func TestLoadInit(t *testing.T) {
	dir, s := t.TempDir(), start(t, filepath.Join(t.TempDir(), "data"))
	write := func(name, header string, rows int, row func(i int) string) {
		text := header + "\n"
		for i := range rows {
			text += row(i) + "\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("customers.csv", "CustomerID,CompanyName", 12, func(i int) string { return fmt.Sprintf("C%d,Company %d", i, i) })
	write("products.csv", "product_id,product_name", 9, func(i int) string { return fmt.Sprintf("%d,Product %d", i, i) })
	write("orders.csv", "order_id,customer_id,order_date", 30, func(i int) string { return fmt.Sprintf("%d,C%d,1996-07-%02d", 100+i, i%12, i+1) })
	write("order_details.csv", "order_id,product_id,unit_price,quantity", 60, func(i int) string {
		return fmt.Sprintf("%d,%d,%d.5,%d", 100+i/2, i%9, i%7, i%5)
	})
	mapping := filepath.Join(dir, "shop", "mapping.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(mapping), 0o700))
	initial := []string{"load", "--init", "--out", mapping}
	for _, name := range []string{"customers", "products", "orders", "order_details"} {
		initial = append(initial, filepath.Join(dir, name+".csv"))
	}
	s.graphctl(initial...)
	summary := s.graphctl("load", mapping)
	require.Contains(t, summary, "vertices: 51 created, 0 overwritten, 0 unchanged\nedges: 90 created, 0 overwritten, 0 unchanged\n")
	summary = s.graphctl("load", mapping, "--restart")
	require.Contains(t, summary, "vertices: 0 created, 0 overwritten, 51 unchanged\nedges: 0 created, 0 overwritten, 90 unchanged\n")
	require.Equal(t, [4]int{51, 90, 51, 90}, s.counts())

	write("twice.csv", "id:ID(T),:LABEL", 4, func(i int) string { return fmt.Sprintf("%d,T", i/2) })
	twice := filepath.Join(dir, "twice.csv")
	require.Contains(t, s.graphctl("load", twice), "vertices: 2 created, 0 overwritten, 2 unchanged; 2 with a repeated key\n")
	o := run(t, nil, "graphctl", "load", twice, "--address", s.addrs.GRPC, "--restart", "--on-duplicate", "error", "--max-rejects", "2")
	require.Equal(t, 3, o.code, o.err)
	require.Contains(t, o.err, "twice.csv:3: column \"id\" value \"0\" RepeatedKey: an earlier row of the load has this key")
	o = run(t, nil, "graphctl", "load", twice, "--address", s.addrs.GRPC, "--on-duplicate", "first")
	require.Equal(t, 2, o.code)
	require.Contains(t, o.err, "--on-duplicate first: must be overwrite, keep-first or error")

	write("unlogged.csv", "id:ID(U),:LABEL", 3, func(i int) string { return fmt.Sprintf("%d,U", i) })
	s.graphctl("load", filepath.Join(dir, "unlogged.csv"), "--no-log")
	events := "CALL db.cdc.earliest() YIELD id CALL db.cdc.query(id, []) YIELD event RETURN event.operation AS o, count(*) AS n, max(event.nodes.created) AS nodes"
	require.Equal(t, "o,n,nodes\nc,143,\ng,1,3\n", s.graphctl("query", events, "-o", "csv"), "what loads have created, and one gap")

	write("notes.csv", "text", 2, func(int) string { return "x" })
	initial = append(initial, filepath.Join(dir, "notes.csv"))
	o = run(t, nil, "graphctl", initial...)
	require.Equal(t, 2, o.code)
	require.Contains(t, o.err, "notes.csv: no column identifies the rows; --partial leaves them out")
	o = run(t, nil, "graphctl", append(initial, "--partial")...)
	require.Zero(t, o.code, o.err)
	require.Contains(t, o.err, "left out: ../notes.csv: no column identifies the rows")
}
