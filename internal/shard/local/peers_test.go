package local

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// neighbours are processes that keep shards, but for the processes: Parts on file systems of their own.
type neighbours struct {
	t     *testing.T
	opts  Options
	epoch uint64

	mu    sync.Mutex
	parts []*Parts // by shard; without several replicas the first is nil
	fs    []*vfs.MemFS
	// before, if it is set, is called before each change of a shard, and after each, and may kill the shard's process or
	// make the writer fail.
	before, after func(no int) error
}

func newNeighbours(t *testing.T, opts Options) *neighbours {
	n := &neighbours{t: t, opts: opts, parts: make([]*Parts, opts.Shards), fs: make([]*vfs.MemFS, opts.Shards)}
	first := 1
	if opts.Replicas > 1 {
		first = 0
	}
	for no := first; no < opts.Shards; no++ {
		n.fs[no] = vfs.NewCrashableMem()
		n.start(no)
	}
	return n
}

func (n *neighbours) start(no int) {
	o := n.opts
	o.FS, o.Dir = n.fs[no], "data"
	p, err := OpenParts(o, no)
	require.NoError(n.t, err)
	n.parts[no] = p
}

// kill ends the process of a shard, which loses what it has not synced, and starts it again.
func (n *neighbours) kill(no int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fs := n.fs[no].CrashClone(vfs.CrashCloneCfg{})
	require.NoError(n.t, n.parts[no].Close())
	n.fs[no] = fs
	n.start(no)
}

func (n *neighbours) close() {
	for _, p := range n.parts {
		if p != nil {
			require.NoError(n.t, p.Close())
		}
	}
}

// lead opens the graphs for a leader with options, of which Peers leads to the neighbours.
func (n *neighbours) lead(opts Options) (*Store, error) {
	if opts.Replicas > 1 {
		opts.EnsureDefaults()
		return openLeading(context.Background(), opts, nil, n.parts[0].Held())
	}
	return Open(opts)
}

func (n *neighbours) keeper(no int) *Parts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.parts[no]
}

func (n *neighbours) part(name string, no int) (*Part, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.parts[no].Part(name)
}

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
	v, err := w.n.parts[no].Attach(context.Background(), g, no, w.epoch, create)
	return &neighbour{w, g.Name, no}, v, err
}

func (w *writer) Drop(_ context.Context, g storage.PartOf, no int) error {
	return w.n.parts[no].Drop(context.Background(), g)
}

func (w *writer) Discard(_ context.Context, g storage.PartOf) error {
	return w.n.parts[0].Discard(context.Background(), g)
}

func (w *writer) Copy(_ context.Context, no int, id uint64) (storage.PeerCopy, error) {
	c, err := w.n.parts[no].Copy(id)
	return &copied{w, w.n.parts[no], c}, err
}

func (w *writer) CheckFiles(ctx context.Context, g storage.PartOf, no int, bad func(file string, err error)) (files, bytes uint64, err error) {
	return w.n.parts[no].CheckFiles(ctx, g, bad)
}

func (*writer) Compare(context.Context, storage.PartOf, int, uint64, func(string)) error { return nil }

type copied struct {
	*writer
	parts *Parts
	c     *Checkpoint
}

func (c *copied) Flush(g storage.PartOf) error { return c.parts.Flush(context.Background(), g) }

func (c *copied) Take(g storage.PartOf, version uint64) error {
	return c.parts.Take(context.Background(), c.c, g, c.epoch, version)
}

func (c *copied) Files() ([]storage.CopiedFile, error) {
	files, err := c.parts.List(context.Background(), c.c)
	out := make([]storage.CopiedFile, len(files))
	for i := range files {
		out[i] = storage.CopiedFile(files[i])
	}
	return out, err
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
	err := p.n.keeper(p.no).Apply(context.Background(), p.name, p.epoch, c)
	if err == nil && p.n.after != nil {
		if err := p.n.after(p.no); err != nil {
			return err
		}
		err = p.n.keeper(p.no).Apply(context.Background(), p.name, p.epoch, c) // an answer that is lost is asked for again
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

// TestDifferentialPeers is TestDifferential with all shards but the first in other processes.
func TestDifferentialPeers(t *testing.T) {
	differentialPeers(t, 8, 0, func(w *twin, n *neighbours) { w.peers = n.writer })
}

// TestDifferentialReplicas is TestDifferentialPeers with all shards in other processes, as in a cluster with replicas.
func TestDifferentialReplicas(t *testing.T) {
	differentialPeers(t, 6, 3, func(w *twin, n *neighbours) { w.peers, w.lead = n.writer, n.lead })
}

// Cluster is set by the tests of the processes' calls, which stand above this package: it makes the way from a writer to
// the processes that keep the other shards, and from a gateway to all.
var Cluster func(t *testing.T, parts []*Parts) (peers storage.Peers, front func(*Store) (shard.Store, func()))

// TestDifferentialCluster is TestDifferentialPeers through a gateway, with all calls between the processes.
func TestDifferentialCluster(t *testing.T) {
	differentialPeers(t, 8, 0, func(w *twin, n *neighbours) {
		w.peers = func() (p storage.Peers) {
			p, w.front = Cluster(t, n.parts)
			return p
		}
	})
}

func differentialPeers(t *testing.T, n, replicas int, setup func(w *twin, n *neighbours)) {
	for seed := range eachSeed(t, seeds(n)) {
		for _, shards := range []int{2, 3} {
			t.Run(fmt.Sprintf("seed=%d/shards=%d", seed, shards), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(shards)))
				w := &twin{t: t, rng: rng, opts: tiny(rng, shards)}
				w.opts.Replicas = replicas
				n := newNeighbours(t, w.opts)
				defer n.close()
				w.opts.FS = vfs.NewMem()
				setup(w, n)
				w.open()
				o, err := oracle.New(shards), error(nil)
				require.NoError(t, o.CreateGraph(context.Background(), "default"))
				w.o, err = o.Graph("default")
				require.NoError(t, err)
				w.schema()
				for range 30 {
					w.step()
				}
				w.close()
			})
		}
	}
}
