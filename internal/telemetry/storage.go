package telemetry

import (
	"context"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Storage is the source of a store's metrics.
type Storage interface {
	// Stats returns the shapes of the shards of all graphs, by graph name.
	Stats() map[string][]storage.Stats
	// TopologyStats returns the counters of the topology cache.
	TopologyStats() storage.TopologyStats
	// Expired returns the numbers of vertices and edges deleted because they expired, by graph name.
	Expired() map[string][2]uint64
	// Logged returns the bytes of the commit logs, and those that only named snapshots hold, by graph name.
	Logged() map[string][2]uint64
}

// Shaper is a Storage that asks other processes for the shapes of their shards.
type Shaper interface {
	Shapes(ctx context.Context, graph string) ([]storage.Shape, error)
}

// Shapes returns the shapes of a graph's shards, local or remote.
func Shapes(ctx context.Context, s Storage, graph string) ([]storage.Shape, error) {
	if s, ok := s.(Shaper); ok {
		return s.Shapes(ctx, graph)
	}
	var out []storage.Shape
	topology := s.TopologyStats()
	for _, stats := range s.Stats()[graph] {
		out = append(out, storage.Shape{Stats: stats, Cache: topology})
	}
	return out, nil
}

// StoreStats is the shape of one store of a shard.
type StoreStats = kv.Stats

// storageCollector publishes the shapes of shards. A shard has two stores: graph, for topology and small properties, and values, for large
// values.
type storageCollector struct {
	s       Storage
	store   []storeMetric
	levels  [3]*prometheus.Desc // tables, bytes, read amplification
	found   [3]*prometheus.Desc // blocks in the topology cache, missing, newer than the snapshot
	failed  *prometheus.Desc
	expired [2]*prometheus.Desc // vertices, edges
	logged  [2]*prometheus.Desc // bytes, those held
	blocks  [3]*prometheus.Desc // bytes, hits, misses
	cached  []cacheMetric
	scraped []*prometheus.Desc
}

// storeMetric is one figure of a store.
type storeMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(s *kv.Stats) float64
}

// cacheMetric is one figure of the topology cache.
type cacheMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(s *storage.TopologyStats) float64
}

func newStorage(s Storage) *storageCollector {
	c := &storageCollector{s: s}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc("hopgate_"+name, help, labels, nil)
		c.scraped = append(c.scraped, d)
		return d
	}
	add := func(kind prometheus.ValueType, name, help string, get func(s *kv.Stats) float64) {
		c.store = append(c.store, storeMetric{desc("storage_"+name, help, "graph", "shard", "store"), kind, get})
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "disk_bytes", "Bytes of all files.", func(s *kv.Stats) float64 { return float64(s.DiskBytes) })
	add(gauge, "read_amplification", "Tables that a look-up may have to read.", func(s *kv.Stats) float64 { return float64(s.ReadAmplification) })
	add(gauge, "write_amplification", "Bytes written per incoming byte, since the start.", (*kv.Stats).WriteAmplification)
	add(gauge, "memtables", "Memtables.", func(s *kv.Stats) float64 { return float64(s.Memtables) })
	add(gauge, "memtable_bytes", "Bytes of memtables.", func(s *kv.Stats) float64 { return float64(s.MemtableBytes) })
	add(gauge, "wal_bytes", "Live bytes of the write-ahead log.", func(s *kv.Stats) float64 { return float64(s.LogBytes) })
	add(counter, "commit_bytes_total", "Bytes of commits, before the write-ahead log's own.", func(s *kv.Stats) float64 { return float64(s.LogIn) })
	add(counter, "wal_written_bytes_total", "Bytes written to the write-ahead log.", func(s *kv.Stats) float64 { return float64(s.LogWritten) })
	add(counter, "ingested_bytes_total", "Bytes of ingested tables, which bypass the write-ahead log.", func(s *kv.Stats) float64 { return float64(s.Ingested) })
	add(counter, "flushes_total", "Flushes of memtables.", func(s *kv.Stats) float64 { return float64(s.Flushes) })
	add(counter, "flushed_bytes_total", "Bytes written by flushes.", func(s *kv.Stats) float64 { return float64(s.Flushed) })
	add(counter, "compactions_total", "Compactions.", func(s *kv.Stats) float64 { return float64(s.Compactions) })
	add(counter, "compacted_bytes_total", "Bytes written by compactions.", func(s *kv.Stats) float64 { return float64(s.Compacted) })
	add(counter, "compaction_seconds_total", "Time of compactions.", func(s *kv.Stats) float64 { return s.CompactionTime.Seconds() })
	add(gauge, "compactions_running", "Running compactions.", func(s *kv.Stats) float64 { return float64(s.CompactionsRunning) })
	add(gauge, "compaction_debt_bytes", "Bytes waiting for compaction.", func(s *kv.Stats) float64 { return float64(s.CompactionDebt) })
	add(gauge, "separated_file_bytes", "Bytes of the files of separated values.", func(s *kv.Stats) float64 { return float64(s.SeparatedBytes) })
	add(gauge, "separated_live_bytes", "Bytes of separated values in use.", func(s *kv.Stats) float64 { return float64(s.SeparatedLive) })
	add(gauge, "separated_dead_bytes", "Bytes of separated values to be reclaimed.", func(s *kv.Stats) float64 { return float64(s.SeparatedDead) })
	add(gauge, "snapshots", "Open snapshots.", func(s *kv.Stats) float64 { return float64(s.Snapshots) })
	add(counter, "block_read_bytes_total", "Bytes of blocks that readers requested.", func(s *kv.Stats) float64 { return float64(s.BlockRead) })
	add(counter, "block_found_bytes_total", "Bytes of requested blocks that were in the block cache.", func(s *kv.Stats) float64 { return float64(s.BlockFound) })
	add(counter, "filter_hits_total", "Look-ups avoided by a Bloom filter.", func(s *kv.Stats) float64 { return float64(s.FilterHits) })
	add(counter, "filter_misses_total", "Look-ups that a Bloom filter did not avoid.", func(s *kv.Stats) float64 { return float64(s.FilterMisses) })
	add(counter, "stalls_total", "Commits that had to wait for flushes or compactions.", func(s *kv.Stats) float64 { return float64(s.Stalls) })
	add(counter, "stall_seconds_total", "Time that commits have waited for flushes or compactions.", func(s *kv.Stats) float64 { return s.StallTime.Seconds() })
	c.levels[0] = desc("storage_level_tables", "Tables of a level.", "graph", "shard", "store", "level")
	c.levels[1] = desc("storage_level_bytes", "Bytes of a level's tables.", "graph", "shard", "store", "level")
	c.levels[2] = desc("storage_level_read_amplification", "Tables of a level that a look-up may have to read.", "graph", "shard", "store", "level")
	c.found[0] = desc("storage_topology_hits_total", "Blocks of the shard found in the topology cache.", "graph", "shard")
	c.found[1] = desc("storage_topology_misses_total", "Blocks of the shard missing from the topology cache.", "graph", "shard")
	c.found[2] = desc("storage_topology_stale_total", "Blocks of the shard in the topology cache that were newer than the reader's snapshot.", "graph", "shard")
	c.failed = desc("storage_failed", "1 if a shard rejects writes: until there is room on a full disk, or else until the server restarts.", "graph", "shard")
	c.expired[0] = desc("expired_vertices_total", "Vertices deleted because they expired.", "graph")
	c.expired[1] = desc("expired_edges_total", "Edges deleted because they, or one of their ends, expired.", "graph")
	c.logged[0] = desc("commit_log_bytes", "Bytes of the commit log.", "graph")
	c.logged[1] = desc("commit_log_held_bytes", "Bytes of the commit log beyond --log-retention, which named snapshots hold.", "graph")
	c.blocks[0] = desc("block_cache_bytes", "Bytes in the block cache.")
	c.blocks[1] = desc("block_cache_hits_total", "Blocks found in the block cache.")
	c.blocks[2] = desc("block_cache_misses_total", "Blocks not found in the block cache.")
	cached := func(kind prometheus.ValueType, name, help string, get func(s *storage.TopologyStats) float64) {
		c.cached = append(c.cached, cacheMetric{desc("topology_cache_"+name, help), kind, get})
	}
	cached(gauge, "budget_bytes", "Limit of the topology cache in bytes.", func(s *storage.TopologyStats) float64 { return float64(s.Budget) })
	cached(gauge, "mapped_bytes", "Bytes mapped for the topology cache.", func(s *storage.TopologyStats) float64 { return float64(s.Mapped) })
	cached(gauge, "bytes", "Bytes in the topology cache.", func(s *storage.TopologyStats) float64 { return float64(s.Used) })
	cached(gauge, "overlay_bytes", "Bytes of changes to cached blocks, on the Go heap.", func(s *storage.TopologyStats) float64 { return float64(s.Overlay) })
	cached(counter, "hits_total", "Blocks found in the topology cache.", func(s *storage.TopologyStats) float64 { return float64(s.Hits) })
	cached(counter, "misses_total", "Blocks missing from the topology cache.", func(s *storage.TopologyStats) float64 { return float64(s.Misses) })
	cached(counter, "stale_total", "Cached blocks that were newer than the reader's snapshot.", func(s *storage.TopologyStats) float64 { return float64(s.Stale) })
	cached(counter, "evictions_total", "Segments evicted from the topology cache.", func(s *storage.TopologyStats) float64 { return float64(s.Evicted) })
	cached(counter, "refused_total", "Blocks not cached for lack of memory.", func(s *storage.TopologyStats) float64 { return float64(s.Refused) })
	return c
}

// Describe implements prometheus.Collector.
func (c *storageCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.scraped {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *storageCollector) Collect(ch chan<- prometheus.Metric) {
	topology := c.s.TopologyStats()
	for i := range c.cached {
		m := &c.cached[i]
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.get(&topology))
	}
	for name, n := range c.s.Expired() {
		for i, d := range c.expired {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n[i]), name)
		}
	}
	for name, n := range c.s.Logged() {
		for i, d := range c.logged {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n[i]), name)
		}
	}
	var blocks *kv.Stats
	for name, shards := range c.s.Stats() {
		for i := range shards {
			sh := &shards[i]
			no, failed := strconv.Itoa(sh.Shard), 0.0
			if sh.Failed {
				failed = 1
			}
			ch <- prometheus.MustNewConstMetric(c.failed, prometheus.GaugeValue, failed, name, no)
			for i, n := range [...]uint64{sh.Topology.Hits, sh.Topology.Misses, sh.Topology.Stale} {
				ch <- prometheus.MustNewConstMetric(c.found[i], prometheus.CounterValue, float64(n), name, no)
			}
			c.instance(ch, &sh.Graph, name, no, "graph")
			c.instance(ch, &sh.Values, name, no, "values")
			if blocks == nil || sh.Graph.BlockHits > blocks.BlockHits {
				blocks = &sh.Graph
			}
		}
	}
	if blocks == nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.blocks[0], prometheus.GaugeValue, float64(blocks.BlockBytes))
	ch <- prometheus.MustNewConstMetric(c.blocks[1], prometheus.CounterValue, float64(blocks.BlockHits))
	ch <- prometheus.MustNewConstMetric(c.blocks[2], prometheus.CounterValue, float64(blocks.BlockMisses))
}

func (c *storageCollector) instance(ch chan<- prometheus.Metric, s *kv.Stats, labels ...string) {
	for i := range c.store {
		m := &c.store[i]
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.get(s), labels...)
	}
	for i, l := range s.Levels {
		at := append(slices.Clip(labels), strconv.Itoa(i))
		ch <- prometheus.MustNewConstMetric(c.levels[0], prometheus.GaugeValue, float64(l.Tables), at...)
		ch <- prometheus.MustNewConstMetric(c.levels[1], prometheus.GaugeValue, float64(l.Bytes), at...)
		ch <- prometheus.MustNewConstMetric(c.levels[2], prometheus.GaugeValue, float64(l.Sublevels), at...)
	}
}
