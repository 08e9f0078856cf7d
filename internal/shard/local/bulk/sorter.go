package bulk

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/spill"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Sorter writes the edges of an offline load in sorted order. It resolves edges to pairs of vertices, spills them to
// buckets of neighbouring sources, sorts bucket by bucket into the out lists, spills once more to buckets of neighbouring
// targets and sorts these into the in lists. It packs and writes each list once, to tables that the shards ingest at the
// end. Together with Takes of its owner it implements shard.EdgeSorter.
type Sorter struct {
	g       *Graph
	host    Host
	fs      vfs.FS
	dir     string
	o       Options
	tables  map[graph.IndexID]*keyTable
	buckets int    // a shard
	shifts  []uint // by shard: local ids that differ only in lower bits share a bucket

	mu    sync.Mutex
	types map[graph.TypeID]*sortedType

	// Add, and then Finish, use these fields.
	made   map[graph.IndexID]*keyTable // of the vertices that dangling edges brought
	known  uint64                      // how many vertices tables and made know of
	lost   bool                        // made lacks some of these
	large  [][][]byte                  // by shard: large values to be written
	largeN int                         // their bytes
}

// NewSorter returns a sorter for an empty graph. From now on, the graph's tables of keys spill to disk when they outgrow their share
// of the memory.
func NewSorter(g *Graph, host Host, o Options) (*Sorter, error) {
	f := &Sorter{
		g: g, host: host, fs: o.FS, dir: o.Dir, o: o, types: map[graph.TypeID]*sortedType{},
		made: map[graph.IndexID]*keyTable{}, large: make([][][]byte, len(g.Shards)),
	}
	g.spill = &keySpill{fs: o.FS, dir: o.Dir, limit: int(o.Memory / 3), open: map[*keyRun]bool{}}
	return f, errors.Join(o.FS.RemoveAll(o.Dir), storage.MakeDir(o.FS, o.Dir))
}

// Close removes the sorter's files.
func (f *Sorter) Close() error {
	var errs []error
	for _, t := range f.types {
		errs = append(errs, t.spill.Close())
	}
	return errors.Join(append(errs, f.g.spill.close(), f.fs.RemoveAll(f.dir))...)
}

// sortedType is the edges of one type that are being sorted.
type sortedType struct {
	spill *spill.File
	buf   *spill.Buffer
}

// Prepare implements shard.EdgeSorter.
func (f *Sorter) Prepare(ctx context.Context, spaces []graph.IndexID) error {
	return f.host.Exclusively(ctx, func() error {
		return f.host.Read(ctx, func(tx Reader) error { return f.prepare(ctx, tx.Views(), spaces) })
	})
}

func (f *Sorter) prepare(ctx context.Context, views []*view.View, spaces []graph.IndexID) (err error) {
	known := f.g.Keys
	f.g.Keys = nil
	tables := map[graph.IndexID]*keyTable{}
	for _, id := range spaces {
		if known != nil && known.byIndex[id] != nil && known.byIndex[id].complete {
			tables[id] = known.byIndex[id]
		} else if tables[id], err = f.walk(ctx, views, id, f.g.spill.limit/len(spaces)); err != nil {
			return err
		}
		if !tables[id].onDisk() {
			tables[id].seal()
		} else if err := tables[id].gather(f.g.spill); err != nil {
			return err
		}
	}
	f.g.spill.limit /= lateShare
	f.buckets = max(1, maxBuckets/len(f.g.Shards))
	for _, s := range f.g.Shards {
		f.shifts = append(f.shifts, uint(max(0, bits.Len64(s.NextVertex())-bits.Len(uint(f.buckets-1)))))
	}
	f.tables, f.known = tables, f.vertices()
	return nil
}

// lateShare is the fraction of the limit left to tables built once the vertices exist.
const lateShare = 4

// walk builds a table of the keys of an index, which spills to disk beyond a size.
func (f *Sorter) walk(ctx context.Context, views []*view.View, id graph.IndexID, limit int) (t *keyTable, err error) {
	t, limit = newKeyTable(true), max(limit, 24*minSlots)
	for _, view := range views {
		werr := view.Walk(ctx, id, nil, nil, false, func(rest []byte, o graph.IndexOwner) bool {
			if t.grown(1) > limit {
				if err = t.spillTo(f.g.spill); err != nil {
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

// bucket returns the bucket of a vertex and its place there.
func (f *Sorter) bucket(v graph.VertexID) (bucket int, place uint32) {
	no, local := v.Shard(), v.Local()
	k := min(int(local>>f.shifts[no]), f.buckets-1)
	return no*f.buckets + k, uint32(local - uint64(k)<<f.shifts[no])
}

// first is the vertex at place 0 of a bucket.
func (f *Sorter) first(bucket int) graph.VertexID {
	no := bucket / f.buckets
	return graph.MakeVertexID(no, uint64(bucket%f.buckets)<<f.shifts[no])
}

// newSpill returns a spill for a type and direction.
func (f *Sorter) newSpill(t graph.TypeID, dir graph.Direction) (*spill.File, error) {
	fs := f.fs
	return spill.New(fs, fs.PathJoin(f.dir, fmt.Sprintf("%d-%d", t, dir)), f.buckets*len(f.g.Shards))
}

// sorted returns the spill of a type's edges.
func (f *Sorter) sorted(t graph.TypeID) (*sortedType, error) {
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
func (f *Sorter) Finish(ctx context.Context) (again shard.RowCounts, err error) {
	if err := f.flushLarge(); err != nil {
		return again, err
	}
	f.tables, f.made, f.g.Keys = nil, nil, nil
	if err := f.g.spill.close(); err != nil {
		return again, err
	}
	var types []graph.TypeID
	for t := range f.types {
		types = append(types, t)
	}
	slices.Sort(types)
	sum := newSortedSum(len(f.g.Shards))
	for _, t := range types {
		f.o.Progress("sort edges of type " + f.g.TypeName(t))
		st := f.types[t]
		if err := st.buf.Flush(); err != nil {
			return again, err
		}
		st.buf = nil
		if err := f.sortType(ctx, t, st.spill, sum); err != nil {
			return again, err
		}
	}
	f.o.Progress("compact")
	if err := f.compact(ctx); err != nil {
		return again, err
	}
	f.o.Progress("take in sorted tables")
	if err := f.takeIn(ctx, sum); err != nil {
		return again, err
	}
	return sum.again, f.compact(ctx)
}

// compact compacts what was not sorted. The tables that takeIn put beside it stay as they are.
func (f *Sorter) compact(ctx context.Context) error {
	if err := f.host.Settle(ctx); err != nil {
		return err
	}
	for _, s := range f.g.Shards {
		if err := s.Compact(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takeIn adds the lists and their counters to the graph.
func (f *Sorter) takeIn(ctx context.Context, sum *sortedSum) error {
	return f.host.Write(ctx, func(ws []*staging.Writer) error {
		for no, s := range f.g.Shards {
			if err := s.TakeIn(ctx, sum.paths[no]); err != nil {
				return err
			}
			for c, n := range sum.counts[no] {
				ws[no].Count(c, n)
			}
			ws[no].Resize(sum.degrees[no])
			for _, id := range sum.garbage[no] {
				ws[no].DropLarge(id)
			}
		}
		// The filters of pairs do not know the new edges.
		f.g.pairs = nil
		return nil
	})
}
