package storage

import (
	"bytes"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// foldedChunk is a chunk of lists of one type and direction.
type foldedChunk struct {
	t     graph.TypeID
	dir   graph.Direction
	chunk uint64
}

// grouped reports whether a list lies in a chunk that was folded already.
func (f *folder) grouped(t graph.TypeID, dir graph.Direction, local uint64) bool {
	return slices.Contains(f.folded, foldedChunk{t, dir, local >> keys.GroupBits})
}

// foldGroups folds chunks that have groups; all says that there are no others. A chunk is folded as a whole, since its
// groups have runs of most of its lists: so each list is written once for all of them.
func (f *folder) foldGroups(ctx context.Context, limit int) (all bool, err error) {
	c, err := f.r.cursor(keys.FreshGroup)
	if err != nil {
		return false, err
	}
	ok := f.begin(c, keys.FreshGroup)
	// Where the fold before went on from, there may be groups before this one.
	from := f.from[keys.FreshGroup]
	all = !ok || from == nil || bytes.Compare(c.key(), from) < 0
	for ; ok && f.taken < limit; ok = c.ok {
		if len(c.key()) != keys.GroupSize {
			return false, corrupt("fresh edges", c.key(), errFresh)
		}
		t, dir, local := keys.List(c.key())
		prefix := slices.Clone(c.key()[:keys.ListSize])
		for ok := true; ok && bytes.HasPrefix(c.key(), prefix); ok = c.next() {
			v, err := c.value()
			if err != nil {
				return false, err
			}
			n, _ := uvarint(v)
			f.take(c)
			f.taken += max(0, int(n)-1)
		}
		if err := c.err(); err != nil {
			return false, err
		}
		if err := f.foldChunk(ctx, t, dir, local); err != nil {
			return false, err
		}
	}
	return all && !c.ok, f.end(c, keys.FreshGroup)
}

// foldChunk folds the lists of a chunk that have fresh edges, in groups or of their own.
func (f *folder) foldChunk(ctx context.Context, t graph.TypeID, dir graph.Direction, first uint64) error {
	l, err := f.r.listCursor(t, dir)
	if err != nil {
		return err
	}
	if err := l.groups.fill(t, dir, first); err != nil {
		return err
	}
	var lists []uint64
	for i := 0; i < len(l.groups.index.at); {
		place, n := l.groups.index.lists(i)
		lists = append(lists, first+place)
		i += n
	}
	last := first | (1<<keys.GroupBits - 1)
	lower, upper := keys.AppendFresh(nil, t, dir, first), keys.AppendSuccessor(nil, keys.AppendFresh(nil, t, dir, last))
	own := 0
	ok := l.fresh.seek(lower)
	for ; ok && bytes.Compare(l.fresh.key(), upper) < 0; ok = l.fresh.next() {
		if len(l.fresh.key()) < keys.FreshRunSize {
			return corrupt("fresh edges", l.fresh.key(), errFresh)
		}
		_, _, local := keys.List(l.fresh.key())
		if own == 0 || lists[len(lists)-1] != local {
			lists = append(lists, local)
		}
		own++
	}
	if err := l.fresh.err(); err != nil {
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
			if err := Alive(ctx); err != nil {
				return err
			}
		}
		if err := f.foldList(&l, local); err != nil {
			return err
		}
	}
	f.folded = append(f.folded, foldedChunk{t, dir, first >> keys.GroupBits})
	return nil
}
