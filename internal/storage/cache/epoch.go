package cache

import "sync"

// epochs tells when no reader can hold a run of memory any more. A pin is entered before a segment is looked up, and
// memory is retired after its segment has become unreachable: then only pins entered before that can hold it.
type epochs struct {
	mu         sync.Mutex
	now        uint64
	head, tail *pin // by epoch, oldest first
	limbo      []retired
	waiting    int // bytes in limbo
}

// pin is one reader's stay; it belongs to its reader.
type pin struct {
	epoch      uint64
	prev, next *pin
}

type retired struct {
	run
	epoch uint64 // pins of a smaller epoch may hold the run
}

func (e *epochs) enter(p *pin) {
	e.mu.Lock()
	p.epoch = e.now
	p.prev, p.next = e.tail, nil
	if e.tail == nil {
		e.head = p
	} else {
		e.tail.next = p
	}
	e.tail = p
	e.mu.Unlock()
}

// leave ends a stay and reports whether memory may have become free.
func (e *epochs) leave(p *pin) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	oldest := p.prev == nil
	if p.prev == nil {
		e.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		e.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
	return oldest && len(e.limbo) > 0
}

// retire puts runs into limbo.
func (e *epochs) retire(runs ...run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now++
	for _, r := range runs {
		if r.reg != nil {
			e.limbo = append(e.limbo, retired{r, e.now})
			e.waiting += r.size()
		}
	}
}

// reclaim takes out of limbo what no reader can hold.
func (e *epochs) reclaim() []retired {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.limbo)
	if e.head != nil {
		for n = 0; n < len(e.limbo) && e.limbo[n].epoch <= e.head.epoch; n++ {
		}
	}
	if n == 0 {
		return nil
	}
	out := append([]retired(nil), e.limbo[:n]...)
	rest := copy(e.limbo, e.limbo[n:])
	clear(e.limbo[rest:])
	e.limbo = e.limbo[:rest]
	for _, r := range out {
		e.waiting -= r.size()
	}
	return out
}

func (e *epochs) waitingBytes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting
}
