package cache

import (
	"math"
	"slices"
	"sync"
)

// mostLogged is how many entries a log keeps.
const mostLogged = 1 << 17

// changeLog says which vertices commits have changed, or the edges that leave them, in the order of their sequences.
type changeLog struct {
	mu      sync.Mutex
	entries []logged
	since   uint64 // all changes of later sequences are in the log
	total   uint64 // changes that were ever added
}

// logged is n vertices from first on that a commit has changed.
type logged struct {
	seq   uint64
	first uint32
	n     uint32
}

// add adds changes of n vertices from first on.
func (l *changeLog) add(seq, first, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(seq, first, n)
}

// addEach adds changes of n vertices.
func (l *changeLog) addEach(seq uint64, n int, vertex func(i int) uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		l.put(seq, vertex(i), 1)
	}
}

// put is add while mu is held. It forgets the oldest changes if there are too many.
func (l *changeLog) put(seq, first, n uint64) {
	if first >= math.MaxUint32 {
		return // no graph holds it
	}
	n = min(n, math.MaxUint32-first)
	l.total += n
	if k := len(l.entries); k > 0 {
		last := &l.entries[k-1]
		if start, end := uint64(last.first), uint64(last.first)+uint64(last.n); last.seq == seq && start <= first && first <= end {
			last.n = uint32(max(end, first+n) - start)
			return
		}
	}
	if len(l.entries) == mostLogged {
		half := l.entries[:mostLogged/2]
		l.since = half[len(half)-1].seq
		rest := l.entries[len(half):]
		for len(rest) > 0 && rest[0].seq == l.since {
			rest = rest[1:]
		}
		l.entries = append(l.entries[:0], rest...)
	}
	l.entries = append(l.entries, logged{seq, uint32(first), uint32(n)})
}

// between appends to dst, in ascending order and each once, the vertices that changed after one sequence and up to another one. ok is false if
// the log does not say, or there are more than most.
func (l *changeLog) between(dst []uint32, after, upTo uint64, most int) (vertices []uint32, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < l.since {
		return dst, false
	}
	at, _ := slices.BinarySearchFunc(l.entries, after+1, func(e logged, seq uint64) int {
		if e.seq < seq {
			return -1
		}
		return 1
	})
	start := len(dst)
	for _, e := range l.entries[at:] {
		if e.seq > upTo {
			break
		}
		if len(dst)-start+int(e.n) > most {
			return dst[:start], false
		}
		for i := range e.n {
			dst = append(dst, e.first+i)
		}
	}
	slices.Sort(dst[start:])
	return dst[:start+len(slices.Compact(dst[start:]))], true
}

// changes returns how many vertices have changed since the log began, each as often as it did.
func (l *changeLog) changes() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
