package cache

import "sync/atomic"

// segment is a decoded block. Its data never changes; changes go to the overlay.
type segment[D, E any] struct {
	resident
	// since is the sequence from which on the data, with the overlay, is right.
	since uint64
	over  atomic.Pointer[overlay[E]]
	data  D
	runs  []run
}

// load is a segment in the making.
type load[E any] struct {
	done   chan struct{}
	queue  []change[E] // committed since the load's snapshot
	broken bool        // something changed that the queue does not hold
}

// change is one change of the vertex at within its block.
type change[E any] struct {
	at    uint32
	entry E
}

// built is what a build made.
type built[D any] struct {
	data  D
	runs  []run
	ok    bool // false: there is no segment,
	unfit bool // because the block cannot be held, else for want of memory
}

// nodeBytes is about what an overlay entry takes on the Go heap.
const nodeBytes = 64

// replace makes a new segment for a reader at sequence seq and puts it into the slot. build may read the old segment,
// if there is one; it runs without locks, beside readers and writers. A nil segment without an
// error says that the reader must do without. One replacement of a slot runs at a time: the others wait for it, and
// then use what it made if it is enough for them.
func (s *slot[D, E]) replace(c *Cache, n *counts, limbo *epochs, seq uint64, enough func(*segment[D, E]) bool,
	build func(old *segment[D, E]) (built[D], error),
) (*segment[D, E], error) {
	s.mu.Lock()
	for s.load != nil {
		l := s.load
		s.mu.Unlock()
		<-l.done
		s.mu.Lock()
	}
	old := s.seg.Load()
	switch {
	case s.last > seq, s.unfit:
		s.mu.Unlock()
		n.stale.Add(1)
		return nil, nil
	case old != nil && enough(old):
		s.mu.Unlock()
		return old, nil
	}
	l := &load[E]{done: make(chan struct{})}
	s.load = l
	since := s.last
	s.mu.Unlock()

	b, err := s.guard(l, old, build)

	seg := &segment[D, E]{since: since, data: b.data, runs: b.runs}
	seg.limbo, seg.at = limbo, -1
	seg.evict = func() { s.evict(c, seg) }
	for _, r := range b.runs {
		seg.size += r.size()
	}
	s.mu.Lock()
	s.load = nil
	s.credit.Store(0)
	if err != nil || !b.ok || l.broken {
		s.unfit = s.unfit || err == nil && b.unfit && !l.broken
		s.mu.Unlock()
		close(l.done)
		c.discard(b.runs)
		if err == nil {
			c.refused.Add(1)
		}
		return nil, err
	}
	old = s.seg.Load()
	seg.push(c, l.queue)
	s.seg.Store(seg)
	if old != nil {
		c.remove(&old.resident)
	}
	c.add(&seg.resident)
	s.mu.Unlock()
	close(l.done)
	c.loads.Add(1)
	if old != nil {
		c.deleteGroups(limbo, old.entries(), old.runs)
	}
	return seg, nil
}

// guard runs a build, so that a panic in it leaves no one waiting.
func (s *slot[D, E]) guard(l *load[E], old *segment[D, E], build func(*segment[D, E]) (built[D], error)) (b built[D], err error) {
	ended := false
	defer func() {
		if !ended {
			s.mu.Lock()
			s.load = nil
			s.mu.Unlock()
			close(l.done)
		}
	}()
	b, err = build(old)
	ended = true
	return b, err
}

// entries is the number of entries in the overlay.
func (seg *segment[D, E]) entries() int {
	if o := seg.over.Load(); o != nil {
		return int(o.n.Load())
	}
	return 0
}

// push adds changes to the overlay, under the slot's lock.
func (seg *segment[D, E]) push(c *Cache, changes []change[E]) {
	if len(changes) == 0 {
		return
	}
	o := seg.over.Load()
	if o == nil {
		o = new(overlay[E])
	}
	nodes := make([]node[E], len(changes))
	for i, ch := range changes {
		nodes[i].entry = ch.entry
		o.add(ch.at, &nodes[i])
	}
	c.overlay.Add(int64(len(changes) * nodeBytes))
	seg.over.Store(o)
}

// apply notes changes committed at seq. If there are more than most of them, or would be in the overlay, the segment is
// dropped; so it is for an empty slice, which stands for changes that are not known one by one.
func (s *slot[D, E]) apply(c *Cache, limbo *epochs, seq uint64, changes []change[E], most int) {
	if c.overlay.Load() > int64(c.mostOverlay()) {
		changes = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, seq)
	s.unfit = false
	if l := s.load; l != nil {
		if len(changes) == 0 || len(l.queue)+len(changes) > most {
			l.broken, l.queue = true, nil
		} else if !l.broken {
			l.queue = append(l.queue, changes...)
		}
	}
	seg := s.seg.Load()
	if seg == nil {
		return
	}
	if len(changes) == 0 || seg.entries()+len(changes) > most {
		s.seg.Store(nil)
		c.remove(&seg.resident)
		c.dropped.Add(1)
		c.deleteGroups(limbo, seg.entries(), seg.runs)
		return
	}
	seg.push(c, changes)
}

// watched reports whether someone holds or loads the block, so that its changes should be given one by one.
func (s *slot[D, E]) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load != nil || s.seg.Load() != nil
}

// due notes that a reader wants n lists or values of a block that it has to find elsewhere, and reports whether enough
// have been wanted for a load to pay: few while there is room, most when a load pushes others out.
func (s *slot[D, E]) due(c *Cache, n, few, most int) bool {
	if c.limit() == 0 {
		return false
	}
	credit := int(s.credit.Add(uint32(n)))
	return credit >= most || credit >= few && !c.crowded()
}

// evict takes a segment out of its slot, if it is still there.
func (s *slot[D, E]) evict(c *Cache, seg *segment[D, E]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seg.Load() != seg {
		return
	}
	s.seg.Store(nil)
	s.credit.Store(0)
	c.remove(&seg.resident)
	c.deleteGroups(seg.limbo, seg.entries(), seg.runs)
}

// clear empties a slot whose shard goes away.
func (s *slot[D, E]) clear(c *Cache) {
	if seg := s.seg.Load(); seg != nil {
		s.evict(c, seg)
	}
}

// deleteGroups retires what a segment held that has left its slot.
func (c *Cache) deleteGroups(limbo *epochs, entries int, runs []run) {
	c.overlay.Add(-int64(entries * nodeBytes))
	limbo.retire(runs...)
}

// discard returns runs that no reader has seen.
func (c *Cache) discard(runs []run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range runs {
		c.arena.release(r)
	}
}
