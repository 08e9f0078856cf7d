package cache

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
)

// MostKey is the size in bytes of the longest key of a unique index that is kept.
const MostKey = 39

const (
	keyWays    = 8      // places in which a key may stand
	keyStripes = 1 << 8 // locks
	// leastKeyBudget is the cache's budget in bytes below which no keys are kept.
	leastKeyBudget = 1 << 24
	// crowdedKeys is the share of slots, 1 in so many, from which on almost every page holds a key, so that huge pages take no more memory.
	crowdedKeys = 16
)

// keySlot is a key and its owner; a slot without an owner's graph is free.
type keySlot struct {
	graph uint32 // the number of a Keys
	index uint32
	since uint64 // the sequence of the snapshot that it was read from
	owner graph.VertexID
	n     uint8
	key   [MostKey]byte
}

// keyTable holds the keys of all graphs: sets of keyWays slots off the Go heap, without pointers.
type keyTable struct {
	seed  maphash.Seed
	locks [keyStripes]sync.Mutex
	bytes atomic.Int64 // allowed
	mu    sync.Mutex   // guards changes of mem; reads are guarded by any of locks, changes by all
	mem   []byte
	slots []keySlot
	taken atomic.Int64  // free slots that a key was put into
	last  atomic.Uint32 // number given to a Keys
}

// Keys are the keys of one graph's unique indexes, each with the vertex that owns it. What is there was true at the
// sequence it was read at and has been ever since: a key is dropped before a commit that deletes it becomes visible.
type Keys struct {
	cache  *Cache
	number atomic.Uint32
	// deleted are the sequences of the last deletion, by lock: no reader with an older snapshot may add a key.
	deleted [keyStripes]uint64
}

// NewKeys makes a place for the keys of a graph.
func (c *Cache) NewKeys() *Keys {
	k := &Keys{cache: c}
	k.number.Store(c.keys.last.Add(1))
	return k
}

// keyBytes is the part of a budget that keys may take: a sixteenth, as a power of two.
func keyBytes(budget int) int {
	if budget < leastKeyBudget {
		return 0
	}
	n := 1
	for n*2 <= budget/16 {
		n *= 2
	}
	return n
}

// resize changes the memory that keys may take and forgets them if it is not the same.
func (t *keyTable) resize(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytes.Swap(int64(n)) == int64(n) {
		return
	}
	for i := range t.locks {
		t.locks[i].Lock()
	}
	mem := t.mem
	t.mem, t.slots = nil, nil
	t.taken.Store(0)
	for i := range t.locks {
		t.locks[i].Unlock()
	}
	if mem != nil {
		_ = unmapMemory(mem)
	}
}

// mapped is the number of bytes in use.
func (t *keyTable) mapped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mem)
}

// make maps the memory, if there is to be any.
func (t *keyTable) make() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int(t.bytes.Load())
	if n == 0 || t.mem != nil {
		return
	}
	mem, err := mapMemory(n)
	if err != nil {
		return
	}
	adviseSmall(mem)
	for i := range t.locks {
		t.locks[i].Lock()
	}
	t.mem = mem
	t.slots = unsafe.Slice((*keySlot)(unsafe.Pointer(unsafe.SliceData(mem))), n/int(unsafe.Sizeof(keySlot{})))
	for i := range t.locks {
		t.locks[i].Unlock()
	}
}

// place returns a key's hash, and its lock among locks and deleted.
func (k *Keys) place(index graph.IndexID, key []byte) (hash uint64, lock int) {
	h := maphash.Bytes(k.cache.keys.seed, key) ^ uint64(index)*0x9e3779b97f4a7c15
	h ^= h >> 29
	return h, int(h % keyStripes)
}

// set returns the slots in which a key may stand. The lock must be held.
func (t *keyTable) set(hash uint64) []keySlot {
	if len(t.slots) == 0 {
		return nil
	}
	// The low bits name the lock, so that a set has one lock.
	sets := uint64(len(t.slots) / keyWays)
	at := hash % sets * keyWays
	return t.slots[at : at+keyWays]
}

func (s *keySlot) is(k *Keys, index graph.IndexID, key []byte) bool {
	return s.graph == k.number.Load() && s.index == uint32(index) && int(s.n) == len(key) && bytes.Equal(s.key[:s.n], key)
}

// Get returns the owner of a key at a sequence, if it is known.
func (k *Keys) Get(seq uint64, index graph.IndexID, key []byte) (graph.VertexID, bool) {
	if len(key) > MostKey {
		return 0, false
	}
	t := &k.cache.keys
	hash, lock := k.place(index, key)
	t.locks[lock].Lock()
	defer t.locks[lock].Unlock()
	set := t.set(hash)
	for i := range set {
		if s := &set[i]; s.is(k, index, key) {
			return s.owner, s.since <= seq
		}
	}
	return 0, false
}

// Put notes the owner that a snapshot at a sequence shows of a key.
func (k *Keys) Put(seq uint64, index graph.IndexID, key []byte, owner graph.VertexID) {
	t := &k.cache.keys
	if len(key) > MostKey || t.bytes.Load() == 0 {
		return
	}
	hash, lock := k.place(index, key)
	t.locks[lock].Lock()
	if len(t.slots) == 0 {
		t.locks[lock].Unlock()
		t.make()
		t.locks[lock].Lock()
	}
	defer t.locks[lock].Unlock()
	set := t.set(hash)
	if set == nil || k.deleted[lock] > seq {
		return
	}
	to := &set[hash>>32%keyWays]
	for i := range set {
		s := &set[i]
		if s.is(k, index, key) {
			s.since = min(s.since, seq)
			return
		}
		if s.graph == 0 {
			to = s
		}
	}
	if to.graph == 0 && t.taken.Add(1) == int64(len(t.slots)/crowdedKeys) {
		adviseHuge(t.mem)
	}
	*to = keySlot{graph: k.number.Load(), index: uint32(index), since: seq, owner: owner, n: uint8(len(key))}
	copy(to.key[:], key)
}

// Delete notes that a commit deletes a key. It must be called before the commit's sequence becomes visible.
func (k *Keys) Delete(seq uint64, index graph.IndexID, key []byte) {
	t := &k.cache.keys
	if len(key) > MostKey {
		return
	}
	hash, lock := k.place(index, key)
	t.locks[lock].Lock()
	defer t.locks[lock].Unlock()
	k.deleted[lock] = max(k.deleted[lock], seq)
	set := t.set(hash)
	for i := range set {
		if s := &set[i]; s.is(k, index, key) {
			*s = keySlot{}
		}
	}
}

// Forget drops all keys of the graph, since a commit has changed some that are not given one by one. It must be called
// before the commit's sequence becomes visible.
func (k *Keys) Forget(seq uint64) {
	t := &k.cache.keys
	for i := range t.locks {
		t.locks[i].Lock()
		k.deleted[i] = max(k.deleted[i], seq)
		t.locks[i].Unlock()
	}
	k.number.Store(t.last.Add(1))
}
