package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/bulk"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

const sortingName = "sorting"

// Offline is a load into an empty graph by a process that has the data directory to itself. Vertices, and edges that
// Takes refuses, are loaded through the graph; the embedded Sorter writes the other edges.
//
// It implements shard.EdgeSorter.
type Offline struct {
	*bulk.Sorter
	store *Store
	g     *Graph
}

var _ shard.EdgeSorter = (*Offline)(nil)

// OfflineOptions say how to load.
type OfflineOptions struct {
	// Memory bounds what sorting holds, in bytes; default 256 MiB.
	Memory int64
	// Workers is the number of goroutines that sort; default 1.
	Workers int
	// Progress, if it is set, gets the name of each stage as it begins.
	Progress func(stage string)
}

// loading is what the file datadir.LoadingName says.
type loading struct {
	Graph   string        `json:"graph"`
	Shards  int           `json:"shards"`
	Indexes []graph.Index `json:"indexes"` // that were there before
	TTLs    []graph.TTL   `json:"ttls,omitempty"`
}

// OpenOffline opens a data directory, which it makes if it is not there, for a load into one of its graphs. The graph
// must be empty, or what an interrupted load has left, which is thrown away.
func OpenOffline(opts Options, name string, o OfflineOptions) (_ *Offline, err error) {
	opts.EnsureDefaults()
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	// The vertices' ids are in tables and on their way to lists, so what expires meanwhile is left to who opens the graph next.
	opts.KeepExpired = true
	s, err := open(opts, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	ctx := context.Background()
	old, err := s.loading()
	if err != nil {
		return nil, err
	}
	if old != nil {
		s.Options.Logger.Info("discard an interrupted offline load", slog.String("graph", old.Graph))
		if err := s.renew(ctx, old); err != nil {
			return nil, err
		}
	}
	g, err := s.Local(name)
	if err != nil {
		return nil, err
	}
	if err := g.checkEmpty(ctx); err != nil {
		return nil, err
	}
	if err := s.setLoading(&loading{Graph: name, Shards: len(g.shards), Indexes: g.Indexes(), TTLs: g.TTLs()}); err != nil {
		return nil, err
	}
	sorter, err := bulk.NewSorter(&g.loads, offlineHost{g}, bulk.Options{
		FS: s.Options.FS, Dir: s.Options.FS.PathJoin(opts.Dir, sortingName), Memory: o.Memory, Workers: o.Workers, Progress: o.Progress,
	})
	if err != nil {
		return nil, err
	}
	return &Offline{Sorter: sorter, store: s, g: g}, nil
}

// checkEmpty refuses a graph that holds anything, or has held it.
func (g *Graph) checkEmpty(ctx context.Context) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	for _, s := range g.shards {
		if s.NextVertex() > 0 {
			return fail.New(graph.KindInvalid, "Neo.ClientError.Statement.ArgumentError", "GraphNotEmpty",
				"an offline load needs an empty graph, and %s has vertices, or had some; load through a server, or into another directory", g.Name)
		}
	}
	return nil
}

// loading reads the file datadir.LoadingName; nil if there is none.
func (s *Store) loading() (*loading, error) {
	fs := s.Options.FS
	name := fs.PathJoin(s.Options.Dir, datadir.LoadingName)
	f, err := fs.Open(name)
	if err != nil {
		if _, serr := fs.Stat(name); fail.IsNotExist(serr) {
			return nil, nil
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	b, err := io.ReadAll(f)
	var l loading
	if err = errors.Join(err, f.Close()); err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &l, nil
}

// setLoading writes the file datadir.LoadingName, or, for nil, removes it.
func (s *Store) setLoading(l *loading) error {
	fs := s.Options.FS
	name := fs.PathJoin(s.Options.Dir, datadir.LoadingName)
	if l == nil {
		return errors.Join(fs.Remove(name), storage.SyncDir(fs, s.Options.Dir))
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return datadir.WriteWhole(fs, name, append(b, '\n'))
}

// renew recreates the graph of an interrupted load as it was before.
func (s *Store) renew(ctx context.Context, l *loading) error {
	s.Mu.Lock()
	g := s.ByName[l.Graph]
	delete(s.ByName, l.Graph)
	s.Mu.Unlock()
	if g != nil {
		if err := g.close(ctx); err != nil {
			return err
		}
		fs := s.Options.FS
		if err := errors.Join(fs.Remove(fs.PathJoin(g.dir, datadir.ManifestName)), storage.SyncDir(fs, g.dir)); err != nil {
			return err
		}
	}
	shards := s.Options.Shards
	s.Options.Shards = l.Shards
	err := s.CreateGraph(ctx, l.Graph)
	s.Options.Shards = shards
	if err != nil {
		return err
	}
	if g, err = s.Local(l.Graph); err != nil {
		return err
	}
	for _, ix := range l.Indexes {
		if err := g.CreateIndex(ctx, ix); err != nil {
			return err
		}
	}
	for _, t := range l.TTLs {
		if err := g.SetTTL(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Store is the store that holds the graph, which alone may be used.
func (f *Offline) Store() *Store { return f.store }

// Takes implements shard.EdgeSorter: edges in indexes are loaded row by row.
func (f *Offline) Takes(t graph.TypeID) bool { return len(f.g.defs.Load().ByType[t]) == 0 }

// Finish implements shard.EdgeSorter.
func (f *Offline) Finish(ctx context.Context) (again shard.RowCounts, err error) {
	if again, err = f.Sorter.Finish(ctx); err == nil {
		err = f.store.setLoading(nil)
	}
	return again, err
}

// Close ends the load. Unless Finish has succeeded the directory stays marked as incomplete.
func (f *Offline) Close() error { return errors.Join(f.Sorter.Close(), f.store.Close()) }

// offlineHost is a graph as a Sorter uses it.
type offlineHost struct{ *Graph }

func (g offlineHost) Exclusively(ctx context.Context, f func() error) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	return f()
}

func (g offlineHost) Read(ctx context.Context, f func(tx bulk.Reader) error) error {
	t, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	defer t.Rollback()
	tx := t.(*Tx)
	tx.Plain()
	return f(tx)
}

func (g offlineHost) Write(ctx context.Context, f func(ws []*staging.Writer) error) error {
	t, err := g.Begin(ctx, shard.WriteExclusive)
	if err != nil {
		return err
	}
	tx := t.(*Tx)
	defer tx.Rollback()
	if err := f(tx.Writers()); err != nil {
		return err
	}
	tx.End()
	defer g.Leave()
	_, _, err = g.commit(&change{ws: tx.Writers(), next: due{at: tx.Due()}})
	return err
}
