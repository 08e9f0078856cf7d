package remote_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote"
)

// plain runs a cluster of processes that keep one shard each, without replicas or with one, until stop.
func (c *replicated) plain(replicas int) (gateway *remote.Store, stop func()) {
	t, listeners := c.t, make([]*bufconn.Listener, len(c.fs))
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		no, err := strconv.Atoi(address)
		if err != nil {
			return nil, err
		}
		return listeners[no].DialContext(ctx)
	}
	var ends []func()
	options := func(no int) local.Options {
		return local.Options{Dir: "data", FS: c.fs[no], Shards: len(c.fs), Replicas: replicas, Logger: slog.New(slog.DiscardHandler), Tuning: c.tuning}
	}
	serve := func(no int, register func(s *grpc.Server), end func() error) {
		s := grpc.NewServer(remote.ServerOptions(nil)...)
		register(s)
		go func() { _ = s.Serve(listeners[no]) }()
		ends = append(ends, s.Stop, func() { require.NoError(t, end()) })
	}
	for no := range listeners {
		listeners[no] = bufconn.Listen(1 << 20)
	}
	for no := 1; no < len(c.fs); no++ {
		parts, err := local.OpenParts(options(no), no)
		require.NoError(t, err)
		serve(no, func(s *grpc.Server) { remote.ServeParts(s, parts) }, parts.Close)
	}
	peers, err := remote.NewPeers(c.addresses, grpc.WithContextDialer(dial))
	require.NoError(t, err)
	o := options(0)
	o.Peers = peers
	leader, err := local.Open(o)
	require.NoError(t, err)
	gateway, err = remote.Open(c.addresses, grpc.WithContextDialer(dial))
	require.NoError(t, err)
	serve(0, func(s *grpc.Server) { remote.ServeLeader(s, leader, peers) }, func() error {
		err := leader.Close()
		_ = peers.Close()
		return err
	})
	return gateway, func() {
		require.NoError(t, gateway.Close())
		for i := len(ends) - 2; i >= 0; i -= 2 { // the leader first
			ends[i]()
			ends[i+1]()
		}
	}
}

// whole reports whether each replica of the layout follows or leads, so that any one of them may go.
func (c *replicated) whole(g *remote.Store) bool {
	all, err := g.Members(c.t.Context())
	n := 0
	for _, m := range all {
		if m.Role == "leader" || m.Role == "follower" {
			n++
		}
	}
	return err == nil && n == c.layout.Shards*c.layout.Replicas
}

// TestAdopt starts a cluster without replicas, whose processes have crashed, or with one of each shard, again with three. It answers at once,
// and each shard gets its replicas while clients write, and processes are killed. Then each process is killed in turn.
func TestAdopt(t *testing.T) {
	for replicas := range 2 {
		t.Run(fmt.Sprint("replicas=", replicas), func(t *testing.T) {
			c := unstarted(t, 3, 3, local.Tuning{PlaceBlock: 16, LogBytes: 4 << 10})
			for range 3 { // each start is another writer
				_, stop := c.plain(replicas)
				stop()
			}
			gateway, stop := c.plain(replicas)
			p := newPairs(t, gateway)
			end := p.clients(2)
			require.Eventually(t, func() bool { return p.next.Load() > 30 }, time.Minute, time.Millisecond)
			end()
			crashed := make([]*vfs.MemFS, 3)
			for i, fs := range c.fs {
				crashed[i] = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rand.IntN(101), RNG: rand.New(rand.NewPCG(rand.Uint64(), 1))})
			}
			stop()
			c.fs = crashed

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
		})
	}
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
	require.Len(t, c.keepers(0), 1, "the group waits for all")
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
