package watch

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// latestKept is how many ended requests are kept.
	latestKept = 512
	// latestText is how many bytes of their texts are kept.
	latestText = 16 << 10
)

// latest keeps the requests that ended last.
type latest struct {
	mu   sync.Mutex
	ring []Ended // at most latestKept, the oldest at next when it is full
	next int
}

func (l *latest) add(r Ended) {
	if len(r.Statement) > latestText {
		r.Statement = strings.Clone(r.Statement[:latestText]) // the rest may be long
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < latestKept {
		l.ring = append(l.ring, r)
		return
	}
	l.ring[l.next] = r
	l.next = (l.next + 1) % latestKept
}

// Latest returns the requests, without routes, that ended within span before the last one ended, and the time that they cover:
// less than span if not all of these are kept, and zero times if none has ended yet.
func (w *Watch) Latest(span time.Duration) (ended []Ended, since, until time.Time) {
	w.latest.mu.Lock()
	all := slices.Clone(w.latest.ring)
	w.latest.mu.Unlock()
	if len(all) == 0 {
		return nil, since, until
	}
	slices.SortFunc(all, func(a, b Ended) int { return a.end().Compare(b.end()) })
	until = all[len(all)-1].end()
	since = until.Add(-span)
	from, _ := slices.BinarySearchFunc(all, since, func(r Ended, t time.Time) int {
		if r.end().After(t) {
			return 1
		}
		return -1
	})
	if from == 0 && len(all) == latestKept {
		since = all[0].end()
		from = 1 // the first marks the start
	}
	return all[from:], since, until
}

func (r *Ended) end() time.Time { return r.Start.Add(r.Elapsed) }
