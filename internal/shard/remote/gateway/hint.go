package gateway

import (
	"hash/maphash"
	"sync/atomic"
)

// hints remember the shards in which keys of unique indexes were found: a hash table whose later entries replace earlier ones. A wrong hint
// costs a request.
type hints struct {
	seed  maphash.Seed
	slots [1 << 16]atomic.Uint32 // 16 bits of the hash, and above them the number of the shard plus 1
}

func newHints() *hints { return &hints{seed: maphash.MakeSeed()} }

// hint is the slot of one key.
type hint struct {
	slot *atomic.Uint32
	tag  uint32
}

func (h *hints) of(index uint32, key []byte) hint {
	sum := maphash.Bytes(h.seed, key) + uint64(index)*0x9e3779b97f4a7c15
	return hint{&h.slots[sum%uint64(len(h.slots))], uint32(sum>>48) & 0xffff}
}

func (h hint) get() (no int, ok bool) {
	v := h.slot.Load()
	return int(v>>16) - 1, v>>16 > 0 && v&0xffff == h.tag
}

func (h hint) set(no int) { h.slot.Store(uint32(no+1)<<16 | h.tag) }
