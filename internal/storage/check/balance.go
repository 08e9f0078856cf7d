package check

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// balance compares two heaps of items, what is expected and what is found, in little memory: each item is added to, or
// taken from, one of many sums, chosen by the item's identity. A sum that is not zero in the end holds a difference, and
// its items are compared in a further pass.
type balance struct {
	which, what maphash.Seed
	sums        []uint64
	items       uint64
	bad         []int // sums that do not agree and have not been looked at
	// Of a further pass: the sums that are looked at and the items in them that have no counterpart so far.
	open map[int]bool
	left map[string]difference
}

// difference is how often an item is expected more than it is found, and what is known of it.
type difference struct {
	n   int
	aux []byte
}

const (
	balanceSums = 1 << 16
	balanceHeld = 1 << 20 // items that a pass may hold
)

func (b *balance) init() {
	b.which, b.what = maphash.MakeSeed(), maphash.MakeSeed()
	b.sums = make([]uint64, balanceSums)
}

// part returns a balance for a part of a pass.
func (b *balance) part() balance {
	p := balance{which: b.which, what: b.what, open: b.open}
	if b.open == nil {
		p.sums = make([]uint64, balanceSums)
	} else {
		p.left = map[string]difference{}
	}
	return p
}

// join adds a part.
func (b *balance) join(p *balance) {
	b.items += p.items
	for i, s := range p.sums {
		b.sums[i] += s
	}
	for item, d := range p.left {
		was := b.left[item]
		if was.n+d.n == 0 {
			delete(b.left, item)
			continue
		}
		if d.aux == nil {
			d.aux = was.aux
		}
		b.left[item] = difference{was.n + d.n, d.aux}
	}
}

// put enters an item; n is 1 if it is expected and -1 if it is found. The first size bytes are its identity.
func (b *balance) put(n int, item []byte, size int, aux []byte) {
	i := int(maphash.Bytes(b.which, item[:size]) % balanceSums)
	if b.open == nil {
		b.items++
		b.sums[i] += uint64(n) * maphash.Bytes(b.what, item)
		return
	}
	if !b.open[i] {
		return
	}
	d, ok := b.left[string(item)]
	d.n += n
	if ok && d.n == 0 {
		delete(b.left, string(item))
		return
	}
	if aux != nil {
		d.aux = append([]byte(nil), aux...)
	}
	b.left[string(item)] = d
}

// next begins the next pass over sums that do not agree; false says that none is left.
func (b *balance) next() bool {
	if b.open == nil {
		for i, s := range b.sums {
			if s != 0 {
				b.bad = append(b.bad, i)
			}
		}
	}
	if len(b.bad) == 0 {
		return false
	}
	n := int(min(uint64(len(b.bad)), max(1, balanceHeld*balanceSums/max(1, b.items))))
	b.open, b.left = map[int]bool{}, map[string]difference{}
	for _, i := range b.bad[:n] {
		b.open[i] = true
	}
	b.bad = b.bad[n:]
	return true
}

// The kinds of items, the first byte of each.
const (
	itemEdge   byte = 'e' // type, edge, source, target | checksum of the properties
	itemMember byte = 'm' // label, vertex
	itemEntry  byte = 'i' // size of the key, key of the entry | shard, owner
	itemLarge  byte = 'r' // id of a large value | size
)

// The sides of a balance.
const (
	expected = 1
	found    = -1
)

// largeSet is what is known of a shard's large values, by their numbers.
type largeSet struct {
	mu                         sync.Mutex // while references are entered, which any shard may have
	referred, visible, garbage []uint64
}

// refer enters a reference, and reports whether it is the first that is visible.
func (l *largeSet) refer(n uint64, visible bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	setBit(&l.referred, n)
	return visible && setBit(&l.visible, n)
}

// maxLargeID bounds the numbers that are taken for those of large values: a bit is kept for each.
const maxLargeID = 1 << 36

func bitSet(b []uint64, n uint64) bool { return n/64 < uint64(len(b)) && b[n/64]>>(n%64)&1 != 0 }

// setBit sets a bit and reports whether it was not set before.
func setBit(b *[]uint64, n uint64) bool {
	for n/64 >= uint64(len(*b)) {
		*b = append(*b, make([]uint64, max(16, len(*b)))...)
	}
	w := &(*b)[n/64]
	was := *w>>(n%64)&1 != 0
	*w |= 1 << (n % 64)
	return !was
}

func appendUint64(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }
func appendUint32(dst []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(dst, n) }
