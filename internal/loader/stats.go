package loader

import (
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/shard"
)

// Stats counts what a loader has done since its creation.
type Stats struct {
	Loads    atomic.Uint64 // opened loads
	Running  atomic.Int64  // loads that are open
	Batches  atomic.Uint64 // applied batches, including skipped ones
	Vertices Counts
	Edges    Counts
	Rejected atomic.Uint64 // rows refused
	Failed   atomic.Uint64 // failed calls of Apply
	Nanos    atomic.Uint64 // time spent in Apply
}

// Counts count applied rows as shard.RowCounts does.
type Counts struct {
	Created, Overwritten, Unchanged, Deleted atomic.Int64
}

func (c *Counts) add(r *shard.RowCounts) {
	c.Created.Add(int64(r.Created))
	c.Overwritten.Add(int64(r.Overwritten))
	c.Unchanged.Add(int64(r.Unchanged))
	c.Deleted.Add(int64(r.Deleted))
}

// Applied returns the number of applied rows.
func (c *Counts) Applied() int64 {
	return c.Created.Load() + c.Overwritten.Load() + c.Unchanged.Load() + c.Deleted.Load()
}

// add counts the outcome of a batch.
func (s *Stats) add(l *shard.Load) {
	s.Vertices.add(&l.Counts.Vertices)
	s.Edges.add(&l.Counts.Edges)
	s.Rejected.Add(uint64(len(l.Rejected)))
}

// Stats returns the loader's counters.
func (l *Loader) Stats() *Stats { return &l.stats }
