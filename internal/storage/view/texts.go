package view

import (
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// A full-text index has no entries in the store. Each commit queues, in its own batch, the vertices and edges that the index must read
// again. The records of the queue are
//
//	index, number → owner
//	index         → the number before which records were deleted
//
// Numbers ascend over all full-text indexes of a shard, so the next number of a snapshot tells which changes it includes.

// TextKey is the key of a change of a full-text index.
func TextKey(dst []byte, ix graph.IndexID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(keys.AppendNumbered(dst, keys.TextChange, uint32(ix)), number)
}

// NextText is the number of the next change: the view includes all changes with lower numbers.
func (v *View) NextText() uint64 { return v.state.NextText }

// TextChanges calls f with the changes for an index whose numbers are in [from, before), in ascending order, until f returns false.
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
			return kv.Corrupt("change for a full-text index", k, codec.ErrRecord)
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
		return kv.Fault("read changes for a full-text index", err)
	}
	return nil
}

// TextTrim is the number before which the changes for an index were deleted.
func (v *View) TextTrim(ix graph.IndexID) (uint64, error) {
	return kv.ReadNumber(v.graph, keys.AppendNumbered(nil, keys.TextChange, uint32(ix)))
}
