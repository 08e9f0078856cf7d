package staging

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// MergeCell is a property of a vertex in a Merge, encoded as package keys says.
type MergeCell struct {
	// Old is what the vertex has, empty if nothing; it may be a reference to a large value.
	Old []byte
	// New is what it gets, empty if it keeps what it has. It must last until the next call.
	New []byte
}

const (
	// mergeRows is how many vertices are read together.
	mergeRows = 4096
	// denseBytes is how many bytes of chunks may be rewritten for each vertex that changes.
	denseBytes = 1 << 9
	// maxDense is the size in bytes of a writer's changes from which chunks are not rewritten any more.
	maxDense = 128 << 20
)

// merge is the state of Merge.
type merge struct {
	w      *Vertices
	ids    []graph.VertexID // of a part, with their label sets
	sets   []graph.LabelSet
	props  []graph.PropID
	cells  []MergeCell // beside props, of one vertex
	bodies codec.Cells // delta records
	// by property
	cols  []mergeColumn
	texts codec.Arena // of the changes
	cell  codec.Cells // the column of a grid cell that is being assembled
	buf   []byte
}

// mergeColumn is a property of a part of the vertices, or of a grid cell.
type mergeColumn struct {
	old, next codec.Cells
	chunks    [][]byte // keys of the chunks of the grid cell
}

// Merge changes properties, in ascending order, of vertices in ascending order. change is called for each vertex in turn
// with the cells of the properties.
func (w *Vertices) Merge(ctx context.Context, ids []graph.VertexID, sets []graph.LabelSet, props []graph.PropID, change func(i int, cells []MergeCell) error) error {
	m := &merge{w: w, props: props, cells: make([]MergeCell, len(props)), cols: make([]mergeColumn, len(props))}
	w.changes.Props = slices.Grow(w.changes.Props, len(ids)*len(props))
	for from := 0; from < len(ids); {
		grid := ids[from].Local() >> codec.GridBits
		to := from + 1
		for to < len(ids) && ids[to].Local()>>codec.GridBits == grid {
			to++
		}
		few := w.shard.DenseRows
		dense := to-from >= few && w.over.Bytes() < maxDense
		if !dense {
			// Sparse cells are read together.
			for to < len(ids) && to-from < mergeRows {
				n := to + 1
				for n < len(ids) && ids[n].Local()>>codec.GridBits == ids[to].Local()>>codec.GridBits {
					n++
				}
				if n-to >= few && w.over.Bytes() < maxDense {
					break
				}
				to = n
			}
		}
		m.ids, m.sets = ids[from:to], sets[from:to]
		part := func(i int, cells []MergeCell) error { return change(from+i, cells) }
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		done := false
		if dense {
			var err error
			if done, err = m.rewrite(grid<<codec.GridBits, part); err != nil {
				return err
			}
		}
		if !done {
			if err := m.records(ctx, part); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// records writes the changes of a part as delta records.
func (m *merge) records(ctx context.Context, change func(i int, cells []MergeCell) error) error {
	if err := m.read(ctx); err != nil {
		return kv.Fault("read properties", err)
	}
	for i, id := range m.ids {
		body := m.bodies.At(i)
		for k, p := range m.props {
			m.cells[k] = MergeCell{}
			delta, err := codec.PropCell(body, p)
			switch {
			case err != nil:
				return kv.Corrupt("delta properties", m.w.key, err)
			case delta == nil:
				m.cells[k].Old = m.cols[k].old.At(i)
			case deltaOf(delta) == deltaValue:
				m.cells[k].Old = delta
			}
		}
		if err := change(i, m.cells); err != nil {
			return err
		}
		if err := m.w.setCells(id, m.sets[i], m.props, m.cells, body, &m.texts); err != nil {
			return err
		}
	}
	return nil
}

// read reads the delta records of a part, and the packed values of the properties.
func (m *merge) read(ctx context.Context) (err error) {
	r := m.w.Acquire()
	defer m.w.Release(r, &err)
	if err := deltaCells(ctx, r, m.ids, &m.bodies); err != nil {
		return err
	}
	for k, p := range m.props {
		if err := columnCells(ctx, r, m.ids, p, &m.cols[k].old); err != nil {
			return err
		}
	}
	return nil
}

// deltaCells reads the delta records of vertices, in ascending order.
func deltaCells(ctx context.Context, r *view.Reader, ids []graph.VertexID, out *codec.Cells) error {
	out.Reset()
	err := r.DeltaProps(ctx, ids, nil, func(i int, body []byte) error {
		for out.Len() < i {
			out.Close()
		}
		out.Add(body)
		return nil
	})
	for out.Len() < len(ids) {
		out.Close()
	}
	return err
}

// columnCells reads a property of vertices, in ascending order, from column chunks.
func columnCells(ctx context.Context, r *view.Reader, ids []graph.VertexID, prop graph.PropID, out *codec.Cells) error {
	out.Reset()
	c, err := r.Cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, open := uint64(1), uint64(0), false
	for _, id := range ids {
		local := id.Local()
		if !open || local > last {
			if err := r.Alive(ctx); err != nil {
				return err
			}
			if first, last, open, err = r.ChunkAt(c, prop, local); err != nil {
				return err
			}
			if !open {
				break
			}
		}
		if local >= first {
			if out.Buf, err = r.Chunk.AppendCell(out.Buf, int(local-first)); err != nil {
				return kv.Corrupt("column chunk", c.Key(), err)
			}
		}
		out.Close()
	}
	for out.Len() < len(ids) {
		out.Close()
	}
	return nil
}

// setCells is SetRecord for cells of a Merge.
func (w *Vertices) setCells(id graph.VertexID, set graph.LabelSet, props []graph.PropID, cells []MergeCell, old []byte, texts *codec.Arena) (err error) {
	buf, rest, some := w.buf[:0], old, false
	for k, p := range props {
		if len(cells[k].New) == 0 {
			continue
		}
		some = true
		var delta int
		if buf, rest, delta, err = w.copyBefore(buf, rest, p); err != nil {
			return err
		}
		had, err := w.had(id.Local(), p, delta)
		if err != nil {
			return err
		}
		if !had {
			w.CountProp(set, p, 1)
		}
		buf = binary.AppendUvarint(buf, uint64(p))
		buf = w.over.AppendCell(buf, cells[k].New)
		if err := w.noteCell(id, p, cells[k].New, texts); err != nil {
			return err
		}
	}
	if !some {
		return nil
	}
	w.buf = append(buf, rest...)
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	w.set(w.key, w.buf)
	return nil
}

// noteCell notes a changed property, without its value if no cache stores such values.
func (w *Vertices) noteCell(id graph.VertexID, p graph.PropID, cell []byte, texts *codec.Arena) error {
	c := PropChange{Vertex: id, Prop: p}
	switch kind := graph.ValueKind(cell[0]); {
	case !cache.Simple(kind) || len(cell) >= w.shard.ValueThreshold:
		c.Unknown = true
	default:
		if kind == graph.String {
			cell = texts.Bytes(cell)
		}
		var err error
		if c.Value, _, _, _, err = keys.Cell(cell); err != nil {
			return kv.Corrupt("properties", keys.AppendDeltaProps(nil, id.Local()), err)
		}
	}
	w.changes.Props = append(w.changes.Props, c)
	return nil
}

// rewrite rewrites the chunks of the grid cell of a part. If they are large compared to the changes, it does nothing and returns false.
func (m *merge) rewrite(base uint64, change func(i int, cells []MergeCell) error) (done bool, err error) {
	w := m.w
	if b := w.bulk; b != nil && base+codec.GridRows > b.First() {
		return false, nil // it has what was in the cell
	}
	size, err := m.readGrid(base)
	if err != nil {
		return false, kv.Fault("read properties", err)
	}
	if size > denseBytes*len(m.ids) {
		return false, nil
	}
	for k := range m.props {
		if err := m.takeDelta(k); err != nil {
			return false, err
		}
	}
	for i, id := range m.ids {
		at := int(id.Local() - base)
		for k := range m.props {
			m.cells[k] = MergeCell{Old: m.cols[k].old.At(at)}
		}
		if err := change(i, m.cells); err != nil {
			return false, err
		}
		for k, p := range m.props {
			c := &m.cols[k]
			if now := m.cells[k].New; len(now) > 0 {
				old := c.old.At(at)
				if len(old) == 0 {
					w.CountProp(m.sets[i], p, 1)
				} else if err := w.drop(old); err != nil {
					return false, err
				}
				c.next.Buf = w.over.AppendCell(c.next.Buf, now)
				if err := w.noteCell(id, p, now, &m.texts); err != nil {
					return false, err
				}
			}
			c.next.Close()
		}
	}
	if err := m.dropDelta(base); err != nil {
		return false, err
	}
	for k := range m.props {
		if err := m.putGrid(k, base); err != nil {
			return false, err
		}
	}
	return true, nil
}

// readGrid reads the delta records of a grid cell and the chunks of each property, and returns the size of the chunks.
func (m *merge) readGrid(base uint64) (size int, err error) {
	r := m.w.Acquire()
	defer m.w.Release(r, &err)
	for k, p := range m.props {
		n, err := gridCells(r, p, base, &m.cols[k])
		if err != nil {
			return 0, err
		}
		size += n
	}
	m.bodies.Reset()
	c, err := r.Cursor(keys.DeltaProp)
	if err != nil {
		return 0, err
	}
	m.buf = keys.AppendDeltaProps(m.buf[:0], base)
	for ok := c.Seek(m.buf); ok; ok = c.Next() {
		k := c.Key()
		if len(k) != keys.DeltaVSize {
			return 0, kv.Corrupt("delta properties", k, codec.ErrDelta)
		}
		at := keys.Local(k[1:]) - base
		if at >= codec.GridRows {
			break
		}
		b, err := c.Value()
		if err != nil {
			return 0, err
		}
		for uint64(m.bodies.Len()) < at {
			m.bodies.Close()
		}
		m.bodies.Add(b)
	}
	return size, c.Err()
}

// takeDelta puts the values of delta records into a column of a grid cell.
func (m *merge) takeDelta(k int) error {
	c := &m.cols[k]
	c.next.Reset()
	if m.bodies.Len() == 0 {
		return nil
	}
	m.cell.Reset()
	for at := range codec.GridRows {
		cell := c.old.At(at)
		if at < m.bodies.Len() {
			delta, err := codec.PropCell(m.bodies.At(at), m.props[k])
			if err != nil {
				return kv.Corrupt("delta properties", m.buf, err)
			}
			if delta != nil {
				if !bytes.Equal(cell, delta) {
					if err := m.w.drop(cell); err != nil {
						return err
					}
				}
				if cell = delta; deltaOf(delta) == deltaNull {
					cell = nil
				}
			}
		}
		m.cell.Add(cell)
	}
	c.old, m.cell = m.cell, c.old
	return nil
}

// dropDelta removes the properties, which are in the chunks now, from the delta records of a grid cell.
func (m *merge) dropDelta(base uint64) error {
	for at := range m.bodies.Len() {
		body := m.bodies.At(at)
		m.buf = m.buf[:0]
		err := codec.EachProp(body, func(p graph.PropID, cell []byte) error {
			if !slices.Contains(m.props, p) {
				m.buf = append(binary.AppendUvarint(m.buf, uint64(p)), cell...)
			}
			return nil
		})
		if err != nil {
			return kv.Corrupt("delta properties", m.buf, err)
		}
		if len(m.buf) != len(body) {
			m.w.key = keys.AppendDeltaProps(m.w.key[:0], base+uint64(at))
			if len(m.buf) == 0 {
				m.w.over.Delete(m.w.key)
			} else {
				m.w.over.Set(m.w.key, m.buf)
			}
		}
	}
	return nil
}

// putGrid writes the chunks of a column of a grid cell.
func (m *merge) putGrid(k int, base uint64) error {
	c, p, w := &m.cols[k], m.props[k], m.w
	m.cell.Reset()
	full, i := 0, 0 // up to the last value
	for at := range codec.GridRows {
		cell := c.old.At(at)
		if i < len(m.ids) && m.ids[i].Local() == base+uint64(at) {
			if now := c.next.At(i); len(now) > 0 {
				cell = now
			}
			i++
		}
		if m.cell.Add(cell); len(cell) > 0 {
			full = at + 1
		}
	}
	// The ids after the last value may be those of future vertices.
	m.cell.End = m.cell.End[:full]
	var err error
	m.buf, err = codec.PackChunks(m.buf, p, base, &m.cell, w.shard.ChunkBytes, func(key, v []byte) error {
		w.over.Set(key, v)
		if at := slices.IndexFunc(c.chunks, func(k []byte) bool { return bytes.Equal(k, key) }); at >= 0 {
			c.chunks = slices.Delete(c.chunks, at, at+1)
		}
		return nil
	})
	for _, key := range c.chunks {
		w.over.Delete(key)
	}
	delete(w.packed, p)
	w.chunks = true
	return err
}

// gridCells reads a property of a grid cell from column chunks.
func gridCells(r *view.Reader, p graph.PropID, base uint64, col *mergeColumn) (size int, err error) {
	c, err := r.Cursor(keys.Column)
	if err != nil {
		return 0, err
	}
	out := &col.old
	out.Reset()
	col.chunks = col.chunks[:0]
	for local := base; local < base+codec.GridRows; {
		first, last, ok, err := r.ChunkAt(c, p, local)
		if err != nil {
			return 0, err
		}
		if !ok || first >= base+codec.GridRows {
			break
		}
		if first < local || last >= base+codec.GridRows {
			return 0, kv.Corrupt("column chunk", c.Key(), codec.ErrColumn)
		}
		col.chunks = append(col.chunks, slices.Clone(c.Key()))
		for base+uint64(out.Len()) < first {
			out.Close()
		}
		for ; base+uint64(out.Len()) <= last; out.Close() {
			if out.Buf, err = r.Chunk.AppendCell(out.Buf, int(base+uint64(out.Len())-first)); err != nil {
				return 0, kv.Corrupt("column chunk", c.Key(), err)
			}
		}
		local = last + 1
	}
	size = len(out.Buf)
	for out.Len() < codec.GridRows {
		out.Close()
	}
	return size, nil
}
