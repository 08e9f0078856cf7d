package cache

import (
	"sync"
	"sync/atomic"
)

// pageSlots is the number of slots that a table makes at once.
const pageSlots = 64

// table is the slots of one kind of block (an edge type and direction, or a property) in order of block numbers.
type table[D, E any] struct {
	mu    sync.Mutex // guards growth
	pages atomic.Pointer[[]*[pageSlots]slot[D, E]]
}

// slot is the place of one block. D is what is decoded, E a change.
type slot[D, E any] struct {
	seg atomic.Pointer[segment[D, E]]
	// credit counts what readers had to fetch elsewhere since the block was last looked at by the policy.
	credit atomic.Uint32
	mu     sync.Mutex
	// last is the newest sequence that changed the block.
	last uint64
	load *load[E]
	// unfit says that the block cannot be held as it is now.
	unfit bool
}

// changedAt returns the newest sequence that changed the block.
func (s *slot[D, E]) changedAt() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// find returns a block's slot, or nil if nothing has ever been noted there.
func (t *table[D, E]) find(block uint64) *slot[D, E] {
	pages := t.pages.Load()
	if pages == nil || block/pageSlots >= uint64(len(*pages)) {
		return nil
	}
	p := (*pages)[block/pageSlots]
	if p == nil {
		return nil
	}
	return &p[block%pageSlots]
}

// at returns a block's slot, making it if need be.
func (t *table[D, E]) at(block uint64) *slot[D, E] {
	if s := t.find(block); s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var old []*[pageSlots]slot[D, E]
	if p := t.pages.Load(); p != nil {
		old = *p
	}
	n := block / pageSlots
	if n < uint64(len(old)) && old[n] != nil {
		return &old[n][block%pageSlots]
	}
	size := len(old)
	if n >= uint64(size) {
		size = max(int(n)+1, len(old)*5/4)
	}
	pages := make([]*[pageSlots]slot[D, E], size)
	copy(pages, old)
	pages[n] = new([pageSlots]slot[D, E])
	t.pages.Store(&pages)
	return &pages[n][block%pageSlots]
}

// each calls f for every slot that has been made.
func (t *table[D, E]) each(f func(*slot[D, E])) {
	pages := t.pages.Load()
	if pages == nil {
		return
	}
	for _, p := range *pages {
		if p != nil {
			for i := range p {
				f(&p[i])
			}
		}
	}
}

// tables is a growing array of tables, by small numbers.
type tables[D, E any] struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*table[D, E]]
}

func (t *tables[D, E]) find(i int) *table[D, E] {
	l := t.list.Load()
	if l == nil || i >= len(*l) {
		return nil
	}
	return (*l)[i]
}

func (t *tables[D, E]) at(i int) *table[D, E] {
	if x := t.find(i); x != nil {
		return x
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var old []*table[D, E]
	if l := t.list.Load(); l != nil {
		old = *l
	}
	if i < len(old) && old[i] != nil {
		return old[i]
	}
	list := make([]*table[D, E], max(i+1, len(old)))
	copy(list, old)
	list[i] = new(table[D, E])
	t.list.Store(&list)
	return list[i]
}

func (t *tables[D, E]) each(f func(*slot[D, E])) {
	if l := t.list.Load(); l != nil {
		for _, x := range *l {
			if x != nil {
				x.each(f)
			}
		}
	}
}
