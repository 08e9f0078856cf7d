package local

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
)

// keyTable maps the ordered keys of one unique index to vertices, in memory, with open addressing: 16 bytes a slot for
// integers, 24 for all others, of which it keeps a hash of 128 bits under seeds of its own. Nothing is ever taken out;
// a key that is known to be nobody's has the vertex graph.NoVertex.
type keyTable struct {
	ints   []intSlot
	others []otherSlot
	nInts  int
	nOther int
	seeds  [2]maphash.Seed
	// complete says that a key which is not here is not in the index either.
	complete bool
}

type intSlot struct {
	key uint64 // 0: empty
	id  graph.VertexID
}

type otherSlot struct {
	hash [2]uint64 // 0, 0: empty
	id   graph.VertexID
}

func newKeyTable(complete bool) *keyTable {
	return &keyTable{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, complete: complete}
}

// intKeySize is the size of the ordered key of a number that needs no rest, and restAt where that would be.
const (
	intKeySize = 10
	restAt     = 9
)

// intKey gives the part of an ordered key that tells integers apart, or 0 for any other key. That of no integer is 0.
func intKey(key []byte) uint64 {
	if len(key) != intKeySize || key[restAt] != 0 {
		return 0
	}
	return binary.BigEndian.Uint64(key[1:])
}

// bytes is the size of the table.
func (t *keyTable) bytes() int { return 16*len(t.ints) + 24*len(t.others) }

// slotOf spreads keys over a table of a power of two slots.
func slotOf(key uint64, slots int) int {
	return int(key * 0x9e3779b97f4a7c15 >> (64 - uint(bits.Len(uint(slots-1)))))
}

func (t *keyTable) hash(key []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(t.seeds[0], key) | 1, maphash.Bytes(t.seeds[1], key)}
}

// find looks an ordered key up; ok is false if the table knows nothing of it.
func (t *keyTable) find(key []byte) (id graph.VertexID, ok bool) {
	if k := intKey(key); k != 0 {
		if len(t.ints) == 0 {
			return 0, false
		}
		for i := slotOf(k, len(t.ints)); ; i = (i + 1) & (len(t.ints) - 1) {
			switch s := &t.ints[i]; s.key {
			case k:
				return s.id, true
			case 0:
				return 0, false
			}
		}
	}
	if len(t.others) == 0 {
		return 0, false
	}
	h := t.hash(key)
	for i := int(h[0]>>1) & (len(t.others) - 1); ; i = (i + 1) & (len(t.others) - 1) {
		switch s := &t.others[i]; s.hash {
		case h:
			return s.id, true
		case [2]uint64{}:
			return 0, false
		}
	}
}

// put sets the vertex of an ordered key.
func (t *keyTable) put(key []byte, id graph.VertexID) {
	if k := intKey(key); k != 0 {
		if t.nInts*3 >= len(t.ints)*2 {
			t.growInts()
		}
		if t.putInt(k, id) {
			t.nInts++
		}
		return
	}
	if t.nOther*3 >= len(t.others)*2 {
		t.growOthers()
	}
	if t.putOther(t.hash(key), id) {
		t.nOther++
	}
}

func (t *keyTable) putInt(k uint64, id graph.VertexID) (isNew bool) {
	for i := slotOf(k, len(t.ints)); ; i = (i + 1) & (len(t.ints) - 1) {
		if s := &t.ints[i]; s.key == k || s.key == 0 {
			isNew = s.key == 0
			*s = intSlot{k, id}
			return isNew
		}
	}
}

func (t *keyTable) putOther(h [2]uint64, id graph.VertexID) (isNew bool) {
	for i := int(h[0]>>1) & (len(t.others) - 1); ; i = (i + 1) & (len(t.others) - 1) {
		if s := &t.others[i]; s.hash == h || s.hash == [2]uint64{} {
			isNew = s.hash != h
			*s = otherSlot{h, id}
			return isNew
		}
	}
}

func (t *keyTable) growInts() {
	old := t.ints
	t.ints = make([]intSlot, max(1024, 2*len(old)))
	for _, s := range old {
		if s.key != 0 {
			t.putInt(s.key, s.id)
		}
	}
}

func (t *keyTable) growOthers() {
	old := t.others
	t.others = make([]otherSlot, max(1024, 2*len(old)))
	for _, s := range old {
		if s.hash != [2]uint64{} {
			t.putOther(s.hash, s.id)
		}
	}
}
