package remote_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

// whole reports whether each replica of the layout follows or leads, so that any one of them may go. Each has applied the last change of its
// group's members: a group elects no leader while one that has not is needed, since the library counts votes by the members applied.
func (c *replicated) whole(g *gateway.Store) bool {
	for _, p := range c.processes {
		for _, s := range p.Local().Replicas() {
			if len(s.Members.Voters()) < c.layout.Replicas || s.Members.Joint() {
				return false
			}
		}
	}
	all, err := g.Members(c.t.Context())
	n := 0
	for _, m := range all {
		if m.Role == "leader" || m.Role == "follower" {
			n++
		}
	}
	return err == nil && n == c.layout.Shards*c.layout.Replicas
}

// TestGrow starts a cluster with one replica of each shard, whose processes have crashed, again with three. It answers at once, and each shard
// gets its replicas while clients write, and processes are killed. Then each process is killed in turn.
func TestGrow(t *testing.T) {
	c := unstarted(t, 3, 3, local.Tuning{PlaceBlock: 16, LogBytes: 4 << 10})
	c.layout.Replicas = 1
	for i := range c.processes {
		c.start(i)
	}
	p := newPairs(t, c.gateway())
	end := p.clients(2)
	require.Eventually(t, func() bool { return p.next.Load() > 30 }, time.Minute, time.Millisecond)
	end()
	for i := range c.processes {
		require.Len(t, c.processes[i].Local().Replicas(), 1)
		c.kill(i)
	}

	c.layout.Replicas = 3
	for i := range c.processes {
		c.start(i)
	}
	after := c.gateway()
	until(t, func() (err error) {
		p.g, err = after.Graph(local.DefaultGraph)
		return err
	})
	p.read()
	p.write()
	end = p.clients(2)
	defer end()
	c.kill(2) // whose shard has no other replica yet, or may have
	c.start(2)
	require.Eventually(t, func() bool { return c.whole(after) }, time.Minute, 10*time.Millisecond)
	progress := func() {
		want := p.next.Load() + 5
		require.Eventually(t, func() bool { return p.next.Load() >= want }, time.Minute, time.Millisecond)
	}
	for i := range c.processes {
		c.ready(i, "")
		require.Len(t, c.processes[i].Local().Replicas(), 3)
	}
	for i := range c.processes {
		c.kill(i)
		progress()
		c.start(i)
		c.ready(i, "")
	}
	end()
	p.verify(after)
}

// TestAdoptEmpty starts a process with graphs of one shard and two without any. These wait, also after a restart, and are seeded.
func TestAdoptEmpty(t *testing.T) {
	c := unstarted(t, 3, 1, local.Tuning{PlaceBlock: 16})
	s, err := local.Open(local.Options{Dir: "data", FS: c.fs[0], Logger: slog.New(slog.DiscardHandler), Tuning: c.tuning})
	require.NoError(t, err)
	p := newPairs(t, s)
	for range 10 {
		p.write()
	}
	require.NoError(t, s.Close())
	c.start(1)
	c.start(0)
	after := c.gateway()
	until(t, func() (err error) {
		p.g, err = after.Graph(local.DefaultGraph)
		return err
	})
	p.write()
	p.read()
	c.kill(1)
	c.start(1)
	require.Len(t, c.voters(0), 1, "the group waits for all")
	c.start(2)
	require.Eventually(t, func() bool { return c.whole(after) }, time.Minute, 10*time.Millisecond)
	c.kill(0)
	p.write()
	c.start(0)
	for i := range c.processes {
		c.ready(i, "")
	}
	p.verify(after)
}
