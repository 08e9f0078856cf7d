package storage

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/semaphore"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// TrimTexts deletes the changes for an index before a number, unless an open view shows a state before them. The caller must be the only
// writer.
func (s *Shard) TrimTexts(ix graph.IndexID, before uint64) error {
	before = min(before, s.views.OldestText())
	head := keys.AppendNumbered(nil, keys.TextChange, uint32(ix))
	done, err := kv.ReadNumber(s.graph.Live(), head)
	if err != nil || before <= done {
		return err
	}
	return s.put(func(b *pebble.Batch) error {
		return errors.Join(
			b.DeleteRange(view.TextKey(nil, ix, 0), view.TextKey(nil, ix, before), nil),
			b.Set(head, binary.AppendUvarint(nil, before), nil),
		)
	})
}

// clearTexts deletes all changes for an index.
func clearTexts(b *pebble.Batch, ix graph.IndexID) error {
	lower := keys.AppendNumbered(nil, keys.TextChange, uint32(ix))
	return b.DeleteRange(lower, keys.AppendSuccessor(nil, lower), nil)
}

// appendTextOptions writes the settings of a full-text index.
func appendTextOptions(o *graph.TextOptions) string {
	b, err := json.Marshal(o)
	if err != nil { // it consists of strings and a bool
		panic(err)
	}
	return string(b)
}

func parseTextOptions(text string) (o graph.TextOptions, err error) {
	if json.Unmarshal([]byte(text), &o) != nil {
		return o, codec.ErrRecord
	}
	return o, nil
}

// TextRoom bounds the memory of pending changes of all full-text indexes of a process.
type TextRoom struct {
	size int64
	free *semaphore.Weighted
}

func newTextRoom(size int64) *TextRoom { return &TextRoom{size, semaphore.NewWeighted(size)} }

// Take waits until some bytes, at most all of the memory, are free, or ctx ends. The caller calls give to return them.
func (r *TextRoom) Take(ctx context.Context, bytes int) (give func(), err error) {
	n := min(int64(bytes), r.size)
	if err := r.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { r.free.Release(n) }, nil
}

// ResetIndex makes an index be rebuilt from the start. After a crash halfway, the caller must call it again.
func (c *Catalog) ResetIndex(ix graph.Index) error {
	if err := c.shard.put(func(b *pebble.Batch) error { return b.Delete(indexMarkKey(ix.ID), nil) }); err != nil {
		return err
	}
	ix.Online = false
	return c.PutIndex(ix, nil)
}
