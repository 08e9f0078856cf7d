package restricted

import (
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
)

// memo remembers of vertices whether a policy lets them be seen, in 2 bits each. It holds for all states of a graph between which no vertex
// changed its labels or a property that a condition reads. It knows nothing of vertices that are not there, which may be created later; one
// that is deleted later is absent from the graph's answers whatever the memo says.
type memo struct {
	change uint64        // the last change of a vertex that it knows of, see shard.Dated
	room   *atomic.Int64 // bytes that all memos of a graph may still take
	mu     sync.RWMutex
	pages  [][]*page // by shard and page
	bytes  int64
	closed bool // it takes no more room
}

const (
	pageBits  = 12 // of the local id of a vertex
	pageBytes = 2 << pageBits / 8
)

// page is what a memo knows of 1<<pageBits vertices.
type page struct{ known, seen [1 << pageBits / 64]uint64 }

// page returns the page of a vertex, or nil. The caller holds the lock.
func (m *memo) page(v graph.VertexID) *page {
	shard, at := v.Shard(), v.Local()>>pageBits
	if shard >= len(m.pages) || at >= uint64(len(m.pages[shard])) {
		return nil
	}
	return m.pages[shard][at]
}

// recall sets which vertices are seen, as far as it knows, and appends the places of the others to rest.
func (m *memo) recall(ids []graph.VertexID, seen []bool, rest []int) []int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var p *page
	for i, v := range ids {
		if i == 0 || v>>pageBits != ids[i-1]>>pageBits {
			p = m.page(v)
		}
		word, bit := wordOf(v)
		if p == nil || p.known[word]&bit == 0 {
			rest = append(rest, i)
			continue
		}
		seen[i] = p.seen[word]&bit != 0
	}
	return rest
}

// note remembers which vertices are seen, of those that exist, as long as there is room.
func (m *memo) note(ids []graph.VertexID, seen, exist []bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, v := range ids {
		if !exist[i] {
			continue
		}
		p := m.grow(v)
		if p == nil {
			return
		}
		word, bit := wordOf(v)
		p.known[word] |= bit
		if seen[i] {
			p.seen[word] |= bit
		}
	}
}

// wordOf returns the place of a vertex in a page.
func wordOf(v graph.VertexID) (word int, bit uint64) {
	return int(v>>6) & (1<<(pageBits-6) - 1), 1 << (v & 63)
}

// grow returns the page of a vertex, a new one if there is none yet, or nil without room. The caller holds the lock.
func (m *memo) grow(v graph.VertexID) *page {
	if p := m.page(v); p != nil || m.closed {
		return p
	}
	shard, at := v.Shard(), int(v.Local()>>pageBits)
	for shard >= len(m.pages) {
		m.pages = append(m.pages, nil)
	}
	more := max(0, at+1-len(m.pages[shard]))
	need := int64(pageBytes + 8*more)
	if m.room.Add(-need) < 0 {
		m.room.Add(need)
		return nil
	}
	m.bytes += need
	m.pages[shard] = append(m.pages[shard], make([]*page, more)...)
	m.pages[shard][at] = &page{}
	return m.pages[shard][at]
}

// close returns the memo's room. It stays right for those that still use it.
func (m *memo) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room.Add(m.bytes)
	m.bytes, m.closed = 0, true
}
