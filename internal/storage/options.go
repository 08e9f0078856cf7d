package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Options say how shards are stored.
type Options struct {
	// Dir is the data directory.
	Dir string
	// FS is its file system; default the operating system's.
	FS vfs.FS
	// Shards is the number of shards of new graphs; default 1. That of a graph never changes.
	Shards int
	// ValueThreshold is the size in bytes from which a property value is stored separately, so that reads of others skip it; default
	// 1 KiB.
	ValueThreshold int
	// CacheMode says where blocks are cached; default CacheBlocks.
	CacheMode kv.CacheMode
	// CacheBytes is the size of the block cache that all shards share; default 128 MiB. The mode CachePages has none.
	CacheBytes int64
	// TopologyBytes is the memory for decoded neighbour lists and property columns, off the Go heap, which all shards
	// share; default 128 MiB. Negative turns this cache off.
	TopologyBytes int64
	// MemtableBytes is the maximum size of a memtable; default 16 MiB. A shard has two stores with memtables, which start with 256 KiB.
	MemtableBytes int
	// TxBytes bounds what one transaction may write; default 512 MiB.
	TxBytes int
	// ReadOnly forbids all writing.
	ReadOnly bool
	// Peers, if it is set, leads to the replicas that hold the shards of the graphs.
	Peers Peers
	// Replica, if it is set, makes the stores of parts the state of a replica, which has the log of their batches.
	Replica *Replica
	// TextBytes bounds the memory of changes of full-text indexes that are on their way to the disk; default 32 MiB.
	TextBytes int64
	// LogBytes and LogAge bound the commit log of a graph. LogBytes 0 adds nothing to the log and leaves what it has, for programs that are not
	// servers; below 0 deletes it. LogAge 0 is no bound.
	LogBytes int64
	LogAge   time.Duration
	// Clock is the clock by which vertices and edges with a TTL expire; default time.Now.
	Clock func() time.Time
	// KeepExpired keeps expired vertices and edges visible until the store is opened without it, for a load that refers to vertices by
	// their ids.
	KeepExpired bool
	// Interrupt, if set, is closed when the process starts to shut down, to end waits for space on a full disk.
	Interrupt <-chan struct{}
	// Damaged, if set, is called by the read that first finds a file damaged. It must not block.
	Damaged func(file string, err error)
	// Logger is where the store logs; default slog.Default().
	Logger *slog.Logger
	// Tuning has sizes that tests make small. They may differ each time the store is opened.
	Tuning Tuning
}

// Tuning holds sizes of the layout.
type Tuning struct {
	// PlaceBlock is how many new vertices in a row go to one shard before the next one; default 4,096.
	PlaceBlock int
	// PackVertices is how many new vertices in a row with the same labels and properties a transaction packs at once;
	// default 32.
	PackVertices int
	// PackEdges is how many new edges in a row of one type, in lists of 65,536 vertices, a transaction packs at once;
	// default 16.
	PackEdges int
	// GraphVectors is the minimum number of vectors in a shard for an HNSW graph; default 20,000.
	GraphVectors int
	// SegmentBytes is the size above which a packed edge list is split; default 16 KiB.
	SegmentBytes int
	// ChunkBytes is the size above which a column chunk is split; default 64 KiB.
	ChunkBytes int
	// CompactRecords is the number of delta records of a shard from which they are compacted even while writers are busy; default 64Ki.
	// Negative turns compactions off.
	CompactRecords int
	// CompactIdle is how long after the last commit all delta records are compacted; default 500 ms.
	CompactIdle time.Duration
	// CompactStep is the number of delta records after which a step of a compaction, for which writers wait, ends; a chunk with groups is
	// always compacted as a whole. Default 4Ki.
	CompactStep int
	// IngestBytes is the size of a load's batch from which it is ingested as sorted tables instead of written to the log; default 1 MiB.
	IngestBytes int
	// TableBytes is the size of the records of one class from which they get a table of their own; default 512 KiB.
	TableBytes int
	// DenseRows is how many vertices of a column chunk a load must change to rewrite the chunk instead of writing delta records; default
	// 32.
	DenseRows int
	// IndexBatch is how many vertices or edges one transaction of an index build adds, for which writers wait; default 2,048.
	IndexBatch int
	// ExpireBatch is how many expired vertices or edges, and about how many edges of such vertices, one transaction deletes; default
	// 2,048.
	ExpireBatch int
	// RangeRows is how many new vertices in a row of a load leave their values to the graph, out of the commit log; default 64. A later change of
	// such a vertex has a small record more.
	RangeRows int
	// LogBytes is the size of a replica's log from which its flushed entries are truncated; default 64 MiB.
	LogBytes int
	// ReclaimBytes is how many bytes of deleted large values a shard must have to free their space; default 64 KiB. Negative never frees
	// it.
	ReclaimBytes int
	// ReclaimRest is the minimum pause after that; the pause is longer if freeing took long or freed nothing. Default 500 ms.
	ReclaimRest time.Duration
}

// EnsureDefaults sets the defaults.
func (o *Options) EnsureDefaults() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	def(&o.Shards, 1)
	def(&o.ValueThreshold, 1<<10)
	def(&o.CacheBytes, 128<<20)
	def(&o.TopologyBytes, 128<<20)
	def(&o.TextBytes, 32<<20)
	def(&o.MemtableBytes, 16<<20)
	def(&o.TxBytes, 512<<20)
	def(&o.Tuning.PlaceBlock, 4096)
	def(&o.Tuning.GraphVectors, 20_000)
	def(&o.Tuning.PackVertices, 32)
	def(&o.Tuning.PackEdges, 16)
	def(&o.Tuning.IndexBatch, 2048)
	def(&o.Tuning.ExpireBatch, 2048)
	def(&o.Tuning.SegmentBytes, 16<<10)
	def(&o.Tuning.ChunkBytes, 64<<10)
	def(&o.Tuning.CompactRecords, 64<<10)
	def(&o.Tuning.CompactIdle, 500*time.Millisecond)
	def(&o.Tuning.CompactStep, 4<<10)
	def(&o.Tuning.IngestBytes, 1<<20)
	def(&o.Tuning.TableBytes, 512<<10)
	def(&o.Tuning.DenseRows, 32)
	def(&o.Tuning.RangeRows, 64)
	def(&o.Tuning.LogBytes, 64<<20)
	def(&o.Tuning.ReclaimBytes, 64<<10)
	def(&o.Tuning.ReclaimRest, 500*time.Millisecond)
}

func def[T int | int64 | time.Duration](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

// MaxShards is the greatest number of shards of a graph.
const MaxShards = 1 << 12

// Validate returns all errors in options whose defaults are set.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Dir != "", "storage: no data directory is set")
	check(o.Shards >= 1 && o.Shards <= MaxShards, "storage: %d shards; it must be 1 to %d", o.Shards, MaxShards)
	check(o.ValueThreshold >= 16, "storage: a value threshold of %d bytes; it must be at least 16", o.ValueThreshold)
	check(o.CacheBytes >= 0, "storage: a cache of %d bytes", o.CacheBytes)
	check(o.MemtableBytes >= 256<<10 && o.MemtableBytes <= 1<<30, "storage: memtables of %d bytes; they must be 256 KiB to 1 GiB", o.MemtableBytes)
	check(o.TxBytes >= 1<<16 && o.TxBytes <= 3<<30, "storage: transactions of %d bytes; it must be 64 KiB to 3 GiB", o.TxBytes)
	t := &o.Tuning
	check(t.PlaceBlock > 0 && t.SegmentBytes > 0 && t.ChunkBytes > 0 && t.CompactStep > 0 && t.CompactIdle > 0, "storage: a size of the layout is not positive")
	return errors.Join(errs...)
}

// Shared is what all shards of a process share.
type Shared struct {
	cache    *pebble.Cache
	files    *pebble.FileCache
	topology *cache.Cache
	texts    *TextRoom
}

// NewShared makes the caches. The owner closes it after all its shards.
func NewShared(o *Options) *Shared {
	size := o.CacheBytes
	if o.CacheMode == kv.CachePages {
		size = kv.PagesCacheBytes
	}
	c := pebble.NewCache(size)
	return &Shared{cache: c, files: pebble.NewFileCache(4, 4096), topology: cache.New(cache.Options{Budget: int(o.TopologyBytes)}), texts: newTextRoom(o.TextBytes)}
}

// Topology is the memory for decoded lists and columns.
func (s *Shared) Topology() *cache.Cache { return s.topology }

// Texts is the memory for changes of full-text indexes.
func (s *Shared) Texts() *TextRoom { return s.texts }

// Close frees the caches.
func (s *Shared) Close() {
	s.files.Unref()
	s.cache.Unref()
	s.topology.Close()
}

// instance returns how a store is opened. Without sh it gets caches of its own.
func (o *Options) instance(sh *Shared) *kv.Options {
	i := &kv.Options{
		FS: o.FS, Logger: o.Logger, ReadOnly: o.ReadOnly, CacheMode: o.CacheMode, MemtableBytes: o.MemtableBytes, ValueThreshold: o.ValueThreshold,
		Logged: o.Replica != nil, Interrupt: o.Interrupt, Damaged: o.Damaged,
	}
	if sh != nil {
		i.Cache, i.Files = sh.cache, sh.files
	}
	return i
}
