package shard

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Heir is a Tx of mode WriteInTurn that may wait before it reads.
type Heir interface {
	// Inherit takes over the turns of a transaction that began before it and has met a conflict, so that this one changes the same
	// without waiting and without a conflict.
	Inherit(ctx context.Context, from Tx) error
	// TakeTurns waits for the transaction's turn at keys, in the order of CompareKeys. If one was changed since its snapshot, it fails with graph.KindConflict.
	TakeTurns(ctx context.Context, keys []Key) error
	// Changes returns at which keys the transaction has, or would have, its turn because of its changes.
	Changes() []Key
}

// Key names a vertex or an edge that transactions of mode WriteInTurn take turns at.
type Key struct {
	ID   uint64
	Edge bool
}

// MostTurns is at how many keys a transaction has its turn; further ones it changes without.
const MostTurns = 64

// CompareKeys orders keys: vertices before edges, and each by their ids.
func CompareKeys(a, b Key) int {
	if a.Edge != b.Edge {
		if b.Edge {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.ID, b.ID)
}

// AddKeys appends the keys that mutations change and dst lacks, or none if there are too many.
func AddKeys(dst []Key, ms []Mutation) []Key {
	if len(dst)+len(ms) > MostTurns {
		return dst
	}
	for i := range ms {
		var k Key
		switch m := &ms[i]; m.Op {
		case SetVertex, SetLabels, DeleteVertex:
			k = Key{ID: uint64(m.Vertex)}
		case SetEdge, DeleteEdge:
			k = Key{ID: uint64(m.Edge.ID), Edge: true}
		default:
			continue
		}
		if !slices.Contains(dst, k) {
			dst = append(dst, k)
		}
	}
	return dst
}

type waitKey struct{}

// WithWait returns a context whose requests call wait before they wait for other transactions, and what it returns afterwards.
func WithWait(ctx context.Context, wait func() (done func())) context.Context {
	return context.WithValue(ctx, waitKey{}, wait)
}

// Waiting says that a request waits for other transactions until done is called.
func Waiting(ctx context.Context) (done func()) {
	if wait, ok := ctx.Value(waitKey{}).(func() func()); ok {
		return wait()
	}
	return func() {}
}

// Hotspots remember where transactions have met conflicts, by the hash of what they begin with. One that begins like them takes its turns
// there before it reads, so it reads the newest state, and nobody changes that before its commit. The zero value is empty.
type Hotspots struct {
	mu       sync.Mutex
	now, old map[uint64]hotspot // of this period and of the one before
	since    time.Time          // the beginning of the period
}

// hotspot has a score of each key: after so many transactions that do without, it is no longer in it.
type hotspot map[Key]int

const (
	hotScore = 16
	// A hotspot that nobody has asked for in a period, or for which mostHotspots others came, is forgotten. A driver repeats a
	// transaction for 30 s.
	hotPeriod    = time.Minute
	mostHotspots = 1 << 12
)

// Keys returns the keys of the hotspot of transactions that begin alike.
func (h *Hotspots) Keys(begin uint64) []Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	var keys []Key
	for k := range h.find(begin) {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, CompareKeys)
	return keys
}

// find returns a hotspot, or nil. The caller holds h.mu.
func (h *Hotspots) find(begin uint64) hotspot {
	if len(h.now)+len(h.old) == 0 {
		return nil
	}
	if len(h.now) >= mostHotspots || time.Since(h.since) > hotPeriod {
		h.old, h.now, h.since = h.now, nil, time.Now()
	}
	if s := h.now[begin]; s != nil {
		return s
	}
	s := h.old[begin]
	if s != nil {
		h.put(begin, s)
	}
	return s
}

func (h *Hotspots) put(begin uint64, s hotspot) {
	if h.now == nil {
		h.now = map[uint64]hotspot{}
	}
	h.now[begin] = s
}

// Ended learns from a transaction that has ended, with a conflict or without: what it has changed, and the keys that it got at first.
func (h *Hotspots) Ended(begin uint64, got, changed []Key, conflict bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.find(begin)
	switch {
	case s == nil && !conflict:
		return
	case s == nil:
		s = hotspot{}
		h.put(begin, s)
	}
	for _, k := range changed {
		if _, hot := s[k]; hot || conflict && len(s) < MostTurns {
			s[k] = hotScore
		}
	}
	if !conflict {
		for _, k := range got {
			if s[k]--; s[k] <= 0 || len(changed) == 0 {
				delete(s, k)
			}
		}
	}
	if len(s) == 0 {
		delete(h.now, begin)
		delete(h.old, begin)
	}
}
