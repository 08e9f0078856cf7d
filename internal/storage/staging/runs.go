package staging

import (
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// PutRun writes new vertices with consecutive local ids, all with these labels; rows are their properties, the same
// ones in ascending order for each. They go down packed: a column chunk for each property, and their bits in the
// bitmaps of their labels. Chunks of a cell of the grid are joined when the last of its vertices comes. Where
// a compaction has packed the place of these vertices already, because later ones were committed before them, their records
// are delta ones.
func (w *Vertices) PutRun(first graph.VertexID, set graph.LabelSet, labels []graph.LabelID, rows [][]graph.Property) (err error) {
	r := w.Acquire()
	defer w.Release(r, &err)
	err = codec.EachCell(first.Local(), len(rows), func(local uint64, at, n int) error {
		part := rows[at : at+n]
		free, err := vacant(r, codec.LabelSetProp, local, n)
		for p := 0; p < len(part[0]) && free && err == nil; p++ {
			free, err = vacant(r, part[0][p].ID, local, n)
		}
		if err != nil {
			return kv.Fault("read properties", err)
		}
		if free {
			return w.packVertices(r, local, set, part)
		}
		for i, props := range part {
			if err := w.putRecord(first+graph.VertexID(at+i), set, props); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.forget()
	for p := range rows[0] {
		some := 0
		for _, props := range rows {
			if !props[p].Value.IsNull() {
				some++
			}
		}
		w.CountProp(set, rows[0][p].ID, some)
	}
	n := len(rows)
	if err := w.addMembers(r, 0, first.Local(), n); err != nil {
		return err
	}
	for _, l := range labels {
		if err := w.addMembers(r, l, first.Local(), n); err != nil {
			return err
		}
		w.Count(stats.Count{Kind: stats.CountLabel, Label: l}, int64(n))
	}
	w.Count(stats.Count{Kind: stats.CountVertices}, int64(n))
	return nil
}

// vacant reports whether no chunk of a property covers any of n local ids.
func vacant(r *view.Reader, p graph.PropID, local uint64, n int) (bool, error) {
	c, err := r.Cursor(keys.Column)
	if err != nil {
		return false, err
	}
	first, _, ok, err := r.ChunkAt(c, p, local)
	return !ok || first >= local+uint64(n), err
}

// packVertices writes the chunks of vertices of one cell of the grid.
func (w *Vertices) packVertices(r *view.Reader, local uint64, set graph.LabelSet, rows [][]graph.Property) error {
	changed := pack.VertexRange{First: local, N: len(rows), Props: make([]graph.PropID, 1, 1+len(rows[0]))}
	base, cs, err := w.startChunk(r, codec.LabelSetProp, local, len(rows))
	if err != nil {
		return err
	}
	cell, _ := keys.AppendCell(w.buf[:0], graph.IntValue(int64(set)))
	for range rows {
		cs.Add(cell)
	}
	if err := w.putChunks(codec.LabelSetProp, base, cs); err != nil {
		return err
	}
	for p := range rows[0] {
		id := rows[0][p].ID
		if base, cs, err = w.startChunk(r, id, local, len(rows)); err != nil {
			return err
		}
		before := len(cs.Buf)
		for _, props := range rows {
			if v := props[p].Value; !v.IsNull() {
				if cs.Buf, err = w.over.AppendValue(cs.Buf, v); err != nil {
					return err
				}
			}
			cs.Close()
		}
		if len(cs.Buf) > before {
			changed.Props = append(changed.Props, id)
		}
		if err := w.putChunks(id, base, cs); err != nil {
			return err
		}
	}
	w.changes.Vertices = append(w.changes.Vertices, changed)
	return nil
}

// startChunk begins a chunk in which n vertices from a local id on come next: if they are the last of their cell, with
// the values before them in the cell, whose chunks it replaces. base is the local id of its first row.
func (w *Vertices) startChunk(r *view.Reader, p graph.PropID, local uint64, n int) (base uint64, cs *codec.Cells, err error) {
	cs = &w.cells
	cs.Reset()
	base = local &^ (codec.GridRows - 1)
	if base == local || local+uint64(n) < base+codec.GridRows {
		return local, cs, nil
	}
	c, err := r.Cursor(keys.Column)
	if err != nil {
		return 0, nil, kv.Fault("read properties", err)
	}
	for at := base; at < local; at = base + uint64(cs.Len()) {
		first, last, ok, err := r.ChunkAt(c, p, at)
		if err != nil {
			return 0, nil, kv.Fault("read properties", err)
		}
		if ok && first < at {
			return 0, nil, kv.Corrupt("column chunk", c.Key(), codec.ErrColumn)
		}
		if !ok || first >= local {
			first, last = local, local-1
		}
		for base+uint64(cs.Len()) < first {
			cs.Close()
		}
		for i := 0; base+uint64(cs.Len()) <= last; i++ {
			if cs.Buf, err = r.Chunk.AppendCell(cs.Buf, i); err != nil {
				return 0, nil, kv.Corrupt("column chunk", c.Key(), err)
			}
			cs.Close()
		}
		if first < local {
			w.over.Delete(c.Key())
		}
	}
	return base, cs, nil
}

// putChunks writes cells, from the first vertex on, as chunks.
func (w *Vertices) putChunks(p graph.PropID, first uint64, cs *codec.Cells) (err error) {
	w.buf, err = codec.PackChunks(w.buf[:0], p, first, cs, w.shard.ChunkBytes, func(k, v []byte) error {
		w.over.Set(k, v)
		return nil
	})
	return err
}

// mostMembers is the size in bytes of a bitmap above which a transaction does not rewrite it.
const mostMembers = 1 << 10

// addMembers puts n new vertices into a label's bitmaps, or, where those are large, makes them delta members.
func (w *Vertices) addMembers(r *view.Reader, l graph.LabelID, first uint64, n int) error {
	for n > 0 {
		at := int(first & (codec.MemberRows - 1))
		k := min(n, codec.MemberRows-at)
		w.key = keys.AppendMember(w.key[:0], l, uint32(first>>codec.MemberBits))
		b, ok, err := w.Record(w.key, w.buf[:0])
		if err != nil {
			return kv.Fault("read a label", err)
		}
		switch {
		case len(b) > mostMembers:
			for i := range k {
				w.member(l, graph.MakeVertexID(w.shard.No, first+uint64(i)), true)
			}
		case len(b) >= 5 && b[0] == codec.BitmapRuns && int(binary.LittleEndian.Uint16(b[len(b)-2:]))+1 == at:
			binary.LittleEndian.PutUint16(b[len(b)-2:], uint16(at+k-1))
			w.over.Set(w.key, b)
		default:
			m := r.Bitmap()
			*m = codec.Members{}
			if ok {
				if err := codec.ParseMembers(b, m); err != nil {
					return kv.Corrupt("bitmap", w.key, err)
				}
			}
			codec.SetRange(m, at, at+k-1)
			w.buf = codec.AppendMembers(w.buf[:0], m)
			w.over.Set(w.key, w.buf)
		}
		first, n = first+uint64(k), n-k
	}
	return nil
}
