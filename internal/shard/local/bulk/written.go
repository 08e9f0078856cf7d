package bulk

import (
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// written are the vertices that the rows of a load have written, by which its later batches know a key that repeats. New vertices are a few
// runs. Those of a load with a stream that leaves or refuses repeated keys are stored too, by batch, and read again if they are not in memory
// or not those of the last batch.
type written struct {
	roaring64.Bitmap
	whole  bool   // of all batches so far
	stored bool   // with each batch
	seq    uint64 // of the last batch
	size   uint64 // in bytes
	batch  uint64 // by Graph.batches
}

// maxWritten is the size in bytes above which the vertices of the loads that have been idle for longest are thrown away.
const maxWritten = 64 << 20

// writtenOverhead is about the size of an entry without vertices.
const writtenOverhead = 256

// Recall finds the vertices that the load has written up to its batch last; it comes before Run.
func (b *Batch) Recall(last uint64) (err error) {
	l := b.l
	b.before = b.g.written[b.load]
	if b.before == nil || l.Restart || l.Stream != "" && b.before.seq != last {
		if b.before, err = readWritten(b.tx.Views()[0], l, last); err != nil {
			return err
		}
	}
	if l.Remembers() && !b.before.whole {
		return shard.LoadForgotten()
	}
	return nil
}

// readWritten returns the vertices that a load has written up to its batch last, as far as they are stored.
func readWritten(v *view.View, l *shard.Load, last uint64) (*written, error) {
	w := &written{whole: l.Restart || l.Stream == "" && l.Run == "" || l.Stream != "" && last == 0}
	if w.whole || l.Stream == "" {
		return w, nil
	}
	err := v.Written(l.Stream, func(key, vertices []byte) error {
		var of roaring64.Bitmap
		if err := of.UnmarshalBinary(vertices); err != nil {
			return kv.Corrupt("vertices of a load", key, codec.ErrRecord)
		}
		w.Or(&of)
		w.whole, w.stored = true, true
		return nil
	})
	return w, err
}

// Remember stores the vertices that the batch has written, at first with those of the batches before, for a process that goes on with the load.
func (b *Batch) Remember(w *staging.Writer) error {
	first := !b.before.stored
	if first && !b.l.Remembers() || !first && b.now.IsEmpty() {
		return nil
	}
	b.stores = true
	all := &b.now
	if first {
		all = roaring64.Or(&b.before.Bitmap, &b.now)
	}
	all.RunOptimize()
	vertices, err := all.MarshalBinary()
	if err == nil {
		w.SetWritten(b.l.Stream, b.l.Seq, vertices)
	}
	return err
}

// Committed keeps what the batch, or the end of its load, tells the batches that follow.
func (b *Batch) Committed() {
	g := b.g
	g.Keys = b.tables
	if b.before == nil || b.load == "" {
		delete(g.written, b.load)
		return
	}
	if g.written == nil {
		g.written = map[string]*written{}
	}
	g.batches++
	w := b.before
	w.Or(&b.now)
	w.stored = w.stored || b.stores
	w.seq, w.size, w.batch = b.l.Seq, w.GetSizeInBytes()+writtenOverhead, g.batches
	g.written[b.load] = w
	g.trimWritten()
}

// trimWritten throws the vertices of idle loads away.
func (g *Graph) trimWritten() {
	for {
		size, idlest := uint64(0), ""
		for name, w := range g.written {
			size += w.size
			if idlest == "" || w.batch < g.written[idlest].batch {
				idlest = name
			}
		}
		if size <= maxWritten || len(g.written) == 1 {
			return
		}
		delete(g.written, idlest)
	}
}

// repeats reports whether an earlier row of the load has written a vertex.
func (b *Batch) repeats(id graph.VertexID) bool {
	return b.now.Contains(uint64(id)) || b.before.Contains(uint64(id))
}

// repeated returns those of ids, which ascend, that an earlier row of the load has written.
func (b *Batch) repeated(ids []graph.VertexID) []uint64 {
	if b.now.IsEmpty() && b.before.IsEmpty() {
		return nil
	}
	var all roaring64.Bitmap
	all.AddMany(numbers(ids))
	again := roaring64.And(&all, &b.before.Bitmap)
	again.Or(roaring64.And(&all, &b.now))
	return again.ToArray()
}

// numbers returns ids as numbers.
func numbers(ids []graph.VertexID) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.SliceData(ids)), len(ids))
}

// leave treats a row that is not to overwrite what an earlier row of the load has written: it is refused, or counts as unchanged.
func leave(how shard.OnDuplicate, counts *shard.RowCounts) *reject {
	if how == shard.DuplicateError {
		return rejectRepeated
	}
	counts.Unchanged++
	counts.Repeated++
	return nil
}

// wrote notes that a row has written a vertex, again if an earlier one had.
func (b *Batch) wrote(id graph.VertexID, again bool) {
	if again {
		b.l.Counts.Vertices.Repeated++
		return
	}
	b.now.Add(uint64(id))
}
