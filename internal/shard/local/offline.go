package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// LoadingName is the file that a data directory has while an offline load is at work. A directory with it is not opened
// but by the next offline load, which makes the graph anew.
const LoadingName = "LOADING"

const sortingName = "sorting"

// Offline is a load into an empty graph by a process that has the data directory to itself. Vertices, and edges that
// Takes does not take, are loaded through Graph; the other edges are resolved to pairs of vertices, spilled to buckets of
// neighbouring sources, sorted bucket by bucket into the out lists, spilled once more to buckets of neighbouring targets
// and sorted into the in lists. Each list is packed and written once, to tables that the shards take in at the end.
//
// It implements shard.EdgeSorter.
type Offline struct {
	store   *Store
	g       *Graph
	o       OfflineOptions
	dir     string // for what is sorted
	tables  map[graph.IndexID]*keyTable
	buckets int    // a shard
	shifts  []uint // by shard: local ids that differ in lower bits alone share a bucket

	mu    sync.Mutex
	types map[graph.TypeID]*sortedType

	// What follows is used by Add alone, and then by Finish.
	made   map[graph.IndexID]*keyTable // of the vertices that dangling edges brought
	known  uint64                      // how many vertices there are that tables and made know of
	lost   bool                        // made does not know of all of these any more
	large  [][][]byte                  // by shard: large values to be written
	largeN int                         // their bytes
}

var _ shard.EdgeSorter = (*Offline)(nil)

// OfflineOptions say how to load.
type OfflineOptions struct {
	// Memory bounds what sorting holds, in bytes; default 256 MiB.
	Memory int64
	// Workers is the number of goroutines that sort; default 1.
	Workers int
	// Progress, if it is set, is told what is being done.
	Progress func(stage string)
}

// sortedType is the edges of one type that are being sorted.
type sortedType struct {
	spill *storage.Spill
	buf   *storage.SpillBuffer
}

// loading is what the file LoadingName says.
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
		s.opts.Logger.Info("throw away an offline load that was interrupted", slog.String("graph", old.Graph))
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
	fs := s.opts.FS
	f := &Offline{
		store: s, g: g, o: o, dir: fs.PathJoin(opts.Dir, sortingName),
		types: map[graph.TypeID]*sortedType{}, made: map[graph.IndexID]*keyTable{}, large: make([][][]byte, len(g.shards)),
	}
	g.keySpill = &keySpill{fs: fs, dir: f.dir, limit: int(o.Memory / 3), open: map[*keyRun]bool{}}
	if err := s.setLoading(&loading{Graph: name, Shards: len(g.shards), Indexes: g.Indexes(), TTLs: g.TTLs()}); err != nil {
		return nil, err
	}
	return f, errors.Join(fs.RemoveAll(f.dir), storage.MakeDir(fs, f.dir))
}

// checkEmpty refuses a graph that holds anything, or has held it.
func (g *Graph) checkEmpty(ctx context.Context) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	for _, s := range g.shards {
		if s.NextVertex() > 0 {
			return newError(graph.KindInvalid, "Neo.ClientError.Statement.ArgumentError", "GraphNotEmpty",
				"an offline load needs an empty graph, and %s has vertices, or had some; load through a server, or into another directory", g.name)
		}
	}
	return nil
}

// loading reads the file LoadingName; nil if there is none.
func (s *Store) loading() (*loading, error) {
	fs := s.opts.FS
	name := fs.PathJoin(s.opts.Dir, LoadingName)
	f, err := fs.Open(name)
	if err != nil {
		if _, serr := fs.Stat(name); isNotExist(serr) {
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

// setLoading writes the file LoadingName, or, for nil, removes it.
func (s *Store) setLoading(l *loading) error {
	fs := s.opts.FS
	name := fs.PathJoin(s.opts.Dir, LoadingName)
	if l == nil {
		return errors.Join(fs.Remove(name), storage.SyncDir(fs, s.opts.Dir))
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := fs.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(fs.Rename(name+".tmp", name), storage.SyncDir(fs, s.opts.Dir))
}

// renew makes the graph of an interrupted load anew, as it was before.
func (s *Store) renew(ctx context.Context, l *loading) error {
	s.mu.Lock()
	g := s.graphs[l.Graph]
	delete(s.graphs, l.Graph)
	s.mu.Unlock()
	if g != nil {
		if err := g.close(ctx); err != nil {
			return err
		}
		fs := s.opts.FS
		if err := errors.Join(fs.Remove(fs.PathJoin(g.dir, manifestName)), storage.SyncDir(fs, g.dir)); err != nil {
			return err
		}
	}
	shards := s.opts.Shards
	s.opts.Shards = l.Shards
	err := s.CreateGraph(ctx, l.Graph)
	s.opts.Shards = shards
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

// Store is the store that holds the graph and nothing but it may be used.
func (f *Offline) Store() *Store { return f.store }

// Close ends the load. If Finish did not end well the directory stays marked as incomplete.
func (f *Offline) Close() error {
	var errs []error
	for _, t := range f.types {
		errs = append(errs, t.spill.Close())
	}
	return errors.Join(append(errs, f.g.keySpill.close(), f.store.opts.FS.RemoveAll(f.dir), f.store.Close())...)
}

// Prepare implements shard.EdgeSorter.
func (f *Offline) Prepare(ctx context.Context, spaces []graph.IndexID) error {
	if err := f.g.lock(ctx); err != nil {
		return err
	}
	defer f.g.unlock()
	known := f.g.keys
	f.g.keys = nil
	tables := map[graph.IndexID]*keyTable{}
	v, err := f.g.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	defer v.Rollback()
	for _, id := range spaces {
		if known != nil && known.byIndex[id] != nil && known.byIndex[id].complete {
			tables[id] = known.byIndex[id]
		} else if tables[id], err = f.walk(ctx, v.(*Tx).views, id, f.g.keySpill.limit/len(spaces)); err != nil {
			return err
		}
		if !tables[id].onDisk() {
			tables[id].seal()
		} else if err := tables[id].gather(f.g.keySpill); err != nil {
			return err
		}
	}
	f.g.keySpill.limit /= lateShare
	f.buckets = max(1, maxBuckets/len(f.g.shards))
	for _, s := range f.g.shards {
		f.shifts = append(f.shifts, uint(max(0, bits.Len64(s.NextVertex())-bits.Len(uint(f.buckets-1)))))
	}
	f.tables, f.known = tables, f.vertices()
	return nil
}

// lateShare is what part of the limit is left to tables that are made when the vertices are there.
const lateShare = 4

// walk makes a table of the keys of an index, which goes to disk beyond a size.
func (f *Offline) walk(ctx context.Context, views []*storage.View, id graph.IndexID, limit int) (t *keyTable, err error) {
	t, limit = newKeyTable(true), max(limit, 24*minSlots)
	for _, view := range views {
		werr := view.Walk(ctx, id, nil, nil, false, func(rest []byte, o storage.Owner) bool {
			if t.grown(1) > limit {
				if err = t.spillTo(f.g.keySpill); err != nil {
					return false
				}
			}
			t.put(rest, o.Vertex)
			return true
		})
		if err = errors.Join(werr, err); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// maxBuckets is the number of buckets of a type's edges.
const maxBuckets = 128

// Takes implements shard.EdgeSorter: indexes of edges are kept row by row.
func (f *Offline) Takes(t graph.TypeID) bool { return len(f.g.defs.Load().byType[t]) == 0 }

// bucket gives the bucket of a vertex and its place there.
func (f *Offline) bucket(v graph.VertexID) (bucket int, place uint32) {
	no, local := v.Shard(), v.Local()
	k := min(int(local>>f.shifts[no]), f.buckets-1)
	return no*f.buckets + k, uint32(local - uint64(k)<<f.shifts[no])
}

// first is the vertex at place 0 of a bucket.
func (f *Offline) first(bucket int) graph.VertexID {
	no := bucket / f.buckets
	return graph.MakeVertexID(no, uint64(bucket%f.buckets)<<f.shifts[no])
}

// newSpill makes a spill for a type and direction.
func (f *Offline) newSpill(t graph.TypeID, dir graph.Direction) (*storage.Spill, error) {
	fs := f.store.opts.FS
	return storage.NewSpill(fs, fs.PathJoin(f.dir, fmt.Sprintf("%d-%d", t, dir)), f.buckets*len(f.g.shards))
}

// sorted gives the spill of a type's edges.
func (f *Offline) sorted(t graph.TypeID) (*sortedType, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if st := f.types[t]; st != nil {
		return st, nil
	}
	spill, err := f.newSpill(t, graph.Out)
	if err != nil {
		return nil, err
	}
	st := &sortedType{spill: spill, buf: spill.Buffer(int(f.o.Memory / 32))}
	f.types[t] = st
	return st, nil
}

// Finish implements shard.EdgeSorter.
func (f *Offline) Finish(ctx context.Context) error {
	if err := f.flushLarge(); err != nil {
		return err
	}
	f.tables, f.made, f.g.keys = nil, nil, nil
	if err := f.g.keySpill.close(); err != nil {
		return err
	}
	var types []graph.TypeID
	for t := range f.types {
		types = append(types, t)
	}
	slices.Sort(types)
	sum := newSortedSum(len(f.g.shards))
	for _, t := range types {
		f.o.Progress("sort edges of type " + f.g.TypeName(t))
		st := f.types[t]
		if err := st.buf.Flush(); err != nil {
			return err
		}
		st.buf = nil
		if err := f.sortType(ctx, t, st.spill, sum); err != nil {
			return err
		}
	}
	f.o.Progress("fold and compact")
	if err := f.compact(ctx); err != nil {
		return err
	}
	f.o.Progress("take in sorted tables")
	if err := f.takeIn(ctx, sum); err != nil {
		return err
	}
	if err := f.compact(ctx); err != nil {
		return err
	}
	return f.store.setLoading(nil)
}

// compact folds and compacts what has not been sorted. Tables that takeIn has put beside it stay as they are.
func (f *Offline) compact(ctx context.Context) error {
	if err := f.g.Settle(ctx); err != nil {
		return err
	}
	for _, s := range f.g.shards {
		if err := s.Compact(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takeIn makes the lists and what is counted of them part of the graph.
func (f *Offline) takeIn(ctx context.Context, sum *sortedSum) error {
	t, err := f.g.Begin(ctx, shard.WriteExclusive)
	if err != nil {
		return err
	}
	tx := t.(*Tx)
	defer tx.Rollback()
	for no, s := range f.g.shards {
		if err := s.TakeIn(ctx, sum.paths[no]); err != nil {
			return err
		}
		for c, n := range sum.counts[no] {
			tx.ws[no].Count(c, n)
		}
		tx.ws[no].Resize(sum.degrees[no])
		for _, id := range sum.garbage[no] {
			tx.ws[no].DropLarge(id)
		}
	}
	// What the filters of pairs say is not true any more.
	f.g.pairs = nil
	tx.ended.Store(true)
	defer f.g.leave()
	_, err = f.g.commit(tx.ws, nil, nil, due{at: tx.due})
	return err
}
