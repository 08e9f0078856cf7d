package graph

import "sync/atomic"

// Reads counts where a transaction's reads found what they gave. A nil Reads counts nothing; counting is safe for
// concurrent use.
type Reads struct {
	Hits   atomic.Int64 // decoded blocks that were in the cache
	Misses atomic.Int64 // decoded blocks that had to be loaded, or were read from the store instead
	Large  atomic.Int64 // large values that were fetched
}

// Block counts a decoded block that was there or not.
func (r *Reads) Block(found bool) {
	switch {
	case r == nil:
	case found:
		r.Hits.Add(1)
	default:
		r.Misses.Add(1)
	}
}

// Fetched counts a large value.
func (r *Reads) Fetched() {
	if r != nil {
		r.Large.Add(1)
	}
}
