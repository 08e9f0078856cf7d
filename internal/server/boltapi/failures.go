package boltapi

import (
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

const (
	// failureTime is how long the answer to a failed authentication takes.
	failureTime = time.Second
	// mostFailures is the number of failures in a row from which on an address is refused for refusalTime.
	mostFailures = 10
	refusalTime  = 5 * time.Second
	// mostAddresses bounds the addresses that are remembered.
	mostAddresses = 10_000
)

// failures counts failed authentications in a row by address.
type failures struct {
	mu sync.Mutex
	of map[string]*failed
}

type failed struct {
	n    int
	last time.Time
}

// check refuses an address that has failed too often.
func (f *failures) check(address string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[address]
	if one == nil || one.n < mostFailures {
		return nil
	}
	if left := refusalTime - time.Since(one.last); left > 0 {
		return graph.AuthenticationRateLimit(one.n, left.Round(time.Second))
	}
	delete(f.of, address)
	return nil
}

func (f *failures) add(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*failed{}
	}
	one := f.of[address]
	if one == nil {
		if len(f.of) >= mostAddresses {
			for a, old := range f.of {
				if time.Since(old.last) > refusalTime {
					delete(f.of, a)
				}
			}
		}
		one = &failed{}
		f.of[address] = one
	}
	one.n++
	one.last = time.Now()
}

func (f *failures) forget(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, address)
}
