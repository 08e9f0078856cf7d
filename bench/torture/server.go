package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dense is the number of vertices of the dense graph, where each vertex has an edge to every other.
const dense = 200

const mapping = `version: 1
inputs:
  - {path: people.csv, vertices: [{label: Person, id: id, properties: {id: {type: int}, name: {}, age: {type: int}, about: {}}}]}
  - {path: knows.csv, edges: [{type: KNOWS, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}}]}
  - {path: dense.csv, vertices: [{label: Dense, id: id, properties: {id: {type: int}}}]}
  - {path: linked.csv, edges: [{type: LINKED, from: {column: a, idSpace: Dense}, to: {column: b, idSpace: Dense}}]}
`

// generate writes the files of the graph.
func generate(dir string, people int) error {
	r := rand.New(rand.NewPCG(1, 2))
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "mapping.yaml"), []byte(mapping), 0o600),
		writeFile(dir, "people.csv", "id,name,age,about", people, func(i int) string {
			return fmt.Sprintf("%d,Person %d,%d,%s", i, i, i%100, strings.Repeat("about ", 20))
		}),
		writeFile(dir, "knows.csv", "a,b", 10*people, func(i int) string { return fmt.Sprintf("%d,%d", i/10, r.IntN(people)) }),
		writeFile(dir, "dense.csv", "id", dense, strconv.Itoa),
		writeFile(dir, "linked.csv", "a,b", dense*dense, func(i int) string { return fmt.Sprintf("%d,%d", i/dense, i%dense) }),
	)
}

// writeFile writes a header and n lines.
func writeFile(dir, name, header string, n int, line func(i int) string) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, header)
	for i := range n {
		fmt.Fprintln(w, line(i))
	}
	return errors.Join(w.Flush(), f.Close())
}

// process is a running server.
type process struct {
	bin, dir, memory string
	cmd              *exec.Cmd
	http, grpc       string
}

func startServer(bin, dir, memory string) (*process, error) {
	s := &process{bin: bin, dir: dir, memory: memory}
	return s, s.start()
}

func (s *process) start() error {
	ready := filepath.Join(s.dir, "ready")
	if err := os.RemoveAll(ready); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.CommandContext(context.Background(), s.bin, "serve", "--data-dir", filepath.Join(s.dir, "data"), "--ready-file", ready, "--memory", s.memory,
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1500 {
		<-tick.C
		data, err := os.ReadFile(ready)
		if err != nil || len(data) == 0 {
			continue
		}
		var at struct{ HTTP, GRPC string }
		if err := json.Unmarshal(data, &at); err != nil {
			return err
		}
		s.http, s.grpc = at.HTTP, at.GRPC
		return nil
	}
	return errors.Join(errors.New("the server does not begin: "+s.said()), s.cmd.Process.Kill(), s.cmd.Wait())
}

// said returns the end of the server's log.
func (s *process) said() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(len(text)-4096, 0):])
}

func (s *process) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%w: %s", err, s.said())
	}
	return s.cmd.Wait()
}

// alive fails if the server has exited or reported an internal error.
func (s *process) alive() error {
	if err := s.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		return fmt.Errorf("the server is no more: %w: %s", err, s.said())
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err == nil && strings.Contains(string(text), "panic") {
		err = errors.New("a panic: " + s.said())
	}
	return err
}

func (s *process) restart() error {
	if err := s.stop(); err != nil {
		return err
	}
	return s.start()
}

func (s *process) load(graphctl string) error {
	cmd := exec.CommandContext(context.Background(), graphctl, "--address", s.grpc, "load", "mapping.yaml")
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load: %w: %s", err, out)
	}
	return nil
}

// status reads a size of the process in bytes: VmRSS is its memory, VmHWM the peak.
func (s *process) status(field string) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("there is no %s of the process", field)
}
