package storage

import (
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Stats is the shape of one shard's stores and what they have done since they were opened. Counters are of this process.
type Stats struct {
	Shard int
	// Graph is the store of topology and small properties, Values that of large values.
	Graph, Values kv.Stats
	// Topology is what readers of the shard have found decoded since the graph was opened.
	Topology cache.Counts
	// Failed says that a store takes no writes: until there is room on a full disk, or else until it is opened again.
	Failed bool
}

// Shape is what a process reports of a shard that it keeps: Cache is the topology cache of the process, for all of its graphs.
type Shape struct {
	Stats
	Cache TopologyStats `json:"Decoded"`
}

// TopologyStats is what the cache of decoded lists and columns, which all shards of a process share, has done.
type TopologyStats = cache.Stats

// Stats returns the shard's shape. It may be called at any time before Close.
func (s *Shard) Stats() Stats {
	return Stats{Shard: s.no, Graph: s.graph.Stats(), Values: s.values.Stats(), Failed: s.Writable() != nil}
}
