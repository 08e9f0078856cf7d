package remote_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/cluster"
)

// logged keeps what a process logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// says waits until a line of the log has all of some texts.
func (l *logged) says(t *testing.T, texts ...string) {
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for line := range strings.Lines(l.text.String()) {
			all := true
			for _, s := range texts {
				all = all && strings.Contains(line, s)
			}
			if all {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
}

// startLogged starts a process under a list of addresses, and returns its log.
func (c *replicated) startLogged(i int, addresses []string) *logged {
	l := &logged{}
	was := c.addresses
	c.addresses, c.logger = addresses, slog.New(slog.NewTextHandler(l, nil))
	c.start(i)
	c.addresses, c.logger = was, nil
	return l
}

// unready waits until a process is not ready for a reason that has some texts.
func (c *replicated) unready(i int, texts ...string) {
	require.Eventually(c.t, func() bool {
		err := c.processes[i].Ready()
		for _, s := range texts {
			if err == nil || !strings.Contains(err.Error(), s) {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}

// TestLists starts processes with lists that differ by their order. They do not begin a cluster, and say both lists. One that comes
// back to its cluster with another list is not ready, while the others are. A process that is missing is named.
func TestLists(t *testing.T) {
	c := unstarted(t, 3, 1, local.Tuning{PlaceBlock: 16})
	right, wrong := strings.Join(c.addresses, ","), "passthrough:1,passthrough:0,passthrough:2"
	first := c.startLogged(0, c.addresses)
	c.startLogged(1, c.addresses)
	moved := c.startLogged(2, strings.Split(wrong, ","))
	moved.says(t, "level=ERROR", right, wrong)
	first.says(t, "level=ERROR", right, wrong)
	c.unready(2, right, wrong)
	for i := range c.processes {
		require.Zero(t, c.processes[i].Local().Replicas()[0].Term, "process %d takes part", i)
	}

	c.kill(2)
	first.says(t, "level=WARN", "does not answer", "process=2", "passthrough:2")
	c.start(2)
	for i := range c.processes {
		c.ready(i, "")
	}
	first.says(t, "level=INFO", "another process of the cluster answers", "process=2")

	c.kill(2)
	moved = c.startLogged(2, strings.Split(wrong, ","))
	moved.says(t, "level=ERROR", right, wrong)
	c.unready(2, right, wrong)
	c.ready(0, "")
	c.ready(1, "")
}

// TestReadyWithAll starts two of three processes that get replicas of each other's shards. They are not ready before they have all.
func TestReadyWithAll(t *testing.T) {
	c := unstarted(t, 3, 3, local.Tuning{PlaceBlock: 16})
	c.layout.Replicas = 1
	for i := range c.processes {
		c.start(i)
	}
	newPairs(t, c.gateway()).write()
	for i := range c.processes {
		c.kill(i)
	}
	c.layout.Replicas = 3
	c.start(0)
	c.start(1)
	for i := range 2 {
		require.Eventually(t, func() bool { return c.processes[i].Local().Replicas()[uint32(i)].Leads }, time.Minute, time.Millisecond)
		c.unready(i, "this process has no replica of shard")
	}
	c.start(2)
	for i := range c.processes {
		c.ready(i, "")
		require.Len(t, c.processes[i].Local().Replicas(), 3)
	}
}

// TestOwnAddress starts a process with its directory under an address that no list has. It says so, and does not wait to be added.
func TestOwnAddress(t *testing.T) {
	c := newReplicated(t, 3, 1)
	c.ready(2, "")
	c.kill(2)
	_, err := cluster.JoinProcess(t.Context(), local.Options{Dir: "data", FS: c.fs[2], Logger: slog.New(slog.DiscardHandler)}, "passthrough:9", c.addresses, grpc.WithContextDialer(c.dial))
	require.ErrorContains(t, err, "data belongs to process 2 of the first 3 of a cluster, and passthrough:9 is not one of their addresses, passthrough:0,passthrough:1,passthrough:2")
}
