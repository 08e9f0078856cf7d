package read

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// changeLog is, by shard, what a writer has changed, as far as it has been read: so many edges, properties and runs of new
// vertices.
type changeLog struct {
	touched              []cache.Touched
	edges, props, ranges []int
}

// touch returns what a writer has changed in a shard. The caller holds tx.mu.
func (tx *Reader) touch(no int) *cache.Touched {
	d := &tx.over.seen
	if n := len(tx.over.writers); d.touched == nil {
		d.touched = make([]cache.Touched, n)
		d.edges, d.props, d.ranges = make([]int, n), make([]int, n), make([]int, n)
	}
	t, ch := &d.touched[no], tx.over.writers[no].Changes()
	for _, e := range ch.Edges[d.edges[no]:] {
		t.AddList(e.Type, e.Dir, e.Vertex.Local())
	}
	for _, p := range ch.Props[d.props[no]:] {
		t.AddValue(p.Prop, p.Vertex.Local())
	}
	for _, r := range ch.Vertices[d.ranges[no]:] {
		for _, p := range r.Props {
			for i := range r.N {
				t.AddValue(p, r.First+uint64(i))
			}
		}
	}
	d.edges[no], d.props[no], d.ranges[no] = len(ch.Edges), len(ch.Props), len(ch.Vertices)
	return t
}

// listViews are views of the decoded lists, one a shard.
type listViews struct {
	Views []cache.ListView
	refs  []*cache.ListView // to views; nil for a shard that the transaction does not read

	missed graph.VertexSet // of a step, the vertices whose lists are not decoded
}

var listViewsPool = sync.Pool{New: func() any { return new(listViews) }}

// openLists opens views of the decoded lists; close ends them. They are filled from a snapshot alone: what a writer without
// one reads may never be committed. With values, properties of edges may be read, which are valid until the transaction ends.
func (tx *Reader) openLists(values bool) *listViews {
	lv := listViewsPool.Get().(*listViews)
	if len(lv.Views) != len(tx.views) {
		lv.Views, lv.refs = make([]cache.ListView, len(tx.views)), make([]*cache.ListView, len(tx.views))
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if values {
		tx.values.Begin(tx.on.Topology.lists[0])
	}
	for no, l := range tx.on.Topology.lists {
		if lv.refs[no] = nil; tx.over == nil && tx.views[no] == nil {
			continue
		}
		lv.refs[no] = &lv.Views[no]
		switch {
		case tx.over == nil:
			s := &tx.snap.sources[no]
			l.Open(&lv.Views[no], tx.snap.Seq, s.next, s, nil)
		case tx.snap != nil:
			s := &tx.snap.sources[no]
			l.Open(&lv.Views[no], tx.snap.Seq, s.next, s, tx.touch(no))
		default:
			l.Open(&lv.Views[no], tx.over.seq, tx.over.writers[no].NextVertex(), nil, tx.touch(no))
		}
		lv.Views[no].Count(tx.reads)
	}
	return lv
}

// Close ends the views.
func (lv *listViews) Close() {
	for _, v := range lv.refs {
		if v != nil {
			v.Close()
		}
	}
	listViewsPool.Put(lv)
}

// openColumns returns the views of the decoded columns, one a shard.
func (tx *Reader) openColumns() []cache.ColumnView {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	first := tx.columns == nil
	if first {
		tx.columns = make([]cache.ColumnView, len(tx.views))
	}
	for no, c := range tx.on.Topology.columns {
		switch {
		case tx.over != nil:
			t := tx.touch(no)
			if first && tx.snap != nil {
				s := &tx.snap.sources[no]
				c.Open(&tx.columns[no], tx.snap.Seq, s.next, s, tx.decode, t)
			} else if first {
				c.Open(&tx.columns[no], tx.over.seq, tx.over.writers[no].NextVertex(), nil, tx.decode, t)
			}
		case first:
			c.Open(&tx.columns[no], tx.snap.Seq, tx.snap.sources[no].next, &tx.snap.sources[no], tx.decode, nil)
		}
		if first {
			tx.columns[no].Count(tx.reads)
		}
	}
	return tx.columns
}

// Pass implements shard.Passer.
func (tx *Reader) Pass() {
	for no, v := 0, tx.openColumns(); no < len(v); no++ {
		v[no].Pass()
	}
}

// Meter implements shard.Metered.
func (tx *Reader) Meter(r *graph.Reads) {
	tx.reads = r
	for no := range tx.columns {
		tx.columns[no].Count(r)
	}
}

// CloseDecoded ends the views that last as long as the transaction.
func (tx *Reader) CloseDecoded() {
	for no := range tx.columns {
		tx.columns[no].Close()
	}
	tx.columns = nil
	tx.values.End()
}

// decode decodes a cell that is not a simple value.
func (tx *Reader) decode(b []byte) (graph.Value, error) {
	v, ref, isRef, _, err := keys.Cell(b)
	if err != nil {
		return v, graph.CorruptError("decode a value", err)
	}
	if isRef {
		return tx.value(ref)
	}
	return v, nil
}

// Decode decodes a cell, and reads its value if that is large. A string may share the cell's memory.
func Decode(tx *Tx, cell []byte) (graph.Value, error) { return tx.decode(cell) }

// cachedProperties fills in what is decoded and gives, for each property, the rows that must be read, in the order of
// their vertices; nil if there are none. It appends large values to pending.
func (tx *Reader) cachedProperties(ids []graph.VertexID, props []graph.PropID, out [][]graph.Value, pending *[]view.Pending) (missing [][]int32, err error) {
	var rest []int
	var opaque []cache.Cell
	for p, prop := range props {
		rest, opaque = rest[:0], opaque[:0]
		for no, v := 0, tx.openColumns(); no < len(v); no++ {
			if rest, err = v[no].Fill(prop, ids, out[p], rest, &opaque); err != nil {
				return nil, err
			}
		}
		for _, c := range opaque {
			v, ref, isRef, _, err := keys.Cell(c.Enc)
			if err != nil {
				return nil, graph.CorruptError("decode a value", err)
			}
			if out[p][c.At] = v; isRef {
				*pending = append(*pending, view.Pending{P: p, I: c.At, Ref: ref})
			}
		}
		if len(rest) == 0 {
			continue
		}
		if missing == nil {
			missing = make([][]int32, len(props))
		}
		missing[p] = sortRows(ids, rest)
	}
	return missing, nil
}

// sortRows returns rows in the order of their vertices.
func sortRows(ids []graph.VertexID, rows []int) []int32 {
	out := make([]int32, len(rows))
	for i, r := range rows {
		out[i] = int32(r)
	}
	byID := func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) }
	if !slices.IsSortedFunc(out, byID) {
		slices.SortFunc(out, byID)
	}
	return out
}
