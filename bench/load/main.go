// Program load measures loads through a server: people and edges between them that are new, and rows that update the
// people by SUM and UNION, a load for each part, and says how much of the processors went into collecting garbage.
package main

import (
	"bufio"
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
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "directory of hopgate and graphctl")
	people := flag.Int("people", 1_000_000, "how many people")
	parts := flag.Int("parts", 10, "how many update loads, of as many rows as there are people")
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
  - path: %s
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
		}))
	if err != nil {
		return err
	}
	s, err := start(bin, dir, memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Println("load      rows  rows/s  rows/processor-s  server s  client s  server GC  client GC")
	if err := s.load("insert", "insert.yaml"); err != nil {
		return err
	}
	for n := range parts {
		name := fmt.Sprintf("update%02d", n)
		err := errors.Join(
			write(dir, name+".yaml", 1, func(int) string { return fmt.Sprintf(updateMapping, name+".csv") }),
			write(dir, name+".csv", people+1, func(i int) string {
				if i == 0 {
					return "id,visits,tags\n"
				}
				return fmt.Sprintf("%d,%d,t%d\n", 1+rng.IntN(people), i%10, rng.IntN(20))
			}))
		if err != nil {
			return err
		}
		if err := s.load(name, name+".yaml"); err != nil {
			return err
		}
	}
	return nil
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

// server is a server process.
type server struct {
	bin, dir string
	cmd      *exec.Cmd
	addrs    struct{ GRPC, Admin string }
}

func start(bin, dir, memory string) (*server, error) {
	ready := filepath.Join(dir, "ready")
	s := &server{bin: bin, dir: dir}
	s.cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "hopgate"), "serve", "--data-dir", filepath.Join(dir, "data"), "--memory", memory,
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready)
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		<-tick.C
		if data, err := os.ReadFile(ready); err == nil {
			return s, json.Unmarshal(data, &s.addrs)
		}
	}
	return nil, errors.Join(errors.New("the server does not begin"), s.cmd.Process.Kill())
}

func (s *server) stop() error {
	return errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
}

// load runs a load and prints its line.
func (s *server) load(name, mapping string) error {
	before, err := s.times()
	if err != nil {
		return err
	}
	report := filepath.Join(s.dir, "report.json")
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, "graphctl"), "load", filepath.Join(s.dir, mapping), "--address", s.addrs.GRPC, "--report", report)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	after, err := s.times()
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
	server, client := after.process-before.process, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	fmt.Printf("%-8s  %d  %.0f  %.0f  %.1f  %.1f  %.1f%%  %.1f%%\n", name, r.Rows, float64(r.Rows)/r.Seconds, float64(r.Rows)/(server+client), server, client,
		100*(after.gc-before.gc)/max(after.gc-before.gc+after.user-before.user, 1e-9), 100*r.GCShare)
	return err
}

// times are seconds of processors that a server has taken, and of them the Go runtime's estimate of what went into
// collecting garbage and into all else.
type times struct{ process, gc, user float64 }

func (s *server) times() (t times, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.addrs.Admin+"/metrics", nil)
	if err != nil {
		return t, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return t, err
	}
	defer res.Body.Close()
	series := map[string]*float64{
		"process_cpu_seconds_total": &t.process, "go_cpu_classes_gc_total_cpu_seconds_total": &t.gc, "go_cpu_classes_user_cpu_seconds_total": &t.user,
	}
	for sc := bufio.NewScanner(res.Body); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), " ")
		if to := series[name]; to != nil {
			if *to, err = strconv.ParseFloat(value, 64); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}
