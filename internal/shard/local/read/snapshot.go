package read

import (
	"errors"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Snapshot is one consistent state of a graph's shards, for any number of readers.
type Snapshot struct {
	Seq   uint64       // of the last commit in it
	Time  int64        // of that commit, in nanoseconds since 1970
	Views []*view.View // by shard; nil for one of another process
	Defs  *index.Defs  // as they were when the snapshot was made

	sources  []source
	counters []stats.Counters
	sketches []map[graph.IndexID]*stats.Sketch
	degrees  []stats.Degrees

	once, onceAll      sync.Once
	counts, statistics *graph.Counts
}

// PartOf returns a snapshot of one of some shards: of that with number no, whose vertices have local ids below next.
func PartOf(shards, no int, seq uint64, v *view.View, next uint64) *Snapshot {
	c := &Snapshot{Seq: seq, Views: make([]*view.View, shards), sources: make([]source, shards)}
	c.Views[no], c.sources[no] = v, source{v, next}
	return c
}

// Add adds the present state of the next shard.
func (c *Snapshot) Add(s *storage.Shard) error {
	v, err := s.Snapshot()
	if err != nil {
		return err
	}
	c.Views = append(c.Views, v)
	c.counters = append(c.counters, s.Counters())
	c.sketches = append(c.sketches, s.Sketches())
	c.degrees = append(c.degrees, s.Degrees())
	c.sources = append(c.sources, source{v, s.NextVertex()})
	return nil
}

// Size is the number of vertices and edges.
func (c *Snapshot) Size() uint64 {
	n := int64(0)
	for _, cs := range c.counters {
		n += cs.Of(stats.Count{Kind: stats.CountVertices}) + cs.Of(stats.Count{Kind: stats.CountEdges})
	}
	return uint64(n)
}

// Close closes the views.
func (c *Snapshot) Close() error {
	var errs []error
	for _, v := range c.Views {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}
