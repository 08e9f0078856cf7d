package remote_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/cluster"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

// replicated is a cluster of processes, within this one, with three replicas of each shard unless a test changes the layout.
type replicated struct {
	t         testing.TB
	layout    shard.Layout
	tuning    local.Tuning
	addresses []string
	more      []grpc.ServerOption            // of processes that start from now on
	logger    *slog.Logger                   // of processes that start from now on; nil drops what they log
	before    atomic.Pointer[func(call any)] // called with each unary call of a process

	mu        sync.Mutex
	fs        []*vfs.MemFS
	listeners []*bufconn.Listener // nil for a process that is down
	power     []*power
	servers   []*grpc.Server
	processes []*cluster.Process
}

func newReplicated(t testing.TB, processes, shards int) *replicated {
	return newReplicatedTuned(t, processes, shards, local.Tuning{PlaceBlock: 16})
}

func newReplicatedTuned(t testing.TB, processes, shards int, tuning local.Tuning) *replicated {
	c := unstarted(t, processes, shards, tuning)
	for i := range processes {
		c.start(i)
	}
	return c
}

// unstarted is newReplicatedTuned before its processes start.
func unstarted(t testing.TB, processes, shards int, tuning local.Tuning) *replicated {
	c := &replicated{
		t: t, tuning: tuning, layout: shard.Layout{Processes: processes, Shards: shards, Replicas: 3}, fs: make([]*vfs.MemFS, processes),
		listeners: make([]*bufconn.Listener, processes), power: make([]*power, processes), servers: make([]*grpc.Server, processes), processes: make([]*cluster.Process, processes),
	}
	for i := range processes {
		c.addresses = append(c.addresses, "passthrough:"+strconv.Itoa(i))
		c.fs[i] = vfs.NewCrashableMem()
	}
	t.Cleanup(func() {
		for i := range c.processes {
			if c.processes[i] != nil {
				c.kill(i)
			}
		}
	})
	return c
}

// dial connects to a process, or fails as its machine does when it is down.
func (c *replicated) dial(ctx context.Context, address string) (net.Conn, error) {
	i, err := strconv.Atoi(address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	l := c.listeners[i]
	c.mu.Unlock()
	if l == nil {
		return nil, net.ErrClosed
	}
	return l.DialContext(ctx)
}

func (c *replicated) start(i int) {
	on := &power{}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := c.dial(ctx, address)
		return poweredConn{conn, on}, err
	}
	opts := local.Options{Dir: "data", FS: c.fs[i], Logger: slog.New(slog.DiscardHandler), Tuning: c.tuning}
	if c.logger != nil {
		opts.Logger = c.logger
	}
	var p *cluster.Process
	var err error
	if i < c.layout.Processes {
		p, err = cluster.NewProcess(opts, c.layout, i, c.addresses, grpc.WithContextDialer(dial))
	} else {
		p, err = cluster.JoinProcess(c.t.Context(), opts, "passthrough:"+strconv.Itoa(i), c.addresses[1:], grpc.WithContextDialer(dial))
	}
	require.NoError(c.t, err)
	s, l := grpc.NewServer(append(rpc.ServerOptions(nil), append(c.more, grpc.ChainUnaryInterceptor(c.called))...)...), bufconn.Listen(1<<20)
	p.Register(s)
	go func() { _ = s.Serve(poweredListener{l, on}) }()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[i], c.servers[i], c.listeners[i], c.power[i] = p, s, l, on
}

func (c *replicated) called(ctx context.Context, call any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if f := c.before.Load(); f != nil {
		(*f)(call)
	}
	return next(ctx, call)
}

// power is that of a process's machine. Once it is off, nothing that the process sends arrives, and a connection ends with the first try.
type power struct {
	sync.RWMutex
	off bool
}

type poweredConn struct {
	net.Conn
	on *power
}

// Write implements net.Conn.
func (c poweredConn) Write(b []byte) (int, error) {
	c.on.RLock()
	defer c.on.RUnlock()
	if c.on.off {
		_ = c.Close() // else gRPC waits for its peer to close it, or to answer no ping for 12 s
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

type poweredListener struct {
	net.Listener
	on *power
}

// Accept implements net.Listener.
func (l poweredListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return poweredConn{conn, l.on}, err
}

// kill ends a process, which loses some of what it has not synced. It acknowledges nothing that it writes after that state of its disk.
func (c *replicated) kill(i int) {
	c.power[i].Lock()
	c.power[i].off = true
	c.power[i].Unlock()
	c.mu.Lock()
	p, s := c.processes[i], c.servers[i]
	left := c.fs[i].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rand.IntN(101), RNG: rand.New(rand.NewPCG(rand.Uint64(), 1))})
	c.processes[i], c.servers[i], c.listeners[i] = nil, nil, nil
	c.fs[i] = left
	c.mu.Unlock()
	s.Stop()
	require.NoError(c.t, p.Close())
}

func (c *replicated) gateway() *gateway.Store {
	g, err := gateway.Open(c.addresses, grpc.WithContextDialer(c.dial))
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, g.Close()) })
	return g
}

// leader returns the process that leads the replicas of a shard.
func (c *replicated) leader(no int) int {
	leader := -1
	require.Eventually(c.t, func() bool {
		for i, p := range c.processes {
			if p != nil && p.Local().Replicas()[uint32(no)].Leads {
				leader = i
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	return leader
}

// TestReplicas compares what a cluster with replicas answers to a store in this process.
func TestReplicas(t *testing.T) {
	const n = 2000
	for _, size := range [][2]int{{3, 1}, {3, 3}, {3, 16}, {5, 5}} {
		t.Run(strconv.Itoa(size[0])+"/"+strconv.Itoa(size[1]), func(t *testing.T) {
			whole, err := local.Open(memoryOptions(size[1]))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, whole.Close()) })
			c := newReplicated(t, size[0], size[1])
			one, many := fill(t, whole, n, 4, 1), fill(t, c.gateway(), n, 4, 1)
			a, b := one.begin(t), many.begin(t)
			for _, count := range []int{1, 100, n} {
				var from, out [2]graph.VertexSet
				for _, i := range rand.Perm(n)[:count] {
					from[0].Add(one.ids[i])
					from[1].Add(many.ids[i])
				}
				require.NoError(t, a.Step(context.Background(), &from[0], []graph.TypeID{one.a}, graph.Both, &out[0]))
				require.NoError(t, b.Step(context.Background(), &from[1], []graph.TypeID{many.a}, graph.Both, &out[1]))
				require.True(t, slices.Equal(one.numbers(&out[0]), many.numbers(&out[1])))
			}
			require.Equal(t, a.Counts().Edges, b.Counts().Edges)

			// Each process is called once, however many shards it is asked for.
			require.Eventually(t, func() bool { // late calls are made twice
				var wire graph.Wire
				b.Features().Wire.Wire(&wire)
				return b.LabelSets(context.Background(), many.ids, make([]graph.LabelSet, n)) == nil && wire.Requests.Load() <= int64(size[0])
			}, time.Minute, time.Millisecond)
		})
	}
}

// pairs writes pairs of vertices with an edge in each direction between them, of which there are both or none, and reads them.
type pairs struct {
	t        *testing.T
	g        shard.Graph
	num      graph.PropID
	typ      graph.TypeID
	set      graph.LabelSet
	next     atomic.Int64
	mu       sync.Mutex
	vertices [][2]graph.VertexID // of the pairs that were acknowledged
	unknown  int                 // pairs whose commit had no known outcome
}

// until runs f until it ends otherwise than with a lost transaction, or a process that does not answer.
func until(t testing.TB, f func() error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return
		}
		kind := graph.AsError(err).Kind
		require.True(t, shard.Retriable(err) || kind == graph.KindUnavailable || kind == graph.KindDeadline, "%v", err)
		require.NoError(t, ctx.Err(), "%v", err)
	}
}

func newPairs(t *testing.T, s shard.Store) *pairs {
	p := &pairs{t: t}
	until(t, func() (err error) {
		if p.g, err = s.Graph(local.DefaultGraph); err != nil {
			return err
		}
		tx, err := p.g.Begin(t.Context(), shard.Write)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		label, err := tx.Label("P")
		if err == nil {
			p.set, err = tx.LabelSet([]graph.LabelID{label})
		}
		if err == nil {
			p.num, err = tx.Prop("num")
		}
		if err == nil {
			p.typ, err = tx.Type("E")
		}
		return err
	})
	return p
}

// write writes a pair.
func (p *pairs) write() {
	n := p.next.Add(1)
	var ends []shard.Mutation
	known := true
	until(p.t, func() error {
		tx, err := p.g.Begin(p.t.Context(), shard.Write)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		ends = make([]shard.Mutation, 2)
		for i := range ends {
			ends[i] = shard.Mutation{Op: shard.CreateVertex, Labels: p.set, Props: []graph.Property{{ID: p.num, Value: graph.IntValue(n)}}}
		}
		if err := tx.Apply(p.t.Context(), ends); err != nil {
			return err
		}
		err = tx.Apply(p.t.Context(), []shard.Mutation{
			{Op: shard.CreateEdge, Edge: graph.Edge{Src: ends[0].Vertex, Dst: ends[1].Vertex, Type: p.typ}},
			{Op: shard.CreateEdge, Edge: graph.Edge{Src: ends[1].Vertex, Dst: ends[0].Vertex, Type: p.typ}},
		})
		if err != nil {
			return err
		}
		err = tx.Commit(p.t.Context())
		if err != nil && graph.AsError(err).Kind == graph.KindUnknown {
			known = false
			return nil
		}
		return err
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if !known {
		p.unknown++
		return
	}
	p.vertices = append(p.vertices, [2]graph.VertexID{ends[0].Vertex, ends[1].Vertex})
}

// read reads what was acknowledged before: all of it is there.
func (p *pairs) read() {
	p.mu.Lock()
	known := slices.Clone(p.vertices)
	p.mu.Unlock()
	until(p.t, func() error {
		tx, err := p.g.Begin(p.t.Context(), shard.Read)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for _, dir := range []graph.Direction{graph.Out, graph.In} {
			var from, to graph.VertexSet
			for _, ends := range known {
				from.Add(ends[0])
			}
			if err := tx.Step(p.t.Context(), &from, []graph.TypeID{p.typ}, dir, &to); err != nil {
				return err
			}
			if err := tx.Features().Validator.Check(p.t.Context()); err != nil {
				return err
			}
			require.Equal(p.t, len(known), to.Len())
			for _, ends := range known {
				require.True(p.t, to.Has(ends[1]), "an edge that was acknowledged is missing")
			}
		}
		return nil
	})
}

// TestFailover kills the processes that lead shards, and one that follows, while others write and read: what was acknowledged stays,
// and nobody notices but by the time that it takes.
func TestFailover(t *testing.T) {
	c := newReplicated(t, 3, 3)
	gateway := c.gateway()
	p := newPairs(t, gateway)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.write()
					p.read()
				}
			}
		})
	}
	progress := func() {
		want := p.next.Load() + 10
		require.Eventually(t, func() bool { return p.next.Load() >= want }, time.Minute, time.Millisecond)
	}
	progress()
	for _, no := range []int{0, 1, 0, 2} {
		i := c.leader(no)
		c.kill(i)
		progress()
		c.start(i)
		progress()
	}
	i := (c.leader(0) + 1) % 3
	c.kill(i)
	progress()
	close(stop)
	clients.Wait()
	p.verify(gateway)
}

// TestTransfer has a process hand over its leads when the process that they go to first, whose log is as long as that of the other one, is
// dead and not missed yet.
func TestTransfer(t *testing.T) {
	c := newReplicated(t, 3, 2)
	newPairs(t, c.gateway()).write()
	i := c.leader(0)
	c.kill(min((i+1)%3, (i+2)%3))
	var led []uint32 // the dead process may have led the other shard, whose lead may come here later
	replicas := c.processes[i].Local().Replicas
	for group, s := range replicas() {
		if s.Leads {
			led = append(led, group)
		}
	}
	require.NotEmpty(t, led)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c.processes[i].Transfer(ctx)
	require.NoError(t, ctx.Err())
	require.Eventually(t, func() bool {
		now := replicas()
		return !slices.ContainsFunc(led, func(group uint32) bool { return now[group].Leads || now[group].Leader == 0 })
	}, time.Minute, time.Millisecond)
}
