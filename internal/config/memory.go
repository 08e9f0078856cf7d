package config

import (
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/size"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Budget is the division of Memory, in bytes.
type Budget struct {
	Total      int64
	CacheMode  kv.CacheMode
	BlockCache int64 // Pebble's blocks; 0 disables the cache
	Topology   int64 // the topology cache; negative disables it
	Memtable   int64 // one memtable, of which each shard has several
	Text       int64 // changes of full-text indexes on their way to the disk
	Query      int64 // one query
	Queries    int64 // all queries in total
	GoHeap     int64 // the Go runtime: the memory besides what is off the heap
}

// memtables is the approximate number of memtables of a shard in memory: two stores, each with one being filled and one being flushed.
const memtables = 4

// Split divides the memory of the configuration: three tenths to blocks, three tenths to the topology cache, a tenth to memtables, a twentieth
// to changes of full-text indexes, and the rest to queries, of which one or all together may use a quarter of the whole. shards is how many
// of a graph the process keeps; they share what is for memtables, and have all caches in common.
func (c *Config) Split(shards int) Budget {
	total := int64(c.Memory)
	if total == 0 {
		total = available() / 2
	}
	b := Budget{Total: total, BlockCache: total * 3 / 10, Topology: total * 3 / 10, Query: int64(c.QueryMemory)}
	if c.BlockCache > 0 {
		b.BlockCache = int64(c.BlockCache)
	}
	b.CacheMode, _ = kv.ParseCacheMode(c.CacheMode) // Validate has parsed it
	if b.CacheMode == kv.CachePages {
		b.BlockCache = 0
	}
	if c.TopologyCache != "" {
		topology, _ := size.Parse(c.TopologyCache) // likewise
		b.Topology = int64(topology)
	}
	b.Memtable = min(max(total/10/int64(memtables*shards), 256<<10), 64<<20)
	b.Text = min(max(total/20, 4<<20), 256<<20)
	if b.Query == 0 {
		b.Query = total / 4
	}
	b.GoHeap = total - b.Topology
	if blocksOffHeap {
		b.GoHeap -= b.BlockCache + memtables*int64(shards)*b.Memtable
	}
	b.Queries = total / 4
	b.GoHeap = max(b.GoHeap, total/4)
	if b.Topology == 0 {
		b.Topology = -1
	}
	return b
}

// Whole returns the limits of all callers together in a server with this budget.
func (c *Config) Whole(b Budget) access.Limits {
	return access.Limits{Queries: c.MaxQueries, Memory: b.Queries}
}

// available returns the memory of the cgroup or the machine in bytes.
func available() int64 {
	machine := int64(4 << 30)
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				fields := strings.Fields(rest)
				if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
					machine = kib << 10
				}
			}
		}
	}
	for _, file := range cgroupLimits() {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 {
			machine = min(machine, n)
		}
	}
	return machine
}

// cgroupLimits returns the files that may limit the memory of the process: those of its control group and of all groups above.
func cgroupLimits() []string {
	const root = "/sys/fs/cgroup"
	files := []string{root + "/memory.max", root + "/memory/memory.limit_in_bytes"}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(data)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; ok && group != "/" && group != "." && group != ""; group = path.Dir(group) {
			files = append(files, path.Join(root, group, "memory.max"))
		}
	}
	return files
}
