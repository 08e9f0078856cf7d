package cache

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Options sets a cache up.
type Options struct {
	// Budget is the memory for segments in bytes; 0 caches nothing.
	Budget int
}

// Cache is the memory that the segments of any number of shards share. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	arena arena
	ring  []*resident // in the order in which the clock's hand passes
	hand  int

	lists, columns epochs
	keys           keyTable

	counted counted // guarded by mu

	loads, refused, evicted, merges, dropped atomic.Uint64
	overlay                                  atomic.Int64
	most                                     atomic.Int64 // see limit
}

// resident is what the clock knows of a segment.
type resident struct {
	used  atomic.Bool // since the hand passed
	at    int         // place in the ring, guarded by Cache.mu; -1 outside
	size  int         // bytes
	limbo *epochs
	evict func() // takes the segment out of its slot
}

// touch notes a use; it writes only if the hand has passed since the last.
func (r *resident) touch() {
	if !r.used.Load() {
		r.used.Store(true)
	}
}

// Stats are a cache's counters since it was made, and its present size.
type Stats struct {
	Budget, Mapped, Used int // bytes: allowed, mapped, in segments or waiting for readers
	Waiting              int // bytes that wait for readers
	Overlay              int // bytes of overlays, on the Go heap
	Segments             int
	Counts                      // of all shards, including closed ones
	Loads, Refused       uint64 // segments loaded; loads given up for want of memory
	Evicted              uint64 // segments evicted for others
	Merges               uint64 // overlays merged into their segments
	Dropped              uint64 // segments that changes made useless
}

// New returns a cache.
func New(o Options) *Cache {
	c := &Cache{counted: counted{open: map[*counts]struct{}{}}}
	c.keys.seed = maphash.MakeSeed()
	c.setBudget(o.Budget)
	return c
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	s := Stats{Budget: c.arena.budget, Mapped: c.arena.mapped, Used: c.arena.used, Segments: len(c.ring)}
	s.Counts = c.counted.sum()
	c.mu.Unlock()
	s.Budget += int(c.keys.bytes.Load())
	s.Mapped += c.keys.mapped()
	s.Waiting = c.lists.waitingBytes() + c.columns.waitingBytes()
	s.Overlay = int(c.overlay.Load())
	s.Loads, s.Refused, s.Evicted = c.loads.Load(), c.refused.Load(), c.evicted.Load()
	s.Merges, s.Dropped = c.merges.Load(), c.dropped.Load()
	return s
}

// SetBudget changes the budget, in bytes. Segments that no longer fit are evicted at once; their memory goes back as
// soon as no reader holds it.
func (c *Cache) SetBudget(n int) {
	c.setBudget(n)
	c.shrink()
}

// Close returns all memory back. All views must be closed, and all Lists and Columns.
func (c *Cache) Close() { c.SetBudget(0) }

// shrink evicts while the mapped memory, without that which waits for readers, exceeds the budget.
func (c *Cache) shrink() {
	for {
		c.reclaim()
		waiting := c.lists.waitingBytes() + c.columns.waitingBytes()
		c.mu.Lock()
		if c.arena.mapped > c.arena.budget {
			c.arena.trim()
		}
		over := c.arena.mapped-waiting > c.arena.budget
		c.mu.Unlock()
		if !over {
			return
		}
		v := c.victim(true)
		if v == nil {
			return
		}
		v.evict()
		c.evicted.Add(1)
	}
}

func (c *Cache) setBudget(n int) {
	n = max(n, 0)
	forKeys := keyBytes(n)
	c.keys.resize(forKeys)
	c.mu.Lock()
	c.arena.budget = n - forKeys
	c.most.Store(int64(c.arena.budget / 2))
	c.mu.Unlock()
}

// alloc returns n bytes, evicting others if need be, or false if readers hold too much or n is too big.
func (c *Cache) alloc(n int) (run, bool) {
	if n > c.limit() {
		return run{}, false
	}
	for freed := 0; ; {
		c.mu.Lock()
		r, ok := c.arena.alloc(n)
		c.mu.Unlock()
		if ok {
			return r, true
		}
		if c.reclaim() {
			continue
		}
		// Runs that are free need not lie together: some more than n must go, but not everything.
		if freed > 8*n+maxRegion/8 {
			return run{}, false
		}
		v := c.victim(false)
		if v == nil {
			return run{}, false
		}
		freed += v.size
		v.evict()
		c.evicted.Add(1)
	}
}

// limit is the size in bytes above which nothing is cached.
func (c *Cache) limit() int { return int(c.most.Load()) }

// mostOverlay is the size in bytes of all overlays above which segments are dropped instead of growing theirs.
func (c *Cache) mostOverlay() int { return c.limit() / 2 }

// crowded reports whether a new segment would push others out.
func (c *Cache) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arena.used > c.arena.budget-c.arena.budget/8
}

// victim takes the next segment to evict out of the ring: the first at the hand that has not been used since the hand
// passed. It returns nil if there is none, or, unless forced, if readers hold so much that evicting more would not help.
func (c *Cache) victim(force bool) *resident {
	held := [2]int{c.lists.waitingBytes(), c.columns.waitingBytes()}
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.arena.budget / 8
	for range 2*len(c.ring) + 1 {
		if len(c.ring) == 0 {
			return nil
		}
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		r := c.ring[c.hand]
		waiting := held[0]
		if r.limbo == &c.columns {
			waiting = held[1]
		}
		if waiting > most && !force || r.used.Swap(false) {
			c.hand++
			continue
		}
		c.removeLocked(r)
		return r
	}
	return nil
}

// add puts a segment into the ring, just behind the hand.
func (c *Cache) add(r *resident) {
	c.mu.Lock()
	r.at = len(c.ring)
	c.ring = append(c.ring, r)
	c.mu.Unlock()
}

// remove removes a segment from the ring, if it is there.
func (c *Cache) remove(r *resident) {
	c.mu.Lock()
	c.removeLocked(r)
	c.mu.Unlock()
}

func (c *Cache) removeLocked(r *resident) {
	if r.at < 0 {
		return
	}
	last := len(c.ring) - 1
	c.ring[r.at] = c.ring[last]
	c.ring[r.at].at = r.at
	c.ring[last] = nil
	c.ring = c.ring[:last]
	r.at = -1
}

// reclaim returns memory back that no reader holds any more, and reports whether there was any.
func (c *Cache) reclaim() bool {
	a, b := c.lists.reclaim(), c.columns.reclaim()
	if len(a)+len(b) == 0 {
		return false
	}
	c.mu.Lock()
	for _, r := range a {
		c.arena.release(r.run)
	}
	for _, r := range b {
		c.arena.release(r.run)
	}
	c.mu.Unlock()
	return true
}

// leave ends a reader's stay.
func (c *Cache) leave(e *epochs, p *pin) {
	if !e.leave(p) {
		return
	}
	c.reclaim()
	c.mu.Lock()
	over := c.arena.mapped > c.arena.budget
	c.mu.Unlock()
	if over {
		c.shrink()
	}
}
