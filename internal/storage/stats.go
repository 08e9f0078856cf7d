package storage

import (
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Stats describes one shard's stores. Counters start when they are opened.
type Stats struct {
	Shard int
	// Graph is the store of topology and small properties, Values that of large values.
	Graph, Values kv.Stats
	// Topology counts hits and misses of the shard's readers in the topology cache.
	Topology cache.Counts
	// Failed says that a store refuses writes: until there is space on a full disk, or else until it is reopened.
	Failed bool
}

// Shape is what a process reports of one of its shards. Cache is the topology cache of the process, for all graphs.
type Shape struct {
	Stats
	Cache TopologyStats `json:"Decoded"`
}

// TopologyStats describes the cache of decoded lists and columns that all shards of a process share.
type TopologyStats = cache.Stats

// Stats describes the shard. It may be called at any time before Close.
func (s *Shard) Stats() Stats {
	return Stats{Shard: s.no, Graph: s.graph.Stats(), Values: s.values.Stats(), Failed: s.Writable() != nil}
}
