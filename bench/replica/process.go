package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
	"github.com/hopgate/hopgate/internal/faultnet"
)

// roundTrip returns how long a byte takes there and back through a link that should take so long.
func roundTrip(link time.Duration) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	n, err := faultnet.New([]string{l.Addr().String(), ""}, link/2)
	if err != nil {
		return "", err
	}
	defer n.Close()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", n.Address(1, 0))
	if err != nil {
		return "", err
	}
	b := []byte{1}
	d := took(func() {
		_, werr := c.Write(b)
		_, rerr := io.ReadFull(c, b)
		err = errors.Join(err, werr, rerr)
	})
	return d.String(), errors.Join(err, c.Close())
}

// process is a process of hopgate, which can be killed and started again.
type process struct {
	args              []string
	program           string
	cmd               *exec.Cmd
	log               bytes.Buffer
	http, grpc, admin string
}

func newProcess(o *options, args ...string) (*process, error) {
	a, err := proc.FreeAddresses(3)
	if err != nil {
		return nil, err
	}
	p := &process{program: filepath.Join(o.bin, "hopgate"), http: a[0], grpc: a[1], admin: a[2]}
	p.args = append([]string{args[0], "--http", p.http, "--grpc", p.grpc, "--admin", p.admin, "--memory", o.memory}, args[1:]...)
	return p, nil
}

func (p *process) start() error {
	p.cmd = exec.CommandContext(context.Background(), p.program, p.args...)
	p.log.Reset()
	p.cmd.Stderr = &p.log
	return p.cmd.Start()
}

// end ends the process by a signal.
func (p *process) end(signal syscall.Signal) {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(signal)
		_ = p.cmd.Wait()
	}
}

// await waits until the process is ready.
func (p *process) await() error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if status, _, err := get("http://" + p.admin + "/readyz"); err == nil && status == http.StatusOK {
			return nil
		}
		<-tick.C
	}
	return fmt.Errorf("%q is not ready: %s", p.args, p.log.Bytes())
}

// deployment is a gateway, or one process that is all there is, and the processes behind it.
type deployment struct {
	front  *process
	shards []*process
}

// startCluster starts a cluster of three shards, or one process with three shards if replicas is negative.
func startCluster(o *options, dir string, replicas int) (c *deployment, err error) {
	c = &deployment{}
	if replicas < 0 {
		if c.front, err = newProcess(o, "serve", "--shards", "3", "--data-dir", dir); err != nil {
			return nil, err
		}
		return c, errors.Join(c.front.start(), c.front.await())
	}
	var addresses []string
	for i := range 3 {
		p, err := newProcess(o, "shard", "--data-dir", filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		c.shards, addresses = append(c.shards, p), append(addresses, p.grpc)
	}
	if c.front, err = newProcess(o, "gateway"); err != nil {
		return nil, err
	}
	for _, p := range append(c.shards, c.front) {
		p.args = append(p.args, "--join", strings.Join(addresses, ","), "--replicas", strconv.Itoa(replicas))
		if err := p.start(); err != nil {
			return c, err
		}
	}
	for _, p := range append(c.shards, c.front) {
		if err := p.await(); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *deployment) stop() {
	c.front.end(syscall.SIGTERM)
	for _, p := range c.shards {
		p.end(syscall.SIGKILL)
	}
}

// leader returns the process that leads the cluster.
func (c *deployment) leader() (int, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		for i, p := range c.shards {
			if _, text, err := get("http://" + p.admin + "/metrics"); err == nil && bytes.Contains(text, []byte("hopgate_replica_leads{shard=\"0\"} 1")) {
				return i, nil
			}
		}
		<-tick.C
	}
	return 0, errors.New("no process leads the cluster")
}

func get(url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	return send(req)
}

// ask sends a request to the front, and returns the body of the answer.
func (c *deployment) ask(path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+c.front.http+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prefer", "http-status")
	status, answer, err := send(req)
	if err == nil && status >= 300 {
		err = fmt.Errorf("%d: %.500s", status, answer)
	}
	return answer, err
}

// query runs a statement with the parameter id and returns its rows.
func (c *deployment) query(statement string, id int) (string, error) {
	body, err := json.Marshal(map[string]any{"statement": statement, "parameters": map[string]any{"id": id}})
	if err != nil {
		return "", err
	}
	answer, err := c.ask("/v1/query", string(body))
	if err != nil {
		return "", err
	}
	var a struct {
		Data   json.RawMessage
		Errors []json.RawMessage
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return "", err
	}
	if len(a.Errors) > 0 {
		return "", fmt.Errorf("%s: %s", statement, a.Errors[0])
	}
	return string(a.Data), nil
}

func send(req *http.Request) (status int, body []byte, err error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, errors.Join(err, res.Body.Close())
}
