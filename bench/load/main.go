// Program load measures loads through a server: new people and edges between them, then one load of rows that update the people by SUM and
// UNION. For the latter it prints a line whenever as many rows as there are people are durable. It reports the share of CPU time spent in
// garbage collection.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
)

func main() {
	bin := flag.String("bin", "bin", "directory of hopgate and graphctl")
	people := flag.Int("people", 1_000_000, "how many people")
	parts := flag.Int("parts", 10, "how many times as many updates as there are people")
	memory := flag.String("memory", "2GiB", "the server's memory")
	flag.Parse()
	if err := measure(*bin, *people, *parts, *memory); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

const insertMapping = `
version: 1
inputs:
  - {path: people.csv, vertices: [{label: Person, id: id, action: insert, properties: {id: {type: int}, name: {}, visits: {type: int}, tags: {type: "string[]"}}}]}
  - {path: knows.csv, edges: [{type: KNOWS, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}, action: insert, properties: {since: {type: int}}}]}
`

const updateMapping = `
version: 1
inputs:
  - path: updates.csv
    vertices: [{label: Person, id: id, properties: {id: {type: int}, visits: {type: int}, tags: {type: "string[]"}}}]
    update: {strategies: {visits: SUM, tags: UNION}}
`

func measure(bin string, people, parts int, memory string) (err error) {
	dir, err := os.MkdirTemp("", "bench-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rng := rand.New(rand.NewPCG(1, 2))
	err = errors.Join(
		write(dir, "insert.yaml", 1, func(int) string { return insertMapping }),
		write(dir, "people.csv", people+1, func(i int) string {
			if i == 0 {
				return "id,name,visits,tags\n"
			}
			return fmt.Sprintf("%d,Person %d,%d,t%d;t%d\n", i, i, i%10, i%7, i%11)
		}),
		write(dir, "knows.csv", 4*people+1, func(i int) string {
			if i == 0 {
				return "a,b,since\n"
			}
			return fmt.Sprintf("%d,%d,%d\n", 1+rng.IntN(people), 1+rng.IntN(people), 1_600_000_000+i)
		}),
		write(dir, "update.yaml", 1, func(int) string { return updateMapping }),
		write(dir, "updates.csv", parts*people+1, func(i int) string {
			if i == 0 {
				return "id,visits,tags\n"
			}
			return fmt.Sprintf("%d,%d,t%d\n", 1+rng.IntN(people), i%10, rng.IntN(20))
		}))
	if err != nil {
		return err
	}
	p, err := proc.Start(bin, "serve", "--data-dir", filepath.Join(dir, "data"), "--memory", memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	s := &server{p, bin, dir}
	if err := s.load("insert", "insert.yaml", people+4*people); err != nil {
		return err
	}
	return s.load("update", "update.yaml", people)
}

// write writes a file of n parts.
func write(dir, name string, n int, part func(i int) string) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range n {
		if _, err := w.WriteString(part(i)); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// server is a server process, with the files of the loads.
type server struct {
	*proc.Server
	bin, dir string
}

// load runs a load and prints a line for each part of that many rows that the server has made durable, and one for the whole.
func (s *server) load(name, mapping string, part int) error {
	began, err := s.now()
	if err != nil {
		return err
	}
	report := filepath.Join(s.dir, "report.json")
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, "graphctl"), "load", filepath.Join(s.dir, mapping),
		"--address", s.GRPC, "--report", report)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	fmt.Printf("%-8s %10s %8s %18s %9s %9s\n", name, "rows", "rows/s", "rows/server-cpu-s", "server GC", "client GC")
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := began
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w: %s", name, err, &out)
			}
			running = false
		case <-tick.C:
		}
		now, err := s.now()
		if err != nil {
			return err
		}
		if running && now.rows-last.rows >= float64(part) {
			now.print("", &last)
			last = now
		}
	}
	end, err := s.now()
	if err != nil {
		return err
	}
	var r struct {
		Rows    int
		Seconds float64
		GCShare float64
	}
	data, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	end.print(fmt.Sprintf("%8.1f%%", 100*r.GCShare), &began)
	client := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	fmt.Printf("%d rows in %.1f s: %.0f rows/s; processors: server %.1f s, client %.1f s\n", r.Rows, r.Seconds, float64(r.Rows)/r.Seconds,
		end.process-began.process, client)
	return err
}

// state holds the number of durable rows of a server, its CPU time, and the Go runtime's estimates of the time spent in garbage collection
// and in all other work.
type state struct {
	at                time.Time
	rows              float64
	process, gc, user float64
}

// print prints the difference to an earlier state.
func (t *state) print(client string, from *state) {
	rows, gc := t.rows-from.rows, t.gc-from.gc
	fmt.Printf("%8s %10.0f %8.0f %18.0f %8.1f%% %s\n", "", rows, rows/t.at.Sub(from.at).Seconds(), rows/(t.process-from.process),
		100*gc/max(gc+t.user-from.user, 1e-9), client)
}

func (s *server) now() (t state, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.Admin+"/metrics", nil)
	if err != nil {
		return t, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return t, err
	}
	defer res.Body.Close()
	var vertices, edges float64
	series := map[string]*float64{
		"process_cpu_seconds_total": &t.process, "go_cpu_classes_gc_total_cpu_seconds_total": &t.gc, "go_cpu_classes_user_cpu_seconds_total": &t.user,
		"hopgate_load_vertices_total": &vertices, "hopgate_load_edges_total": &edges,
	}
	for sc := bufio.NewScanner(res.Body); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), " ")
		if to := series[name]; to != nil {
			if *to, err = strconv.ParseFloat(value, 64); err != nil {
				return t, err
			}
		}
	}
	t.at, t.rows = time.Now(), vertices+edges
	return t, nil
}
