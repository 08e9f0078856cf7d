package storage

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/semaphore"

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

// textChange is a change of what a full-text index holds.
type textChange struct {
	index graph.IndexID
	owner Owner
}

// textChangeBytes is about what a change takes in memory.
const textChangeBytes = 40

// NoteText says that a full-text index must read an owner again once the changes are committed.
func (w *Writer) NoteText(ix graph.IndexID, o Owner) {
	c := textChange{ix, o}
	if n := len(w.texts); n > 0 && w.texts[n-1] == c {
		return
	}
	w.texts = append(w.texts, c)
}

// NotedTexts calls f with the owners that the writer has noted for an index; they may repeat.
func (w *Writer) NotedTexts(ix graph.IndexID, f func(o Owner)) {
	for _, c := range w.texts {
		if c.index == ix {
			f(c.owner)
		}
	}
}

// storeTexts puts the changes into the batch, numbered from first on.
func (w *Writer) storeTexts(first uint64) error {
	for i, c := range w.texts {
		w.key = textKey(w.key[:0], c.index, first+uint64(i))
		w.buf = AppendOwner(w.buf[:0], c.owner)
		if err := w.batch.Set(w.key, w.buf, nil); err != nil {
			return err
		}
	}
	return nil
}

func textKey(dst []byte, ix graph.IndexID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(keys.AppendNumbered(dst, keys.TextChange, uint32(ix)), number)
}

// NextText is the number that the next change gets: the view shows what changes before it have made.
func (v *View) NextText() uint64 { return v.known.nextText }

// TextChanges calls f, in the order of their numbers, with the changes for an index from a number on and before another, until f returns false.
func (v *View) TextChanges(ctx context.Context, ix graph.IndexID, from, before uint64, f func(number uint64, o Owner) bool) error {
	if from >= before {
		return nil
	}
	n := 0
	err := kv.ScanRange(v.graph, textKey(nil, ix, from), textKey(nil, ix, before), func(k, b []byte) error {
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
			return errStop
		}
		return nil
	})
	if err == nil || errors.Is(err, errStop) {
		return nil
	}
	return kv.Fault("read the changes of texts", err)
}

// TextTrim is the number before which the changes for an index were deleted.
func (v *View) TextTrim(ix graph.IndexID) (uint64, error) {
	return ReadNumber(v.graph, keys.AppendNumbered(nil, keys.TextChange, uint32(ix)))
}

// TrimTexts deletes the changes for an index before a number, as far as no open view shows a state before them. The caller must be the
// only one who may write.
func (s *Shard) TrimTexts(ix graph.IndexID, before uint64) error {
	before = min(before, s.oldestText())
	head := keys.AppendNumbered(nil, keys.TextChange, uint32(ix))
	done, err := ReadNumber(s.graph.Live(), head)
	if err != nil || before <= done {
		return err
	}
	return s.put(func(b *pebble.Batch) error {
		return errors.Join(
			b.DeleteRange(textKey(nil, ix, 0), textKey(nil, ix, before), nil),
			b.Set(head, binary.AppendUvarint(nil, before), nil),
		)
	})
}

// oldestText is the least NextText of the views that are open.
func (s *Shard) oldestText() uint64 {
	s.retireMu.Lock()
	defer s.retireMu.Unlock()
	least := uint64(math.MaxUint64)
	for v := range s.views {
		least = min(least, v.known.nextText)
	}
	return least
}

// clearTexts deletes all changes for an index.
func clearTexts(b *pebble.Batch, ix graph.IndexID) error {
	lower := keys.AppendNumbered(nil, keys.TextChange, uint32(ix))
	return b.DeleteRange(lower, keys.AppendSuccessor(nil, lower), nil)
}

// appendTextOptions writes the settings of a full-text index.
func appendTextOptions(o *graph.TextOptions) string {
	b, err := json.Marshal(o)
	if err != nil { // it holds texts and a truth value
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

// TextRoom is the memory for changes of full-text indexes that are on their way to the disk, which all indexes of a process share.
type TextRoom struct {
	size int64
	free *semaphore.Weighted
}

func newTextRoom(size int64) *TextRoom { return &TextRoom{size, semaphore.NewWeighted(size)} }

// Take waits for some bytes, at most all of the memory, until ctx ends. The caller calls give when it no longer needs them.
func (r *TextRoom) Take(ctx context.Context, bytes int) (give func(), err error) {
	n := min(int64(bytes), r.size)
	if err := r.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { r.free.Release(n) }, nil
}

// ResetIndex makes an index be built from the beginning. After a crash in between, the caller finds the same reason to do so again.
func (c *Catalog) ResetIndex(ix graph.Index) error {
	if err := c.shard.put(func(b *pebble.Batch) error { return b.Delete(indexMarkKey(ix.ID), nil) }); err != nil {
		return err
	}
	ix.Online = false
	return c.PutIndex(ix)
}
