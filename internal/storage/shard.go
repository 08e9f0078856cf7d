package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/compact"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/reclaim"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// FormatVersion is the version of the format on disk, see docs/format.md.
const FormatVersion = 4

// Shard is one shard of a graph on disk: a directory with two Pebble stores.
//
//	graph/   topology, small properties, indexes, counters, catalog, load marks, intents
//	values/  large property values, which Pebble separates into blob files
//
// A large value is synced before anything refers to it, and deleted only after the last reference to it.
//
// A View reads, a Writer writes. The owner ensures that one commit runs at a time.
type Shard struct {
	no     int
	opts   *Options
	graph  kv.Store
	values kv.Store
	disk   *disk // nil if another process keeps the shard
	// closing is closed when the shard starts to close.
	closing chan struct{}
	views   *view.Set
	writing staging.Shard

	// Only the writer uses the fields below.
	next       NextIDs // the ids as they are stored
	counters   stats.Counters
	degrees    stats.Degrees
	sketches   map[graph.IndexID]*stats.Sketch
	deltaCount int // estimated number of delta records
	runCount   int // estimated number of runs of loads among them
	// applied counts the batches; committed is its value after the last commit.
	applied, committed uint64
	// version counts the changes of what can be read.
	version uint64

	// purged is the time, in Unix milliseconds, before which the ids of commits are deleted.
	purged atomic.Uint64

	// ended are completed intents that are not deleted yet.
	endedMu sync.Mutex
	ended   [][]byte

	// synced is how many of applied are known to be durable.
	synced atomic.Uint64

	reclaimer *reclaim.Reclaimer // or nil
	// compactFrom is where the next compaction goes on. Only the writer uses it.
	compactFrom compact.Positions
	// compaction, if not nil, is a compaction that runs beside writers. Only the writer uses it.
	compaction *Compaction
}

// NextIDs are ids to give out next.
type NextIDs struct {
	Vertex, Edge, value uint64
	Text                uint64 // number of the next change for a full-text index
}

// Records returns the ids by their records.
func (n *NextIDs) Records() map[byte]*uint64 {
	return map[byte]*uint64{
		keys.MetaNextVertex: &n.Vertex, keys.MetaNextEdge: &n.Edge, keys.MetaNextValue: &n.value, keys.MetaNextText: &n.Text,
	}
}

// CreateShard creates a shard in an empty or new directory. Call Recover before using it.
func CreateShard(o *Options, sh *Shared, dir string, no, shards int) (*Shard, error) {
	return openShard(o, sh, dir, no, shards, true)
}

// OpenShard opens a shard. Call Recover before using it.
func OpenShard(o *Options, sh *Shared, dir string, no, shards int) (*Shard, error) {
	return openShard(o, sh, dir, no, shards, false)
}

func newShard(o *Options, no int) *Shard {
	s := &Shard{no: no, opts: o, closing: make(chan struct{})}
	t, w := &o.Tuning, &s.writing
	w.No, w.ValueThreshold = no, o.ValueThreshold
	w.PackEdges, w.DenseRows, w.ChunkBytes, w.SegmentBytes = t.PackEdges, t.DenseRows, t.ChunkBytes, t.SegmentBytes
	return s
}

// useStores gives the shard its stores.
func (s *Shard) useStores(graph, values kv.Store) {
	s.graph, s.values = graph, values
	s.views = view.NewSet(view.Facts{No: s.no, Graph: graph, Values: values, Logger: s.opts.Logger, Closing: s.closing})
}

func openShard(o *Options, sh *Shared, dir string, no, shards int, create bool) (_ *Shard, err error) {
	open := o.instance(sh)
	if err := kv.AssertSeparation(open); err != nil {
		return nil, err
	}
	s := newShard(o, no)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if create {
		for _, d := range []string{graphDir, valuesDir} {
			if err := MakeDir(o.FS, o.FS.PathJoin(dir, d)); err != nil {
				return nil, err
			}
		}
	}
	s.disk = &disk{}
	if s.disk.graph, err = kv.Open(open, o.FS.PathJoin(dir, graphDir), false, create, s.closing); err != nil {
		return nil, err
	}
	s.graph = s.disk.graph
	if s.disk.values, err = kv.Open(open, o.FS.PathJoin(dir, valuesDir), true, create, s.closing); err != nil {
		return nil, err
	}
	s.useStores(s.disk.graph, s.disk.values)
	if create {
		b := s.graph.NewBatch()
		if err := b.Set(keys.MetaKey(keys.MetaFormat), formatRecord(no, shards), nil); err != nil {
			return nil, err
		}
		wait, err := s.graph.Apply(b, true, false)
		if err != nil {
			return nil, err
		}
		if err := wait(); err != nil {
			return nil, err
		}
	}
	if err := s.checkFormat(no, shards); err != nil {
		return nil, err
	}
	return s, nil
}

// FormatError says that data has an unsupported format version.
func FormatError(what string, version int) error {
	return fmt.Errorf("%s has format version %d, but this program reads version %d; export the data with the program that wrote it, and import it", what, version, FormatVersion)
}

func formatRecord(no, shards int) []byte {
	b := binary.AppendUvarint(nil, FormatVersion)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(no)), uint64(shards))
}

func (s *Shard) checkFormat(no, shards int) error {
	b, ok, err := kv.Get(s.graph.Live(), keys.MetaKey(keys.MetaFormat), nil)
	if err != nil {
		return kv.Fault("read the format of "+s.graph.Label(), err)
	}
	if !ok {
		return fmt.Errorf("%s is not a shard: it has no format version", s.graph.Label())
	}
	version, n := binary.Uvarint(b)
	if n <= 0 || version != FormatVersion {
		return FormatError(s.graph.Label(), int(version))
	}
	if string(b) != string(formatRecord(no, shards)) {
		return fmt.Errorf("%s is not shard %d of %d", s.graph.Label(), no, shards)
	}
	return nil
}

// MakeDir creates a directory and its parents, durably.
func MakeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := MakeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return SyncDir(fs, parent)
}

// SyncDir syncs a directory.
func SyncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads what the shard holds in memory, and deletes large values to which no commit refers.
func (s *Shard) load() error {
	db := s.graph.Live()
	for what, p := range s.next.Records() {
		n, err := kv.ReadNumber(db, keys.MetaKey(what))
		if err != nil {
			return err
		}
		*p = n
	}
	s.writing.NextVertex.Store(s.next.Vertex)
	s.writing.NextEdge.Store(s.next.Edge)
	purged, err := kv.ReadNumber(db, keys.MetaKey(keys.MetaPurged))
	if err != nil {
		return err
	}
	s.purged.Store(purged)
	if s.counters, err = stats.ReadCounters(db); err != nil {
		return err
	}
	if s.degrees, err = stats.ReadDegrees(db); err != nil {
		return err
	}
	if s.sketches, err = stats.ReadSketches(db); err != nil {
		return err
	}
	s.deltaCount = 0
	for _, space := range []keys.Space{keys.DeltaEdge, keys.DeltaGroup, keys.DeltaProp, keys.DeltaLabel, keys.Garbage} {
		lower, upper := keys.Bounds(space)
		some, err := kv.Any(db, lower, upper)
		if err != nil {
			return err
		}
		if some {
			s.deltaCount++
		}
	}
	if s.opts.ReadOnly {
		return nil
	}
	if err := s.dropOrphans(); err != nil {
		return err
	}
	s.startReclaiming()
	return nil
}

// dropOrphans deletes the large values of commits that were never applied.
func (s *Shard) dropOrphans() error {
	lower := keys.AppendValueKey(nil, s.valueID(s.next.value))
	if some, err := kv.Any(s.values.Live(), lower, nil); err != nil || !some {
		return err
	}
	b := s.values.NewBatch()
	if err := b.DeleteRange(lower, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nil); err != nil {
		return err
	}
	wait, err := s.values.Apply(b, true, false)
	if err != nil {
		return err
	}
	return wait()
}

// valueID makes a large value's id from its number.
func (s *Shard) valueID(n uint64) uint64 { return uint64(graph.MakeEdgeID(s.no, n)) }

// Close closes the shard's stores. All views must be closed.
func (s *Shard) Close() error {
	s.reclaimer.Stop()
	close(s.closing)
	if s.views != nil {
		s.views.Wait()
	}
	var errs []error
	for _, st := range []kv.Store{s.graph, s.values} {
		if st != nil { // nil if opening has failed before
			errs = append(errs, st.Close())
		}
	}
	return errors.Join(errs...)
}

// Writable returns why the shard refuses writes, or nil.
func (s *Shard) Writable() error {
	if err := s.graph.Writable(); err != nil {
		return err
	}
	return s.values.Writable()
}

// Snapshot returns a view of the shard as it is. The caller ensures that no commit is half applied.
func (s *Shard) Snapshot() (*view.View, error) { return s.views.Open(s.state()) }

// state is what a view remembers of the shard.
func (s *Shard) state() view.State {
	return view.State{Version: s.version, NextValue: s.next.value, NextText: s.next.Text, Sketches: s.sketches}
}

// Current reports whether the shard is still as a snapshot shows it. Only the writer may call it.
func (s *Shard) Current(v *view.View) bool { return v.State().Version == s.version }

// NewWriter begins a set of changes to the shard as it is. The caller must be the only one who may write.
func (s *Shard) NewWriter() *staging.Writer {
	return s.newWriter(s.graph.Live(), s.values.Live(), s.state())
}

// NewWriterAt begins a set of changes to what a snapshot shows. The snapshot must be open until the writer's end.
func (s *Shard) NewWriterAt(v *view.View) *staging.Writer {
	return s.newWriter(v.Graph(), v.Values(), v.State())
}

func (s *Shard) newWriter(graph, values pebble.Reader, st view.State) *staging.Writer {
	if r, ok := graph.(*peerReader); ok {
		graph = &peerReader{p: r.p, store: r.store, version: r.version} // with prefetched records of its own
	}
	return staging.New(&s.writing, s.views, graph, values, st, s.valueID(st.NextValue))
}

// startReclaiming cleans up after a crash and starts the reclaimer of a shard that may be written to.
func (s *Shard) startReclaiming() {
	if s.disk == nil {
		return
	}
	if err := s.tables().Clean(); err != nil {
		s.opts.Logger.Warn("remove tables that a crash has left behind", slog.String("store", s.graph.Label()), slog.Any("error", err))
	}
	if t := &s.opts.Tuning; !s.opts.ReadOnly && t.ReclaimBytes >= 0 {
		s.reclaimer = reclaim.Start(s.disk.graph, s.disk.values, s.views, t.ReclaimBytes, t.ReclaimRest)
	}
}

// No is the shard's number within its graph.
func (s *Shard) No() int { return s.no }

// NextVertex is the local id that the next vertex gets.
func (s *Shard) NextVertex() uint64 { return s.writing.NextVertex.Load() }

// Counters returns the shard's committed counts, which must not be changed. Only the writer may call it.
func (s *Shard) Counters() stats.Counters { return s.counters }

// Degrees returns the shard's committed degree histograms, which must not be changed. Only the writer may call it.
func (s *Shard) Degrees() stats.Degrees { return s.degrees }

// Sketches returns the shard's committed distinct counts by index, which must not be changed. Only the writer may
// call it.
func (s *Shard) Sketches() map[graph.IndexID]*stats.Sketch { return s.sketches }

// loadRuns is how many runs of a load cost readers and writers as much as one other delta record: compacting a list during a load is
// wasted, since the next batch adds to it.
const loadRuns = 256

// DeltaCount estimates how many delta records there are, and how many of them should be compacted even while writers are busy. Only the
// writer may call it.
func (s *Shard) DeltaCount() (n, due int) {
	runs := min(s.runCount, s.deltaCount)
	return s.deltaCount, s.deltaCount - runs + runs/loadRuns
}

// Dir is the directory of a shard in that of its graph.
func Dir(graphDir string, no int) string { return path.Join(graphDir, fmt.Sprintf("shard-%04d", no)) }

// Flush writes the memtables of both stores to tables.
func (s *Shard) Flush(ctx context.Context) error {
	s.views.CloseRetired() // the flush can then drop what only they show
	return errors.Join(s.graph.Flush(ctx), s.values.Flush(ctx))
}

// disk has the stores of a shard of this process, for operations beyond kv.Store: ingestions, compactions, copies.
type disk struct {
	graph, values *kv.Instance
}
