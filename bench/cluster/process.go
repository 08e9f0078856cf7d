package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a process of hopgate.
type process struct {
	cmd         *exec.Cmd
	log         bytes.Buffer
	grpc, admin string
}

// freeAddresses returns addresses that are free now.
func freeAddresses(n int) (out []string, err error) {
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

// start starts hopgate on free ports unless args name others, and waits until it is ready.
func start(o *options, args ...string) (_ *process, err error) {
	ready, err := os.CreateTemp("", "hopgate-ready-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(ready.Name()) }()
	if err := ready.Close(); err != nil {
		return nil, err
	}
	p := &process{}
	args = append([]string{args[0], "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--memory", o.memory, "--ready-file", ready.Name()}, args[1:]...)
	p.cmd = exec.CommandContext(context.Background(), filepath.Join(o.bin, "hopgate"), args...)
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1500 {
		<-tick.C
		data, err := os.ReadFile(ready.Name())
		if err != nil || len(data) == 0 {
			continue
		}
		var at struct{ GRPC, Admin string }
		if err := json.Unmarshal(data, &at); err != nil {
			return nil, err
		}
		p.grpc, p.admin = at.GRPC, at.Admin
		return p, nil
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return nil, fmt.Errorf("%s did not begin: %s", args[0], p.log.Bytes())
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.cmd.Wait()
}
