package view

import (
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Scan appends vertices with the label, 0 for all, whose local ids are at or after from, in ascending order, until dst
// is full or there are no more; then done is true.
func (v *View) Scan(ctx context.Context, label graph.LabelID, from uint64, dst []graph.VertexID) (ids []graph.VertexID, done bool, err error) {
	r := v.Acquire()
	defer v.Release(r, &err)
	for {
		if err := kv.Alive(ctx); err != nil {
			return dst, false, err
		}
		chunk, ok, err := r.heldMembers(label, from)
		if err != nil {
			return dst, false, kv.Fault("scan a label", err)
		}
		if !ok {
			return dst, true, nil
		}
		base := uint64(chunk) << codec.MemberBits
		i := 0
		if from > base {
			i = int(from - base)
		}
		for i = codec.NextBit(&r.bitmap, i, true); i < codec.MemberRows; i = codec.NextBit(&r.bitmap, i+1, true) {
			if len(dst) == cap(dst) {
				return dst, false, nil
			}
			dst = append(dst, graph.MakeVertexID(v.No(), base+uint64(i)))
		}
		from = base + codec.MemberRows
	}
}

// held says which members are in a reader's bitmap, so that a scan that continues within a chunk need not read its delta memberships
// again.
type held struct {
	label   graph.LabelID
	chunk   uint32
	changes uint64 // of the overlay
	ok      bool
}

// heldMembers is members with the reader's bitmap.
func (r *Reader) heldMembers(label graph.LabelID, from uint64) (chunk uint32, ok bool, err error) {
	changes := uint64(0)
	if r.v.over != nil {
		changes = r.v.over.changes
	}
	if h := r.held; h == (held{label, uint32(from >> codec.MemberBits), changes, true}) {
		return h.chunk, true, nil
	}
	r.held.ok = false
	chunk, ok, err = r.members(label, from, &r.bitmap)
	r.held = held{label, chunk, changes, ok && err == nil}
	return chunk, ok, err
}

// members reads the first chunk with a record at or after that of a local id; ok is false if there is none.
func (r *Reader) members(label graph.LabelID, from uint64, m *codec.Members) (chunk uint32, ok bool, err error) {
	packed, err := r.Cursor(keys.Member)
	if err != nil {
		return 0, false, err
	}
	delta, err := r.Cursor(keys.DeltaLabel)
	if err != nil {
		return 0, false, err
	}
	chunk = uint32(from >> codec.MemberBits)
	r.key = keys.AppendMember(r.key[:0], label, chunk)
	prefix := r.key[:5]
	hasPacked := packed.Seek(r.key) && string(packed.Key()[:5]) == string(prefix)
	if !hasPacked {
		if err := packed.Err(); err != nil {
			return 0, false, err
		}
	}
	first := ^uint32(0)
	if hasPacked {
		if len(packed.Key()) != keys.MemberSize {
			return 0, false, kv.Corrupt("bitmap", packed.Key(), codec.ErrBitmap)
		}
		first = binary.BigEndian.Uint32(packed.Key()[5:])
	}
	r.key = keys.AppendDeltaMember(r.key[:0], label, uint64(chunk)<<codec.MemberBits)
	inLabel := func() bool { return delta.Valid && string(delta.Key()[:5]) == string(r.key[:5]) }
	delta.Seek(r.key)
	if inLabel() {
		first = min(first, uint32(keys.Local(delta.Key()[5:])>>codec.MemberBits))
	} else if err := delta.Err(); err != nil {
		return 0, false, err
	}
	if first == ^uint32(0) {
		return 0, false, nil
	}
	if hasPacked && binary.BigEndian.Uint32(packed.Key()[5:]) == first {
		b, err := packed.Value()
		if err != nil {
			return 0, false, err
		}
		if err := codec.ParseMembers(b, m); err != nil {
			return 0, false, kv.Corrupt("bitmap", packed.Key(), err)
		}
	} else {
		*m = codec.Members{}
	}
	for inLabel() {
		local := keys.Local(delta.Key()[5:])
		if uint32(local>>codec.MemberBits) != first {
			break
		}
		b, err := delta.Value()
		if err != nil {
			return 0, false, err
		}
		if len(b) != 1 || b[0] > 1 {
			return 0, false, kv.Corrupt("delta membership", delta.Key(), codec.ErrDelta)
		}
		i := local & (codec.MemberRows - 1)
		m[i/64] = m[i/64]&^(1<<(i%64)) | uint64(b[0])<<(i%64)
		if !delta.Next() {
			if err := delta.Err(); err != nil {
				return 0, false, err
			}
		}
	}
	return first, true, nil
}
