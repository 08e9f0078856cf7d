package codec

import (
	"encoding/binary"
	"math/bits"
)

// The vertices of a label are bitmaps of 65,536 local ids. A bitmap is stored as
//
//	byte 1   bits: 8,192 bytes, little-endian words
//	byte 2   list: ids within the chunk, ascending, uint16 each
//	byte 3   runs: pairs of first and last id within the chunk, ascending, uint16 each
//
// whichever is smallest; an empty bitmap is not stored. Label 0 holds all vertices. Deltas memberships override it; their
// value is one byte: 1 if the vertex has the label, 0 if not.
const (
	MemberBits  = 16
	MemberRows  = 1 << MemberBits
	MemberWords = MemberRows / 64

	bitmapBits byte = 1
	bitmapList byte = 2
	BitmapRuns byte = 3
)

// Members are the vertices of a label in a chunk of 65,536 local ids, as bits.
type Members = [MemberWords]uint64

// AppendMembers appends m in its smallest form, nothing if it is empty.
func AppendMembers(dst []byte, m *Members) []byte {
	n, runs := 0, 0
	carry := uint64(0)
	for _, w := range m {
		n += bits.OnesCount64(w)
		runs += bits.OnesCount64(w &^ (w<<1 | carry))
		carry = w >> 63
	}
	switch {
	case runs*4 <= n*2 && runs*4 < MemberRows/8:
		dst = append(dst, BitmapRuns)
		for i := 0; i < MemberRows; {
			start := NextBit(m, i, true)
			if start == MemberRows {
				break
			}
			end := NextBit(m, start, false)
			dst = binary.LittleEndian.AppendUint16(dst, uint16(start))
			dst = binary.LittleEndian.AppendUint16(dst, uint16(end-1))
			i = end
		}
	case n*2 < MemberRows/8:
		dst = append(dst, bitmapList)
		for i := NextBit(m, 0, true); i < MemberRows; i = NextBit(m, i+1, true) {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(i))
		}
	default:
		dst = append(dst, bitmapBits)
		for _, w := range m {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	return dst
}

// NextBit is the first bit at or after i that is set, or is not set.
func NextBit(m *Members, i int, set bool) int {
	if i >= MemberRows {
		return MemberRows
	}
	flip := uint64(0)
	if !set {
		flip = ^uint64(0)
	}
	w := (m[i/64] ^ flip) >> (i % 64) << (i % 64)
	for k := i / 64; ; w = m[k] ^ flip {
		if w != 0 {
			return k*64 + bits.TrailingZeros64(w)
		}
		if k++; k == MemberWords {
			return MemberRows
		}
	}
}

// ParseMembers fills m.
func ParseMembers(b []byte, m *Members) error {
	*m = Members{}
	if len(b) == 0 {
		return ErrBitmap
	}
	form, b := b[0], b[1:]
	switch {
	case form == bitmapBits && len(b) == MemberRows/8:
		for i := range m {
			m[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case form == bitmapList && len(b)%2 == 0:
		for ; len(b) > 0; b = b[2:] {
			i := binary.LittleEndian.Uint16(b)
			m[i/64] |= 1 << (i % 64)
		}
	case form == BitmapRuns && len(b)%4 == 0:
		for ; len(b) > 0; b = b[4:] {
			first, last := int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:]))
			if first > last {
				return ErrBitmap
			}
			SetRange(m, first, last)
		}
	default:
		return ErrBitmap
	}
	return nil
}

// SetRange sets the bits first to last.
func SetRange(m *Members, first, last int) {
	lo, hi := ^uint64(0)<<(first%64), ^uint64(0)>>(63-last%64)
	if first/64 == last/64 {
		m[first/64] |= lo & hi
		return
	}
	m[first/64] |= lo
	for i := first/64 + 1; i < last/64; i++ {
		m[i] = ^uint64(0)
	}
	m[last/64] |= hi
}
