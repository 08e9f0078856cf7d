package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a process of hopgate.
type Server struct {
	// HTTP, GRPC and Admin are its addresses.
	HTTP, GRPC, Admin string

	bin  string
	args []string
	cmd  *exec.Cmd
	log  log
}

// log keeps what a process has written, over its restarts.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Start starts hopgate, which lies in bin beside graphctl, on free ports unless the arguments name others, and waits until it is ready.
func Start(bin, command string, args ...string) (*Server, error) {
	s := &Server{bin: bin}
	s.args = append([]string{command, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)
	return s, s.start()
}

func (s *Server) start() error {
	dir, err := os.MkdirTemp("", "hopgate-ready-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ready := filepath.Join(dir, "ready")
	s.cmd = exec.CommandContext(context.Background(), filepath.Join(s.bin, "hopgate"), append(s.args, "--ready-file", ready)...)
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		<-tick.C
		if data, err := os.ReadFile(ready); err == nil && len(data) > 0 {
			return json.Unmarshal(data, s)
		}
	}
	return errors.Join(fmt.Errorf("%s is not ready: %s", s.args[0], s.said()), s.cmd.Process.Kill(), s.cmd.Wait())
}

// said returns the end of the log.
func (s *Server) said() string {
	text := s.log.String()
	return text[max(len(text)-4096, 0):]
}

// Stop ends the process.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%w: %s", err, s.said())
	}
	return s.cmd.Wait()
}

// Restart ends the process and starts it again, on other ports.
func (s *Server) Restart() error { return errors.Join(s.Stop(), s.start()) }

// Alive fails if the process has exited or reported an internal error.
func (s *Server) Alive() error {
	if err := s.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		return fmt.Errorf("the server is no more: %w: %s", err, s.said())
	}
	if strings.Contains(s.log.String(), "panic") {
		return errors.New("a panic: " + s.said())
	}
	return nil
}

// Graphctl runs graphctl for the process in a directory.
func (s *Server) Graphctl(dir string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, "graphctl"), append([]string{"--address", s.GRPC}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("graphctl %s: %w: %s", args[0], err, out)
	}
	return nil
}

// ProcessorTime is the CPU time of the process.
func (s *Server) ProcessorTime() (time.Duration, error) { return ProcessorTime(s.cmd.Process.Pid) }

// Memory reads a size of the process in bytes: VmRSS is its memory, VmHWM the peak since ResetPeak.
func (s *Server) Memory(field string) (uint64, error) {
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

// ResetPeak resets the peak memory.
func (s *Server) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0o600)
}

// FreeAddresses returns addresses that are free now.
func FreeAddresses(n int) (out []string, err error) {
	for range n {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		out = append(out, l.Addr().String())
	}
	return out, nil
}
