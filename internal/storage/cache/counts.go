package cache

import "sync/atomic"

// Counts are the numbers of cache hits of readers.
type Counts struct {
	Hits   uint64 // blocks found
	Misses uint64 // blocks not found, whether they were loaded then or left to the caller
	Stale  uint64 // blocks that the reader's snapshot is too old for
}

// Add adds others.
func (c *Counts) Add(o Counts) {
	c.Hits += o.Hits
	c.Misses += o.Misses
	c.Stale += o.Stale
}

// counts counts for one shard's lists or columns, on a cache line of its own.
type counts struct {
	_                   [64]byte
	hits, misses, stale atomic.Uint64
	_                   [64]byte
}

// block notes that a block was found or not.
func (c *counts) block(found bool) {
	if found {
		c.hits.Add(1)
	} else {
		c.misses.Add(1)
	}
}

func (c *counts) load() Counts { return Counts{c.hits.Load(), c.misses.Load(), c.stale.Load()} }

// counted is who counts in a cache.
type counted struct {
	open map[*counts]struct{}
	past Counts // of closed ones
}

func (c *counted) sum() Counts {
	s := c.past
	for n := range c.open {
		s.Add(n.load())
	}
	return s
}

// counts returns new counts, which are the cache's too.
func (c *Cache) counts() *counts {
	n := new(counts)
	c.mu.Lock()
	c.counted.open[n] = struct{}{}
	c.mu.Unlock()
	return n
}

// close keeps the final counts.
func (c *Cache) close(n *counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.counted.open[n]; ok {
		delete(c.counted.open, n)
		c.counted.past.Add(n.load())
	}
}
