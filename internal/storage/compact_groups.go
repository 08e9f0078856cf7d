package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// listChunk is a chunk of lists of one type and direction.
type listChunk struct {
	t     graph.TypeID
	dir   graph.Direction
	chunk uint64
}

// compactedChunk is a chunk whose groups were compacted; own says that its lists had other delta edges.
type compactedChunk struct {
	listChunk
	own bool
}

// grouped reports whether a list lies in a chunk that was compacted already.
func (f *compactor) grouped(t graph.TypeID, dir graph.Direction, local uint64) bool {
	at := listChunk{t, dir, local >> keys.GroupBits}
	return slices.ContainsFunc(f.compacted, func(c compactedChunk) bool { return c.listChunk == at })
}

// waits reports whether a list lies in a chunk that is left to a Compaction.
func (f *compactor) waits(t graph.TypeID, dir graph.Direction, local uint64) (bool, error) {
	chunk := listChunk{t, dir, local >> keys.GroupBits}
	if f.sparse == chunk {
		return false, nil
	}
	if some, err := f.hasGroups(t, dir, local); some || err != nil {
		return some, err
	}
	c, err := f.r.lists(keys.DeltaEdge, t, dir)
	if err != nil {
		return false, err
	}
	c.seek(keys.AppendDelta(nil, t, dir, local))
	dense := f.isDense(c, keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, local|(1<<keys.GroupBits-1))))
	if !dense {
		f.sparse = chunk
	}
	return dense, c.err()
}

// hasGroups reports whether a list lies in a chunk that has groups.
func (f *compactor) hasGroups(t graph.TypeID, dir graph.Direction, local uint64) (bool, error) {
	c, err := f.r.cursor(keys.DeltaGroup)
	if err != nil {
		return false, err
	}
	prefix := keys.AppendGroups(nil, t, dir, local)
	ok := c.seek(prefix) && bytes.HasPrefix(c.key(), prefix)
	return ok, c.err()
}

// skip goes to the first delta edge behind the chunk of a list, and deletes what was taken before.
func (f *compactor) skip(c *cursor, t graph.TypeID, dir graph.Direction, local uint64) error {
	f.left = true
	if err := f.deleteTaken(); err != nil {
		return err
	}
	c.seek(keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, local|(1<<keys.GroupBits-1))))
	return c.err()
}

// deleteTaken deletes what was taken so far, because what follows is left or is deleted by itself.
func (f *compactor) deleteTaken() error {
	if len(f.first) == 0 {
		return nil
	}
	err := f.b.DeleteRange(f.first, append(f.last, 0), nil)
	f.first, f.last = f.first[:0], f.last[:0]
	return err
}

// deleteGroups deletes the groups that were compacted, with one tombstone if there are no others between them by now: a walk over
// the tombstones of each would take long.
func (f *compactor) deleteGroups() error {
	if len(f.groups) == 0 {
		return nil
	}
	first, last := f.groups[:keys.GroupSize], f.groups[len(f.groups)-keys.GroupSize:]
	end := append(slices.Clone(last), 0)
	it, err := kv.NewIter(f.s.graph.Live(), &pebble.IterOptions{LowerBound: first, UpperBound: end})
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
		return f.b.DeleteRange(first, end, nil)
	}
	for at := 0; at < len(f.groups); at += keys.GroupSize {
		if err := f.b.Delete(f.groups[at:at+keys.GroupSize], nil); err != nil {
			return err
		}
	}
	return nil
}

// compactGroups compacts chunks that have groups; all says that there are no others. A chunk is compacted as a whole, since its
// groups have runs of most of its lists: so each list is written once for all of them.
func (f *compactor) compactGroups(ctx context.Context, limit int) (all bool, err error) {
	c, err := f.r.cursor(keys.DeltaGroup)
	if err != nil {
		return false, err
	}
	ok := f.begin(c, keys.DeltaGroup)
	// Where the compaction before went on from, there may be groups before this one.
	from := f.from[keys.DeltaGroup]
	all = !ok || from == nil || bytes.Compare(c.key(), from) < 0
	for ; ok && f.taken < limit; ok = c.ok {
		if len(c.key()) != keys.GroupSize {
			return false, kv.Corrupt("delta edges", c.key(), codec.ErrDelta)
		}
		t, dir, local := keys.List(c.key())
		prefix := slices.Clone(c.key()[:keys.ListSize])
		for ok := true; ok && bytes.HasPrefix(c.key(), prefix); ok = c.next() {
			v, err := c.value()
			if err != nil {
				return false, err
			}
			n, _ := codec.Uvarint(v)
			f.groups = append(f.groups, c.key()...)
			f.taken += max(1, int(n))
		}
		if err := c.err(); err != nil {
			return false, err
		}
		if err := f.compactChunk(ctx, t, dir, local); err != nil {
			return false, err
		}
	}
	if err := c.err(); err != nil {
		return false, err
	}
	// A chunk is compacted as a whole, with the groups that may come to it before the last one of now.
	delete(f.from, keys.DeltaGroup)
	if n := len(f.groups); c.ok && n > 0 {
		f.from[keys.DeltaGroup] = keys.AppendSuccessor(nil, f.groups[n-keys.GroupSize:][:keys.ListSize])
	}
	return all && !c.ok, nil
}

// compactChunk compacts the lists of a chunk that have delta edges, in groups or of their own.
func (f *compactor) compactChunk(ctx context.Context, t graph.TypeID, dir graph.Direction, first uint64) error {
	l, err := f.r.listCursor(t, dir)
	if err != nil {
		return err
	}
	if err := l.groups.fill(t, dir, first); err != nil {
		return err
	}
	var lists []uint64
	for i := 0; i < len(l.groups.index.At); {
		place, n := l.groups.index.Lists(i)
		lists = append(lists, first+place)
		i += n
	}
	last := first | (1<<keys.GroupBits - 1)
	lower, upper := keys.AppendDelta(nil, t, dir, first), keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, last))
	own := 0
	ok := l.delta.seek(lower)
	for ; ok && bytes.Compare(l.delta.key(), upper) < 0; ok = l.delta.next() {
		if len(l.delta.key()) < keys.DeltaRunSize {
			return kv.Corrupt("delta edges", l.delta.key(), codec.ErrDelta)
		}
		_, _, local := keys.List(l.delta.key())
		if own == 0 || lists[len(lists)-1] != local {
			lists = append(lists, local)
		}
		own++
	}
	if err := l.delta.err(); err != nil {
		return err
	}
	if own > 0 {
		slices.Sort(lists)
		lists = slices.Compact(lists)
		if err := f.b.DeleteRange(lower, upper, nil); err != nil {
			return err
		}
		f.taken += own
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
	f.compacted = append(f.compacted, compactedChunk{listChunk{t, dir, first >> keys.GroupBits}, own > 0})
	return nil
}

// mostCompacted is the size in bytes of what is compacted of a chunk without groups, from which on the rest waits for the next
// compaction.
const mostCompacted = 32 << 20

// compactDense compacts chunks whose lists have many delta edges, as after a load. They come in the order of their lists, so that
// what they become enters as a table.
func (f *compactor) compactDense(ctx context.Context, limit int) error {
	c, err := f.r.cursor(keys.DeltaEdge)
	if err != nil {
		return err
	}
	for ok := c.seek([]byte{byte(keys.DeltaEdge)}); ok && f.taken < limit; {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		if len(c.key()) < keys.DeltaRunSize {
			return kv.Corrupt("delta edges", c.key(), codec.ErrDelta)
		}
		t, dir, local := keys.List(c.key())
		last := local | (1<<keys.GroupBits - 1)
		upper := keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, last))
		dense := f.isDense(c, upper)
		if ok = c.ok; !dense {
			continue
		}
		if !f.grouped(t, dir, local) {
			if err := f.compactRuns(ctx, t, dir, local, last); err != nil {
				return err
			}
		}
		ok = c.seek(upper)
	}
	return c.err()
}

// denseParts is the part of CompactStep that a chunk's delta edges must be for compactDense.
const denseParts = 4

// isDense moves a cursor past the delta edges before a key and reports whether there are many of them, or past as many.
func (f *compactor) isDense(c *cursor, upper []byte) bool {
	left := max(1, f.s.opts.Tuning.CompactStep/denseParts)
	for ok := c.ok; ok && left > 0 && bytes.Compare(c.key(), upper) < 0; ok = c.next() {
		left--
	}
	return left == 0
}

// compactRuns compacts lists that have delta edges, from a vertex on to the last of its chunk, which has no groups, or until that is
// much.
func (f *compactor) compactRuns(ctx context.Context, t graph.TypeID, dir graph.Direction, from, last uint64) error {
	l, err := f.r.listCursor(t, dir)
	if err != nil {
		return err
	}
	var lists []uint64
	var counts []int
	lower, upper := keys.AppendDelta(nil, t, dir, from), keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, last))
	for ok := l.delta.seek(lower); ok && bytes.Compare(l.delta.key(), upper) < 0; ok = l.delta.next() {
		_, _, local := keys.List(l.delta.key())
		if n := len(lists); n == 0 || lists[n-1] != local {
			lists, counts = append(lists, local), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	if err := l.delta.err(); err != nil {
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
		f.taken += counts[i]
		if f.b.Len() >= mostCompacted {
			upper = keys.AppendSuccessor(nil, keys.AppendDelta(nil, t, dir, local))
			break
		}
	}
	f.compacted = append(f.compacted, compactedChunk{listChunk{t, dir, from >> keys.GroupBits}, true})
	return f.b.DeleteRange(lower, upper, nil)
}

// Compaction is a compaction of chunks that is at work beside writers: it reads a snapshot, and what it makes of that is applied at
// its end. What was committed meanwhile lies over it, as over what was packed before, unless it touched records that the
// compact replaces.
type Compaction struct {
	f       *compactor
	v       *View
	version uint64      // of the snapshot
	commits uint64      // since then
	ones    []listChunk // that they touched
}

// note notes a commit, of whose lists the chunks have got or lost delta records of their own.
func (x *Compaction) note(ones []listChunk) {
	if x == nil {
		return
	}
	x.commits++
	for _, c := range ones {
		if !slices.Contains(x.ones, c) {
			x.ones = append(x.ones, c)
		}
	}
}

// BeginCompaction begins a compaction of chunks. The caller must be the only one who may write.
func (s *Shard) BeginCompaction() (*Compaction, error) {
	v, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	x := &Compaction{v: v, version: s.version}
	x.f = s.newCompactor(v.get())
	s.compaction = x
	return x, nil
}

// Run compacts chunks with groups, and then those with many other delta edges, until it has taken about limit delta records.
func (x *Compaction) Run(ctx context.Context, limit int) error {
	all, err := x.f.compactGroups(ctx, limit)
	if err == nil && all && x.f.taken < limit {
		err = x.f.compactDense(ctx, limit)
	}
	if err != nil {
		return kv.Fault("compact", err)
	}
	return nil
}

// End applies what Run has done, unless others have changed what it replaces; n is how many delta
// records are compacted. The caller must be the only one who may write. Discard ends a compaction that failed or is not wanted.
func (x *Compaction) End() (n int, useful bool, err error) {
	f := x.f
	touched := slices.ContainsFunc(f.compacted, func(c compactedChunk) bool { return c.own && slices.Contains(x.ones, c.listChunk) })
	if touched || f.s.version != x.version+x.commits {
		return 0, false, x.Discard()
	}
	if f.taken == 0 {
		return 0, true, x.Discard()
	}
	f.s.compaction = nil
	err = f.commit()
	return f.taken, true, errors.Join(err, x.close())
}

// Discard ends a compaction and leaves everything as it is. The caller must be the only one who may write.
func (x *Compaction) Discard() error {
	x.f.s.compaction = nil
	return errors.Join(x.f.b.Close(), x.close())
}

func (x *Compaction) close() (err error) {
	x.v.put(x.f.r, &err)
	return x.v.Close()
}
