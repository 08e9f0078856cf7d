package past

import (
	"context"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/shard"
)

// Moment is what a request asks for.
type Moment interface {
	// Find returns the number and the time of a commit of a graph.
	Find(ctx context.Context, g shard.Graph) (commit uint64, time int64, err error)
	// Defined says that Find looks at the definitions of the graph, which are the newest once a transaction has begun. It then finds no commit
	// later than that of the transaction.
	Defined() bool
}

type momentKey struct{}

// With returns a context whose transactions read the graphs of a Store as of a moment.
func With(ctx context.Context, m Moment) context.Context {
	return context.WithValue(ctx, momentKey{}, m)
}

// Asked returns the moment of a context, or nil.
func Asked(ctx context.Context) Moment {
	m, _ := ctx.Value(momentKey{}).(Moment)
	return m
}

// Checked returns a function that ends a transaction which reads the present although its context asks for a moment: one of a store that is
// no Store.
func Checked(ctx context.Context) func(tx shard.Tx, err error) (shard.Tx, error) {
	if Asked(ctx) == nil {
		return asItIs
	}
	return func(of shard.Tx, err error) (shard.Tx, error) {
		if err != nil {
			return nil, err
		}
		if _, ok := of.Features().Commits.(*tx); !ok {
			of.Rollback()
			return nil, noLog()
		}
		return of, nil
	}
}

func asItIs(tx shard.Tx, err error) (shard.Tx, error) { return tx, err }

// Store is a store whose graphs are also read as of a moment.
type Store struct {
	shard.Store
	bytes  int
	pool   *memory.Pool
	graphs sync.Map // *Graph by name
}

// NewStore returns a store each of whose graphs keeps a History of some bytes.
func NewStore(of shard.Store, bytes int) *Store { return &Store{Store: of, bytes: bytes} }

// Share has what is kept of the past take its memory from a pool. It is called before any graph is read.
func (s *Store) Share(pool *memory.Pool) { s.pool = pool }

// Forget gives up some bytes of what is kept of moments that nobody reads now, and returns how many it has given up.
func (s *Store) Forget(bytes int) (freed int) {
	s.graphs.Range(func(_, g any) bool {
		freed += g.(*Graph).history.Forget(bytes - freed)
		return freed < bytes
	})
	return freed
}

// Graph implements shard.Store.
func (s *Store) Graph(name string) (shard.Graph, error) {
	g, err := s.Store.Graph(name)
	if err != nil {
		return nil, err
	}
	return s.over(name, g), nil
}

// over returns the Graph over a graph: the same as long as the graph is the same, since plans are kept by it.
func (s *Store) over(name string, g shard.Graph) *Graph {
	if old, ok := s.graphs.Load(name); ok && old.(*Graph).Graph == g {
		return old.(*Graph)
	}
	own := &Graph{Graph: g, history: New(g, s.bytes)}
	own.history.Share(s.pool)
	if old, ok := s.graphs.Swap(name, own); ok {
		old.(*Graph).history.end()
	}
	return own
}

// CreateGraph implements shard.Store.
func (s *Store) CreateGraph(ctx context.Context, name string) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return s.Store.CreateGraph(ctx, name)
}

// DropGraph implements shard.Store.
func (s *Store) DropGraph(ctx context.Context, name string) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	if old, ok := s.graphs.LoadAndDelete(name); ok {
		old.(*Graph).history.end()
	}
	return s.Store.DropGraph(ctx, name)
}

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures {
	f := s.Store.Features()
	if f.Cached != nil {
		f.Cached = cached{s, f.Cached}
	}
	return f
}

type cached struct {
	s  *Store
	of shard.CachedStore
}

// Known implements shard.CachedStore.
func (c cached) Known(name string) shard.Graph {
	if g := c.of.Known(name); g != nil {
		return c.s.over(name, g)
	}
	return nil
}

// Graph is a graph whose transactions read it as of the moment of their context, if that has one. It then changes nothing.
type Graph struct {
	shard.Graph
	history *History
}

// Begin implements shard.Graph.
func (g *Graph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	m := Asked(ctx)
	switch {
	case m == nil:
		return g.Graph.Begin(ctx, mode)
	case mode != shard.Read:
		return nil, ReadOnly()
	}
	return g.begin(ctx, m)
}

// BeginStale implements shard.Graph: what reads the past needs the present one snapshot.
func (g *Graph) BeginStale(ctx context.Context, within time.Duration) (shard.Tx, error) {
	if m := Asked(ctx); m != nil {
		return g.begin(ctx, m)
	}
	return g.Graph.BeginStale(ctx, within)
}

func (g *Graph) begin(ctx context.Context, m Moment) (shard.Tx, error) {
	if g.Graph.ChangeLog() == nil {
		return nil, noLog()
	}
	var commit uint64
	var at int64
	var err error
	if !m.Defined() {
		if commit, at, err = m.Find(ctx, g.Graph); err != nil {
			return nil, err
		}
	}
	tx, err := g.Graph.Begin(ctx, shard.Read)
	if err != nil {
		return nil, err
	}
	if m.Defined() {
		commit, at, err = m.Find(ctx, g.Graph)
	}
	if err == nil {
		p, lost := g.history.At(ctx, tx, commit, at)
		if lost == nil {
			return p, nil
		}
		err = lost
	}
	defer tx.Rollback()
	if v := tx.Features().Validator; v != nil { // the snapshot may lag behind the commit
		if lost := v.Check(ctx); lost != nil {
			return nil, lost
		}
	}
	return nil, err
}

// CreateIndex implements shard.Graph.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return g.Graph.CreateIndex(ctx, ix)
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return g.Graph.DropIndex(ctx, name)
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return g.Graph.SetTTL(ctx, t)
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return g.Graph.DropTTL(ctx, label, typ)
}

// Define implements shard.Graph.
func (g *Graph) Define(ctx context.Context, c definition.Change) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return g.Graph.Define(ctx, c)
}

// Load implements shard.Graph.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	if Asked(ctx) != nil {
		return ReadOnly()
	}
	return g.Graph.Load(ctx, l)
}
