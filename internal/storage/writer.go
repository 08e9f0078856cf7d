package storage

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Writer collects changes to a shard and reads through them. One goroutine uses it, except for its View's reads, and it
// ends with Commit or with Discard. Any number may be at work over snapshots; of those that are committed, each must
// have begun when the shard was as it is at the commit.
type Writer struct {
	*View
	batch      *pebble.Batch // what is committed, once it is complete
	stored     NextIDs       // the ids that the batch stores
	counts     map[Count]int64
	counters   Counters // the shard's, once the batch is complete
	resized    map[Degree]int64
	degrees    Degrees // like counters
	sketches   map[graph.IndexID]*Sketch
	deltaCount int // records of it
	runCount   int // of these, runs of its bulk
	changes    Changes
	bulk       *Bulk   // or nil
	ranges     *Ranges // of the bulk, or nil
	entries    bool    // index entries were changed
	chunks     bool    // column chunks were rewritten
	table      bool    // it is committed as a table that is ingested
	texts      []textChange
	// ones are the chunks of lists that got delta records of their own, or lost one.
	ones     []listChunk
	packed   map[graph.PropID]*packedChunk
	key, buf []byte
	cells    codec.Cells
	packer   *listPacker // or nil
}

// writerMemory is what every writer needs, and what one that makes an edge does.
type writerMemory struct {
	writer Writer
	view   View
	over   overlay
	edges  [2]EdgeChange
	ones   [2]listChunk
	key    [64]byte
	buf    [32]byte
}

// Changes are what a commit touches, for caches of decoded records.
type Changes struct {
	Edges []EdgeChange
	Props []PropChange
	// Vertices are new ones that PutVertices has packed.
	Vertices []VertexRange
	Keys     []KeyChange
}

// KeyChange is an entry of a unique index that was deleted.
type KeyChange struct {
	Index graph.IndexID
	Tuple []byte
}

// EdgeChange is an edge that was put into a list, changed in it or taken out.
type EdgeChange struct {
	Vertex, Neighbour graph.VertexID
	Edge              graph.EdgeID
	Type              graph.TypeID
	Dir               graph.Direction
	What              EdgeEvent
}

// EdgeEvent is what happened to an edge in a list.
type EdgeEvent uint8

// What can happen to an edge.
const (
	EdgeAdded EdgeEvent = iota
	EdgeChanged
	EdgeRemoved
)

// PropChange is a vertex property that was set, or removed, which makes it null; property 0 is the label set.
type PropChange struct {
	Vertex  graph.VertexID
	Prop    graph.PropID
	Value   graph.Value
	Unknown bool // the value is not given here: it is a large value, or of a kind that is not cached
	New     bool // the vertex is one that this commit makes
}

// NewWriter begins a set of changes to the shard as it is. The caller must be the only one who may write.
func (s *Shard) NewWriter() *Writer {
	return s.newWriter(s.graph.Live(), s.values.Live(), s.state())
}

// NewWriterAt begins a set of changes to what a snapshot shows. The snapshot must be open until the writer's end.
func (s *Shard) NewWriterAt(v *View) *Writer { return s.newWriter(v.graph, v.values, v.known) }

func (s *Shard) newWriter(graph, values pebble.Reader, st state) *Writer {
	if r, ok := graph.(*peerReader); ok {
		graph = &peerReader{p: r.p, store: r.store, version: r.version} // which fetches ahead for itself
	}
	m := &writerMemory{}
	m.over.firstLarge = s.valueID(st.nextValue)
	m.view = View{shard: s, graph: graph, values: values, over: &m.over, known: st}
	m.writer = Writer{View: &m.view, key: m.key[:0], buf: m.buf[:0], ones: m.ones[:0]}
	m.writer.changes.Edges = m.edges[:0]
	return &m.writer
}

// Entries reports whether index entries were changed.
func (w *Writer) Entries() bool { return w.entries }

// Empty reports whether nothing was changed.
func (w *Writer) Empty() bool {
	return w.over.empty() && len(w.counts) == 0 && w.bulk == nil && len(w.texts) == 0
}

// Bytes is the size of the changes.
func (w *Writer) Bytes() int { return w.over.bytes + w.over.largeBytes + len(w.texts)*textChangeBytes }

// Changes lists what was touched.
func (w *Writer) Changes() *Changes { return &w.changes }

// Counts returns the changes to the counters, which must not be changed.
func (w *Writer) Counts() map[Count]int64 { return w.counts }

// Sketches returns the distinct counts that have changed, by index; they must not be changed.
func (w *Writer) Sketches() map[graph.IndexID]*Sketch { return w.sketches }

// Count adds to a counter.
func (w *Writer) Count(c Count, d int64) {
	if w.counts == nil {
		w.counts = map[Count]int64{}
	}
	w.counts[c] += d
}

// NextVertex is the local id that NewVertex reserves next, unless another writer is faster.
func (w *Writer) NextVertex() uint64 { return w.shard.NextVertex() }

// NewVertex reserves the id of a new vertex. An id is used once, even if the transaction does not commit.
func (w *Writer) NewVertex() graph.VertexID {
	return graph.MakeVertexID(w.shard.no, w.shard.nextVertex.Add(1)-1)
}

// NewVertices reserves n consecutive ids for new vertices and returns the first.
func (w *Writer) NewVertices(n int) graph.VertexID {
	return graph.MakeVertexID(w.shard.no, w.shard.nextVertex.Add(uint64(n))-uint64(n))
}

// NewEdge reserves the id of a new edge whose source lies in this shard.
func (w *Writer) NewEdge() graph.EdgeID {
	return graph.MakeEdgeID(w.shard.no, w.shard.nextEdge.Add(1)-1)
}

// set writes a delta record.
func (w *Writer) set(key, value []byte) {
	w.deltaCount++
	w.over.put(key, value, false)
}

// appendStored appends a value as it is stored in a record: as a cell, or, if it is large, as a reference.
func (w *Writer) appendStored(dst []byte, v graph.Value) ([]byte, error) {
	start := len(dst)
	dst, ok := keys.AppendCell(dst, v)
	if !ok {
		return dst, graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", v.Kind())
	}
	if len(dst)-start < w.shard.opts.ValueThreshold {
		return dst, nil
	}
	return w.storeApart(dst[:start], dst[start:]), nil
}

// storeCell appends a cell as it is stored in a record; see appendStored.
func (w *Writer) storeCell(dst, cell []byte) []byte {
	if len(cell) < w.shard.opts.ValueThreshold {
		return append(dst, cell...)
	}
	return w.storeApart(dst, cell)
}

// storeApart appends the reference to a large value, which is kept for the commit.
func (w *Writer) storeApart(dst, cell []byte) []byte {
	// Writers that are at work side by side give out the same ids: only one of them is committed as it is.
	id := w.over.firstLarge + uint64(len(w.over.large))
	w.over.large = append(w.over.large, slices.Clone(cell))
	w.over.largeBytes += len(cell)
	return keys.AppendRef(dst, keys.Ref{ID: id, Size: uint64(len(cell))})
}

// drop marks the large value of a cell as garbage, if it is one. It may lie in another shard; it is marked where the
// reference is dropped from the record that owns it, which lies in the value's shard.
func (w *Writer) drop(cell []byte) error {
	if len(cell) == 0 || cell[0] != keys.KindRef {
		return nil
	}
	_, ref, _, _, err := keys.Cell(cell)
	if err != nil {
		return err
	}
	w.set(keys.AppendGarbage(nil, ref.ID), nil)
	return nil
}

// PutVertex writes a new vertex.
func (w *Writer) PutVertex(id graph.VertexID, set graph.LabelSet, labels []graph.LabelID, props []graph.Property) error {
	if err := w.putRecord(id, set, props); err != nil {
		return err
	}
	for _, p := range sortedProps(props) {
		if !p.Value.IsNull() {
			w.countProp(set, p.ID, 1)
		}
	}
	w.member(0, id, true)
	for _, l := range labels {
		w.member(l, id, true)
		w.Count(Count{Kind: CountLabel, Label: l}, 1)
	}
	w.Count(Count{Kind: CountVertices}, 1)
	return nil
}

// putRecord writes the delta record of a new vertex.
func (w *Writer) putRecord(id graph.VertexID, set graph.LabelSet, props []graph.Property) error {
	w.buf = append(w.buf[:0], byte(LabelSetProp))
	w.buf, _ = keys.AppendCell(w.buf, graph.IntValue(int64(set)))
	var err error
	w.changes.Props = append(w.changes.Props, PropChange{id, LabelSetProp, graph.IntValue(int64(set)), false, true})
	for _, p := range sortedProps(props) {
		if p.Value.IsNull() {
			continue
		}
		w.buf = binary.AppendUvarint(w.buf, uint64(p.ID))
		at := len(w.buf)
		if w.buf, err = w.appendStored(w.buf, p.Value); err != nil {
			return err
		}
		w.changes.Props = append(w.changes.Props, PropChange{id, p.ID, p.Value, w.buf[at] == keys.KindRef, true})
	}
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	w.set(w.key, w.buf)
	return nil
}

// sortedProps returns the properties in ascending order; of several values for one the last counts.
func sortedProps(props []graph.Property) []graph.Property {
	for i := 1; i < len(props); i++ {
		if props[i-1].ID >= props[i].ID {
			s := slices.Clone(props)
			slices.SortStableFunc(s, func(a, b graph.Property) int { return int(a.ID) - int(b.ID) })
			out := s[:0]
			for j, p := range s {
				if j+1 < len(s) && s[j+1].ID == p.ID {
					continue
				}
				out = append(out, p)
			}
			return out
		}
	}
	return props
}

var memberOut, memberIn = []byte{0}, []byte{1}

func (w *Writer) member(l graph.LabelID, id graph.VertexID, in bool) {
	v := memberOut
	if in {
		v = memberIn
	}
	w.key = keys.AppendDeltaMember(w.key[:0], l, id.Local())
	w.set(w.key, v)
}

// SetProps sets properties of a vertex with a label set; a null removes one.
func (w *Writer) SetProps(id graph.VertexID, set graph.LabelSet, props []graph.Property) error {
	old, err := w.deltaRecord(id)
	if err != nil {
		return err
	}
	return w.setProps(id, set, props, old)
}

// setProps is SetProps for a vertex with this delta record.
func (w *Writer) setProps(id graph.VertexID, set graph.LabelSet, props []graph.Property, old []byte) (err error) {
	buf := w.buf[:0]
	rest := old
	for _, p := range sortedProps(props) {
		var delta int
		if buf, rest, delta, err = w.copyBefore(buf, rest, p.ID); err != nil {
			return err
		}
		had, err := w.had(id.Local(), p.ID, delta)
		if err != nil {
			return err
		}
		switch has := !p.Value.IsNull(); {
		case has && !had:
			w.countProp(set, p.ID, 1)
		case had && !has:
			w.countProp(set, p.ID, -1)
		}
		buf = binary.AppendUvarint(buf, uint64(p.ID))
		at := len(buf)
		if buf, err = w.appendStored(buf, p.Value); err != nil {
			return err
		}
		w.changes.Props = append(w.changes.Props, PropChange{id, p.ID, p.Value, buf[at] == keys.KindRef, false})
	}
	w.buf = append(buf, rest...)
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	w.set(w.key, w.buf)
	return nil
}

// deltaRecord reads a vertex's delta properties; nil if there are none.
func (w *Writer) deltaRecord(id graph.VertexID) ([]byte, error) {
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	b, ok, err := w.record(w.key, nil)
	if err != nil {
		return nil, kv.Fault("read properties", err)
	}
	if !ok {
		return nil, nil
	}
	return b, nil
}

// copyBefore copies the properties of a delta record before p to dst, drops p itself and gives what is left, and what
// the record said of p.
func (w *Writer) copyBefore(dst, rest []byte, p graph.PropID) (_, _ []byte, delta int, err error) {
	for len(rest) > 0 {
		q, cell := codec.Uvarint(rest)
		if cell == nil {
			return dst, rest, 0, kv.Corrupt("delta properties", w.key, codec.ErrDelta)
		}
		if graph.PropID(q) > p {
			break
		}
		next, err := keys.SkipCell(cell)
		if err != nil {
			return dst, rest, 0, kv.Corrupt("delta properties", w.key, err)
		}
		if graph.PropID(q) == p {
			if err := w.drop(cell); err != nil {
				return dst, rest, 0, err
			}
			return dst, next, deltaOf(cell), nil
		}
		dst = append(dst, rest[:len(rest)-len(next)]...)
		rest = next
	}
	return dst, rest, deltaSilent, nil
}

// SetLabels changes the label set of a vertex; added and removed are the labels in which the sets differ, props all
// properties that it may have.
func (w *Writer) SetLabels(id graph.VertexID, old, set graph.LabelSet, added, removed []graph.LabelID, props []graph.PropID) error {
	record, err := w.deltaRecord(id)
	if err != nil {
		return err
	}
	if err := w.moveProps(id, old, set, props, record); err != nil {
		return err
	}
	if err := w.SetProps(id, set, []graph.Property{{ID: LabelSetProp, Value: graph.IntValue(int64(set))}}); err != nil {
		return err
	}
	for _, l := range added {
		w.member(l, id, true)
		w.Count(Count{Kind: CountLabel, Label: l}, 1)
	}
	for _, l := range removed {
		w.member(l, id, false)
		w.Count(Count{Kind: CountLabel, Label: l}, -1)
	}
	return nil
}

// DropVertex deletes a vertex with its labels, which make the set; props are all properties that it may have.
func (w *Writer) DropVertex(id graph.VertexID, set graph.LabelSet, labels []graph.LabelID, props []graph.PropID) error {
	gone := make([]graph.Property, 0, len(props)+1)
	gone = append(gone, graph.Property{ID: LabelSetProp})
	for _, p := range props {
		gone = append(gone, graph.Property{ID: p})
	}
	if err := w.SetProps(id, set, gone); err != nil {
		return err
	}
	w.member(0, id, false)
	for _, l := range labels {
		w.member(l, id, false)
		w.Count(Count{Kind: CountLabel, Label: l}, -1)
	}
	w.Count(Count{Kind: CountVertices}, -1)
	return nil
}

// EdgeBody encodes the properties of a new edge of a type for its two list entries, and counts them; large values go to
// this shard, which must be the source's.
func (w *Writer) EdgeBody(dst []byte, t graph.TypeID, props []graph.Property) ([]byte, error) {
	var err error
	for _, p := range sortedProps(props) {
		if p.Value.IsNull() {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(p.ID))
		if dst, err = w.appendStored(dst, p.Value); err != nil {
			return dst, err
		}
		w.countEdgeProp(t, p.ID, 1)
	}
	return dst, nil
}

// end is one entry of an edge: in the list of one of its vertices.
func end(e graph.Edge, dir graph.Direction) (vertex, neighbour graph.VertexID) {
	if dir == graph.Out {
		return e.Src, e.Dst
	}
	return e.Dst, e.Src
}

// AddEdge puts a new edge into the list of its source (Out) or target (In).
func (w *Writer) AddEdge(e graph.Edge, dir graph.Direction, body []byte) {
	w.putDelta(e, dir, codec.DeltaInserted, body, EdgeAdded)
}

func (w *Writer) putDelta(e graph.Edge, dir graph.Direction, state byte, body []byte, what EdgeEvent) {
	v, n := end(e, dir)
	w.changes.Edges = append(w.changes.Edges, EdgeChange{v, n, e.ID, e.Type, dir, what})
	w.noteOne(listChunk{e.Type, dir, v.Local() >> keys.GroupBits})
	w.key = keys.AppendDeltaOne(w.key[:0], e.Type, dir, v.Local(), n, e.ID)
	w.buf = append(append(w.buf[:0], state), body...)
	w.set(w.key, w.buf)
}

func (w *Writer) noteOne(c listChunk) {
	if n := len(w.ones); n == 0 || w.ones[n-1] != c {
		w.ones = append(w.ones, c)
	}
}

// SetEdgeProps merges properties into an edge's entry in the list of its source, which is one of ls, and gives the new
// body, which is for its entry at the target. ok is false if there is no such edge. Like RemoveEdge and MirrorEdge, it is
// fastest for edges in the order of their lists, with the same ls.
func (w *Writer) SetEdgeProps(ls *Lists, e graph.Edge, props []graph.Property) (body []byte, ok bool, err error) {
	sorted := sortedProps(props)
	take := func(limit graph.PropID) error {
		for len(sorted) > 0 && sorted[0].ID < limit {
			p := sorted[0]
			sorted = sorted[1:]
			if p.Value.IsNull() {
				continue
			}
			body = binary.AppendUvarint(body, uint64(p.ID))
			if body, err = w.appendStored(body, p.Value); err != nil {
				return err
			}
			w.countEdgeProp(e.Type, p.ID, 1)
		}
		return nil
	}
	var replaced [][]byte
	ok, state, err := ls.find(e.Src.Local(), e.Dst, e.ID, func(p graph.PropID, cell []byte) error {
		if err := take(p); err != nil {
			return err
		}
		if len(sorted) > 0 && sorted[0].ID == p {
			replaced = append(replaced, slices.Clone(cell))
			w.countEdgeProp(e.Type, p, -1)
			return take(p + 1)
		}
		body = append(binary.AppendUvarint(body, uint64(p)), cell...)
		return nil
	})
	if err != nil {
		ls.err = kv.Fault("change an edge", err)
		return nil, false, ls.err
	}
	if !ok {
		return nil, false, nil
	}
	if err := take(^graph.PropID(0)); err != nil {
		return nil, false, err
	}
	if state == 0 {
		// What is packed is dropped when the list is compacted.
		w.putDelta(e, graph.Out, codec.DeltaUpdated, body, EdgeChanged)
		return body, true, nil
	}
	for _, cell := range replaced {
		if err := w.drop(cell); err != nil {
			return nil, false, err
		}
	}
	w.putDelta(e, graph.Out, state, body, EdgeChanged)
	return body, true, nil
}

// MirrorEdge gives an edge's entry in the list of its target, which is one of ls, the body that SetEdgeProps returned.
func (w *Writer) MirrorEdge(ls *Lists, e graph.Edge, body []byte) error {
	ok, state, err := ls.find(e.Dst.Local(), e.Src, e.ID, nil)
	if err != nil {
		ls.err = kv.Fault("find an edge", err)
		return ls.err
	}
	if !ok {
		return nil
	}
	if state == 0 {
		state = codec.DeltaUpdated
	}
	w.putDelta(e, graph.In, state, body, EdgeChanged)
	return nil
}

// RemoveEdge takes an edge out of the list of its source or target, which is one of ls. ok is false if it was not there.
func (w *Writer) RemoveEdge(ls *Lists, e graph.Edge) (ok bool, err error) {
	dir := ls.l.dir
	v, n := end(e, dir)
	var large [][]byte
	ok, state, err := ls.find(v.Local(), n, e.ID, func(p graph.PropID, cell []byte) error {
		if dir == graph.Out {
			w.countEdgeProp(e.Type, p, -1)
		}
		if cell[0] == keys.KindRef {
			large = append(large, slices.Clone(cell))
		}
		return nil
	})
	if err != nil {
		ls.err = kv.Fault("delete an edge", err)
		return false, ls.err
	}
	if !ok {
		return false, nil
	}
	if state != 0 && dir == graph.Out {
		for _, cell := range large {
			if err := w.drop(cell); err != nil {
				return false, err
			}
		}
	}
	if state != codec.DeltaInserted {
		w.putDelta(e, dir, codec.DeltaDeleted, nil, EdgeRemoved)
		return true, nil
	}
	w.changes.Edges = append(w.changes.Edges, EdgeChange{v, n, e.ID, e.Type, dir, EdgeRemoved})
	w.noteOne(listChunk{e.Type, dir, v.Local() >> keys.GroupBits})
	w.key = keys.AppendDeltaOne(w.key[:0], e.Type, dir, v.Local(), n, e.ID)
	w.over.put(w.key, nil, true)
	return true, nil
}

// prepare makes the batch of all changes. Changes to the shard alone may become a table; see setTable.
func (w *Writer) prepare(alone bool) error {
	s := w.shard
	if w.bulk != nil {
		if err := w.bulk.finish(); err != nil {
			return err
		}
	}
	w.setTable(alone)
	w.batch = s.graph.NewBatch()
	if !w.table {
		if err := w.over.appendTo(w.batch); err != nil {
			return err
		}
	}
	// An id that is stored here and was given out to another transaction is not lost: that one knows it.
	w.stored = NextIDs{
		Vertex: s.nextVertex.Load(), Edge: s.nextEdge.Load(), value: w.known.nextValue + uint64(len(w.over.large)), Text: s.next.Text + uint64(len(w.texts)),
	}
	put := func(what byte, old, now uint64) error {
		if now == old {
			return nil
		}
		return w.batch.Set(keys.MetaKey(what), binary.AppendUvarint(nil, now), nil)
	}
	err := errors.Join(
		put(keys.MetaNextVertex, s.next.Vertex, w.stored.Vertex), put(keys.MetaNextEdge, s.next.Edge, w.stored.Edge),
		put(keys.MetaNextValue, s.next.value, w.stored.value), put(keys.MetaNextText, s.next.Text, w.stored.Text), w.storeTexts(s.next.Text),
	)
	if err != nil {
		return err
	}
	// No commit after this one may use the same large values, whatever becomes of it.
	s.next.value, s.next.Text = w.stored.value, w.stored.Text
	if w.counters, err = s.counters.add(w.batch, w.counts); err != nil {
		return err
	}
	if w.degrees, err = s.degrees.add(w.batch, w.resized); err != nil {
		return err
	}
	for ix, sk := range w.sketches {
		if err := w.batch.Set(sketchKey(ix), sk[:], nil); err != nil {
			return err
		}
	}
	return nil
}

// Discard throws the changes away.
func (w *Writer) Discard() error { return w.View.Close() }
