package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli/changes/sink/sinktest"
)

// While writers commit, graphctl is killed over and over, the broker stops, and the server is killed: those who read the broker see each event
// once, those of a transaction together, and the transactions in their order.
func TestSinksAreExact(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) sinktest.Broker{
		"kafka": func(t *testing.T) sinktest.Broker { return sinktest.Kafka(t, 1) },
		"nats":  func(t *testing.T) sinktest.Broker { return sinktest.NATS(t, nil) },
		"jvm":   func(t *testing.T) sinktest.Broker { return sinktest.JVM(t, 1) },
	} {
		t.Run(name, func(t *testing.T) { testSink(t, open(t)) })
	}
}

// supervised is a graphctl that starts again whenever it has ended.
type supervised struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	ended bool // it must not start again
	errs  bytes.Buffer
	done  chan struct{}
}

func supervise(t *testing.T, args ...string) *supervised {
	s := &supervised{done: make(chan struct{})}
	start := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended {
			return false
		}
		s.cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "graphctl"), args...)
		s.cmd.Env, s.cmd.Stderr = environ(), &s.errs
		return s.cmd.Start() == nil
	}
	require.True(t, start())
	go func() {
		defer close(s.done)
		for again := true; again; again = start() {
			_ = s.cmd.Wait()
		}
	}()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *supervised) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Signal(sig)
}

// stop interrupts it for good, and returns what it has said.
func (s *supervised) stop() string {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.signal(os.Interrupt)
	<-s.done
	return s.errs.String()
}

func testSink(t *testing.T, b sinktest.Broker) {
	dir := t.TempDir()
	s := start(t, dir)
	address := s.addrs.GRPC
	rng := rand.New(rand.NewPCG(1, 2))
	g := supervise(t, "changes", "--address", address, "--from", "earliest", "--to", b.Address())
	n := 0
	for round := range 12 {
		for range 25 {
			n++
			// Three events: two vertices and an edge.
			_, err := ask(s.addrs.HTTP, fmt.Sprintf("CREATE (:N {n: %d})-[:R]->(:M)", n))
			require.NoError(t, err)
		}
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond) // the kill comes at any moment
		if round%4 == 1 {
			b.Stop()
			b.Start()
			_ = b.Events() // once it is there
		}
		if round%4 == 3 {
			require.Equal(t, -1, s.stop(syscall.SIGKILL))
			s = start(t, dir, "--grpc", address)
			continue // graphctl goes on
		}
		g.signal(os.Kill)
	}
	for began := time.Now(); len(b.Events()) < 3*n && time.Since(began) < patience; {
		time.Sleep(100 * time.Millisecond)
	}
	errs := g.stop()

	events := b.Events()
	require.Len(t, events, 3*n, errs)
	tokens := map[string]bool{}
	for i, e := range events {
		require.False(t, tokens[e.Token], "twice")
		tokens[e.Token] = true
		require.Equal(t, []any{int64(i % 3), i%3 == 2}, []any{e.Seq, e.Last})
		var value struct {
			ID    string
			Event struct {
				ElementID string
				State     struct {
					After struct{ Properties struct{ N *int } }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(e.Value), &value))
		require.Equal(t, []string{value.ID, value.Event.ElementID}, []string{e.Token, e.Key})
		if i%3 > 0 {
			require.Equal(t, events[i-1].Commit, e.Commit)
		} else if i > 0 {
			require.Greater(t, e.Commit, events[i-1].Commit)
		}
		if p := value.Event.State.After.Properties.N; p != nil {
			require.Equal(t, i/3+1, *p)
		}
	}
	o := run(t, nil, "graphctl", "changes", "--address", address, "--from", "earliest", "--to", b.Address(), "--once")
	require.Zero(t, o.code, o.err)
	require.Len(t, b.Events(), 3*n)
}
