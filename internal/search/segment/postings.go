package segment

import (
	"encoding/binary"
	"math"
)

// Position is a position of a term: in which text of the field, and where in that text.
type Position struct{ Text, Pos int }

// Postings reads the documents with a term in blocks of up to 128.
type Postings struct {
	docs  [blockDocs]uint32
	freqs [blockDocs]uint32
	n     int // documents of the block
	most  int // documents of the segment
	plain bool
	bad   bool

	left   int    // documents after the block
	block  int    // the number of the next whole block
	skip   []byte // of whole blocks
	data   []byte // the documents, after skip
	at     int    // of the next block in data
	last   uint32 // the last document of the block, plus one
	total  int
	places []byte // the positions of all documents

	walked int    // documents of the block whose positions have been passed
	walk   []byte // the positions of the next
	start  int    // where those of the block begin
}

// Postings returns a reader of a term's documents; plain says that frequencies and positions are not wanted. It is before the first block.
func (f *Field) Postings(t Term, plain bool) *Postings {
	p := &Postings{}
	p.Reset(f, t, plain)
	return p
}

// Reset makes p what f.Postings returns.
func (p *Postings) Reset(f *Field, t Term, plain bool) {
	p.n, p.plain, p.bad, p.block, p.at, p.last, p.walked, p.walk, p.start = 0, plain, false, 0, 0, 0, 0, nil, 0
	p.left, p.total, p.most = t.Docs, t.Docs, f.docs
	size := uint64(len(f.postings))
	if t.at > size || t.size > size-t.at || t.positions > size-t.at-t.size || t.Docs/blockDocs*skipSize > int(t.size) {
		p.fail()
		return
	}
	table := t.Docs / blockDocs * skipSize
	p.skip = f.postings[t.at : t.at+uint64(table)]
	p.data = f.postings[t.at+uint64(table) : t.at+t.size]
	p.places = f.postings[t.at+t.size : t.at+t.size+t.positions]
}

func (p *Postings) fail() { p.bad, p.n, p.left = true, 0, 0 }

// Err returns ErrCorrupt if reading ended at bytes that are no postings.
func (p *Postings) Err() error {
	if p.bad {
		return ErrCorrupt
	}
	return nil
}

// Docs are the documents of the block, ascending. Freqs says how often the term occurs in each.
func (p *Postings) Docs() []uint32 { return p.docs[:p.n] }

// Freqs says how often the term occurs in each document of the block.
func (p *Postings) Freqs() []uint32 { return p.freqs[:p.n] }

// skipAt returns a row of the table of whole blocks.
func (p *Postings) skipAt(block int) (last, docs, positions uint32) {
	row := p.skip[skipSize*block:]
	return binary.LittleEndian.Uint32(row), binary.LittleEndian.Uint32(row[4:]), binary.LittleEndian.Uint32(row[8:])
}

// blocks is the number of whole blocks.
func (p *Postings) blocks() int { return len(p.skip) / skipSize }

// Seek reads on until the block has documents from a number on; false if there are none. It passes blocks of which weak, if it is not nil,
// says so by the greatest frequency and the least length of the field in them.
func (p *Postings) Seek(doc uint32, weak func(freq, length uint32) bool) bool {
	for p.n == 0 || p.docs[p.n-1] < doc {
		if p.block < p.blocks() {
			p.jump(p.firstFrom(doc))
		}
		for weak != nil && p.block < p.blocks() {
			row := p.skip[skipSize*p.block:]
			freq, length := binary.LittleEndian.Uint16(row[12:]), binary.LittleEndian.Uint16(row[14:])
			if freq == manyTimes || !weak(uint32(freq), uint32(length)) {
				break
			}
			p.jump(p.block + 1)
		}
		if !p.NextBlock() {
			return false
		}
	}
	return true
}

// firstFrom is the first whole block, from the next on, that ends at a document or later.
func (p *Postings) firstFrom(doc uint32) int {
	lo, hi := p.block, p.blocks()
	for step := 1; lo < hi; step *= 2 {
		k := min(lo+step, hi) - 1
		if last, _, _ := p.skipAt(k); last >= doc {
			hi = k
			break
		}
		lo = k + 1
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if last, _, _ := p.skipAt(mid); last < doc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// jump passes whole blocks before one.
func (p *Postings) jump(to int) {
	if to == p.block {
		return
	}
	last, at, _ := p.skipAt(to - 1)
	p.left = p.total - to*blockDocs
	p.block, p.at, p.last = to, int(at), last+1
	p.n = 0
}

// NextBlock reads the next block; false at the end.
func (p *Postings) NextBlock() bool {
	if p.left <= 0 {
		p.n = 0
		return false
	}
	p.walked, p.walk, p.start = 0, nil, 0
	if p.block > 0 {
		_, _, positions := p.skipAt(p.block - 1)
		p.start = int(positions)
	}
	if p.at > len(p.data) {
		p.fail()
		return false
	}
	if p.block < p.blocks() {
		p.whole()
	} else {
		p.tail()
	}
	return p.n > 0
}

// whole reads a block of 128 documents.
func (p *Postings) whole() {
	b := p.data[p.at:]
	if len(b) < 2 {
		p.fail()
		return
	}
	w, f := int(b[0]), int(b[1])
	size := 2 + (w+f)*blockDocs/8
	if w > 32 || f > 32 || len(b) < size {
		p.fail()
		return
	}
	// At least the trailer follows, so that there are eight bytes more.
	unpack(&p.docs, b[2:2+w*blockDocs/8+8], w)
	doc := uint64(p.last)
	for i := range p.docs {
		doc += uint64(p.docs[i])
		p.docs[i] = uint32(doc)
		doc++
	}
	if doc > uint64(p.most) {
		p.fail()
		return
	}
	p.last = uint32(doc)
	if !p.plain {
		unpack(&p.freqs, b[2+w*blockDocs/8:size+8], f)
		for i := range p.freqs {
			p.freqs[i]++
		}
	}
	p.n = blockDocs
	p.left -= blockDocs
	p.at += size
	p.block++
}

// unpack reads 128 values of some bits; b has eight more bytes than they take.
func unpack(to *[blockDocs]uint32, b []byte, width int) {
	mask := uint64(1)<<width - 1
	bit := 0
	for i := range to {
		to[i] = uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
}

// tail reads the documents after the whole blocks.
func (p *Postings) tail() {
	b, n, doc := p.data[p.at:], 0, uint64(p.last)
	for ; n < p.left; n++ {
		if n == blockDocs {
			p.fail()
			return
		}
		var v uint64
		freq := uint64(1)
		if v, b = takeUvarint(b); b == nil {
			p.fail()
			return
		}
		if v&1 != 0 {
			if freq, b = takeUvarint(b); b == nil {
				p.fail()
				return
			}
			freq += 2
		}
		if doc += v >> 1; doc >= uint64(p.most) {
			p.fail()
			return
		}
		p.docs[n], p.freqs[n] = uint32(doc), uint32(min(freq, math.MaxUint32))
		doc++
	}
	p.n, p.left, p.last = n, 0, uint32(doc)
}

// takeUvarint reads a varint; the rest is nil if there is none.
func takeUvarint(b []byte) (uint64, []byte) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

// Positions appends the positions of the term in a document of the block, by its place in the block. Within a block the places ascend.
func (p *Postings) Positions(i int, to []Position) []Position {
	p.pass(i)
	text, pos := uint64(0), uint64(0)
	for range p.freqs[i] {
		var v uint64
		if v, p.walk = takeUvarint(p.walk); v&1 != 0 {
			text, pos = text+v>>1, 0
			v, p.walk = takeUvarint(p.walk)
		}
		if p.walk == nil || text > math.MaxInt32 || pos+v>>1 > math.MaxInt32 {
			p.fail()
			return to
		}
		pos += v >> 1
		to = append(to, Position{int(text), int(pos)})
	}
	p.walked++
	return to
}

// pass goes to the positions of a document of the block.
func (p *Postings) pass(i int) {
	if p.walk == nil {
		p.walk = p.places[min(p.start, len(p.places)):]
	}
	for ; p.walked < i; p.walked++ {
		p.walk = p.walk[positionBytes(p.walk, int(p.freqs[p.walked])):]
	}
}

// positionBytes is how many bytes the positions of a document take, at most all.
func positionBytes(b []byte, freq int) int {
	at := 0
	for ; freq > 0 && at < len(b); freq-- {
		if b[at]&1 != 0 { // another text, and then the position in it
			at = endOfVarint(b, at)
		}
		at = endOfVarint(b, at)
	}
	return at
}

func endOfVarint(b []byte, at int) int {
	for at < len(b) && b[at] >= 0x80 {
		at++
	}
	return min(at+1, len(b))
}

// raw returns the positions of a document of the block as they are written. Within a block the places ascend.
func (p *Postings) raw(i int) []byte {
	p.pass(i)
	n := positionBytes(p.walk, int(p.freqs[i]))
	b := p.walk[:n]
	p.walk = p.walk[n:]
	p.walked++
	return b
}
