package main

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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
)

// process is a running server.
type process struct {
	bin, dir, memoryBudget string
	cmd                    *exec.Cmd
	http, grpc             string
}

func startServer(bin, dir, memory string) (*process, error) {
	s := &process{bin: bin, dir: dir, memoryBudget: memory}
	return s, s.start()
}

func (s *process) start() error {
	ready := filepath.Join(s.dir, "ready")
	if err := os.RemoveAll(ready); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.CommandContext(context.Background(), s.bin, "serve", "--data-dir", filepath.Join(s.dir, "data"), "--ready-file", ready, "--memory", s.memoryBudget,
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
	text, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server did not begin: %s", text)
}

func (s *process) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

func (s *process) restart() error {
	if err := s.stop(); err != nil {
		return err
	}
	return s.start()
}

func (s *process) load(graphctl, dir string) error {
	cmd := exec.CommandContext(context.Background(), graphctl, "--address", s.grpc, "load", "mapping.yaml")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load: %w: %s", err, out)
	}
	return nil
}

// status reads a size of the process in bytes: VmRSS is its memory, VmHWM the peak since its last reset.
func (s *process) status(field string) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("the process has no %s", field)
}

func (s *process) memory() (uint64, error) { return s.status("VmRSS") }

// result holds the measurements of a fetch.
type result struct {
	first, all, p99 time.Duration
	busy            time.Duration // the server's CPU time, mean
	size            int64
	peak            uint64 // the peak memory of the server meanwhile
}

func (s *process) measure(m measured) (r result, err error) {
	// Writing 5 resets the peak.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		return r, err
	}
	before, err := proc.ProcessorTime(s.cmd.Process.Pid)
	if err != nil {
		return r, err
	}
	var firsts, alls []time.Duration
	for i := range m.runs + 1 {
		first, all, size, err := s.fetch(m.body)
		if err != nil {
			return r, err
		}
		if i > 0 { // the first run is not warm
			firsts, alls, r.size = append(firsts, first), append(alls, all), size
		}
	}
	slices.Sort(firsts)
	slices.Sort(alls)
	r.first, r.all, r.p99 = firsts[len(firsts)/2], alls[len(alls)/2], alls[len(alls)*99/100]
	after, err := proc.ProcessorTime(s.cmd.Process.Pid)
	if err != nil {
		return r, err
	}
	r.busy = (after - before) / time.Duration(m.runs+1)
	r.peak, err = s.status("VmHWM")
	return r, err
}

// client does not decompress responses.
var client = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// fetch sends a request and returns the times to the first and the last byte.
func (s *process) fetch(body string) (first, all time.Duration, size int64, err error) {
	start := time.Now()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+s.http+"/get", bytes.NewBufferString(body))
	if err != nil {
		return 0, 0, 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, 0, 0, err
	}
	defer res.Body.Close()
	buf := make([]byte, 64<<10)
	n, err := io.ReadAtLeast(res.Body, buf, 1)
	if err != nil {
		return 0, 0, 0, err
	}
	first = time.Since(start)
	rest, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf)
	size = int64(n) + rest
	if err == nil && size < 1000 {
		err = fmt.Errorf("a short answer: %s", buf[:n])
	}
	return first, time.Since(start), size, err
}
