package compact

import (
	"bytes"
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// compactedChunk is a chunk whose groups were compacted; own says that its lists had other delta edges.
type compactedChunk struct {
	keys.GroupChunk
	own bool
}

// grouped reports whether a list lies in a chunk that was compacted already.
func (f *Compactor) grouped(t graph.TypeID, dir graph.Direction, local uint64) bool {
	at := keys.ChunkOf(t, dir, local)
	return slices.ContainsFunc(f.compacted, func(c compactedChunk) bool { return c.GroupChunk == at })
}

// waits reports whether the chunk of a list is left to Chunks.
func (f *Compactor) waits(t graph.TypeID, dir graph.Direction, local uint64) (bool, error) {
	chunk := keys.ChunkOf(t, dir, local)
	if f.sparse == chunk {
		return false, nil
	}
	if some, err := f.hasGroups(t, dir, local); some || err != nil {
		return some, err
	}
	c, err := f.r.ListRecords(keys.DeltaEdge, t, dir)
	if err != nil {
		return false, err
	}
	c.Seek(keys.AppendDelta(nil, t, dir, local))
	dense := f.isDense(c, keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, local|(1<<keys.GroupBits-1))))
	if !dense {
		f.sparse = chunk
	}
	return dense, c.Err()
}

// hasGroups reports whether a list lies in a chunk that has groups.
func (f *Compactor) hasGroups(t graph.TypeID, dir graph.Direction, local uint64) (bool, error) {
	c, err := f.r.Cursor(keys.DeltaGroup)
	if err != nil {
		return false, err
	}
	prefix := keys.AppendGroups(nil, t, dir, local)
	ok := c.Seek(prefix) && bytes.HasPrefix(c.Key(), prefix)
	return ok, c.Err()
}

// skip moves to the first delta edge after the chunk of a list, and deletes what was taken before.
func (f *Compactor) skip(c *view.Cursor, t graph.TypeID, dir graph.Direction, local uint64) error {
	f.left = true
	if err := f.deleteTaken(); err != nil {
		return err
	}
	c.Seek(keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, local|(1<<keys.GroupBits-1))))
	return c.Err()
}

// deleteTaken deletes what was taken so far, because the next records stay or are deleted separately.
func (f *Compactor) deleteTaken() error {
	if len(f.first) == 0 {
		return nil
	}
	err := f.Batch.DeleteRange(f.first, append(f.last, 0), nil)
	f.first, f.last = f.first[:0], f.last[:0]
	return err
}

// Finish completes the batch: it deletes the compacted groups, with one range tombstone if the store has no other group between them by
// now, so that readers need not skip one for each.
func (f *Compactor) Finish(stored pebble.Reader) error {
	if len(f.groups) == 0 {
		return nil
	}
	first, last := f.groups[:keys.GroupSize], f.groups[len(f.groups)-keys.GroupSize:]
	end := append(slices.Clone(last), 0)
	it, err := kv.NewIter(stored, &pebble.IterOptions{LowerBound: first, UpperBound: end})
	if err != nil {
		return kv.Fault("compact", err)
	}
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		return kv.Fault("compact", err)
	}
	if n*keys.GroupSize == len(f.groups) {
		return f.Batch.DeleteRange(first, end, nil)
	}
	for at := 0; at < len(f.groups); at += keys.GroupSize {
		if err := f.Batch.Delete(f.groups[at:at+keys.GroupSize], nil); err != nil {
			return err
		}
	}
	return nil
}

// compactGroups compacts chunks with groups; all says that there are no others. A chunk is compacted as a whole: its groups have runs of most
// of its lists, so each list is written once for all groups.
func (f *Compactor) compactGroups(ctx context.Context, limit int) (all bool, err error) {
	c, err := f.r.Cursor(keys.DeltaGroup)
	if err != nil {
		return false, err
	}
	ok := f.begin(c, keys.DeltaGroup)
	// The last compaction's position may have groups before it.
	from := f.From[keys.DeltaGroup]
	all = !ok || from == nil || bytes.Compare(c.Key(), from) < 0
	for ; ok && f.Taken < limit; ok = c.Valid {
		if len(c.Key()) != keys.GroupSize {
			return false, kv.Corrupt("delta edges", c.Key(), codec.ErrDelta)
		}
		t, dir, local := keys.List(c.Key())
		prefix := slices.Clone(c.Key()[:keys.ListSize])
		for ok := true; ok && bytes.HasPrefix(c.Key(), prefix); ok = c.Next() {
			v, err := c.Value()
			if err != nil {
				return false, err
			}
			n, _ := codec.Uvarint(v)
			f.groups = append(f.groups, c.Key()...)
			f.Taken += max(1, int(n))
		}
		if err := c.Err(); err != nil {
			return false, err
		}
		if err := f.compactChunk(ctx, t, dir, local); err != nil {
			return false, err
		}
	}
	if err := c.Err(); err != nil {
		return false, err
	}
	// Chunks are compacted as a whole. They may get new groups before the current last one.
	delete(f.From, keys.DeltaGroup)
	if n := len(f.groups); c.Valid && n > 0 {
		f.From[keys.DeltaGroup] = keys.AppendSuccessor(nil, f.groups[n-keys.GroupSize:][:keys.ListSize])
	}
	return all && !c.Valid, nil
}

// compactChunk compacts the lists of a chunk that have delta edges, in groups or of their own.
func (f *Compactor) compactChunk(ctx context.Context, t graph.TypeID, dir graph.Direction, first uint64) error {
	l, err := f.r.Lists(t, dir)
	if err != nil {
		return err
	}
	if err := l.Groups.Fill(t, dir, first); err != nil {
		return err
	}
	var lists []uint64
	for i := 0; i < len(l.Groups.Index.At); {
		place, n := l.Groups.Index.Lists(i)
		lists = append(lists, first+place)
		i += n
	}
	last := first | (1<<keys.GroupBits - 1)
	lower, upper := keys.AppendDelta(nil, t, dir, first), keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, last))
	own := 0
	ok := l.Delta.Seek(lower)
	for ; ok && bytes.Compare(l.Delta.Key(), upper) < 0; ok = l.Delta.Next() {
		if len(l.Delta.Key()) < keys.DeltaRunSize {
			return kv.Corrupt("delta edges", l.Delta.Key(), codec.ErrDelta)
		}
		_, _, local := keys.List(l.Delta.Key())
		if own == 0 || lists[len(lists)-1] != local {
			lists = append(lists, local)
		}
		own++
	}
	if err := l.Delta.Err(); err != nil {
		return err
	}
	if own > 0 {
		slices.Sort(lists)
		lists = slices.Compact(lists)
		if err := f.Batch.DeleteRange(lower, upper, nil); err != nil {
			return err
		}
		f.Taken += own
	}
	for i, local := range lists {
		if i&0xff == 0 {
			if err := kv.Alive(ctx); err != nil {
				return err
			}
		}
		if err := f.compactList(&l, local); err != nil {
			return err
		}
	}
	f.compacted = append(f.compacted, compactedChunk{keys.ChunkOf(t, dir, first), own > 0})
	return nil
}

// mostCompacted is the size in bytes of the batch at which the rest of a chunk without groups is left to the next compaction.
const mostCompacted = 32 << 20

// compactDense compacts chunks whose lists have many delta edges, as after a load, in the order of their lists, so that the result can be
// ingested as a table.
func (f *Compactor) compactDense(ctx context.Context, limit int) error {
	c, err := f.r.Cursor(keys.DeltaEdge)
	if err != nil {
		return err
	}
	for ok := c.Seek([]byte{byte(keys.DeltaEdge)}); ok && f.Taken < limit; {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		if len(c.Key()) < keys.DeltaRunSize {
			return kv.Corrupt("delta edges", c.Key(), codec.ErrDelta)
		}
		t, dir, local := keys.List(c.Key())
		last := local | (1<<keys.GroupBits - 1)
		upper := keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, last))
		dense := f.isDense(c, upper)
		if ok = c.Valid; !dense {
			continue
		}
		if !f.grouped(t, dir, local) {
			if err := f.compactRuns(ctx, t, dir, local, last); err != nil {
				return err
			}
		}
		ok = c.Seek(upper)
	}
	return c.Err()
}

// denseParts is the fraction of Options.Step from which a chunk's delta edges are many.
const denseParts = 4

// isDense reports whether there are many delta edges before a key, and moves the cursor past them, at most past as many.
func (f *Compactor) isDense(c *view.Cursor, upper []byte) bool {
	left := max(1, f.o.Step/denseParts)
	for ok := c.Valid; ok && left > 0 && bytes.Compare(c.Key(), upper) < 0; ok = c.Next() {
		left--
	}
	return left == 0
}

// compactRuns compacts the lists with delta edges from a vertex to the last of its chunk, which has no groups, but at most mostCompacted.
func (f *Compactor) compactRuns(ctx context.Context, t graph.TypeID, dir graph.Direction, from, last uint64) error {
	l, err := f.r.Lists(t, dir)
	if err != nil {
		return err
	}
	var lists []uint64
	var counts []int
	lower, upper := keys.AppendDelta(nil, t, dir, from), keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, last))
	for ok := l.Delta.Seek(lower); ok && bytes.Compare(l.Delta.Key(), upper) < 0; ok = l.Delta.Next() {
		_, _, local := keys.List(l.Delta.Key())
		if n := len(lists); n == 0 || lists[n-1] != local {
			lists, counts = append(lists, local), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	if err := l.Delta.Err(); err != nil {
		return err
	}
	for i, local := range lists {
		if i&0xff == 0 {
			if err := kv.Alive(ctx); err != nil {
				return err
			}
		}
		if err := f.compactList(&l, local); err != nil {
			return err
		}
		f.Taken += counts[i]
		if f.Batch.Len() >= mostCompacted {
			upper = keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, local))
			break
		}
	}
	f.compacted = append(f.compacted, compactedChunk{keys.ChunkOf(t, dir, from), true})
	return f.Batch.DeleteRange(lower, upper, nil)
}
