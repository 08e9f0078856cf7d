package graph

import "sync/atomic"

// Reads counts the sources of a transaction's reads. A nil Reads counts nothing. It is safe for concurrent use.
type Reads struct {
	Hits   atomic.Int64 // decoded blocks found in the cache
	Misses atomic.Int64 // decoded blocks loaded, or read from the store instead
	Large  atomic.Int64 // fetched large values
}

// Block counts the look-up of a decoded block.
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
