package localtest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// Bare is a graph over shards in memory without anything that keeps it, so that a test takes the steps of one room itself: it has no
// full-text indexes, and nothing compacts, expires or builds. It implements what the rooms need of a graph.
type Bare struct {
	*storage.Catalog
	On     *read.Readers
	Parts  []*storage.Shard
	Stop   chan struct{}
	Shared *storage.Shared
	// Due is that of the last CommitExpired, Fails the error of Writable.
	Due   int64
	Fails error

	t       testing.TB
	writer  chan struct{}
	intents uint64
	defs    atomic.Pointer[index.Defs]
	made    map[string]shard.Mutation // by name

	mu  sync.Mutex // guards the state of the parts, and what follows
	seq uint64
}

// NewBare makes a graph, which is closed with the test.
func NewBare(t testing.TB, o storage.Options) *Bare {
	o.FS = vfs.NewMem()
	o.EnsureDefaults()
	g := &Bare{
		On: read.NewReaders("bare", &o), Shared: storage.NewShared(&o), Stop: make(chan struct{}), t: t, writer: make(chan struct{}, 1),
		made: map[string]shard.Mutation{},
	}
	var err error
	for no := range o.Shards {
		s, err := storage.CreateShard(&o, g.Shared, storage.Dir(o.Dir, no), no, o.Shards)
		require.NoError(t, err)
		g.Parts = append(g.Parts, s)
	}
	g.intents, err = storage.Recover(g.Parts)
	require.NoError(t, err)
	g.Catalog, err = storage.OpenCatalog(g.Parts[0])
	require.NoError(t, err)
	g.LoadDefs()
	g.On.Topology = read.NewTopology(g.Shared.Topology(), o.Shards)
	t.Cleanup(func() {
		g.On.Topology.Close()
		for _, s := range g.Parts {
			require.NoError(t, s.Close())
		}
		g.Shared.Close()
	})
	return g
}

// Index defines an index, which is online, and returns its id.
func (g *Bare) Index(ix graph.Index) graph.IndexID {
	for _, p := range ix.Props {
		g.prop(p)
	}
	g.names(ix.Label)
	if ix.Type != "" {
		_, err := g.NewType(ix.Type)
		require.NoError(g.t, err)
	}
	var err error
	ix.ID, err = g.NewIndexID()
	require.NoError(g.t, err)
	require.NoError(g.t, g.PutIndex(ix, nil))
	g.LoadDefs()
	return ix.ID
}

func (g *Bare) prop(name string) graph.PropID {
	p, err := g.NewProp(name)
	require.NoError(g.t, err)
	return p
}

func (g *Bare) names(labels string) graph.LabelSet {
	var ids []graph.LabelID
	for name := range strings.FieldsFuncSeq(labels, func(r rune) bool { return r == ':' }) {
		l, err := g.NewLabel(name)
		require.NoError(g.t, err)
		ids = append(ids, l)
	}
	set, err := g.NewLabelSet(ids)
	require.NoError(g.t, err)
	return set
}

// Do commits the changes that lines of words ask for:
//
//	vertex a A:B p=some+text     labels SET are ":" for none; a number is an integer, and nothing a null
//	edge e a b T p=5             from a to b
//	set a p=                     of a vertex, or an edge
//	labels a B
//	delete a
func (g *Bare) Do(lines string) error {
	ctx := context.Background()
	return g.Write(ctx, func(_ *read.Tx, m *write.Mutator) error {
		for line := range strings.Lines(lines) {
			w := strings.Fields(line)
			ms := []shard.Mutation{g.mutation(w)}
			if err := m.Apply(ctx, ms); err != nil {
				return err
			}
			if op := ms[0].Op; op == shard.CreateVertex || op == shard.CreateEdge {
				g.made[w[1]] = ms[0]
			}
		}
		return nil
	})
}

// mutation reads a line of Do.
func (g *Bare) mutation(w []string) shard.Mutation {
	of := g.made[w[1]]
	m := shard.Mutation{Vertex: of.Vertex, Edge: of.Edge}
	isEdge, props := of.Op == shard.CreateEdge, w[2:]
	switch w[0] {
	case "vertex":
		m.Op, m.Labels, props = shard.CreateVertex, g.names(w[2]), w[3:]
	case "edge":
		typ, err := g.NewType(w[4])
		require.NoError(g.t, err)
		m.Op, m.Edge, props = shard.CreateEdge, graph.Edge{Src: g.made[w[2]].Vertex, Dst: g.made[w[3]].Vertex, Type: typ}, w[5:]
	case "labels":
		m.Op, m.Labels, props = shard.SetLabels, g.names(w[2]), nil
	case "set":
		if m.Op = shard.SetVertex; isEdge {
			m.Op = shard.SetEdge
		}
	case "delete":
		if m.Op = shard.DeleteVertex; isEdge {
			m.Op = shard.DeleteEdge
		}
	default:
		g.t.Fatalf("unknown change %s", w[0])
	}
	for _, p := range props {
		name, text, _ := strings.Cut(p, "=")
		v := graph.StringValue(strings.ReplaceAll(text, "+", " "))
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			v = graph.IntValue(n)
		} else if text == "" {
			v = graph.Value{}
		}
		m.Props = append(m.Props, graph.Property{ID: g.prop(name), Value: v})
	}
	return m
}

// NameOf is the name of a vertex or an edge, or "".
func (g *Bare) NameOf(o graph.IndexOwner) string {
	for name, m := range g.made {
		if o.IsEdge && m.Op == shard.CreateEdge && m.Edge.ID == o.Edge || !o.IsEdge && m.Op == shard.CreateVertex && m.Vertex == o.Vertex {
			return name
		}
	}
	return ""
}

// Newest returns the present state.
func (g *Bare) Newest() (*read.Snapshot, func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &read.Snapshot{Seq: g.seq, Defs: g.defs.Load()}
	for _, s := range g.Parts {
		require.NoError(g.t, c.Add(s))
	}
	return c, func() { require.NoError(g.t, c.Close()) }
}

// ReadNewest reads the present state.
func (g *Bare) ReadNewest() (*read.Tx, func(), error) {
	if err := g.On.Enter(); err != nil {
		return nil, nil, err
	}
	c, release := g.Newest()
	tx := &read.Tx{}
	tx.Open(g.On, g.Catalog, c)
	tx.Plain()
	return tx, func() {
		tx.End()
		release()
		g.On.Leave()
	}, nil
}

// Read is ReadNewest.
func (g *Bare) Read(context.Context) (*read.Tx, func(), error) { return g.ReadNewest() }

// Write runs f in a transaction, and commits it.
func (g *Bare) Write(ctx context.Context, f func(tx *read.Tx, m *write.Mutator) error) error {
	if err := g.Lock(ctx); err != nil {
		return err
	}
	tx := &read.Tx{}
	m := write.Begin(tx, nil, g.State())
	defer tx.CloseDecoded()
	err := f(tx, m)
	if err == nil {
		err = m.Verify(ctx)
	}
	if err != nil {
		m.Discard()
		g.Unlock()
		return err
	}
	return g.commit(m.Writers())
}

func (g *Bare) commit(ws []*staging.Writer) error {
	defer g.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	wait, err := storage.Commit(g.Parts, ws, &storage.CommitInfo{}, &g.intents)
	if err != nil {
		return err
	}
	g.seq++
	g.On.Topology.Note(g.seq, ws)
	return wait()
}

// CommitExpired commits, and ends the lock.
func (g *Bare) CommitExpired(ws []*staging.Writer, due int64) error {
	g.Due = due
	return g.commit(ws)
}

// Note queues owners for a full-text index.
func (g *Bare) Note(ctx context.Context, id graph.IndexID, owners []graph.IndexOwner) error {
	return g.Write(ctx, func(_ *read.Tx, m *write.Mutator) error {
		for _, o := range owners {
			m.Writers()[o.Vertex.Shard()].Texts.Note(id, o)
		}
		return nil
	})
}

// State is the present state.
func (g *Bare) State() write.State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return write.State{Readers: g.On, Catalog: g.Catalog, Shards: g.Parts, Seq: g.seq, Defs: g.defs.Load()}
}

// TryLock takes the writer's lock if it is free.
func (g *Bare) TryLock() bool {
	select {
	case g.writer <- struct{}{}:
		return true
	default:
		return false
	}
}

// Lock takes the writer's lock.
func (g *Bare) Lock(ctx context.Context) error {
	select {
	case g.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	case <-g.Stop:
		return fail.Closed()
	}
}

// Relock takes the writer's lock, whatever happens.
func (g *Bare) Relock() { g.writer <- struct{}{} }

// Unlock returns the writer's lock.
func (g *Bare) Unlock() { <-g.writer }

// Locked reports whether somebody holds the writer's lock.
func (g *Bare) Locked() bool { return len(g.writer) > 0 }

// Enqueue does nothing: every read sees the present state.
func (g *Bare) Enqueue() (func() error, error) { return g.Refresh, nil }

// Refresh does nothing.
func (g *Bare) Refresh() error { return nil }

// Writable returns Fails.
func (g *Bare) Writable() error { return g.Fails }

// Defs are the present definitions.
func (g *Bare) Defs() *index.Defs { return g.defs.Load() }

// LoadDefs makes the definitions follow the catalog.
func (g *Bare) LoadDefs() { g.SetDefs(index.All(g.Catalog)) }

// SetDefs makes the definitions those of indexes.
func (g *Bare) SetDefs(indexes []graph.Index) { g.defs.Store(index.New(g.Catalog, indexes)) }

// RemoveIndex removes an index and its entries.
func (g *Bare) RemoveIndex(ix graph.Index) error {
	if err := g.DropIndex(ix, nil); err != nil {
		return err
	}
	g.LoadDefs()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.Parts {
		if err := s.ClearIndex(ix.ID); err != nil {
			return err
		}
	}
	return g.Catalog.RemoveIndex(ix.ID)
}
