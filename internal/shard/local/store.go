package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
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
type Store struct{ directory[*Graph] }

var _ shard.Store = (*Store)(nil)

// Open opens a data directory, making it if it is not there. One process at a time may have it open.
func Open(opts Options) (*Store, error) { return open(opts, false) }

// open opens a data directory; offline says that it may hold an offline load that did not end.
func open(opts Options, offline bool) (_ *Store, err error) {
	s := &Store{}
	if err := s.take(opts, nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	fs := s.opts.FS
	if _, err := fs.Stat(fs.PathJoin(s.opts.Dir, LoadingName)); err == nil && !offline {
		return nil, fmt.Errorf("%s holds an offline load that was interrupted; run it again", s.opts.Dir)
	}
	err = s.each(func(name string, m manifest) (err error) {
		if m.ID != 0 {
			return errUnlogged(s.opts.Dir, name)
		}
		if s.graphs[name], err = openGraph(context.Background(), &s.opts, s.shared, name, s.dir(name), m, false); err != nil {
			delete(s.graphs, name)
			return fmt.Errorf("open graph %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.graphs[DefaultGraph] == nil {
		if s.opts.ReadOnly {
			return nil, fail.NotFound("the data directory %s holds no graphs", s.opts.Dir)
		}
		if err := s.CreateGraph(context.Background(), DefaultGraph); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close closes all graphs, waiting for their transactions to end, and frees the directory.
func (s *Store) Close() error {
	return s.release(func(g *Graph) error { return g.close(context.Background()) })
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
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.graphs[name]
	if g == nil {
		return nil, graph.NoGraph(name)
	}
	return g, nil
}

// Writable says why one of the graphs cannot be written to, or nil.
func (s *Store) Writable() error {
	s.mu.Lock()
	graphs := slices.Collect(maps.Values(s.graphs))
	s.mu.Unlock()
	for _, g := range graphs {
		if err := g.writable(); err != nil {
			return err
		}
	}
	return nil
}

// Graphs implements shard.Store.
func (s *Store) Graphs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.graphs))
	for n := range s.graphs {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CreateGraph implements shard.Store.
func (s *Store) CreateGraph(ctx context.Context, name string) error {
	if !validName.MatchString(name) {
		return &graph.Error{
			Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
			Detail: "InvalidGraphName", Msg: fmt.Sprintf("%q cannot name a graph: it takes 1 to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit", name),
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.graphs[name] != nil {
		return graph.DuplicateGraph(name)
	}
	if s.opts.ReadOnly {
		return fail.ReadOnly()
	}
	m := manifest{Format: storage.FormatVersion, Shards: s.opts.Shards}
	if s.opts.Peers != nil { // the graph is there once its first shard is, which comes last
		m.ID = rand.Uint64() | 1
		g, err := openGraph(ctx, &s.opts, s.shared, name, "", m, true)
		if err != nil {
			return fmt.Errorf("make graph %s: %w", name, err)
		}
		s.graphs[name] = g
		return nil
	}
	dir := s.dir(name)
	if err := errors.Join(s.opts.FS.RemoveAll(dir), storage.MakeDir(s.opts.FS, dir)); err != nil {
		return fmt.Errorf("make graph %s: %w", name, err)
	}
	g, err := openGraph(ctx, &s.opts, s.shared, name, dir, m, true)
	if err != nil {
		return fmt.Errorf("make graph %s: %w", name, err)
	}
	if err := errors.Join(writeManifest(s.opts.FS, dir, m), storage.SyncDir(s.opts.FS, s.graphsDir())); err != nil {
		return errors.Join(fmt.Errorf("make graph %s: %w", name, err), g.close(context.Background()))
	}
	s.graphs[name] = g
	return nil
}

// DropGraph implements shard.Store. It waits for the graph's transactions to end, while no other begins; if ctx ends
// before them, the graph stays.
func (s *Store) DropGraph(ctx context.Context, name string) error {
	s.mu.Lock()
	g := s.graphs[name]
	s.mu.Unlock()
	switch {
	case g == nil:
		return graph.NoGraph(name)
	case name == DefaultGraph:
		return &graph.Error{
			Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
			Detail: "DefaultGraph", Msg: "the graph default cannot be dropped",
		}
	case s.opts.ReadOnly:
		return fail.ReadOnly()
	}
	if err := g.Empty(ctx); err != nil {
		return err
	}
	if err := g.close(context.Background()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.graphs[name] != g {
		return graph.NoGraph(name)
	}
	delete(s.graphs, name)
	if s.opts.Peers != nil {
		m := manifest{Shards: len(g.shards), ID: g.id}
		if err := s.opts.Peers.Discard(ctx, m.partOf(name)); err != nil {
			return fmt.Errorf("drop graph %s: %w", name, err)
		}
		if err := s.dropParts(ctx, name, m); err != nil || s.opts.FS != vfs.Default {
			return err
		}
		return os.RemoveAll(g.textDir())
	}
	fs, dir := s.opts.FS, g.dir
	if err := fs.Remove(fs.PathJoin(dir, manifestName)); err != nil {
		return fmt.Errorf("drop graph %s: %w", name, err)
	}
	return errors.Join(storage.SyncDir(fs, dir), fs.RemoveAll(dir), storage.SyncDir(fs, s.graphsDir()))
}

// dropParts drops the shards of a graph, the first one last.
func (s *Store) dropParts(ctx context.Context, name string, m manifest) error {
	for no := m.Shards - 1; no >= 0; no-- {
		if err := s.opts.Peers.Drop(ctx, m.partOf(name), no); err != nil {
			return fmt.Errorf("drop shard %d of graph %s: %w", no, name, err)
		}
	}
	return nil
}

// manifest says what a graph is.
type manifest struct {
	Format int `json:"format"`
	Shards int `json:"shards"`
	// ID and Dropped are of graphs of a cluster: a dropped one is there until all of its shards are gone.
	ID      uint64 `json:"id,omitempty"`
	Dropped bool   `json:"dropped,omitempty"`
}

func (m *manifest) partOf(name string) storage.PartOf {
	return storage.PartOf{Name: name, ID: m.ID, Shards: m.Shards}
}

const manifestName = "GRAPH"

var errNoGraph = errors.New("no graph")

func readManifest(fs vfs.FS, dir string) (m manifest, err error) {
	f, err := fs.Open(fs.PathJoin(dir, manifestName))
	if err != nil {
		if _, serr := fs.Stat(fs.PathJoin(dir, manifestName)); fail.IsNotExist(serr) {
			return m, errNoGraph
		}
		return m, fmt.Errorf("read %s: %w", dir, err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return m, fmt.Errorf("read %s: %w", dir, err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, graph.CorruptError("read "+fs.PathJoin(dir, manifestName), err)
	}
	if m.Format != storage.FormatVersion {
		return m, storage.FormatError(dir, m.Format)
	}
	if m.Shards < 1 || m.Shards > storage.MaxShards {
		return m, graph.CorruptError("read "+fs.PathJoin(dir, manifestName), fmt.Errorf("it has %d shards", m.Shards))
	}
	return m, nil
}

// writeManifest makes the graph be there.
func writeManifest(fs vfs.FS, dir string, m manifest) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeWhole(fs, fs.PathJoin(dir, manifestName), append(b, '\n'))
}

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures { return shard.StoreFeatures{Maintainer: s} }
