package past

import "math/bits"

// places maps ids to numbers: a hash table with open addresses. The zero value is empty.
type places struct {
	slots []slot
	n     int
	shift int
}

// slot has a number plus 1, or 0 if it is empty.
type slot struct {
	key uint64
	at  uint32
}

// home is where the search for a key begins.
func (p *places) home(key uint64) int { return int(key * 0x9e3779b97f4a7c15 >> p.shift) }

// get returns the number of a key, or -1.
func (p *places) get(key uint64) int {
	if p.n == 0 {
		return -1
	}
	for i, mask := p.home(key), len(p.slots)-1; ; i = (i + 1) & mask {
		switch s := &p.slots[i]; {
		case s.at == 0:
			return -1
		case s.key == key:
			return int(s.at) - 1
		}
	}
}

// put sets the number of a key.
func (p *places) put(key uint64, at int) {
	if 2*p.n >= len(p.slots) {
		p.grow()
	}
	for i, mask := p.home(key), len(p.slots)-1; ; i = (i + 1) & mask {
		s := &p.slots[i]
		if s.at == 0 {
			p.n++
		} else if s.key != key {
			continue
		}
		*s = slot{key, uint32(at) + 1}
		return
	}
}

func (p *places) grow() {
	old := p.slots
	p.slots, p.n = make([]slot, max(16, 2*len(old))), 0
	p.shift = 64 - bits.TrailingZeros(uint(len(p.slots)))
	for _, s := range old {
		if s.at != 0 {
			p.put(s.key, int(s.at)-1)
		}
	}
}
