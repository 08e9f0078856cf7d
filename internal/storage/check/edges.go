package check

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// edges checks the edge lists: packed and delta records side by side, one list after the other.
func (s *shardCheck) edges() (err error) {
	if err := s.openSets(); err != nil {
		return err
	}
	defer func() {
		if cerr := s.closeSets(); err == nil {
			err = cerr
		}
	}()
	lower, upper := keys.Bounds(keys.Adjacency)
	packed, err := s.iter(lower, upper)
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }()
	lower, upper = keys.Bounds(keys.DeltaEdge)
	delta, err := s.iter(lower, upper)
	if err != nil {
		return err
	}
	defer func() { _ = delta.Close() }()
	lower, upper = keys.Bounds(keys.DeltaGroup)
	groups, err := s.iter(lower, upper)
	if err != nil {
		return err
	}
	defer func() { _ = groups.Close() }()
	packed.First()
	delta.First()
	groups.First()
	s.groups = groupLists{it: groups}
	// The prefixes of lists in the two spaces differ only in their first byte.
	at := func(it kv.Iterator, size ...int) []byte {
		for it.Valid() && !slices.Contains(size, len(it.Key())) {
			s.malformed(it.Key(), codec.ErrRecord)
			it.Next()
		}
		if !it.Valid() {
			return nil
		}
		return it.Key()[1:keys.ListSize]
	}
	for {
		p, f := at(packed, keys.ListSize, keys.SegmentSize), at(delta, keys.DeltaOneSize, keys.DeltaRunSize)
		g, err := s.grouped()
		if err != nil {
			return err
		}
		list := p
		for _, other := range [...][]byte{f, g} {
			if list == nil || other != nil && bytes.Compare(other, list) < 0 {
				list = other
			}
		}
		if list == nil {
			break
		}
		s.ident = append(append(s.ident[:0], byte(keys.Adjacency)), list...)
		if err := s.checkList(slices.Clone(s.ident), packed, delta); err != nil {
			return err
		}
	}
	if err := packed.Error(); err != nil {
		return s.damage("graph", err)
	}
	if err := delta.Error(); err != nil {
		return s.damage("graph", err)
	}
	return s.damage("graph", groups.Error())
}

// groupLists goes through the lists that have runs in groups, one chunk after the other.
type groupLists struct {
	it     kv.Iterator
	prefix []byte // of the keys of the chunk's groups
	x      codec.GroupIndex
	i      int    // of x.at: the current list
	list   []byte // its key but for the keyspace
}

// grouped returns the current list of those in groups, nil after the last.
func (s *shardCheck) grouped() ([]byte, error) {
	g := &s.groups
	for g.i == len(g.x.At) {
		if !g.it.Valid() {
			return nil, nil
		}
		if len(g.it.Key()) != keys.GroupSize {
			s.malformed(g.it.Key(), codec.ErrRecord)
			g.it.Next()
			continue
		}
		g.x.Reset()
		g.i = 0
		g.prefix = append(g.prefix[:0], g.it.Key()[:keys.ListSize]...)
		for ; g.it.Valid() && len(g.it.Key()) == keys.GroupSize && bytes.HasPrefix(g.it.Key(), g.prefix); g.it.Next() {
			if err := s.alive(); err != nil {
				return nil, err
			}
			v, err := g.it.ValueAndErr()
			if err != nil {
				return nil, s.damage("graph", err)
			}
			if err := g.x.Add(slices.Clone(v)); err != nil {
				s.malformed(g.it.Key(), err)
			}
		}
		g.x.Index()
	}
	_, _, first := keys.List(g.prefix)
	place, _ := g.x.Lists(g.i)
	g.list = keys.AppendLocal(append(g.list[:0], g.prefix[1:keys.ListSize-keys.LocalSize]...), first+place)
	return g.list, nil
}

// checkList puts a list together, whose first segment has the key first, and checks it. The iterators stand on its
// records, and behind them afterwards.
func (s *shardCheck) checkList(first []byte, packed, delta kv.Iterator) error {
	t, dir, local := keys.List(first)
	m := &s.list
	m.Reset()
	s.runs = s.runs[:0]
	whole := true
	bad := func(key []byte, err error) {
		whole = false
		s.malformed(key, err)
	}
	for ; delta.Valid() && bytes.Equal(delta.Key()[1:min(len(delta.Key()), keys.ListSize)], first[1:]); delta.Next() {
		if err := s.alive(); err != nil {
			return err
		}
		k := delta.Key()
		v, err := delta.ValueAndErr()
		if err != nil {
			return s.damage("graph", err)
		}
		switch {
		case len(k) == keys.DeltaRunSize && k[keys.ListSize] == keys.DeltaRun:
			s.runs = append(s.runs, slices.Clone(v))
		case len(k) == keys.DeltaOneSize && k[keys.ListSize] == keys.DeltaOne:
			n, e := keys.Pair(k[keys.ListSize+1:])
			if err := m.AddOne(n, e, v); err != nil {
				bad(k, err)
			}
		default:
			bad(k, codec.ErrDelta)
		}
	}
	if g := &s.groups; g.i < len(g.x.At) && bytes.Equal(g.list, first[1:]) {
		_, n := g.x.Lists(g.i)
		for ; n > 0; g.i, n = g.i+1, n-1 {
			run, err := g.x.Run(g.i)
			if err != nil {
				bad(g.prefix, err)
				continue
			}
			s.runs = append(s.runs, run)
		}
	}
	total, sum := -1, 0
	var firstValue []byte
	for ; packed.Valid() && bytes.HasPrefix(packed.Key(), first); packed.Next() {
		if err := s.alive(); err != nil {
			return err
		}
		k := packed.Key()
		v, err := packed.ValueAndErr()
		if err != nil {
			return s.damage("graph", err)
		}
		n := len(m.Segs)
		if err := m.AddSegment(v); err != nil {
			bad(k, err)
			continue
		}
		seg := &m.Segs[n]
		if sum += seg.N; len(k) == keys.ListSize {
			total, firstValue = seg.Total, slices.Clone(v)
		} else if nb, e := keys.Pair(k[keys.ListSize:]); seg.N > 0 && (codec.Row{Neighbour: m.Neighbours[0], Edge: m.IDs[0]}).Compare(codec.Row{Neighbour: nb, Edge: e}) < 0 {
			s.note(FaultList, nil, "%s: a segment begins before its key", s.listName(t, dir, local))
		}
		if !slices.IsSorted(m.Neighbours) {
			s.note(FaultList, nil, "%s: a segment is not in order", s.listName(t, dir, local))
		}
	}
	for _, b := range s.runs {
		if err := m.AddSegment(b); err != nil {
			bad(first, err)
		}
	}
	m.Sort()
	if s.first {
		stats.ResizeList(s.bars, t, dir, 0, sum)
	}
	if whole {
		s.checkTotal(first, firstValue, total, sum)
		s.checkOverrides(first, m)
	}
	return s.enterList(t, dir, local, m)
}

func (s *shardCheck) listName(t graph.TypeID, dir graph.Direction, local uint64) string {
	way := "out"
	if dir == graph.In {
		way = "in"
	}
	return "vertex " + number(uint64(graph.MakeVertexID(s.no, local))) + ", " + way + " list of " + s.cat.TypeName(t)
}

// checkTotal checks the number of edges that a list's first segment gives.
func (s *shardCheck) checkTotal(first, value []byte, total, sum int) {
	if !s.first || total == sum || total < 0 && sum == 0 {
		return
	}
	t, dir, local := keys.List(first)
	var fixes []storage.Fix
	if value != nil {
		n, rest := codec.Uvarint(value)
		_, rest = codec.Uvarint(rest)
		fixed := binary.AppendUvarint(binary.AppendUvarint(nil, n), uint64(sum))
		fixes = []storage.Fix{{Shard: s.no, Key: first, Value: append(fixed, rest...)}}
	}
	s.note(FaultList, fixes, "%s: its segments hold %d edges, not %d", s.listName(t, dir, local), sum, total)
}

// checkOverrides checks that the delta edges that change or delete a packed one do so.
func (s *shardCheck) checkOverrides(first []byte, m *codec.Merged) {
	if !s.first || len(m.Dropped) == len(m.Over) {
		return
	}
	t, dir, local := keys.List(first)
	slices.SortFunc(m.Dropped, codec.Row.Compare)
	for _, o := range m.Over {
		if _, ok := slices.BinarySearchFunc(m.Dropped, o, codec.Row.Compare); ok {
			continue
		}
		key := keys.AppendDeltaOne(nil, t, dir, local, o.Neighbour, o.Edge)
		fix := storage.Fix{Shard: s.no, Key: key, Delete: true}
		if i, ok := slices.BinarySearchFunc(m.Rows, o, codec.Row.Compare); ok {
			fix = storage.Fix{Shard: s.no, Key: key, Value: append([]byte{codec.DeltaInserted}, m.One(m.Rows[i])...)}
		}
		s.note(FaultList, []storage.Fix{fix}, "%s: a delta record changes edge %d, which is not packed", s.listName(t, dir, local), uint64(o.Edge))
	}
}

// enterList enters the edges of a list.
func (s *shardCheck) enterList(t graph.TypeID, dir graph.Direction, local uint64, m *codec.Merged) error {
	set, err := s.set(local)
	if err != nil {
		return err
	}
	own := graph.MakeVertexID(s.no, local)
	if set == 0 && len(m.Rows) > 0 {
		s.note(FaultDangling, nil, "%s: it has %d edges, but there is no such vertex", s.listName(t, dir, local), len(m.Rows))
	}
	labels := s.cat.Labels(set)
	if dir == graph.Out {
		s.counts[stats.Count{Kind: stats.CountEdges}] += int64(len(m.Rows))
		s.counts[stats.Count{Kind: stats.CountType, Type: t}] += int64(len(m.Rows))
		for _, l := range labels {
			s.counts[stats.Count{Kind: stats.CountSrc, Label: l, Type: t}] += int64(len(m.Rows))
		}
	} else {
		for _, l := range labels {
			s.counts[stats.Count{Kind: stats.CountDst, Label: l, Type: t}] += int64(len(m.Rows))
		}
	}
	props, err := m.Props()
	if err != nil {
		s.malformed(keys.AppendList(nil, t, dir, local), err)
		return nil
	}
	var body, cell []byte
	var prev codec.Row
	have := make([]int64, len(props))
	for i, r := range m.Rows {
		if i > 0 && r.Compare(prev) == 0 {
			s.note(FaultList, nil, "%s: edge %d stands twice", s.listName(t, dir, local), uint64(r.Edge))
		}
		prev = r
		body = body[:0]
		for k, prop := range props {
			cell = cell[:0]
			if cell, err = m.AppendCell(cell, r, prop); err != nil {
				s.malformed(keys.AppendList(nil, t, dir, local), err)
				return nil
			}
			if len(cell) == 0 || cell[0] == byte(graph.Null) {
				continue
			}
			have[k]++
			body = append(binary.AppendUvarint(body, uint64(prop)), cell...)
			if dir == graph.Out {
				s.refer(cell, true)
			}
		}
		e := graph.Edge{ID: r.Edge, Type: t, Src: own, Dst: r.Neighbour}
		side, aux := expected, body
		if dir == graph.In {
			e.Src, e.Dst, side = r.Neighbour, own, found
			aux = []byte{stateOf(m, r)}
		} else {
			if r.Edge.Shard() == s.no {
				s.beyond(keys.MetaNextEdge, &s.next.Edge, r.Edge.Local(), "edge")
			}
			if err := s.indexedEdge(e, body); err != nil {
				return err
			}
		}
		s.edge(side, e, body, aux)
	}
	if dir == graph.Out {
		for k, prop := range props {
			if have[k] > 0 && prop < codec.HiddenProps {
				s.counts[stats.Count{Kind: stats.CountEdgeProp, Type: t, Prop: prop}] += have[k]
			}
		}
		for _, r := range m.Dropped {
			for _, prop := range props {
				var c codec.Column
				if ok, err := m.Segs[r.From].Column(prop, &c); err != nil || !ok {
					continue
				}
				if cell, err = c.AppendCell(cell[:0], int(r.At)); err == nil {
					s.refer(cell, false)
				}
			}
		}
	}
	return nil
}

// stateOf is how an edge of a list is stored: packed, which is 0, or a state of delta edges.
func stateOf(m *codec.Merged, r codec.Row) byte {
	if r.From >= 0 {
		return 0
	}
	for _, o := range m.Over {
		if o.Compare(r) == 0 {
			return codec.DeltaUpdated
		}
	}
	return codec.DeltaInserted
}

// edge enters an edge as one of its lists has it.
func (s *shardCheck) edge(side int, e graph.Edge, body, aux []byte) {
	s.item = appendUint32(append(s.item[:0], itemEdge), uint32(e.Type))
	s.item = appendUint64(s.item, uint64(e.ID))
	s.item = appendUint64(appendUint64(s.item, uint64(e.Src)), uint64(e.Dst))
	size := len(s.item)
	s.item = appendUint64(s.item, maphash.Bytes(s.balance.what, body))
	s.balance.put(side, s.item, size, aux)
	if side == expected {
		if s.first {
			s.out.Edges++
		}
	}
}

// indexedEdge enters the entries that an edge must have.
func (s *shardCheck) indexedEdge(e graph.Edge, body []byte) error {
	for x := range s.indexes {
		ix := &s.indexes[x]
		if ix.Type == 0 || ix.Type != e.Type {
			continue
		}
		vals := make([]graph.Value, len(ix.Props))
		ok := true
		for p, prop := range ix.Props {
			cell, err := codec.PropCell(body, prop)
			if err != nil {
				return nil //nolint:nilerr // noted before
			}
			if vals[p], err = s.value(cell); err != nil {
				return err
			}
			ok = ok && !vals[p].IsNull()
		}
		if ix.Required && !ok {
			s.note(FaultRequired, nil, "constraint %s: edge %d lacks a property", ix.Name, uint64(e.ID))
		}
		s.expectEntry(ix, vals, graph.IndexOwner{Vertex: e.Src, Dst: e.Dst, Edge: e.ID, IsEdge: true})
	}
	return nil
}
