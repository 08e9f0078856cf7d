package telemetry

import (
	"context"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/storage"
)

// Storage is what can be seen of a store.
type Storage interface {
	// Stats gives the shapes of the shards of all graphs, by the graphs' names.
	Stats() map[string][]storage.Stats
	// DecodedStats gives what the cache of decoded lists and columns has done.
	DecodedStats() storage.DecodedStats
	// Expired gives how many vertices and edges have been deleted because they had expired, by the graphs' names.
	Expired() map[string][2]uint64
}

// Shaper is a Storage whose shards other processes keep, which are asked for their shapes.
type Shaper interface {
	Shapes(ctx context.Context, graph string) ([]storage.Shape, error)
}

// Shapes gives the shapes of a graph's shards, wherever they are.
func Shapes(ctx context.Context, s Storage, graph string) ([]storage.Shape, error) {
	if s, ok := s.(Shaper); ok {
		return s.Shapes(ctx, graph)
	}
	var out []storage.Shape
	decoded := s.DecodedStats()
	for _, stats := range s.Stats()[graph] {
		out = append(out, storage.Shape{Stats: stats, Decoded: decoded})
	}
	return out, nil
}

// StoreStats is the shape of one store of a shard.
type StoreStats = storage.InstanceStats

// storageCollector publishes the shapes of shards. A shard has two stores: graph, of topology and small properties, and
// values, of large values.
type storageCollector struct {
	s       Storage
	store   []storeMetric
	levels  [3]*prometheus.Desc // tables, bytes, read amplification
	found   [3]*prometheus.Desc // blocks found decoded, not found, too new
	failed  *prometheus.Desc
	expired [2]*prometheus.Desc // vertices, edges
	blocks  [3]*prometheus.Desc // bytes, hits, misses
	decoded []decodedMetric
	scraped []*prometheus.Desc
}

// storeMetric is one number of a store.
type storeMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(s *storage.InstanceStats) float64
}

// decodedMetric is one number of the cache of decoded lists and columns.
type decodedMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(s *storage.DecodedStats) float64
}

func newStorage(s Storage) *storageCollector {
	c := &storageCollector{s: s}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc("hopgate_"+name, help, labels, nil)
		c.scraped = append(c.scraped, d)
		return d
	}
	add := func(kind prometheus.ValueType, name, help string, get func(s *storage.InstanceStats) float64) {
		c.store = append(c.store, storeMetric{desc("storage_"+name, help, "graph", "shard", "store"), kind, get})
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "disk_bytes", "Bytes of all files.", func(s *storage.InstanceStats) float64 { return float64(s.DiskBytes) })
	add(gauge, "read_amplification", "Tables that a look-up may have to see.", func(s *storage.InstanceStats) float64 { return float64(s.ReadAmplification) })
	add(gauge, "write_amplification", "Bytes written for each byte that came in, since the start.", (*storage.InstanceStats).WriteAmplification)
	add(gauge, "memtables", "Memtables.", func(s *storage.InstanceStats) float64 { return float64(s.Memtables) })
	add(gauge, "memtable_bytes", "Bytes of memtables.", func(s *storage.InstanceStats) float64 { return float64(s.MemtableBytes) })
	add(gauge, "wal_bytes", "Live bytes of the write-ahead log.", func(s *storage.InstanceStats) float64 { return float64(s.LogBytes) })
	add(counter, "commit_bytes_total", "Bytes of commits, before the write-ahead log's own.", func(s *storage.InstanceStats) float64 { return float64(s.LogIn) })
	add(counter, "wal_written_bytes_total", "Bytes written to the write-ahead log.", func(s *storage.InstanceStats) float64 { return float64(s.LogWritten) })
	add(counter, "ingested_bytes_total", "Bytes of tables that came in beside the write-ahead log.", func(s *storage.InstanceStats) float64 { return float64(s.Ingested) })
	add(counter, "flushes_total", "Flushes of memtables.", func(s *storage.InstanceStats) float64 { return float64(s.Flushes) })
	add(counter, "flushed_bytes_total", "Bytes written by flushes.", func(s *storage.InstanceStats) float64 { return float64(s.Flushed) })
	add(counter, "compactions_total", "Compactions.", func(s *storage.InstanceStats) float64 { return float64(s.Compactions) })
	add(counter, "compacted_bytes_total", "Bytes written by compactions.", func(s *storage.InstanceStats) float64 { return float64(s.Compacted) })
	add(counter, "compaction_seconds_total", "Time of compactions.", func(s *storage.InstanceStats) float64 { return s.CompactionTime.Seconds() })
	add(gauge, "compactions_running", "Compactions that run.", func(s *storage.InstanceStats) float64 { return float64(s.CompactionsRunning) })
	add(gauge, "compaction_debt_bytes", "Bytes that wait to be compacted.", func(s *storage.InstanceStats) float64 { return float64(s.CompactionDebt) })
	add(gauge, "separated_file_bytes", "Bytes of the files of separated values.", func(s *storage.InstanceStats) float64 { return float64(s.SeparatedBytes) })
	add(gauge, "separated_live_bytes", "Bytes of separated values in use.", func(s *storage.InstanceStats) float64 { return float64(s.SeparatedLive) })
	add(gauge, "separated_dead_bytes", "Bytes of separated values to be reclaimed.", func(s *storage.InstanceStats) float64 { return float64(s.SeparatedDead) })
	add(gauge, "snapshots", "Open snapshots.", func(s *storage.InstanceStats) float64 { return float64(s.Snapshots) })
	add(counter, "block_read_bytes_total", "Bytes of blocks that readers asked for.", func(s *storage.InstanceStats) float64 { return float64(s.BlockRead) })
	add(counter, "block_found_bytes_total", "Bytes of those blocks that the block cache had.", func(s *storage.InstanceStats) float64 { return float64(s.BlockFound) })
	add(counter, "filter_hits_total", "Look-ups that a Bloom filter has spared.", func(s *storage.InstanceStats) float64 { return float64(s.FilterHits) })
	add(counter, "filter_misses_total", "Look-ups that a Bloom filter let pass.", func(s *storage.InstanceStats) float64 { return float64(s.FilterMisses) })
	add(counter, "stalls_total", "Times that commits had to wait for flushes or compactions.", func(s *storage.InstanceStats) float64 { return float64(s.Stalls) })
	add(counter, "stall_seconds_total", "Time of those waits that are over.", func(s *storage.InstanceStats) float64 { return s.StallTime.Seconds() })
	c.levels[0] = desc("storage_level_tables", "Tables of a level.", "graph", "shard", "store", "level")
	c.levels[1] = desc("storage_level_bytes", "Bytes of a level's tables.", "graph", "shard", "store", "level")
	c.levels[2] = desc("storage_level_read_amplification", "Tables of a level that a look-up may have to see.", "graph", "shard", "store", "level")
	c.found[0] = desc("storage_topology_hits_total", "Blocks of the shard found decoded.", "graph", "shard")
	c.found[1] = desc("storage_topology_misses_total", "Blocks of the shard not found decoded.", "graph", "shard")
	c.found[2] = desc("storage_topology_stale_total", "Blocks of the shard that the reader's snapshot was too old for.", "graph", "shard")
	c.failed = desc("storage_failed", "1 if a shard takes no more writes until the server is started again.", "graph", "shard")
	c.expired[0] = desc("expired_vertices_total", "Vertices deleted because they had expired.", "graph")
	c.expired[1] = desc("expired_edges_total", "Edges deleted because they, or one of their ends, had expired.", "graph")
	c.blocks[0] = desc("block_cache_bytes", "Bytes in the block cache.")
	c.blocks[1] = desc("block_cache_hits_total", "Blocks found in the block cache.")
	c.blocks[2] = desc("block_cache_misses_total", "Blocks not found in the block cache.")
	cached := func(kind prometheus.ValueType, name, help string, get func(s *storage.DecodedStats) float64) {
		c.decoded = append(c.decoded, decodedMetric{desc("topology_cache_"+name, help), kind, get})
	}
	cached(gauge, "budget_bytes", "Bytes that decoded lists and columns may take.", func(s *storage.DecodedStats) float64 { return float64(s.Budget) })
	cached(gauge, "mapped_bytes", "Bytes mapped for decoded lists and columns.", func(s *storage.DecodedStats) float64 { return float64(s.Mapped) })
	cached(gauge, "bytes", "Bytes of decoded lists and columns.", func(s *storage.DecodedStats) float64 { return float64(s.Used) })
	cached(gauge, "overlay_bytes", "Bytes of changes to decoded lists and columns, on the Go heap.", func(s *storage.DecodedStats) float64 { return float64(s.Overlay) })
	cached(counter, "hits_total", "Blocks found decoded.", func(s *storage.DecodedStats) float64 { return float64(s.Hits) })
	cached(counter, "misses_total", "Blocks not found decoded.", func(s *storage.DecodedStats) float64 { return float64(s.Misses) })
	cached(counter, "stale_total", "Blocks that the reader's snapshot was too old for.", func(s *storage.DecodedStats) float64 { return float64(s.Stale) })
	cached(counter, "evictions_total", "Segments evicted for others.", func(s *storage.DecodedStats) float64 { return float64(s.Evicted) })
	cached(counter, "refused_total", "Loads given up for want of memory.", func(s *storage.DecodedStats) float64 { return float64(s.Refused) })
	return c
}

// Describe sends the descriptions.
func (c *storageCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.scraped {
		ch <- d
	}
}

// Collect sends the values.
func (c *storageCollector) Collect(ch chan<- prometheus.Metric) {
	decoded := c.s.DecodedStats()
	for i := range c.decoded {
		m := &c.decoded[i]
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.get(&decoded))
	}
	for name, n := range c.s.Expired() {
		for i, d := range c.expired {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n[i]), name)
		}
	}
	var blocks *storage.InstanceStats
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

func (c *storageCollector) instance(ch chan<- prometheus.Metric, s *storage.InstanceStats, labels ...string) {
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
