package view

import (
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// A full-text index has no entries here. Each commit stores, in its own batch, which vertices and edges the index must read again:
// a queue, whose records are
//
//	index, number → owner
//	index         → the number before which records were deleted
//
// Numbers ascend over all full-text indexes of a shard, so the number that a snapshot would give out next says which changes it shows.

// TextKey is the key of a change of a full-text index.
func TextKey(dst []byte, ix graph.IndexID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(keys.AppendNumbered(dst, keys.TextChange, uint32(ix)), number)
}

// NextText is the number that the next change gets: the view shows what changes before it have made.
func (v *View) NextText() uint64 { return v.state.NextText }

// TextChanges calls f, in the order of their numbers, with the changes for an index from a number on and before another, until f returns false.
func (v *View) TextChanges(ctx context.Context, ix graph.IndexID, from, before uint64, f func(number uint64, o graph.IndexOwner) bool) error {
	if from >= before {
		return nil
	}
	n := 0
	err := kv.ScanRange(v.graph, TextKey(nil, ix, from), TextKey(nil, ix, before), func(k, b []byte) error {
		if n++; n&0xfff == 0 {
			if err := kv.Alive(ctx); err != nil {
				return err
			}
		}
		if len(k) != keys.EntrySize+8 {
			return kv.Corrupt("change of a text", k, codec.ErrRecord)
		}
		o, err := v.Owner(k, b)
		if err != nil {
			return err
		}
		if !f(binary.BigEndian.Uint64(k[keys.EntrySize:]), o) {
			return kv.ErrStop
		}
		return nil
	})
	if err != nil {
		return kv.Fault("read the changes of texts", err)
	}
	return nil
}

// TextTrim is the number before which the changes for an index were deleted.
func (v *View) TextTrim(ix graph.IndexID) (uint64, error) {
	return kv.ReadNumber(v.graph, keys.AppendNumbered(nil, keys.TextChange, uint32(ix)))
}
