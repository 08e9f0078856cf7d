package compact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Positions are the keys at which the next compaction continues in each keyspace of delta records. Starting over would take as long as the
// last compaction, for skipping its tombstones.
type Positions map[keys.Space][]byte

// Options are sizes in bytes above which edge lists and column chunks are split, and the number of delta records of one step.
type Options struct {
	SegmentBytes, ChunkBytes, Step int
}

// Compactor merges delta records into packed ones: edges into lists, properties into column chunks, memberships into bitmaps.
type Compactor struct {
	// Batch has the packed records, and the deletion of the delta records, after Finish.
	Batch *pebble.Batch
	// Taken is how many delta records were compacted.
	Taken int
	// Resized is what the compacted lists change of the degree histograms.
	Resized map[stats.Degree]int64
	// From is where the next compaction goes on.
	From Positions

	r      *view.Reader
	o      Options
	packer codec.Packer
	buf    []byte
	cells  codec.Cells
	row    []byte
	// first and last delimit the delta records of the current keyspace that were taken.
	first, last []byte
	// compacted are the chunks whose groups were compacted, with all other delta edges of their lists, and groups the keys of
	// these groups.
	compacted []compactedChunk
	groups    []byte
	// skips leaves out chunks of lists that have groups or many other delta edges, and left says that there were some; sparse is the last
	// chunk that was not left out.
	skips, left bool
	sparse      keys.GroupChunk
}

// New begins a compaction of what a reader sees into an empty batch.
func New(r *view.Reader, b *pebble.Batch, o Options, from Positions) *Compactor {
	c := &Compactor{Batch: b, Resized: map[stats.Degree]int64{}, From: maps.Clone(from), r: r, o: o}
	if c.From == nil {
		c.From = Positions{}
	}
	return c
}

// Deltas compacts up to about limit delta records. With chunks it compacts those of chunks that have groups or many other delta edges too,
// which may take long; else it leaves them to Chunks.
func (f *Compactor) Deltas(ctx context.Context, limit int, chunks bool) error {
	f.skips = !chunks
	for _, compact := range []func(context.Context, int) error{f.compactEdges, f.compactProps, f.compactLabels} {
		if f.Taken >= limit {
			break
		}
		if err := compact(ctx, limit); err != nil {
			return err
		}
	}
	return nil
}

// Chunks compacts chunks with groups, and then those with many other delta edges, until it has taken about limit delta records.
func (f *Compactor) Chunks(ctx context.Context, limit int) error {
	all, err := f.compactGroups(ctx, limit)
	if err == nil && all && f.Taken < limit {
		err = f.compactDense(ctx, limit)
	}
	return err
}

// Left reports whether Deltas has left out chunks.
func (f *Compactor) Left() bool { return f.left }

// Replaces reports whether the compaction replaces delta records, other than groups, of one of the chunks.
func (f *Compactor) Replaces(chunks []keys.GroupChunk) bool {
	return slices.ContainsFunc(f.compacted, func(c compactedChunk) bool { return c.own && slices.Contains(chunks, c.GroupChunk) })
}

// begin moves to the first delta record of a keyspace after the last compaction's position, or else to the first of all.
func (f *Compactor) begin(c *view.Cursor, space keys.Space) bool {
	f.first, f.last = f.first[:0], f.last[:0]
	if from := f.From[space]; from != nil && c.Seek(from) {
		return true
	}
	return c.Seek([]byte{byte(space)})
}

// take counts the record at the cursor as compacted.
func (f *Compactor) take(c *view.Cursor) {
	if len(f.first) == 0 {
		f.first = append(f.first, c.Key()...)
	}
	f.last = append(f.last[:0], c.Key()...)
	f.Taken++
}

// end deletes what was taken with one range tombstone, so that readers need not skip one for each record.
func (f *Compactor) end(c *view.Cursor, space keys.Space) error {
	if err := c.Err(); err != nil || len(f.first) == 0 {
		return err
	}
	f.last = append(f.last, 0)
	switch {
	case !c.Valid:
		delete(f.From, space)
	case space == keys.DeltaEdge, space == keys.DeltaGroup:
		// Lists, and those of a group, are compacted as a whole. They may get new records before the current last one.
		f.From[space] = keys.AppendSuccessor(nil, f.last[:keys.ListSize])
	default:
		f.From[space] = bytes.Clone(f.last)
	}
	return f.Batch.DeleteRange(f.first, f.last, nil)
}

// compactEdges compacts the lists with delta records: first chunks with groups, then chunks with many delta records, then the others.
func (f *Compactor) compactEdges(ctx context.Context, limit int) error {
	if !f.skips {
		all, err := f.compactGroups(ctx, limit)
		if err == nil && all && f.Taken < limit {
			err = f.compactDense(ctx, limit)
		}
		if err != nil || !all || f.Taken >= limit {
			return err
		}
	}
	c, err := f.r.Cursor(keys.DeltaEdge)
	if err != nil {
		return err
	}
	var list []byte
	for ok := f.begin(c, keys.DeltaEdge); ok && f.Taken < limit; ok = c.Valid {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		if len(c.Key()) < keys.DeltaRunSize {
			return kv.Corrupt("delta edges", c.Key(), codec.ErrDelta)
		}
		t, dir, local := keys.List(c.Key())
		list = append(list[:0], c.Key()[:keys.ListSize]...)
		if f.skips {
			waits, err := f.waits(t, dir, local)
			if err != nil {
				return err
			}
			if waits {
				if err := f.skip(c, t, dir, local); err != nil {
					return err
				}
				continue
			}
		}
		done := f.grouped(t, dir, local)
		if done {
			// A table cannot have overlapping range tombstones.
			if err := f.deleteTaken(); err != nil {
				return err
			}
		} else {
			l, err := f.r.Lists(t, dir)
			if err == nil {
				err = f.compactList(&l, local)
			}
			if err != nil {
				return err
			}
		}
		for ok := true; ok && bytes.HasPrefix(c.Key(), list); ok = c.Next() {
			if !done {
				f.take(c)
			}
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	err = f.end(c, keys.DeltaEdge)
	if f.From[keys.DeltaEdge] != nil && len(list) > 0 {
		// Lists are compacted as a whole, so the next compaction must not start within one that gets new records meanwhile.
		f.From[keys.DeltaEdge] = keys.AppendSuccessor(nil, list)
	}
	return err
}

// partial is the number of edges for each delta edge above which only the changed segments of a list are rewritten.
const partial = 8

func (f *Compactor) compactList(l *view.ListCursor, local uint64) error {
	t, dir := l.Type, l.Dir
	m := &f.r.Merged
	m.Reset()
	if err := l.MergeDelta(f.r, local, m); err != nil {
		return err
	}
	change := m.DegreeChange()
	old, split := 0, false
	first := keys.AppendList(nil, t, dir, local)
	err := l.Segments(f.r, local, func(k, v []byte) error {
		if len(k) == keys.ListSize {
			var s codec.Segment
			if err := s.Parse(v); err != nil {
				return kv.Corrupt("edge list", k, err)
			}
			old, split = s.Total, s.Total != s.N
		}
		if split && old > partial*(len(m.Rows)+len(m.Over)) {
			return kv.ErrStop
		}
		if err := m.AddSegment(v); err != nil {
			return kv.Corrupt("edge list", k, err)
		}
		if len(k) > keys.ListSize {
			return f.Batch.Delete(k, nil)
		}
		return nil
	})
	stats.ResizeList(f.Resized, t, dir, old, old+change)
	if errors.Is(err, kv.ErrStop) {
		return f.compactSegments(l, m, t, dir, local, old+change)
	}
	if err != nil {
		return err
	}
	m.Sort()
	if len(m.Rows) != old+change {
		return kv.Corrupt("edge list", first, codec.ErrSegment)
	}
	if dir == graph.Out {
		if err := f.dropReplaced(m); err != nil {
			return err
		}
	}
	if len(m.Rows) == 0 {
		return f.Batch.Delete(first, nil)
	}
	return f.putSegments(first, m, m.Rows, len(m.Rows))
}

// putSegments writes rows as one segment, or as several if they are too large. total is the size of
// the list if this is its first segment.
func (f *Compactor) putSegments(key []byte, m *codec.Merged, rows []codec.Row, total int) error {
	props, err := m.Props()
	if err != nil {
		return err
	}
	if f.buf, err = f.packer.AppendSegment(f.buf[:0], m, rows, props, total); err != nil {
		return err
	}
	limit := f.o.SegmentBytes
	if len(f.buf) <= limit || len(rows) < 2 {
		return f.Batch.Set(key, f.buf, nil)
	}
	parts := min(len(rows), (2*len(f.buf)+limit-1)/limit)
	for i := range parts {
		part := rows[i*len(rows)/parts : (i+1)*len(rows)/parts]
		at := key
		if i > 0 {
			at, total = keys.AppendPair(slices.Clone(key[:keys.ListSize]), part[0].Neighbour, part[0].Edge), 0
		}
		if f.buf, err = f.packer.AppendSegment(f.buf[:0], m, part, props, total); err != nil {
			return err
		}
		if err := f.Batch.Set(at, f.buf, nil); err != nil {
			return err
		}
	}
	return nil
}

// compactSegments compacts the delta records, which are merged in m, into those segments of a long list that they fall in.
func (f *Compactor) compactSegments(l *view.ListCursor, m *codec.Merged, t graph.TypeID, dir graph.Direction, local uint64, total int) error {
	m.Sort()
	delta := slices.Clone(m.Rows)
	slices.SortFunc(m.Over, codec.Row.Compare)
	over := m.Over
	first := keys.AppendList(nil, t, dir, local)
	c := l.Packed
	firstDone := false
	for len(delta) > 0 || len(over) > 0 {
		next := codec.Row{}
		switch {
		case len(over) == 0 || len(delta) > 0 && delta[0].Compare(over[0]) < 0:
			next = delta[0]
		default:
			next = over[0]
		}
		at := keys.AppendPair(slices.Clone(first), next.Neighbour, next.Edge)
		if !c.SeekLT(append(at, 0)) || !bytes.HasPrefix(c.Key(), first) {
			return cmp.Or(c.Err(), kv.Corrupt("edge list", at, codec.ErrSegment))
		}
		key := slices.Clone(c.Key())
		b, err := c.Value()
		if err != nil {
			return err
		}
		m.Rows = m.Rows[:0]
		if err := m.AddSegment(b); err != nil {
			return kv.Corrupt("edge list", key, err)
		}
		end := func(rs []codec.Row) int { return len(rs) }
		if c.Seek(append(slices.Clip(key), 0)) && bytes.HasPrefix(c.Key(), first) {
			n, e := keys.Pair(c.Key()[keys.ListSize:])
			limit := codec.Row{Neighbour: n, Edge: e}
			end = func(rs []codec.Row) int { i, _ := slices.BinarySearchFunc(rs, limit, codec.Row.Compare); return i }
		}
		if err := c.Err(); err != nil {
			return err
		}
		n := end(delta)
		m.Rows = append(m.Rows, delta[:n]...)
		delta, over = delta[n:], over[end(over):]
		m.Sort()
		isFirst := len(key) == keys.ListSize
		inKey := 0
		if isFirst {
			firstDone, inKey = true, total
		}
		if len(m.Rows) == 0 && !isFirst {
			if err := f.Batch.Delete(key, nil); err != nil {
				return err
			}
		} else if err := f.putSegments(key, m, m.Rows, inKey); err != nil {
			return err
		}
		if dir == graph.Out {
			if err := f.dropReplaced(m); err != nil {
				return err
			}
		}
		m.Dropped = m.Dropped[:0]
	}
	if firstDone {
		return nil
	}
	if !c.Seek(first) || !bytes.Equal(c.Key(), first) {
		return cmp.Or(c.Err(), kv.Corrupt("edge list", first, codec.ErrSegment))
	}
	b, err := c.Value()
	if err != nil {
		return err
	}
	n, rest := codec.Uvarint(b)
	_, rest = codec.Uvarint(rest)
	if rest == nil {
		return kv.Corrupt("edge list", first, codec.ErrSegment)
	}
	f.buf = binary.AppendUvarint(binary.AppendUvarint(f.buf[:0], n), uint64(total))
	return f.Batch.Set(first, append(f.buf, rest...), nil)
}

// dropReplaced marks the large values of packed edges that a delta record overrides and does not keep.
func (f *Compactor) dropReplaced(m *codec.Merged) error {
	for _, old := range m.Dropped {
		var now []byte
		if i, ok := slices.BinarySearchFunc(m.Rows, old, codec.Row.Compare); ok {
			now = m.One(m.Rows[i])
		}
		err := f.r.SegmentProps(&m.Segs[old.From], int(old.At), func(p graph.PropID, cell []byte) error {
			if cell[0] != keys.KindRef {
				return nil
			}
			kept, err := codec.PropCell(now, p)
			if err != nil || bytes.Equal(kept, cell) {
				return err
			}
			return f.drop(cell)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drop marks the large value of a cell as garbage, if it is one.
func (f *Compactor) drop(cell []byte) error {
	if len(cell) == 0 || cell[0] != keys.KindRef {
		return nil
	}
	_, ref, _, _, err := keys.Cell(cell)
	if err != nil {
		return err
	}
	return f.Batch.Set(keys.AppendGarbage(nil, ref.ID), nil, nil)
}

// deltaCell is a property of a delta record in the current grid cell.
type deltaCell struct {
	p     graph.PropID
	local uint64
	cell  []byte
}

// compactProps compacts delta properties, one grid cell after the other.
func (f *Compactor) compactProps(ctx context.Context, limit int) error {
	c, err := f.r.Cursor(keys.DeltaProp)
	if err != nil {
		return err
	}
	ok := f.begin(c, keys.DeltaProp)
	for ok && f.Taken < limit {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		var delta []deltaCell
		grid := keys.Local(c.Key()[1:]) >> codec.GridBits
		for ; ok && keys.Local(c.Key()[1:])>>codec.GridBits == grid; ok = c.Next() {
			k := slices.Clone(c.Key())
			v, err := c.Value()
			if err != nil {
				return err
			}
			err = codec.EachProp(slices.Clone(v), func(p graph.PropID, cell []byte) error {
				delta = append(delta, deltaCell{p, keys.Local(k[1:]), cell})
				return nil
			})
			if err != nil {
				return kv.Corrupt("delta properties", k, err)
			}
			f.take(c)
		}
		if err := c.Err(); err != nil {
			return err
		}
		slices.SortFunc(delta, func(a, b deltaCell) int {
			if a.p != b.p {
				return int(a.p) - int(b.p)
			}
			return int(int64(a.local) - int64(b.local))
		})
		for len(delta) > 0 {
			n := 1
			for n < len(delta) && delta[n].p == delta[0].p {
				n++
			}
			if err := f.compactColumn(delta[0].p, grid, delta[:n]); err != nil {
				return err
			}
			delta = delta[n:]
		}
	}
	return f.end(c, keys.DeltaProp)
}

// compactColumn rewrites the chunks of one property in a grid cell.
func (f *Compactor) compactColumn(p graph.PropID, grid uint64, delta []deltaCell) error {
	base := grid << codec.GridBits
	c, err := f.r.Cursor(keys.Column)
	if err != nil {
		return err
	}
	cs := &f.cells
	cs.Reset()
	put := func(until uint64, cell func(local uint64) ([]byte, error)) error {
		for local := base + uint64(cs.Len()); local < until; local++ {
			old, err := cell(local)
			if err != nil {
				return err
			}
			if len(delta) > 0 && delta[0].local == local {
				now := delta[0].cell
				delta = delta[1:]
				if !bytes.Equal(old, now) {
					if err := f.drop(old); err != nil {
						return err
					}
				}
				if now[0] != byte(graph.Null) {
					cs.Buf = append(cs.Buf, now...)
				}
			} else {
				cs.Buf = append(cs.Buf, old...)
			}
			cs.Close()
		}
		return nil
	}
	none := func(uint64) ([]byte, error) { return nil, nil }
	for {
		local := base + uint64(cs.Len())
		if local == base+codec.GridRows {
			break
		}
		first, last, ok, err := f.r.ChunkAt(c, p, local)
		if err != nil {
			return err
		}
		if !ok || first >= base+codec.GridRows {
			if err := put(base+codec.GridRows, none); err != nil {
				return err
			}
			break
		}
		if first < local || last >= base+codec.GridRows {
			return kv.Corrupt("column chunk", c.Key(), codec.ErrColumn)
		}
		if err := put(first, none); err != nil {
			return err
		}
		err = put(last+1, func(local uint64) ([]byte, error) {
			f.row, err = f.r.Chunk.AppendCell(f.row[:0], int(local-first))
			return f.row, err
		})
		if err != nil {
			return err
		}
		if err := f.Batch.Delete(slices.Clone(c.Key()), nil); err != nil {
			return err
		}
	}
	return f.putChunks(p, base, cs)
}

// putChunks writes cells of the vertices from first on as chunks, up to the last value: the ids after it may be those of future vertices.
func (f *Compactor) putChunks(p graph.PropID, first uint64, cs *codec.Cells) (err error) {
	n := cs.Len()
	for n > 0 && len(cs.At(n-1)) == 0 {
		n--
	}
	cs.End = cs.End[:n]
	f.buf, err = codec.PackChunks(f.buf, p, first, cs, f.o.ChunkBytes, func(k, v []byte) error { return f.Batch.Set(k, v, nil) })
	return err
}

// compactLabels compacts delta memberships, one bitmap after the other.
func (f *Compactor) compactLabels(ctx context.Context, limit int) error {
	c, err := f.r.Cursor(keys.DeltaLabel)
	if err != nil {
		return err
	}
	packed, err := f.r.Cursor(keys.Member)
	if err != nil {
		return err
	}
	m := f.r.Bitmap()
	ok := f.begin(c, keys.DeltaLabel)
	for ok && f.Taken < limit {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		label := graph.LabelID(binary.BigEndian.Uint32(c.Key()[1:]))
		chunk := uint32(keys.Local(c.Key()[5:]) >> codec.MemberBits)
		prefix := slices.Clone(c.Key()[:5])
		key := keys.AppendMember(nil, label, chunk)
		*m = codec.Members{}
		if packed.Seek(key) && bytes.Equal(packed.Key(), key) {
			b, err := packed.Value()
			if err != nil {
				return err
			}
			if err := codec.ParseMembers(b, m); err != nil {
				return kv.Corrupt("bitmap", key, err)
			}
		} else if err := packed.Err(); err != nil {
			return err
		}
		for ; ok && bytes.HasPrefix(c.Key(), prefix) && uint32(keys.Local(c.Key()[5:])>>codec.MemberBits) == chunk; ok = c.Next() {
			v, err := c.Value()
			if err != nil {
				return err
			}
			if len(v) != 1 || v[0] > 1 {
				return kv.Corrupt("delta membership", c.Key(), codec.ErrDelta)
			}
			i := keys.Local(c.Key()[5:]) & (codec.MemberRows - 1)
			m[i/64] = m[i/64]&^(1<<(i%64)) | uint64(v[0])<<(i%64)
			f.take(c)
		}
		if err := c.Err(); err != nil {
			return err
		}
		if *m == (codec.Members{}) {
			err = f.Batch.Delete(key, nil)
		} else {
			f.buf = codec.AppendMembers(f.buf[:0], m)
			err = f.Batch.Set(key, f.buf, nil)
		}
		if err != nil {
			return err
		}
	}
	return f.end(c, keys.DeltaLabel)
}
