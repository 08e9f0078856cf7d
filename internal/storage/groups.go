package storage

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A group holds the runs of edges that one commit appended to lists of one type, direction and chunk of 65,536 vertices,
// so that they need not a record each. It is stored as
//
//	uvarint  number of lists
//	byte     width of an end in bytes
//	bytes    lists × the vertex's place in the chunk, two bytes, ascending
//	bytes    lists × the end of the list's run among the runs, little-endian
//	bytes    runs: the edges of each list, packed like a segment
type group struct {
	n, width       int
	vertices, ends []byte
	runs           []byte
}

// parse opens a group, whose bytes it shares, and checks its sizes.
func (g *group) parse(b []byte) error {
	*g = group{}
	n, b := uvarint(b)
	if len(b) == 0 || b[0] > 8 || n > uint64(len(b)) {
		return errDelta
	}
	g.n, g.width = int(n), int(b[0])
	b = b[1:]
	if len(b) < g.n*(2+g.width) {
		return errDelta
	}
	g.vertices, b = b[:2*g.n], b[2*g.n:]
	g.ends, g.runs = b[:g.n*g.width], b[g.n*g.width:]
	return nil
}

// vertex is the place in the chunk of the vertex of list i.
func (g *group) vertex(i int) uint64 { return uint64(binary.LittleEndian.Uint16(g.vertices[2*i:])) }

// run is the run of list i.
func (g *group) run(i int) ([]byte, error) {
	from := uint64(0)
	if i > 0 {
		from = fixed(g.ends, i-1, g.width)
	}
	to := fixed(g.ends, i, g.width)
	if from > to || to > uint64(len(g.runs)) {
		return nil, errDelta
	}
	return g.runs[from:to], nil
}

// find finds the list of the vertex at a place in the chunk; -1 if the group has none.
func (g *group) find(place uint64) int {
	from, to := 0, g.n
	for from < to {
		mid := (from + to) / 2
		if g.vertex(mid) < place {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from == g.n || g.vertex(from) != place {
		return -1
	}
	return from
}

// groupIndex holds all groups of a chunk, by vertex.
type groupIndex struct {
	groups []group
	at     []uint64 // place, number of the group, number of the list; ascending
}

const (
	placeBits = 64 - keys.GroupBits
	listBits  = placeBits / 2
)

func (x *groupIndex) reset() { x.groups, x.at = x.groups[:0], x.at[:0] }

// add adds a group, whose bytes it shares. index follows the last one.
func (x *groupIndex) add(b []byte) error {
	var g group
	if err := g.parse(b); err != nil {
		return err
	}
	for i := 1; i < g.n; i++ {
		if g.vertex(i) <= g.vertex(i-1) {
			return errDelta
		}
	}
	for i := range g.n {
		x.at = append(x.at, g.vertex(i)<<placeBits|uint64(len(x.groups))<<listBits|uint64(i))
	}
	x.groups = append(x.groups, g)
	return nil
}

func (x *groupIndex) index() { slices.Sort(x.at) }

// lists is how many entries, from i on, are of one vertex, whose place in the chunk it gives.
func (x *groupIndex) lists(i int) (place uint64, n int) {
	place = x.at[i] >> placeBits
	for n = 1; i+n < len(x.at) && x.at[i+n]>>placeBits == place; n++ {
	}
	return place, n
}

// run is the run of entry i.
func (x *groupIndex) run(i int) ([]byte, error) {
	return x.groups[x.at[i]>>listBits&(1<<listBits-1)].run(int(x.at[i] & (1<<listBits - 1)))
}

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
	index            groupIndex
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
		var one group
		if err := one.parse(v); err != nil {
			return corrupt("delta edges", k, err)
		}
		if i := one.find(local & (1<<keys.GroupBits - 1)); i >= 0 {
			run, err := one.run(i)
			if err != nil {
				return corrupt("delta edges", k, err)
			}
			g.add(run)
		}
		return nil
	})
}

// fill puts the lists of all groups of a chunk in order.
func (g *groupCursor) fill(t graph.TypeID, dir graph.Direction, local uint64) error {
	g.index.reset()
	g.known, g.chunk = false, local>>keys.GroupBits
	err := g.each(t, dir, local, func(k, v []byte) error {
		if err := g.index.add(slices.Clone(v)); err != nil {
			return corrupt("delta edges", k, err)
		}
		return nil
	})
	g.index.index()
	g.seen, g.indexed = err == nil, err == nil
	return err
}

// look looks a list's runs up.
func (g *groupCursor) look(local uint64) error {
	place := local & (1<<keys.GroupBits - 1)
	i, _ := slices.BinarySearch(g.index.at, place<<placeBits)
	if i == len(g.index.at) || g.index.at[i]>>placeBits != place {
		return nil
	}
	_, n := g.index.lists(i)
	for ; n > 0; i, n = i+1, n-1 {
		run, err := g.index.run(i)
		if err != nil {
			return corrupt("delta edges", g.prefix, err)
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
				return corrupt("delta edges", g.c.key(), errDelta)
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
			return corrupt("delta edges", k, errDelta)
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
