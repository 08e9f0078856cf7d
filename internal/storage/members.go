package storage

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
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
	memberBits  = 16
	memberRows  = 1 << memberBits
	memberWords = memberRows / 64

	bitmapBits byte = 1
	bitmapList byte = 2
	bitmapRuns byte = 3
)

type members = [memberWords]uint64

func appendMembers(dst []byte, m *members) []byte {
	n, runs := 0, 0
	carry := uint64(0)
	for _, w := range m {
		n += bits.OnesCount64(w)
		runs += bits.OnesCount64(w &^ (w<<1 | carry))
		carry = w >> 63
	}
	switch {
	case runs*4 <= n*2 && runs*4 < memberRows/8:
		dst = append(dst, bitmapRuns)
		for i := 0; i < memberRows; {
			start := nextBit(m, i, true)
			if start == memberRows {
				break
			}
			end := nextBit(m, start, false)
			dst = binary.LittleEndian.AppendUint16(dst, uint16(start))
			dst = binary.LittleEndian.AppendUint16(dst, uint16(end-1))
			i = end
		}
	case n*2 < memberRows/8:
		dst = append(dst, bitmapList)
		for i := nextBit(m, 0, true); i < memberRows; i = nextBit(m, i+1, true) {
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

// nextBit is the first bit at or after i that is set, or is not set.
func nextBit(m *members, i int, set bool) int {
	if i >= memberRows {
		return memberRows
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
		if k++; k == memberWords {
			return memberRows
		}
	}
}

// parseMembers fills m.
func parseMembers(b []byte, m *members) error {
	*m = members{}
	if len(b) == 0 {
		return errBitmap
	}
	form, b := b[0], b[1:]
	switch {
	case form == bitmapBits && len(b) == memberRows/8:
		for i := range m {
			m[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case form == bitmapList && len(b)%2 == 0:
		for ; len(b) > 0; b = b[2:] {
			i := binary.LittleEndian.Uint16(b)
			m[i/64] |= 1 << (i % 64)
		}
	case form == bitmapRuns && len(b)%4 == 0:
		for ; len(b) > 0; b = b[4:] {
			first, last := int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:]))
			if first > last {
				return errBitmap
			}
			setRange(m, first, last)
		}
	default:
		return errBitmap
	}
	return nil
}

func setRange(m *members, first, last int) {
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

// Scan appends vertices with the label, 0 for all, whose local ids are at or after from, in ascending order, until dst
// is full or there are no more; then done is true.
func (v *View) Scan(ctx context.Context, label graph.LabelID, from uint64, dst []graph.VertexID) (ids []graph.VertexID, done bool, err error) {
	r := v.get()
	defer v.put(r, &err)
	for {
		if err := Alive(ctx); err != nil {
			return dst, false, err
		}
		chunk, ok, err := r.heldMembers(label, from)
		if err != nil {
			return dst, false, fault("scan a label", err)
		}
		if !ok {
			return dst, true, nil
		}
		base := uint64(chunk) << memberBits
		i := 0
		if from > base {
			i = int(from - base)
		}
		for i = nextBit(&r.bitmap, i, true); i < memberRows; i = nextBit(&r.bitmap, i+1, true) {
			if len(dst) == cap(dst) {
				return dst, false, nil
			}
			dst = append(dst, graph.MakeVertexID(v.shard.no, base+uint64(i)))
		}
		from = base + memberRows
	}
}

// held names the members that lie in a reader's bitmap, so that a scan that goes on within a chunk does not read all of
// its delta memberships again.
type held struct {
	label   graph.LabelID
	chunk   uint32
	changes uint64 // of the overlay
	ok      bool
}

// heldMembers is members into the reader's bitmap.
func (r *reader) heldMembers(label graph.LabelID, from uint64) (chunk uint32, ok bool, err error) {
	changes := uint64(0)
	if r.v.over != nil {
		changes = r.v.over.changes
	}
	if h := r.held; h == (held{label, uint32(from >> memberBits), changes, true}) {
		return h.chunk, true, nil
	}
	r.held.ok = false
	chunk, ok, err = r.members(label, from, &r.bitmap)
	r.held = held{label, chunk, changes, ok && err == nil}
	return chunk, ok, err
}

// members reads the first chunk with a record at or after that of a local id; ok is false if there is none.
func (r *reader) members(label graph.LabelID, from uint64, m *members) (chunk uint32, ok bool, err error) {
	packed, err := r.cursor(keys.Member)
	if err != nil {
		return 0, false, err
	}
	delta, err := r.cursor(keys.DeltaLabel)
	if err != nil {
		return 0, false, err
	}
	chunk = uint32(from >> memberBits)
	r.key = keys.AppendMember(r.key[:0], label, chunk)
	prefix := r.key[:5]
	hasPacked := packed.seek(r.key) && string(packed.key()[:5]) == string(prefix)
	if !hasPacked {
		if err := packed.err(); err != nil {
			return 0, false, err
		}
	}
	first := ^uint32(0)
	if hasPacked {
		if len(packed.key()) != keys.MemberSize {
			return 0, false, corrupt("bitmap", packed.key(), errBitmap)
		}
		first = binary.BigEndian.Uint32(packed.key()[5:])
	}
	r.key = keys.AppendDeltaMember(r.key[:0], label, uint64(chunk)<<memberBits)
	inLabel := func() bool { return delta.ok && string(delta.key()[:5]) == string(r.key[:5]) }
	delta.seek(r.key)
	if inLabel() {
		first = min(first, uint32(keys.Local(delta.key()[5:])>>memberBits))
	} else if err := delta.err(); err != nil {
		return 0, false, err
	}
	if first == ^uint32(0) {
		return 0, false, nil
	}
	if hasPacked && binary.BigEndian.Uint32(packed.key()[5:]) == first {
		b, err := packed.value()
		if err != nil {
			return 0, false, err
		}
		if err := parseMembers(b, m); err != nil {
			return 0, false, corrupt("bitmap", packed.key(), err)
		}
	} else {
		*m = members{}
	}
	for inLabel() {
		local := keys.Local(delta.key()[5:])
		if uint32(local>>memberBits) != first {
			break
		}
		b, err := delta.value()
		if err != nil {
			return 0, false, err
		}
		if len(b) != 1 || b[0] > 1 {
			return 0, false, corrupt("delta membership", delta.key(), errDelta)
		}
		i := local & (memberRows - 1)
		m[i/64] = m[i/64]&^(1<<(i%64)) | uint64(b[0])<<(i%64)
		if !delta.next() {
			if err := delta.err(); err != nil {
				return 0, false, err
			}
		}
	}
	return first, true, nil
}
