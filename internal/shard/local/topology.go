package local

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// topology is the topology cache of a graph's shards.
type topology struct {
	lists   []*cache.Lists
	columns []*cache.Columns
	keys    *cache.Keys
}

func newTopology(c *cache.Cache, shards int) *topology {
	d := &topology{keys: c.NewKeys()}
	for no := range shards {
		d.lists = append(d.lists, c.NewLists(cache.NewIDs(shards)))
		d.columns = append(d.columns, c.NewColumns(no))
	}
	return d
}

// counts returns what readers of a shard have found.
func (d *topology) counts(no int) cache.Counts {
	c := d.lists[no].Counts()
	c.Add(d.columns[no].Counts())
	return c
}

func (d *topology) close() {
	for no := range d.lists {
		d.lists[no].Close()
		d.columns[no].Close()
	}
}

// note notes the changes that writers have committed under a sequence, before a reader sees them.
func (d *topology) note(seq uint64, ws []*staging.Writer) {
	for _, w := range ws {
		ch, no := w.Changes(), w.No()
		noteEdges(seq, d.lists[no], ch.Edges)
		noteProps(seq, d.columns[no], ch.Props)
		noteVertices(seq, d.columns[no], ch.Vertices)
		for _, k := range ch.Keys {
			d.keys.Delete(seq, k.Index, k.Tuple)
		}
		if r := w.Ranges(); r != nil {
			noteVertices(seq, d.columns[no], r.Vertices)
			noteLists(seq, d.lists[no], r.Lists)
		}
	}
}

func noteEdges(seq uint64, l *cache.Lists, edges []staging.EdgeChange) {
	order := func(a, b staging.EdgeChange) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Vertex/cache.ListBlock, b.Vertex/cache.ListBlock))
	}
	if !slices.IsSortedFunc(edges, order) { // those of one run are
		slices.SortStableFunc(edges, order)
	}
	var buf []cache.EdgeChange
	for len(edges) > 0 {
		t, dir := edges[0].Type, edges[0].Dir
		buf = buf[:0]
		n := 0
		for ; n < len(edges) && edges[n].Type == t && edges[n].Dir == dir; n++ {
			e := &edges[n]
			kind := cache.EdgeAdded
			switch e.What {
			case staging.EdgeRemoved:
				kind = cache.EdgeRemoved
			case staging.EdgeChanged:
				kind = cache.EdgeChanged
			}
			buf = append(buf, cache.EdgeChange{Vertex: e.Vertex.Local(), Target: e.Neighbour, Edge: e.Edge, Kind: kind})
		}
		l.Apply(seq, t, dir, buf)
		l.Changed(seq, t, dir, n, func(i int) uint64 { return buf[i].Vertex })
		edges = edges[n:]
	}
}

func noteProps(seq uint64, c *cache.Columns, props []staging.PropChange) {
	props = byProp(props)
	var buf []cache.ValueChange
	for len(props) > 0 {
		prop, block := props[0].Prop, props[0].Vertex.Local()/cache.ColumnBlock
		buf = buf[:0]
		simple := true
		n := 0
		for ; n < len(props) && props[n].Prop == prop && props[n].Vertex.Local()/cache.ColumnBlock == block; n++ {
			p := &props[n]
			simple = simple && !p.Unknown && cache.Simple(p.Value.Kind())
			buf = append(buf, cache.ValueChange{Vertex: p.Vertex.Local(), Value: p.Value})
		}
		if simple {
			c.Apply(seq, prop, buf)
		} else {
			c.InvalidateColumn(seq, prop, block)
		}
		c.Changed(seq, prop, buf)
		props = props[n:]
	}
}

// byProp returns changes in the order of their properties and blocks, those of one block as they were made.
func byProp(props []staging.PropChange) []staging.PropChange {
	block := func(p *staging.PropChange) graph.VertexID { return p.Vertex / cache.ColumnBlock }
	var ids []graph.PropID
	var ends []int // beside ids
	var last []graph.VertexID
	sorted := true // by block within each property, as a load makes them
	for i := range props {
		p := &props[i]
		at := slices.Index(ids, p.Prop)
		if at < 0 {
			at = len(ids)
			ids, ends, last = append(ids, p.Prop), append(ends, 0), append(last, 0)
		}
		ends[at]++
		if b := block(p); b < last[at] || len(ids) > fewProps {
			sorted = false
			break
		} else {
			last[at] = b
		}
	}
	if !sorted {
		slices.SortStableFunc(props, func(a, b staging.PropChange) int {
			return cmp.Or(cmp.Compare(a.Prop, b.Prop), cmp.Compare(block(&a), block(&b)))
		})
		return props
	}
	if len(ids) < 2 {
		return props
	}
	for i, n, at := 0, 0, 0; i < len(ends); i++ {
		n, ends[i] = ends[i], at
		at += n
	}
	out := make([]staging.PropChange, len(props))
	for i := range props {
		at := slices.Index(ids, props[i].Prop)
		out[ends[at]] = props[i]
		ends[at]++
	}
	return out
}

// fewProps is how many properties are looked through one by one.
const fewProps = 16

// noteVertices notes new vertices that were packed at once.
func noteVertices(seq uint64, c *cache.Columns, vs []pack.VertexRange) {
	for _, v := range vs {
		for _, p := range v.Props {
			c.ChangedRange(seq, p, v.First, uint64(v.N))
		}
		for block := v.First / cache.ColumnBlock; block*cache.ColumnBlock < v.First+uint64(v.N); block++ {
			for _, p := range v.Props {
				c.Invalidate(seq, p, block)
			}
		}
	}
}

// noteLists notes edges that were loaded in bulk.
func noteLists(seq uint64, l *cache.Lists, rs []pack.ListRange) {
	var buf []cache.EdgeChange
	for _, r := range rs {
		for edges := r.Edges; len(edges) > 0; {
			block := edges[0].Vertex / cache.ListBlock
			n, _ := slices.BinarySearchFunc(edges, (block+1)*cache.ListBlock, func(e codec.ListEdge, v uint64) int {
				return cmp.Compare(e.Vertex, v)
			})
			if l.Watched(r.Type, r.Dir, block) {
				buf = buf[:0]
				for _, e := range edges[:n] {
					buf = append(buf, cache.EdgeChange{Vertex: e.Vertex, Target: e.Neighbour, Edge: e.Edge})
				}
				l.Apply(seq, r.Type, r.Dir, buf)
			} else {
				l.Invalidate(seq, r.Type, r.Dir, block)
			}
			l.Changed(seq, r.Type, r.Dir, n, func(i int) uint64 { return edges[i].Vertex })
			edges = edges[n:]
		}
	}
}

// source reads what is to be decoded from a shard's view.
type source struct {
	v    *view.View
	next uint64 // the first local id that is not a vertex
}

// ReadLists implements cache.ListSource.
func (s *source) ReadLists(t graph.TypeID, dir graph.Direction, first uint64, b *cache.ListBuilder) error {
	ls, err := s.v.Lists(t, dir)
	if err != nil {
		return err
	}
	defer ls.Close()
	ctx := context.Background()
	want := view.Want{IDs: b.Want().Edges, Props: b.Want().Props}
	out := view.Edges{Props: make([][]graph.Value, len(want.Props))}
	var pending []view.Pending
	for local := first; local < min(first+cache.ListBlock, s.next); local++ {
		out.Targets, out.IDs, pending = out.Targets[:0], out.IDs[:0], pending[:0]
		for p := range out.Props {
			out.Props[p] = out.Props[p][:0]
		}
		if err := ls.Append(ctx, graph.MakeVertexID(s.v.No(), local), want, &out, &pending); err != nil {
			return err
		}
		if len(out.Targets) == 0 {
			continue
		}
		at := b.Edges()
		for p := range out.Props {
			putValues(b.Prop(p), at, out.Props[p], p, pending)
		}
		b.Add(local, out.Targets, out.IDs)
	}
	return nil
}

// putValues puts the values of property p from place at on into a column, those that are large as references.
func putValues(b *cache.ColumnBuilder, at int, vals []graph.Value, p int, pending []view.Pending) {
	large := map[int]keys.Ref{}
	for _, q := range pending {
		if q.P == p {
			large[q.I] = q.Ref
		}
	}
	for i, v := range vals {
		switch {
		case v.IsNull():
			if ref, ok := large[i]; ok {
				b.Opaque(at+i, keys.AppendRef(nil, ref))
			}
		case cache.Simple(v.Kind()):
			b.Value(at+i, v)
		default:
			cell, _ := keys.AppendCell(nil, v)
			b.Opaque(at+i, cell)
		}
	}
}

// ReadColumn implements cache.ColumnSource.
func (s *source) ReadColumn(prop graph.PropID, first uint64, b *cache.ColumnBuilder) error {
	ctx := context.Background()
	ids := make([]graph.VertexID, 0, cache.ColumnBlock)
	for local := first; local < min(first+cache.ColumnBlock, s.next); local++ {
		ids = append(ids, graph.MakeVertexID(s.v.No(), local))
	}
	if prop == cache.LabelProp {
		sets := make([]graph.LabelSet, len(ids))
		if err := s.v.LabelSets(ctx, ids, nil, sets); err != nil {
			return err
		}
		for i, set := range sets {
			if set != 0 {
				b.Value(i, graph.IntValue(int64(set)))
			}
		}
		return nil
	}
	out := shard.Columns(1, len(ids))
	var pending []view.Pending
	if err := s.v.Properties(ctx, ids, nil, []graph.PropID{prop}, out, &pending); err != nil {
		return err
	}
	putValues(b, 0, out[0], 0, pending)
	return nil
}

// ReadVectors implements cache.ColumnSource.
func (s *source) ReadVectors(prop graph.PropID, first uint64, b *cache.VectorBuilder) error {
	ctx := context.Background()
	var ids [vectorRows]graph.VertexID
	var vals [vectorRows]graph.Value
	var pending []view.Pending
	for end := min(first+cache.ColumnBlock, s.next); first < end; first += vectorRows {
		n := int(min(vectorRows, end-first))
		for i := range n {
			ids[i] = graph.MakeVertexID(s.v.No(), first+uint64(i))
		}
		clear(vals[:])
		pending = pending[:0]
		if err := s.v.Properties(ctx, ids[:n], nil, []graph.PropID{prop}, [][]graph.Value{vals[:n]}, &pending); err != nil {
			return err
		}
		if err := s.putVectors(b, int(first%cache.ColumnBlock), vals[:n], pending); err != nil {
			return err
		}
	}
	return nil
}

// putVectors puts the vectors among some values, and among large ones, from place at on.
func (s *source) putVectors(b *cache.VectorBuilder, at int, vals []graph.Value, pending []view.Pending) error {
	for i, v := range vals {
		if n := vector.Dimensions(v); n > 0 {
			b.Put(at+i, func(dst []float32) ([]float32, int, bool) {
				x, ok := vector.Pack(dst, v)
				return x, n, ok
			})
		}
	}
	for _, p := range pending {
		if err := s.v.Vector(p.Ref, at+p.I, b); err != nil {
			return err
		}
	}
	return nil
}

// ReadEdgeVectors implements cache.ListSource.
func (s *source) ReadEdgeVectors(t graph.TypeID, prop graph.PropID, first uint64, b *cache.VectorBuilder) error {
	ls, err := s.v.Lists(t, graph.Out)
	if err != nil {
		return err
	}
	defer ls.Close()
	ctx := context.Background()
	want := view.Want{IDs: true, Props: []graph.PropID{prop}}
	out := view.Edges{Props: make([][]graph.Value, 1)}
	var pending []view.Pending
	for local := first; local < min(first+cache.ColumnBlock, s.next); local++ {
		out.Targets, out.IDs, out.Props[0], pending = out.Targets[:0], out.IDs[:0], out.Props[0][:0], pending[:0]
		if err := ls.Append(ctx, graph.MakeVertexID(s.v.No(), local), want, &out, &pending); err != nil {
			return err
		}
		if len(out.Targets) == 0 {
			continue
		}
		b.Edges(int(local-first), out.Targets, out.IDs)
		if err := s.putVectors(b, 0, out.Props[0], pending); err != nil {
			return err
		}
	}
	return nil
}

// vectorRows is how many vertices' lists are decoded at a time for a block of vectors.
const vectorRows = 64

// topologyReads is the part of a transaction that reads what is decoded.
type topologyReads struct {
	columns []cache.ColumnView // open from the first use to the end of the transaction
	// lists keeps the values of edges that were handed out, which lie in the memory of decoded lists, until then.
	lists   cache.ListView
	holding bool // lists is open
}

// changeLog is, by shard, what a writer has changed, as far as it has been read: so many edges, properties and runs of new
// vertices.
type changeLog struct {
	touched              []cache.Touched
	edges, props, ranges []int
}

// touch returns what a writer has changed in a shard. The caller holds tx.mu.
func (tx *Tx) touch(no int) *cache.Touched {
	d := &tx.changes
	if d.touched == nil {
		d.touched = make([]cache.Touched, len(tx.ws))
		d.edges, d.props, d.ranges = make([]int, len(tx.ws)), make([]int, len(tx.ws)), make([]int, len(tx.ws))
	}
	t, ch := &d.touched[no], tx.ws[no].Changes()
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
	views []cache.ListView
	refs  []*cache.ListView // to views; nil for a shard that the transaction does not read

	missed graph.VertexSet // of a step, the vertices whose lists are not decoded
}

var listViewsPool = sync.Pool{New: func() any { return new(listViews) }}

// openLists opens views of the decoded lists; close ends them. They are filled from a snapshot alone: what a writer without
// one reads may never come to pass. With values, those of edges are read, which are good until the transaction ends.
func (tx *Tx) openLists(values bool) *listViews {
	lv := listViewsPool.Get().(*listViews)
	if len(lv.views) != len(tx.views) {
		lv.views, lv.refs = make([]cache.ListView, len(tx.views)), make([]*cache.ListView, len(tx.views))
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if d := &tx.topology; values && !d.holding {
		tx.on.topology.lists[0].Open(&d.lists, 0, 0, nil, nil)
		d.holding = true
	}
	for no, l := range tx.on.topology.lists {
		if lv.refs[no] = nil; tx.mode == shard.Read && tx.views[no] == nil {
			continue
		}
		lv.refs[no] = &lv.views[no]
		switch {
		case tx.mode == shard.Read:
			s := &tx.snap.sources[no]
			l.Open(&lv.views[no], tx.snap.seq, s.next, s, nil)
		case tx.snap != nil:
			s := &tx.snap.sources[no]
			l.Open(&lv.views[no], tx.snap.seq, s.next, s, tx.touch(no))
		default:
			l.Open(&lv.views[no], tx.g.seq, tx.ws[no].NextVertex(), nil, tx.touch(no))
		}
		lv.views[no].Count(tx.reads)
	}
	return lv
}

func (lv *listViews) close() {
	for _, v := range lv.refs {
		if v != nil {
			v.Close()
		}
	}
	listViewsPool.Put(lv)
}

// openColumns returns the views of the decoded columns, one a shard.
func (tx *Tx) openColumns() []cache.ColumnView {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	d := &tx.topology
	first := d.columns == nil
	if first {
		d.columns = make([]cache.ColumnView, len(tx.views))
	}
	for no, c := range tx.on.topology.columns {
		switch {
		case tx.mode != shard.Read:
			t := tx.touch(no)
			if first && tx.snap != nil {
				s := &tx.snap.sources[no]
				c.Open(&d.columns[no], tx.snap.seq, s.next, s, tx.decode, t)
			} else if first {
				c.Open(&d.columns[no], tx.g.seq, tx.ws[no].NextVertex(), nil, tx.decode, t)
			}
		case first:
			c.Open(&d.columns[no], tx.snap.seq, tx.snap.sources[no].next, &tx.snap.sources[no], tx.decode, nil)
		}
		if first {
			d.columns[no].Count(tx.reads)
		}
	}
	return d.columns
}

// Pass implements shard.Passer.
func (tx *Tx) Pass() {
	for no, v := 0, tx.openColumns(); no < len(v); no++ {
		v[no].Pass()
	}
}

// Meter implements shard.Metered.
func (tx *Tx) Meter(r *graph.Reads) {
	tx.reads = r
	for no := range tx.topology.columns {
		tx.topology.columns[no].Count(r)
	}
}

// closeTopology ends the views that last as long as the transaction.
func (tx *Tx) closeTopology() {
	for no := range tx.topology.columns {
		tx.topology.columns[no].Close()
	}
	tx.topology.columns = nil
	if tx.topology.holding {
		tx.topology.lists.Close()
		tx.topology.holding = false
	}
}

// decode decodes a cell that is not a simple value.
func (tx *Tx) decode(b []byte) (graph.Value, error) {
	v, ref, isRef, _, err := keys.Cell(b)
	if err != nil {
		return v, graph.CorruptError("decode a value", err)
	}
	if isRef {
		return tx.value(ref)
	}
	return v, nil
}

// cachedProperties fills in what is decoded and gives, for each property, the rows that must be read, in the order of
// their vertices; nil if there are none. It appends large values to pending.
func (tx *Tx) cachedProperties(ids []graph.VertexID, props []graph.PropID, out [][]graph.Value, pending *[]view.Pending) (missing [][]int32, err error) {
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

// seekKnown looks the keys of a unique index over vertices up among those that are kept; ok is false unless all are.
func (tx *Tx) seekKnown(d *index.Def, vals []graph.Value, res *shard.Found) (ok bool) {
	width := max(1, len(d.Props))
	if !tx.keepsKeys(d) || len(vals)%width != 0 {
		return false
	}
	var buf [2 * cache.MostKey]byte
	res.IDs, res.Offsets = res.IDs[:0], append(res.Offsets[:0], 0)
	for ; len(vals) > 0; vals = vals[width:] {
		key, ok, loose, err := view.AppendTuple(buf[:0], vals[:width])
		if err != nil || !ok || loose {
			return false
		}
		id, ok := tx.on.topology.keys.Get(tx.snap.seq, d.ID, key)
		if !ok {
			return false
		}
		res.IDs = append(res.IDs, id)
		res.Offsets = append(res.Offsets, len(res.IDs))
	}
	return true
}

// keepKeys keeps what a look-up in a unique index over vertices has found.
func (tx *Tx) keepKeys(d *index.Def, vals []graph.Value, res *shard.Found) {
	if !tx.keepsKeys(d) {
		return
	}
	width := max(1, len(d.Props))
	var buf [2 * cache.MostKey]byte
	for k := range len(res.Offsets) - 1 {
		if res.Offsets[k+1]-res.Offsets[k] != 1 {
			continue
		}
		key, ok, loose, err := view.AppendTuple(buf[:0], vals[k*width:(k+1)*width])
		if err == nil && ok && !loose {
			tx.on.topology.keys.Put(tx.snap.seq, d.ID, key, res.IDs[res.Offsets[k]])
		}
	}
}

// keepsKeys reports whether what a look-up in an index finds is what a snapshot shows of a unique index.
func (tx *Tx) keepsKeys(d *index.Def) bool {
	if !d.Unique || tx.plain || tx.snap == nil || len(tx.dups) > 0 {
		return false
	}
	for _, w := range tx.ws {
		if w.Entries.Changed() {
			return false
		}
	}
	return true
}
