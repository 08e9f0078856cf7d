package loader

import "sync/atomic"

// Stats counts what a loader has done since its creation.
type Stats struct {
	Loads    atomic.Uint64 // opened loads
	Running  atomic.Int64  // loads that are open
	Batches  atomic.Uint64 // applied batches, including skipped ones
	Vertices atomic.Uint64 // vertices written
	Edges    atomic.Uint64 // edges written
	Rejected atomic.Uint64 // rows refused
	Failed   atomic.Uint64 // failed calls of Apply
	Nanos    atomic.Uint64 // time spent in Apply
}

// Stats returns the loader's counters.
func (l *Loader) Stats() *Stats { return &l.stats }
