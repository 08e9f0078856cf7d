package check

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// nextIDs reads the ids that are given out next.
func (s *shardCheck) nextIDs() error {
	for what, p := range s.next.Records() {
		n, err := kv.ReadNumber(s.v.Graph(), keys.MetaKey(what))
		if err != nil {
			return s.damage("graph", err)
		}
		*p = n
	}
	return nil
}

// beyond notes an id that is not below the counter, which what names, and raises it.
func (s *shardCheck) beyond(what byte, next *uint64, local uint64, name string) {
	if local < *next {
		return
	}
	s.note(FaultNextID, []storage.Fix{{Shard: s.no, Key: keys.MetaKey(what), Raise: local + 1}},
		"shard %d: %s %d is not below the next id %d", s.no, name, local, *next)
	*next = local + 1
}

// gridCells are the cells of one property of a grid cell's vertices.
type gridCells struct {
	at  [codec.GridRows][]byte
	buf []byte
}

func (g *gridCells) reset() { clear(g.at[:]); g.buf = g.buf[:0] }

// properties lists the properties that some chunk or delta record holds, ascending.
func (s *shardCheck) properties() ([]graph.PropID, error) {
	var props []graph.PropID
	lower, upper := keys.Bounds(keys.Column)
	it, err := s.iter(lower, upper)
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; {
		if len(it.Key()) != keys.ChunkSize {
			s.malformed(it.Key(), codec.ErrRecord)
			ok = it.Next()
			continue
		}
		p, _ := keys.Chunk(it.Key())
		props = append(props, p)
		ok = it.SeekGE(keys.AppendSuccessor(nil, it.Key()[:5]))
	}
	if err := it.Close(); err != nil {
		return nil, s.damage("graph", err)
	}
	seen := map[graph.PropID]bool{}
	lower, upper = keys.Bounds(keys.DeltaProp)
	err = s.scan(lower, upper, func(k, v []byte) error {
		err := codec.EachProp(v, func(p graph.PropID, _ []byte) error { seen[p] = true; return nil })
		if err != nil || len(k) != keys.DeltaVSize {
			s.malformed(k, codec.ErrDelta)
		}
		return nil
	})
	for p := range seen {
		props = append(props, p)
	}
	slices.Sort(props)
	return slices.Compact(props), err
}

// fill reads the cells of a property in the grid cell that begins at base, without what is delta.
func (s *shardCheck) fill(it kv.Iterator, p graph.PropID, base uint64, out *gridCells) error {
	var col codec.Column
	for ok := it.SeekGE(keys.AppendChunk(s.key[:0], p, base)); ok; ok = it.Next() {
		k := it.Key()
		if len(k) != keys.ChunkSize {
			continue
		}
		q, last := keys.Chunk(k)
		if q != p {
			break
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return s.damage("graph", err)
		}
		if err := col.Parse(v); err != nil || col.N == 0 || uint64(col.N) > last+1 {
			s.malformed(k, codec.ErrColumn)
			continue
		}
		first := last + 1 - uint64(col.N)
		if first >= base+codec.GridRows {
			break
		}
		for i := range col.N {
			local := first + uint64(i)
			if local < base || local >= base+codec.GridRows {
				continue
			}
			start := len(out.buf)
			if out.buf, err = col.AppendCell(out.buf, i); err != nil {
				s.malformed(k, err)
				break
			}
			if len(out.buf) > start {
				out.at[local-base] = out.buf[start:len(out.buf):len(out.buf)]
			}
		}
	}
	return s.damage("graph", it.Error())
}

// gridSets reads the label sets of vertices, best in ascending order.
type gridSets struct {
	base  uint64
	known bool
	sets  [codec.GridRows]graph.LabelSet
	cells gridCells
	cols  kv.Iterator
	delta kv.Iterator
}

func (s *shardCheck) openSets() (err error) {
	s.sets.known = false
	lower, upper := keys.Bounds(keys.Column)
	if s.sets.cols, err = s.iter(lower, upper); err != nil {
		return err
	}
	lower, upper = keys.Bounds(keys.DeltaProp)
	s.sets.delta, err = s.iter(lower, upper)
	return err
}

func (s *shardCheck) closeSets() error {
	err := s.sets.cols.Close()
	if s.sets.delta != nil {
		if ferr := s.sets.delta.Close(); err == nil {
			err = ferr
		}
	}
	return s.damage("graph", err)
}

// set returns the label set of a vertex, or 0.
func (s *shardCheck) set(local uint64) (graph.LabelSet, error) {
	g := &s.sets
	if base := local &^ (codec.GridRows - 1); !g.known || g.base != base {
		g.cells.reset()
		if err := s.fill(g.cols, codec.LabelSetProp, base, &g.cells); err != nil {
			return 0, err
		}
		err := s.eachDelta(g.delta, base, func(local uint64, body []byte) error {
			cell, err := codec.PropCell(body, codec.LabelSetProp)
			if err == nil && cell != nil {
				g.cells.at[local-base] = slices.Clone(cell)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for i, cell := range g.cells.at {
			g.sets[i] = setOf(cell)
		}
		g.base, g.known = base, true
	}
	return g.sets[local-g.base], nil
}

// setOf reads a label set's cell.
func setOf(cell []byte) graph.LabelSet {
	if len(cell) == 0 {
		return 0
	}
	v, _, isRef, _, err := keys.Cell(cell)
	if err != nil || isRef || v.Kind() != graph.Int {
		return 0
	}
	return graph.LabelSet(v.Int())
}

// eachDelta calls f with the delta records of a grid cell.
func (s *shardCheck) eachDelta(it kv.Iterator, base uint64, f func(local uint64, body []byte) error) error {
	for ok := it.SeekGE(keys.AppendDeltaProps(s.key[:0], base)); ok; ok = it.Next() {
		if len(it.Key()) != keys.DeltaVSize {
			continue
		}
		local := keys.Local(it.Key()[1:])
		if local >= base+codec.GridRows {
			break
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return s.damage("graph", err)
		}
		if err := f(local, v); err != nil {
			return err
		}
	}
	return s.damage("graph", it.Error())
}

// vertices checks what is stored of vertices, one grid cell after the other.
func (s *shardCheck) vertices() (err error) {
	props, err := s.properties()
	if err != nil {
		return err
	}
	if err := s.openSets(); err != nil {
		return err
	}
	defer func() {
		if cerr := s.closeSets(); err == nil {
			err = cerr
		}
	}()
	cols, delta := s.sets.cols, s.sets.delta
	indexed := map[graph.PropID]*gridCells{}
	for _, ix := range s.indexes {
		if ix.Type == 0 {
			for _, p := range ix.Props {
				indexed[p] = &gridCells{}
			}
		}
	}
	end, err := s.endOfVertices(props)
	if err != nil {
		return err
	}
	var scratch gridCells
	for base := uint64(0); base < end; base += codec.GridRows {
		if err := s.alive(); err != nil {
			return err
		}
		bodies := map[uint64][]byte{}
		err := s.eachDelta(delta, base, func(local uint64, body []byte) error {
			bodies[local] = slices.Clone(body)
			return nil
		})
		if err != nil {
			return err
		}
		s.sets.known = false
		if _, err := s.set(base); err != nil {
			return err
		}
		s.countVertices(base)
		for _, p := range props {
			if p == codec.LabelSetProp {
				continue
			}
			cells := &scratch
			if indexed[p] != nil {
				cells = indexed[p]
			}
			cells.reset()
			if err := s.fill(cols, p, base, cells); err != nil {
				return err
			}
			for local, body := range bodies {
				cell, err := codec.PropCell(body, p)
				if err != nil || cell == nil {
					continue
				}
				s.refer(cells.at[local-base], false)
				cells.at[local-base] = cell
				if cell[0] == byte(graph.Null) {
					cells.at[local-base] = nil
				}
			}
			for _, cell := range cells.at {
				s.refer(cell, true)
			}
			s.checkCells(base, p, cells)
		}
		if err := s.checkIndexed(base, indexed); err != nil {
			return err
		}
		for _, c := range indexed {
			c.reset()
		}
	}
	return nil
}

// endOfVertices is above all local ids that are stored or may have been given out.
func (s *shardCheck) endOfVertices(props []graph.PropID) (uint64, error) {
	end := s.next.Vertex
	for _, space := range []keys.Space{keys.Column, keys.DeltaProp} {
		lower, upper := keys.Bounds(space)
		it, err := s.iter(lower, upper)
		if err != nil {
			return 0, err
		}
		if space == keys.DeltaProp {
			if it.SeekLT(upper) && len(it.Key()) == keys.DeltaVSize {
				end = max(end, keys.Local(it.Key()[1:])+1)
			}
		} else {
			for _, p := range props {
				if it.SeekLT(keys.AppendSuccessor(nil, keys.AppendNumbered(nil, keys.Column, uint32(p)))) && len(it.Key()) == keys.ChunkSize {
					if q, last := keys.Chunk(it.Key()); q == p {
						// A chunk ends where its grid cell does, whatever its last vertex.
						end = max(end, last+1)
					}
				}
			}
		}
		if err := it.Close(); err != nil {
			return 0, s.damage("graph", err)
		}
	}
	return end, nil
}

// countVertices enters the vertices of the current grid cell and their labels.
func (s *shardCheck) countVertices(base uint64) {
	for i, set := range s.sets.sets {
		if set == 0 {
			continue
		}
		local := base + uint64(i)
		s.beyond(keys.MetaNextVertex, &s.next.Vertex, local, "vertex")
		s.counts[stats.Count{Kind: stats.CountVertices}]++
		s.member(expected, 0, local, nil)
		for _, l := range s.cat.Labels(set) {
			s.counts[stats.Count{Kind: stats.CountLabel, Label: l}]++
			s.member(expected, l, local, nil)
		}
	}
}

func (s *shardCheck) member(side int, l graph.LabelID, local uint64, aux []byte) {
	s.item = appendUint32(append(s.item[:0], itemMember), uint32(l))
	s.item = appendUint64(s.item, uint64(graph.MakeVertexID(s.no, local)))
	s.balance.put(side, s.item, len(s.item), aux)
}

// checkCells checks the cells of one property of the current grid cell.
func (s *shardCheck) checkCells(base uint64, p graph.PropID, cells *gridCells) {
	if !s.first {
		return
	}
	for i, cell := range cells.at {
		set := s.sets.sets[i]
		if len(cell) == 0 || set == 0 {
			continue
		}
		if _, _, _, rest, err := keys.Cell(cell); err != nil || len(rest) > 0 {
			s.note(FaultRecord, nil, "vertex %d, property %s: %v", uint64(graph.MakeVertexID(s.no, base+uint64(i))), s.cat.PropName(p), keys.ErrCell)
			continue
		}
		if s.cat.PropName(p) == "" {
			continue // of an id space
		}
		s.counts[stats.Count{Kind: stats.CountProp, Set: set, Prop: p}]++
		if !s.cat.Announced(set, p) {
			s.note(FaultPresence, []storage.Fix{{Announce: &storage.Announcement{Set: set, Prop: p}}}, "vertex %d, property %s",
				uint64(graph.MakeVertexID(s.no, base+uint64(i))), s.cat.PropName(p))
		}
	}
}

// checkIndexed enters the entries that the vertices of the current grid cell must have.
func (s *shardCheck) checkIndexed(base uint64, cells map[graph.PropID]*gridCells) error {
	for x := range s.indexes {
		ix := &s.indexes[x]
		if ix.Type != 0 {
			continue
		}
		vals := make([]graph.Value, len(ix.Props))
		for i, set := range s.sets.sets {
			if set == 0 || !ix.All && !slices.Contains(s.cat.Labels(set), ix.Label) {
				continue
			}
			id := graph.MakeVertexID(s.no, base+uint64(i))
			ok := true
			for p, prop := range ix.Props {
				v, err := s.value(cells[prop].at[i])
				if err != nil {
					return err
				}
				vals[p] = v
				ok = ok && !v.IsNull()
			}
			if ix.Required && !ok {
				s.note(FaultRequired, nil, "constraint %s: vertex %d lacks a property", ix.Name, uint64(id))
			}
			s.expectEntry(ix, vals, graph.IndexOwner{Vertex: id})
		}
	}
	return nil
}

// value decodes a cell, which may be a reference; one that is not there is null here and noted elsewhere.
func (s *shardCheck) value(cell []byte) (graph.Value, error) {
	if len(cell) == 0 {
		return graph.Value{}, nil
	}
	v, ref, isRef, _, err := keys.Cell(cell)
	if err != nil {
		return graph.Value{}, nil //nolint:nilerr // noted before
	}
	if !isRef {
		return v, nil
	}
	no := graph.EdgeID(ref.ID).Shard()
	if no >= len(s.views) {
		return graph.Value{}, nil
	}
	key := keys.AppendValueKey(nil, ref.ID)
	b, ok, err := kv.Get(s.views[no].Values(), key, nil)
	if err != nil {
		return graph.Value{}, s.views[no].LargeFault(key, err)
	}
	if !ok {
		return graph.Value{}, nil
	}
	v, _, _, _, err = keys.Cell(b)
	if err != nil {
		return graph.Value{}, nil //nolint:nilerr // noted before
	}
	return v, nil
}

// expectEntry enters the entry that an owner's values must have.
func (s *shardCheck) expectEntry(ix *Index, vals []graph.Value, o graph.IndexOwner) {
	if !ix.Indexed || !ix.Online {
		return
	}
	tuple, ok, loose, err := view.AppendIndexed(nil, &ix.Index, vals)
	if err != nil || !ok {
		return
	}
	key := append(keys.AppendEntry(s.ident[:0], ix.ID), tuple...)
	if !ix.Unique || loose {
		key = keys.AppendLocal(key, o.Local())
	}
	s.ident = key
	s.entry(expected, key, view.AppendOwner(nil, o))
}

func (s *shardCheck) entry(side int, key, owner []byte) {
	s.item = appendUint32(append(s.item[:0], itemEntry), uint32(len(key)))
	s.item = append(s.item, key...)
	size := len(s.item)
	s.item = append(appendUint32(s.item, uint32(s.no)), owner...)
	s.balance.put(side, s.item, size, nil)
}

// refer enters a reference to a large value, if the cell is one. A record that another overrides holds its value until it
// is compacted, but nothing reads it.
func (s *shardCheck) refer(cell []byte, visible bool) {
	if len(cell) == 0 || cell[0] != keys.KindRef {
		return
	}
	_, ref, _, _, err := keys.Cell(cell)
	id := graph.EdgeID(ref.ID)
	if err != nil || id.Shard() >= len(s.large) || id.Local() > maxLargeID {
		s.note(FaultRecord, nil, "shard %d: a reference to a large value: %x", s.no, cell)
		return
	}
	if s.large[id.Shard()].refer(id.Local(), visible) {
		s.largeItem(expected, ref.ID, ref.Size)
	}
}

// largeItem enters the size of a large value.
func (s *shardCheck) largeItem(side int, id, size uint64) {
	s.item = appendUint64(append(s.item[:0], itemLarge), id)
	s.item = appendUint64(s.item, size)
	s.balance.put(side, s.item, 9, nil)
}
