package request

import (
	"os"
	"runtime/debug"
	"sync"
)

// Limits of garbage in percent of the live heap: at least Go's default, and more while loads run, because most of the live heap then
// consists of batches that soon become garbage. The memory limit of the process stays the same.
const (
	leastGCPercent = 100
	loadGCPercent  = 400
	mostGCPercent  = 1000
)

// heapPace controls how often the process collects garbage.
var heapPace pace

type pace struct {
	sync.Mutex
	loads int // running loads
	base  int // percent without loads; 0: as at the start of the first load
	now   int // percent in effect; 0: not set yet
}

// SetGarbage allows that many bytes of garbage, or as much as the live heap if that is more, before a collection; a small heap would
// otherwise be collected very often. It has no effect if the environment sets GOGC.
func SetGarbage(bytes, live int64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	p := &heapPace
	p.Lock()
	defer p.Unlock()
	base := int(min(max(100*bytes/max(live, 1), leastGCPercent), mostGCPercent))
	if diff := base - p.base; 5*max(diff, -diff) > p.base { // each change stops all goroutines
		p.base = base
		p.set()
	}
}

// Hurry makes garbage collections rarer until the caller calls end.
func Hurry() (end func()) {
	p := &heapPace
	p.Lock()
	defer p.Unlock()
	p.loads++
	p.set()
	return func() {
		p.Lock()
		defer p.Unlock()
		p.loads--
		p.set()
	}
}

// set applies the pace. The caller holds the lock.
func (p *pace) set() {
	want := p.base
	if p.loads > 0 {
		want = max(want, loadGCPercent)
	}
	if want == p.now {
		return
	}
	before := debug.SetGCPercent(want)
	if p.base == 0 {
		p.base = before
	}
	p.now = want
}
