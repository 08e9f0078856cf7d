package bulk

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// resolvedRows are rows whose ends are known as far as the table of keys knows them.
type resolvedRows struct {
	t        graph.TypeID
	upsert   bool
	dangling shard.Dangling
	spaces   [2]graph.IndexID
	ends     [2][]graph.VertexID
	props    []byte
	propsEnd []uint32
	bad      []int32 // rows with a value that cannot be stored
	large    []int32 // rows with a large value, whose cells are not replaced yet
	missing  []missingRow
	seek     keySeeker
}

// missingRow is a row one of whose ends is not known.
type missingRow struct {
	row  int32
	keys [2]graph.Value
}

var resolvedPool = sync.Pool{New: func() any { return new(resolvedRows) }}

// Resolve implements shard.EdgeSorter.
func (f *Sorter) Resolve(e *shard.LoadEdges) (shard.SortedRows, error) {
	if e.Type == 0 || len(e.Dst) != len(e.Src) {
		return nil, fail.Misuse("a group of edges has no type, or its ends do not pair")
	}
	for _, c := range e.Props {
		if len(c.Values) != len(e.Src) {
			return nil, fail.Misuse("a column of a load has %d values for %d rows", len(c.Values), len(e.Src))
		}
	}
	r := resolvedPool.Get().(*resolvedRows)
	r.t, r.upsert, r.dangling, r.spaces = e.Type, e.Action == shard.Upsert, e.Dangling, [2]graph.IndexID{e.SrcSpace, e.DstSpace}
	r.props, r.propsEnd, r.bad, r.large, r.missing = r.props[:0], r.propsEnd[:0], r.bad[:0], r.large[:0], r.missing[:0]
	if err := f.resolve(r, [2][]graph.Value{e.Src, e.Dst}); err != nil {
		return nil, err
	}
	for i := range r.ends[0] {
		if r.ends[0][i] == graph.NoVertex || r.ends[1][i] == graph.NoVertex {
			r.missing = append(r.missing, missingRow{int32(i), [2]graph.Value{e.Src[i], e.Dst[i]}})
		}
	}
	again := repeats(e.Props)
	for row := range e.Src {
		r.appendProps(e.Props, row, again, f.g.ValueThreshold)
		r.propsEnd = append(r.propsEnd, uint32(len(r.props)))
	}
	return r, nil
}

// resolve looks the ends of rows up.
func (f *Sorter) resolve(r *resolvedRows, ends [2][]graph.Value) error {
	var key []byte
	for i, vals := range ends {
		t := f.tables[r.spaces[i]]
		if t == nil {
			return fail.Misuse("an id space of a load was not prepared")
		}
		ids := r.ends[i][:0]
		if t.onDisk() {
			r.seek.reset()
			for _, v := range vals {
				r.seek.add(t, v)
			}
			if err := r.seek.seek(t); err != nil {
				return err
			}
			for k := range r.seek.keys {
				ids = append(ids, r.seek.keys[k].id)
			}
		} else {
			for _, v := range vals {
				id := graph.NoVertex
				if isKey(v) {
					id = t.get(v, &key)
				}
				ids = append(ids, id)
			}
		}
		r.ends[i] = ids
	}
	return nil
}

// appendProps packs the properties of a row.
func (r *resolvedRows) appendProps(cols []shard.LoadColumn, row int, again bool, threshold int) {
	start, large := len(r.props), false
	for i := range cols {
		c := &cols[i]
		v := c.Values[row]
		if v.IsNull() || again && namedLater(cols[i+1:], c.Prop, row) {
			continue
		}
		r.props = binary.AppendUvarint(r.props, uint64(c.Prop))
		at := len(r.props)
		r.props = append(r.props, 0) // the size of the cell, if it is below 128
		var ok bool
		if r.props, ok = keys.AppendCell(r.props, v); !ok {
			r.props = r.props[:start]
			r.bad = append(r.bad, int32(row))
			return
		}
		size := len(r.props) - at - 1
		large = large || size >= threshold
		if size < 0x80 {
			r.props[at] = byte(size)
		} else {
			r.props = slices.Replace(r.props, at, at+1, binary.AppendUvarint(nil, uint64(size))...)
		}
	}
	if large {
		r.large = append(r.large, int32(row))
	}
}

// namedLater reports whether a later column sets the row's property.
func namedLater(cols []shard.LoadColumn, p graph.PropID, row int) bool {
	return slices.ContainsFunc(cols, func(c shard.LoadColumn) bool { return c.Prop == p && !c.Values[row].IsNull() })
}

func (r *resolvedRows) propsOf(row int) []byte {
	start := uint32(0)
	if row > 0 {
		start = r.propsEnd[row-1]
	}
	return r.props[start:r.propsEnd[row]]
}

// eachSorted calls f with the properties of a record.
func eachSorted(b []byte, f func(p graph.PropID, cell []byte) error) error {
	for len(b) > 0 {
		p, n := binary.Uvarint(b)
		size, m := binary.Uvarint(b[n:])
		b = b[n+m:]
		if err := f(graph.PropID(p), b[:size]); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// Add implements shard.EdgeSorter.
func (f *Sorter) Add(ctx context.Context, rows shard.SortedRows, l *shard.Load, group int) error {
	r, ok := rows.(*resolvedRows)
	if !ok {
		return fail.Misuse("rows that were not resolved")
	}
	refused := map[int32]*reject{}
	skipped := map[int32]bool{}
	if len(r.missing) > 0 {
		if err := f.findMissing(ctx, r, l, refused, skipped); err != nil {
			return err
		}
		f.forgetMade()
	}
	for _, row := range r.bad {
		if refused[row] == nil && !skipped[row] {
			refused[row] = rejectValue
		}
	}
	st, err := f.sorted(r.t)
	if err != nil {
		return err
	}
	large := r.large
	var replaced []byte
	srcs, dsts := r.ends[0], r.ends[1]
	rare := len(refused)+len(skipped) > 0
	for row := range srcs {
		if row&0xfff == 0 {
			if err := kv.Alive(ctx); err != nil {
				return err
			}
		}
		props := r.propsOf(row)
		isLarge := len(large) > 0 && int(large[0]) == row
		if isLarge {
			large = large[1:]
		}
		if rare {
			if x := refused[int32(row)]; x != nil {
				l.Rejected = append(l.Rejected, shard.Rejected{Edge: true, Group: group, Row: row, Code: x.code, Msg: x.msg})
				continue
			}
			if skipped[int32(row)] {
				continue
			}
		}
		if isLarge {
			if replaced, err = f.separate(replaced[:0], props, srcs[row].Shard()); err != nil {
				return err
			}
			props = replaced
		}
		bucket, place := f.bucket(srcs[row])
		record := sortedRecord{upsert: r.upsert, place: place, other: dsts[row], props: props}
		if err := st.buf.End(bucket, record.append(st.buf.Begin(bucket), graph.Out)); err != nil {
			return err
		}
		l.Counts.Edges.Created++
	}
	clear(r.missing)
	resolvedPool.Put(r)
	return nil
}

// separate returns large values of a row ids and leaves references in the properties.
func (f *Sorter) separate(dst, props []byte, no int) ([]byte, error) {
	s := f.g.Shards[no]
	err := eachSorted(props, func(p graph.PropID, cell []byte) error {
		dst = binary.AppendUvarint(dst, uint64(p))
		if len(cell) < f.g.ValueThreshold {
			dst = append(binary.AppendUvarint(dst, uint64(len(cell))), cell...)
			return nil
		}
		ref := keys.AppendRef(nil, keys.Ref{ID: s.NextLarge() + uint64(len(f.large[no])), Size: uint64(len(cell))})
		dst = append(binary.AppendUvarint(dst, uint64(len(ref))), ref...)
		f.large[no] = append(f.large[no], bytes.Clone(cell))
		f.largeN += len(cell)
		return nil
	})
	if err == nil && f.largeN > largeBatch {
		err = f.flushLarge()
	}
	return dst, err
}

// largeBatch is how many bytes of large values are written at once.
const largeBatch = 4 << 20

// flushLarge writes the large values that wait.
func (f *Sorter) flushLarge() error {
	for no, cells := range f.large {
		if err := f.g.Shards[no].PutLarge(cells); err != nil {
			return err
		}
		f.large[no] = f.large[no][:0]
	}
	f.largeN = 0
	return nil
}

// findMissing looks for ends that the tables did not know: earlier dangling edges may have made them, and these may.
func (f *Sorter) findMissing(ctx context.Context, r *resolvedRows, l *shard.Load, refused map[int32]*reject, skipped map[int32]bool) error {
	find := func(m *missingRow, i int) bool {
		if !isKey(m.keys[i]) {
			return false
		}
		id := &r.ends[i][m.row]
		if t := f.made[r.spaces[i]]; *id == graph.NoVertex && t != nil {
			key, _ := keys.AppendOrdered(nil, m.keys[i])
			if got, ok := t.find(key); ok {
				*id = got
			}
		}
		return *id != graph.NoVertex
	}
	if f.lost || f.vertices() != f.known {
		if err := f.findLate(ctx, r); err != nil {
			return err
		}
	}
	failed := map[graph.IndexID]map[string]*reject{}
	if r.dangling == shard.DanglingCreate {
		var wanted [2][]graph.Value
		for k := range r.missing {
			m := &r.missing[k]
			for i := range m.keys {
				if !isKey(m.keys[i]) {
					break
				}
				if !find(m, i) {
					wanted[i] = append(wanted[i], m.keys[i])
				}
			}
		}
		for i := range wanted {
			if i == 1 && r.spaces[0] == r.spaces[1] {
				// The sources may have brought these.
				t := f.made[r.spaces[1]]
				wanted[1] = slices.DeleteFunc(wanted[1], func(v graph.Value) bool {
					key, _ := keys.AppendOrdered(nil, v)
					return t != nil && t.has(key) || failed[r.spaces[1]][string(key)] != nil
				})
			}
			if err := f.makeEnds(ctx, r.spaces[i], wanted[i], l, failed); err != nil {
				return err
			}
		}
	}
	for k := range r.missing {
		m := &r.missing[k]
		for i := range m.keys {
			if !isKey(m.keys[i]) {
				refused[m.row] = rejectKey
				break
			}
			if find(m, i) {
				continue
			}
			key, _ := keys.AppendOrdered(nil, m.keys[i])
			switch {
			case r.dangling == shard.DanglingSkip:
				skipped[m.row] = true
			case r.dangling == shard.DanglingCreate && failed[r.spaces[i]][string(key)] != nil:
				refused[m.row] = failed[r.spaces[i]][string(key)]
			default:
				refused[m.row] = rejectDangling
			}
			break
		}
	}
	return nil
}

// forgetMade forgets the vertices that dangling edges brought when they are too many: the graph is asked for them from then on.
func (f *Sorter) forgetMade() {
	n := 0
	for _, t := range f.made {
		n += t.bytes()
	}
	if n > f.g.spill.limit {
		clear(f.made)
		f.lost = true
	}
}

// makeEnds creates the missing ends of dangling edges, with only their keys.
func (f *Sorter) makeEnds(ctx context.Context, space graph.IndexID, wanted []graph.Value, l *shard.Load, failed map[graph.IndexID]map[string]*reject) error {
	if len(wanted) == 0 {
		return nil
	}
	if err := f.flushLarge(); err != nil {
		return err
	}
	made := &shard.Load{Vertices: []shard.LoadVertices{{Labels: graph.NoLabels, Space: space, Keys: wanted}}}
	before := f.vertices()
	if err := f.host.Load(ctx, made); err != nil {
		return err
	}
	f.known += f.vertices() - before
	seen := map[string]bool{}
	for _, x := range made.Rejected {
		key, _ := keys.AppendOrdered(nil, wanted[x.Row])
		if failed[space] == nil {
			failed[space] = map[string]*reject{}
		}
		failed[space][string(key)] = &reject{x.Code, x.Msg}
	}
	var tuples [][]byte
	for _, v := range wanted {
		key, _ := keys.AppendOrdered(nil, v)
		if failed[space][string(key)] == nil && !seen[string(key)] {
			seen[string(key)] = true
			tuples = append(tuples, key)
		}
	}
	l.Counts.Vertices.Created += len(tuples)
	return f.lookUp(ctx, space, tuples)
}

// vertices is how many vertices the graph has been given.
func (f *Sorter) vertices() (n uint64) {
	for _, s := range f.g.Shards {
		n += s.NextVertex()
	}
	return n
}

// findLate looks for vertices that edges which are not sorted have brought since the tables were made.
func (f *Sorter) findLate(ctx context.Context, r *resolvedRows) error {
	for i, space := range r.spaces {
		var tuples [][]byte
		for k := range r.missing {
			m := &r.missing[k]
			if v := m.keys[i]; r.ends[i][m.row] == graph.NoVertex && isKey(v) {
				key, _ := keys.AppendOrdered(nil, v)
				tuples = append(tuples, key)
			}
		}
		if err := f.lookUp(ctx, space, tuples); err != nil {
			return err
		}
	}
	return nil
}

// lookUp looks up keys in the graph and caches those that it has.
func (f *Sorter) lookUp(ctx context.Context, space graph.IndexID, tuples [][]byte) error {
	slices.SortFunc(tuples, bytes.Compare)
	tuples = slices.CompactFunc(tuples, bytes.Equal)
	table := f.made[space]
	if table == nil {
		table = newKeyTable(false)
		f.made[space] = table
	}
	return f.host.Read(ctx, func(tx Reader) error {
		for _, v := range tx.Views() {
			if err := v.Seek(ctx, space, tuples, func(k int, o graph.IndexOwner) { table.put(tuples[k], o.Vertex) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// has reports whether the table knows of a key.
func (t *keyTable) has(key []byte) bool {
	_, ok := t.find(key)
	return ok
}
