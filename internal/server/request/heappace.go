package request

import (
	"os"
	"runtime/debug"
	"sync"
)

// How far garbage may grow, in percent of what lives: at least as far as Go has it, and while loads run further, since
// most of what lives then are batches, which are soon garbage themselves. The limit of the process's memory stays what
// it is.
const (
	leastGCPercent = 100
	loadGCPercent  = 400
	mostGCPercent  = 1000
)

// heapPace is how often the process collects garbage.
var heapPace pace

type pace struct {
	sync.Mutex
	loads int // that run
	base  int // percent without loads; 0: what it was when the first began
	now   int // percent in force; 0: nothing was set yet
}

// SetGarbage lets garbage grow to so many bytes, or to as much as lives if that is more, before it is collected: a small
// heap would be collected very often. live is what lives. Nothing changes if the environment sets GOGC.
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

// Hurry collects garbage more rarely until the function that it returns is called.
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

// set puts the pace in force. The caller holds the lock.
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
