package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/text"
	"github.com/hopgate/hopgate/internal/storage"
)

// Options say how graphs are stored.
type Options = storage.Options

// Tuning holds sizes of the layout.
type Tuning = storage.Tuning

// DefaultGraph is the name of the graph that is always there.
const DefaultGraph = "default"

// Store is a data directory:
//
//	LOCK                      held while a process has the directory open
//	LOADING                   there while an offline load is at work, or if it was interrupted
//	sorting/                  what such a load sorts
//	graphs/NAME/GRAPH         what the graph is; a directory without it is a graph that was not made, or dropped
//	graphs/NAME/shard-0000/   a shard; see storage.Shard
//
// It implements shard.Store.
type Store struct{ datadir.Directory[*Graph] }

var _ shard.Store = (*Store)(nil)

// Open opens a data directory, creating it if needed. One process at a time may have it open.
func Open(opts Options) (*Store, error) { return open(opts, false) }

// open opens a data directory; offline says that it may hold an offline load that did not end.
func open(opts Options, offline bool) (_ *Store, err error) {
	s := &Store{}
	if err := s.Acquire(opts, nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	fs := s.Options.FS
	if _, err := fs.Stat(fs.PathJoin(s.Options.Dir, datadir.LoadingName)); err == nil && !offline {
		return nil, fmt.Errorf("%s holds an interrupted offline load; run it again", s.Options.Dir)
	}
	err = s.Each(func(name string, m datadir.Manifest) (err error) {
		if m.ID != 0 {
			return datadir.ErrUnlogged(s.Options.Dir, name)
		}
		if s.ByName[name], err = openGraph(context.Background(), &s.Options, s.Shared, name, s.Dir(name), m, false); err != nil {
			delete(s.ByName, name)
			return fmt.Errorf("open graph %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.ByName[DefaultGraph] == nil {
		if s.Options.ReadOnly {
			return nil, fail.NotFound("the data directory %s holds no graphs", s.Options.Dir)
		}
		if err := s.CreateGraph(context.Background(), DefaultGraph); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// OpenLeading opens the graphs of a cluster, all of whose shards opts.Peers keeps, for its leader.
func OpenLeading(ctx context.Context, opts storage.Options, shared *storage.Shared, held []datadir.Held) (_ *Store, err error) {
	s := &Store{}
	s.Use(opts, shared)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, h := range held {
		m := datadir.Manifest{Format: storage.FormatVersion, Shards: h.Shards, ID: h.ID, Dropped: h.Dropped}
		if h.Dropped {
			err = s.dropParts(ctx, h.Name, m)
		} else if g, oerr := openGraph(ctx, &s.Options, s.Shared, h.Name, "", m, false); oerr == nil {
			s.ByName[h.Name] = g
		} else {
			err = oerr
		}
		if err != nil {
			return nil, fmt.Errorf("open graph %s: %w", h.Name, err)
		}
	}
	if s.ByName[DefaultGraph] == nil {
		if err := s.CreateGraph(ctx, DefaultGraph); err != nil {
			return nil, err
		}
	}
	if opts.FS == vfs.Default {
		used := map[string]bool{}
		for _, g := range s.ByName {
			used[g.textDir()] = true
		}
		err = text.Remove(filepath.Join(opts.Dir, datadir.TextsName), func(dir string) bool { return used[dir] })
	}
	return s, err
}

// Close closes all graphs, waiting for their transactions to end, and frees the directory.
func (s *Store) Close() error {
	return s.Release(func(g *Graph) error { return g.close(context.Background()) })
}

// Graph implements shard.Store.
func (s *Store) Graph(name string) (shard.Graph, error) {
	g, err := s.Local(name)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Local returns a graph by name with what only local graphs can do.
func (s *Store) Local(name string) (*Graph, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	g := s.ByName[name]
	if g == nil {
		return nil, graph.NoGraph(name)
	}
	return g, nil
}

// Writable says why one of the graphs cannot be written to, or nil.
func (s *Store) Writable() error {
	s.Mu.Lock()
	graphs := slices.Collect(maps.Values(s.ByName))
	s.Mu.Unlock()
	for _, g := range graphs {
		if err := g.writable(); err != nil {
			return err
		}
	}
	return nil
}

// Graphs implements shard.Store.
func (s *Store) Graphs() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	names := make([]string, 0, len(s.ByName))
	for n := range s.ByName {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// CreateGraph implements shard.Store.
func (s *Store) CreateGraph(ctx context.Context, name string) error {
	if !datadir.ValidName.MatchString(name) {
		return &graph.Error{
			Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
			Detail: "InvalidGraphName", Msg: fmt.Sprintf("%q cannot name a graph: it takes 1 to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit", name),
		}
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.ByName[name] != nil {
		return graph.DuplicateGraph(name)
	}
	if s.Options.ReadOnly {
		return fail.ReadOnly()
	}
	m := datadir.Manifest{Format: storage.FormatVersion, Shards: s.Options.Shards}
	if s.Options.Peers != nil { // the graph exists once its first shard does, which comes last
		m.ID = rand.Uint64() | 1
		g, err := openGraph(ctx, &s.Options, s.Shared, name, "", m, true)
		if err != nil {
			return fmt.Errorf("make graph %s: %w", name, err)
		}
		s.ByName[name] = g
		return nil
	}
	dir := s.Dir(name)
	if err := errors.Join(s.Options.FS.RemoveAll(dir), storage.MakeDir(s.Options.FS, dir)); err != nil {
		return fmt.Errorf("make graph %s: %w", name, err)
	}
	g, err := openGraph(ctx, &s.Options, s.Shared, name, dir, m, true)
	if err != nil {
		return fmt.Errorf("make graph %s: %w", name, err)
	}
	if err := errors.Join(datadir.WriteManifest(s.Options.FS, dir, m), storage.SyncDir(s.Options.FS, s.GraphsDir())); err != nil {
		return errors.Join(fmt.Errorf("make graph %s: %w", name, err), g.close(context.Background()))
	}
	s.ByName[name] = g
	return nil
}

// DropGraph implements shard.Store. It waits for the graph's transactions to end, while no other begins; if ctx ends
// before them, the graph stays.
func (s *Store) DropGraph(ctx context.Context, name string) error {
	s.Mu.Lock()
	g := s.ByName[name]
	s.Mu.Unlock()
	switch {
	case g == nil:
		return graph.NoGraph(name)
	case name == DefaultGraph:
		return &graph.Error{
			Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
			Detail: "DefaultGraph", Msg: "the graph default cannot be dropped",
		}
	case s.Options.ReadOnly:
		return fail.ReadOnly()
	}
	if err := g.Empty(ctx); err != nil {
		return err
	}
	if err := g.close(context.Background()); err != nil {
		return err
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.ByName[name] != g {
		return graph.NoGraph(name)
	}
	delete(s.ByName, name)
	if s.Options.Peers != nil {
		m := datadir.Manifest{Shards: len(g.shards), ID: g.id}
		if err := s.Options.Peers.Discard(ctx, m.PartOf(name)); err != nil {
			return fmt.Errorf("drop graph %s: %w", name, err)
		}
		if err := s.dropParts(ctx, name, m); err != nil || s.Options.FS != vfs.Default {
			return err
		}
		return os.RemoveAll(g.textDir())
	}
	fs, dir := s.Options.FS, g.dir
	if err := fs.Remove(fs.PathJoin(dir, datadir.ManifestName)); err != nil {
		return fmt.Errorf("drop graph %s: %w", name, err)
	}
	return errors.Join(storage.SyncDir(fs, dir), fs.RemoveAll(dir), storage.SyncDir(fs, s.GraphsDir()))
}

// dropParts drops the shards of a graph, the first one last.
func (s *Store) dropParts(ctx context.Context, name string, m datadir.Manifest) error {
	for no := m.Shards - 1; no >= 0; no-- {
		if err := s.Options.Peers.Drop(ctx, m.PartOf(name), no); err != nil {
			return fmt.Errorf("drop shard %d of graph %s: %w", no, name, err)
		}
	}
	return nil
}

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures { return shard.StoreFeatures{Maintainer: s, Names: s} }

// Has reports whether there is a graph of a name.
func (s *Store) Has(name string) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.ByName[name] != nil
}
