package loader

import "sync/atomic"

// Stats counts what a loader has done since it was made.
type Stats struct {
	Loads    atomic.Uint64 // loads that were opened
	Running  atomic.Int64  // loads that are open
	Batches  atomic.Uint64 // batches that were applied, those skipped as applied before included
	Vertices atomic.Uint64 // vertices written
	Edges    atomic.Uint64 // edges written
	Rejected atomic.Uint64 // rows refused
	Failed   atomic.Uint64 // applications that failed
	Nanos    atomic.Uint64 // time spent in applying
}

// Stats gives the loader's counters.
func (l *Loader) Stats() *Stats { return &l.stats }
