package storage

import (
	"bytes"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// groupCursor finds the runs of lists in the groups of their type and direction. One list's are looked for in each group
// of its chunk; when a second list of the chunk is asked for, all of them are put in order.
type groupCursor struct {
	c      *cursor
	prefix []byte
	// Of the chunks from noneFrom on, those before noneTo have no groups.
	noneFrom, noneTo uint64
	local            uint64 // whose runs these are, if known
	known            bool
	buf              []byte
	ends             []int
	chunk            uint64 // that was walked or put in order, if seen
	seen, indexed    bool
	index            codec.GroupIndex
}

// runs calls f with each run of the list that was asked for last.
func (g *groupCursor) runs(f func(run []byte) error) error {
	from := 0
	for _, to := range g.ends {
		if err := f(g.buf[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (g *groupCursor) add(run []byte) {
	g.buf = append(g.buf, run...)
	g.ends = append(g.ends, len(g.buf))
}

// find finds the runs of a vertex's list.
func (g *groupCursor) find(t graph.TypeID, dir graph.Direction, local uint64) (err error) {
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
		err = g.fill(t, dir, local)
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

// walk looks for a list's runs in each group of its chunk.
func (g *groupCursor) walk(t graph.TypeID, dir graph.Direction, local uint64) error {
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

// fill puts the lists of all groups of a chunk in order.
func (g *groupCursor) fill(t graph.TypeID, dir graph.Direction, local uint64) error {
	g.index.Reset()
	g.known, g.chunk = false, local>>keys.GroupBits
	err := g.each(t, dir, local, func(k, v []byte) error {
		if err := g.index.Add(slices.Clone(v)); err != nil {
			return kv.Corrupt("delta edges", k, err)
		}
		return nil
	})
	g.index.Index()
	g.seen, g.indexed = err == nil, err == nil
	return err
}

// look looks a list's runs up.
func (g *groupCursor) look(local uint64) error {
	place := local & (1<<keys.GroupBits - 1)
	i, _ := slices.BinarySearch(g.index.At, place<<codec.PlaceBits)
	if i == len(g.index.At) || g.index.At[i]>>codec.PlaceBits != place {
		return nil
	}
	_, n := g.index.Lists(i)
	for ; n > 0; i, n = i+1, n-1 {
		run, err := g.index.Run(i)
		if err != nil {
			return kv.Corrupt("delta edges", g.prefix, err)
		}
		g.add(run)
	}
	return nil
}

// each calls f with each group of a chunk.
func (g *groupCursor) each(t graph.TypeID, dir graph.Direction, local uint64, f func(key, value []byte) error) error {
	g.prefix = keys.AppendGroups(g.prefix[:0], t, dir, local)
	ok := g.c.seek(g.prefix)
	if !ok || !bytes.HasPrefix(g.c.key(), g.prefix) {
		if err := g.c.err(); err != nil {
			return err
		}
		g.noneFrom, g.noneTo = local>>keys.GroupBits, math.MaxUint64
		if ok {
			if len(g.c.key()) != keys.GroupSize {
				return kv.Corrupt("delta edges", g.c.key(), codec.ErrDelta)
			}
			_, _, next := keys.List(g.c.key())
			g.noneTo = next >> keys.GroupBits
		}
		return nil
	}
	for ; ok && bytes.HasPrefix(g.c.key(), g.prefix); ok = g.c.next() {
		k := g.c.key()
		v, err := g.c.value()
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
		return g.c.err()
	}
	return nil
}
