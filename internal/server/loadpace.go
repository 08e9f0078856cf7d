package server

import (
	"runtime/debug"
	"sync"
)

// loadGCPercent is how far garbage may grow while loads run, in percent of what lives: most of that are batches, which are
// soon garbage themselves. The limit of the process's memory stays what it is.
const loadGCPercent = 400

// loadPace counts the loads that run in the process.
var loadPace struct {
	sync.Mutex
	loads, before int
}

// hurry collects garbage more rarely until the function that it returns is called.
func hurry() (end func()) {
	p := &loadPace
	p.Lock()
	defer p.Unlock()
	if p.loads++; p.loads == 1 {
		p.before = debug.SetGCPercent(loadGCPercent)
	}
	return func() {
		p.Lock()
		defer p.Unlock()
		if p.loads--; p.loads == 0 {
			debug.SetGCPercent(p.before)
		}
	}
}
