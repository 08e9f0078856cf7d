package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a process of a cluster, which can be killed and started again under the same addresses.
type process struct {
	t      *testing.T
	binary string // of the server, "" for the one under test
	args   []string
	env    []string
	cmd    *exec.Cmd
	log    output
	ended  chan struct{} // closed once the process has ended
	killed atomic.Bool   // the test ended the process
	grpc   string
	http   string // of a gateway, or its URL if it takes TLS
	admin  string // of a shard
}

// output is what a process writes, which a test may read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// crashed are the logs of processes that ended by themselves, by the name of their top-level test.
var crashed sync.Map

// crash returns the log of a process of the test that ended by itself, or "".
func crash(t *testing.T) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	log, _ := crashed.Load(test)
	text, _ := log.(string)
	return text
}

// start starts the process. If it ends by itself, its test fails; a failed test shows its log.
func (p *process) start() {
	if p.cmd == nil {
		p.t.Cleanup(func() {
			p.kill(syscall.SIGKILL)
			if log := crash(p.t); log != "" {
				p.t.Error(log)
			}
			if p.t.Failed() {
				fmt.Fprintf(os.Stderr, "%q:\n%s", p.args, p.log.String())
			}
		})
	}
	binary := p.binary
	if binary == "" {
		binary = filepath.Join(bin, "hopgate")
	}
	cmd, ended := exec.CommandContext(context.Background(), binary, p.args...), make(chan struct{})
	cmd.Env, cmd.Stderr = environ(p.env...), &p.log
	p.cmd, p.ended = cmd, ended
	p.killed.Store(false)
	require.NoError(p.t, cmd.Start())
	go func() {
		defer close(ended)
		if err := cmd.Wait(); !p.killed.Load() {
			test, _, _ := strings.Cut(p.t.Name(), "/")
			crashed.Store(test, fmt.Sprintf("%q ended by itself: %v\n%s", cmd.Args, err, p.log.String()))
		}
	}()
}

// signal sends a signal that ends the process.
func (p *process) signal(s syscall.Signal) {
	p.killed.Store(true)
	_ = p.cmd.Process.Signal(s)
}

// kill sends a signal that ends the process, and waits for its end.
func (p *process) kill(s syscall.Signal) {
	p.signal(s)
	<-p.ended
}

// eventually waits until the condition holds. It fails at once if a process of the test has ended by itself.
func eventually(t *testing.T, condition func() bool, tick time.Duration, why ...any) {
	t.Helper()
	require.Eventually(t, func() bool { return crash(t) != "" || condition() }, patience, tick, why...)
	require.Empty(t, crash(t))
}

// freeAddress returns an address that no other call returns until the test has ended, in this process or in another one that runs
// these tests: the test holds the UDP port of the same number. The port lies below the range that the system assigns to listeners
// on port 0 and to connections, so nothing takes it before the process that it is for, or while that one restarts.
func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		held, err := config.ListenPacket(context.Background(), "udp", address)
		if err != nil {
			continue
		}
		l, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			held.Close()
			continue
		}
		require.NoError(t, l.Close())
		t.Cleanup(func() { held.Close() })
		return address
	}
	t.Fatal("no port is free")
	return ""
}

// TestFreeAddress takes a tenth of all ports; a port given twice would show.
func TestFreeAddress(t *testing.T) {
	given := map[string]bool{}
	for range 2000 {
		a := freeAddress(t)
		require.False(t, given[a], a)
		given[a] = true
	}
}

// TestProcessEnds shows that a wait fails at once when a process cannot listen.
func TestProcessEnds(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := &process{t: t, args: []string{"serve", "--data-dir", t.TempDir(), "--http", l.Addr().String(), "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0"}}
	p.start()
	require.Eventually(t, func() bool { return crash(t) != "" }, patience, time.Millisecond)
	require.Contains(t, crash(t), "address already in use")
	crashed.Delete(t.Name())
}
