package local

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
	"github.com/hopgate/hopgate/internal/storage"
)

// neighbours are processes that keep shards, but for the processes: Parts on file systems of their own.
type neighbours struct {
	t     *testing.T
	opts  Options
	epoch uint64

	mu        sync.Mutex
	processes []*part.Replicas // by shard
	fs        []*vfs.MemFS
	wrap      func(no int, fs *vfs.MemFS) vfs.FS // or nil
	// before, if it is set, is called before each change of a shard, and after each, and may kill the shard's process or
	// make the writer fail.
	before, after func(no int) error
}

func newNeighbours(t *testing.T, opts Options) *neighbours { return newWrapped(t, opts, nil) }

// newWrapped is newNeighbours with file systems that wrap makes.
func newWrapped(t *testing.T, opts Options, wrap func(no int, fs *vfs.MemFS) vfs.FS) *neighbours {
	n := &neighbours{t: t, opts: opts, wrap: wrap, processes: make([]*part.Replicas, opts.Shards), fs: make([]*vfs.MemFS, opts.Shards)}
	for no := range opts.Shards {
		n.fs[no] = vfs.NewCrashableMem()
		n.start(no)
	}
	return n
}

func (n *neighbours) start(no int) {
	o := n.opts
	o.FS, o.Dir, o.Peers = n.fs[no], "data", nil
	if n.wrap != nil {
		o.FS = n.wrap(no, n.fs[no])
	}
	n.processes[no] = openAlone(n.t, o, no)
}

// openAlone opens the directory of a process of a cluster with one replica of each shard, which has the shard of its number.
func openAlone(t testing.TB, o Options, no int) *part.Replicas {
	r, err := part.OpenReplicas(o, shard.Layout{Processes: o.Shards, Shards: o.Shards, Replicas: 1}, no, part.Network{})
	require.NoError(t, err)
	require.NoError(t, r.Host().Begin(context.Background(), uint32(no)))
	return r
}

// kill ends the process of a shard, which loses what it has not synced, and starts it again.
func (n *neighbours) kill(no int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fs := n.fs[no].CrashClone(vfs.CrashCloneCfg{})
	require.NoError(n.t, n.processes[no].Close())
	n.fs[no] = fs
	n.start(no)
}

func (n *neighbours) close() {
	for _, p := range n.processes {
		require.NoError(n.t, p.Close())
	}
}

// lead opens the graphs for a leader with options, of which Peers leads to the neighbours.
func (n *neighbours) lead(opts Options) (*Store, error) {
	opts.EnsureDefaults()
	return OpenLeading(context.Background(), opts, nil, n.parts(0).Held())
}

func (n *neighbours) parts(no int) *part.Parts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.processes[no].Parts(no)
}

func (n *neighbours) part(name string, no int) (*part.Part, error) { return n.parts(no).Part(name) }

// writer is the way of one process to its neighbours.
func (n *neighbours) writer() storage.Peers {
	n.epoch++
	return &writer{n, n.epoch}
}

type writer struct {
	n     *neighbours
	epoch uint64
}

func (w *writer) Open(_ context.Context, g storage.PartOf, no int, create bool) (storage.Peer, uint64, error) {
	v, err := w.n.parts(no).Attach(context.Background(), g, no, w.epoch, create)
	return &neighbour{w, g.Name, no}, v, err
}

func (w *writer) Drop(_ context.Context, g storage.PartOf, no int) error {
	return w.n.parts(no).Drop(context.Background(), g)
}

func (w *writer) Discard(_ context.Context, g storage.PartOf) error {
	return w.n.parts(0).Discard(context.Background(), g)
}

func (w *writer) Copy(_ context.Context, no int, id uint64) (storage.PeerCopy, error) {
	c, err := w.n.parts(no).Copy(id)
	return &copied{w, w.n.parts(no), c}, err
}

func (w *writer) CheckFiles(ctx context.Context, g storage.PartOf, no int, bad func(file string, err error)) (files, bytes uint64, err error) {
	return w.n.parts(no).CheckFiles(ctx, g, bad)
}

func (*writer) Compare(context.Context, storage.PartOf, int, uint64, func(string)) error { return nil }

type copied struct {
	*writer
	parts *part.Parts
	c     *datadir.Checkpoint
}

func (c *copied) Flush(g storage.PartOf) error { return c.parts.Flush(context.Background(), g) }

func (c *copied) Take(g storage.PartOf, version uint64) error {
	return c.parts.Take(context.Background(), c.c, g, c.epoch, version)
}

func (c *copied) Files() ([]graph.CheckpointFile, error) {
	return c.parts.List(context.Background(), c.c)
}

func (c *copied) Open(path string) (io.ReadCloser, error) { return c.parts.CopiedFile(c.c.ID(), path) }

func (c *copied) Close() error { return c.c.Close() }

type neighbour struct {
	*writer
	name string
	no   int
}

func (p *neighbour) Apply(c *storage.Changed) error {
	if p.n.before != nil {
		if err := p.n.before(p.no); err != nil {
			return err
		}
	}
	err := p.n.parts(p.no).Apply(context.Background(), p.name, p.epoch, c)
	if err == nil && p.n.after != nil {
		if err := p.n.after(p.no); err != nil {
			return err
		}
		err = p.n.parts(p.no).Apply(context.Background(), p.name, p.epoch, c) // an answer that is lost is asked for again
	}
	return err
}

func (p *neighbour) Get(store storage.Store, version uint64, key []byte) ([]byte, bool, error) {
	part, err := p.n.part(p.name, p.no)
	if err != nil {
		return nil, false, err
	}
	return part.Get(p.epoch, store, version, 0, key)
}

func (p *neighbour) GetAll(store storage.Store, version uint64, keys [][]byte) ([][]byte, error) {
	part, err := p.n.part(p.name, p.no)
	if err != nil {
		return nil, err
	}
	return part.GetAll(p.epoch, store, version, 0, keys)
}

func (p *neighbour) Walk(w *storage.Walk) (*storage.Records, error) {
	part, err := p.n.part(p.name, p.no)
	if err != nil {
		return nil, err
	}
	w.Bytes /= 64 // so that walks take several steps
	return part.Walk(p.epoch, 0, w)
}

func (p *neighbour) Close() error { return nil }

// TestDifferentialPeers is TestDifferential with all shards in other processes.
func TestDifferentialPeers(t *testing.T) {
	shardtest.Run(t, eachSeed(t, seeds(8)), []int{2, 3}, func(t *testing.T, rng *rand.Rand, shards int) shardtest.Backing {
		opts := tiny(rng, shards)
		n := newNeighbours(t, opts)
		t.Cleanup(n.close)
		opts.FS = vfs.NewMem()
		b, _ := backing(t, func() *Store {
			opts.Peers = n.writer()
			s, err := n.lead(opts)
			require.NoError(t, err)
			return s
		})
		return b
	}, shard.Validation, shard.WireMetering, shard.DegreeBounds, shard.RuleScans)
}

// leadSpread opens a store with each shard in a process of its own.
func leadSpread(t *testing.T, opts Options) *Store {
	n := newNeighbours(t, opts)
	t.Cleanup(n.close)
	opts.FS, opts.Peers = vfs.NewMem(), n.writer()
	s, err := n.lead(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
