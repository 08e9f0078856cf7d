package segment

import (
	"bytes"
	"encoding/binary"
	"math"
)

// blockKeys is the number of keys of a block.
const blockKeys = 16

// keyWriter writes keys in blocks.
type keyWriter struct {
	out    []byte
	last   []byte
	places []byte
	n      int
}

// begin writes a key; block is called before the first of a block. What the caller appends to out then follows the key.
func (w *keyWriter) begin(key []byte, block func()) {
	shared := 0
	if w.n%blockKeys == 0 {
		w.places = binary.LittleEndian.AppendUint32(w.places, uint32(len(w.out)))
		if block != nil {
			block()
		}
	} else {
		shared = sharedPrefix(w.last, key)
		w.out = binary.AppendUvarint(w.out, uint64(shared))
	}
	w.n++
	w.out = binary.AppendUvarint(w.out, uint64(len(key)-shared))
	w.out = append(w.out, key[shared:]...)
	w.last = append(w.last[:0], key...)
}

func sharedPrefix(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// keys are what keyWriter wrote.
type keys struct {
	data   []byte
	places []byte
	n      int
}

// keyReader reads keys and what follows them.
type keyReader struct {
	of     *keys
	data   []byte
	pos    int // in data
	at     int // the number of the next key
	key    []byte
	shared int // bytes of the key that are those of the one before
	bad    bool
}

// seek places the reader before the first key of a block.
func (r *keyReader) seek(block int) {
	r.at = block * blockKeys
	if r.at >= r.of.n {
		r.at = r.of.n
		return
	}
	r.data, r.pos = r.of.data, int(binary.LittleEndian.Uint32(r.of.places[4*block:]))
	if r.pos >= len(r.data) {
		r.fail()
	}
}

// fail ends the reader at keys that nobody wrote.
func (r *keyReader) fail() { r.bad, r.at, r.pos = true, r.of.n, len(r.data) }

func (r *keyReader) uvarint() uint64 {
	if r.pos < len(r.data) && r.data[r.pos] < 0x80 {
		r.pos++
		return uint64(r.data[r.pos-1])
	}
	v, n := binary.Uvarint(r.data[r.pos:])
	if n <= 0 {
		r.fail()
		return 0
	}
	r.pos += n
	return v
}

// take returns the next bytes.
func (r *keyReader) take(n uint64) []byte {
	if n > uint64(len(r.data)-r.pos) {
		r.fail()
		return nil
	}
	r.pos += int(n)
	return r.data[r.pos-int(n) : r.pos]
}

// next reads a key. At the first of a block the caller has read what precedes it.
func (r *keyReader) next() bool {
	if r.at >= r.of.n {
		return false
	}
	shared := uint64(0)
	if r.at%blockKeys != 0 {
		shared = r.uvarint()
	}
	rest := r.take(r.uvarint())
	if r.bad || shared > uint64(len(r.key)) {
		r.fail()
		return false
	}
	r.shared = int(shared)
	r.key = append(r.key[:shared], rest...)
	r.at++
	return true
}

// blocks is the number of blocks.
func (k *keys) blocks() int { return (k.n + blockKeys - 1) / blockKeys }

// first is the first key of a block, which head varints precede.
func (k *keys) first(block, head int) []byte {
	r := keyReader{of: k}
	r.seek(block)
	for range head {
		r.uvarint()
	}
	return r.take(r.uvarint())
}

// find returns the last block whose first key is not after a key, or 0.
func (k *keys) find(key []byte, head int) int {
	lo, hi := 0, k.blocks() // the first block after the key is in [lo+1, hi]
	for lo+1 < hi {
		mid := int(uint(lo+hi) / 2)
		if bytes.Compare(k.first(mid, head), key) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// NoDoc is after the number of every document.
const NoDoc = math.MaxUint32
