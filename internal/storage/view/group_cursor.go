package view

import (
	"bytes"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// GroupCursor finds the runs of lists in the groups of one type and direction. For the first list of a chunk it searches each group; for a
// second one it indexes all groups of the chunk.
type GroupCursor struct {
	c      *Cursor
	prefix []byte
	// Of the chunks from noneFrom on, those before noneTo have no groups.
	noneFrom, noneTo uint64
	local            uint64 // whose runs these are, if known
	known            bool
	buf              []byte
	ends             []int
	chunk            uint64 // that was searched or indexed, if seen
	seen, indexed    bool
	Index            codec.GroupIndex
}

// runs calls f with each run of the list that find has found last.
func (g *GroupCursor) runs(f func(run []byte) error) error {
	from := 0
	for _, to := range g.ends {
		if err := f(g.buf[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (g *GroupCursor) add(run []byte) {
	g.buf = append(g.buf, run...)
	g.ends = append(g.ends, len(g.buf))
}

// find finds the runs of a vertex's list.
func (g *GroupCursor) find(t graph.TypeID, dir graph.Direction, local uint64) (err error) {
	if g.known && local == g.local {
		return nil
	}
	g.known = false
	g.buf, g.ends = g.buf[:0], g.ends[:0]
	chunk := local >> keys.GroupBits
	if chunk >= g.noneFrom && chunk < g.noneTo {
		return nil
	}
	again := g.seen && chunk == g.chunk
	if again && !g.indexed {
		err = g.Fill(t, dir, local)
	}
	switch {
	case err != nil:
	case again:
		err = g.look(local)
	default:
		g.chunk, g.indexed = chunk, false
		err = g.walk(t, dir, local)
	}
	g.seen, g.local, g.known = err == nil, local, err == nil
	return err
}

// walk searches each group of a chunk for a list's runs.
func (g *GroupCursor) walk(t graph.TypeID, dir graph.Direction, local uint64) error {
	return g.each(t, dir, local, func(k, v []byte) error {
		var one codec.Group
		if err := one.Parse(v); err != nil {
			return kv.Corrupt("delta edges", k, err)
		}
		if i := one.Find(local & (1<<keys.GroupBits - 1)); i >= 0 {
			run, err := one.Run(i)
			if err != nil {
				return kv.Corrupt("delta edges", k, err)
			}
			g.add(run)
		}
		return nil
	})
}

// Fill indexes the lists of all groups of a chunk.
func (g *GroupCursor) Fill(t graph.TypeID, dir graph.Direction, local uint64) error {
	g.Index.Reset()
	g.known, g.chunk = false, local>>keys.GroupBits
	err := g.each(t, dir, local, func(k, v []byte) error {
		if err := g.Index.Add(slices.Clone(v)); err != nil {
			return kv.Corrupt("delta edges", k, err)
		}
		return nil
	})
	g.Index.Index()
	g.seen, g.indexed = err == nil, err == nil
	return err
}

// look looks a list's runs up in the index.
func (g *GroupCursor) look(local uint64) error {
	place := local & (1<<keys.GroupBits - 1)
	i, _ := slices.BinarySearch(g.Index.At, place<<codec.PlaceBits)
	if i == len(g.Index.At) || g.Index.At[i]>>codec.PlaceBits != place {
		return nil
	}
	_, n := g.Index.Lists(i)
	for ; n > 0; i, n = i+1, n-1 {
		run, err := g.Index.Run(i)
		if err != nil {
			return kv.Corrupt("delta edges", g.prefix, err)
		}
		g.add(run)
	}
	return nil
}

// each calls f with each group of a chunk.
func (g *GroupCursor) each(t graph.TypeID, dir graph.Direction, local uint64, f func(key, value []byte) error) error {
	g.prefix = keys.AppendGroups(g.prefix[:0], t, dir, local)
	ok := g.c.Seek(g.prefix)
	if !ok || !bytes.HasPrefix(g.c.Key(), g.prefix) {
		if err := g.c.Err(); err != nil {
			return err
		}
		g.noneFrom, g.noneTo = local>>keys.GroupBits, math.MaxUint64
		if ok {
			if len(g.c.Key()) != keys.GroupSize {
				return kv.Corrupt("delta edges", g.c.Key(), codec.ErrDelta)
			}
			_, _, next := keys.List(g.c.Key())
			g.noneTo = next >> keys.GroupBits
		}
		return nil
	}
	for ; ok && bytes.HasPrefix(g.c.Key(), g.prefix); ok = g.c.Next() {
		k := g.c.Key()
		v, err := g.c.Value()
		if err != nil {
			return err
		}
		if len(k) != keys.GroupSize {
			return kv.Corrupt("delta edges", k, codec.ErrDelta)
		}
		if err := f(k, v); err != nil {
			return err
		}
	}
	if !ok {
		return g.c.Err()
	}
	return nil
}
