package read

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Topology is the topology cache of a graph's shards.
type Topology struct {
	lists   []*cache.Lists
	columns []*cache.Columns
	keys    *cache.Keys
	changes changes
	touched touched
}

// NewTopology makes the cache of a graph with some shards.
func NewTopology(c *cache.Cache, shards int) *Topology {
	d := &Topology{keys: c.NewKeys(), touched: touched{opened: rand.Uint64()}}
	for no := range shards {
		d.lists = append(d.lists, c.NewLists(cache.NewIDs(shards)))
		d.columns = append(d.columns, c.NewColumns(no))
	}
	return d
}

// Counts returns what readers of a shard have found.
func (d *Topology) Counts(no int) cache.Counts {
	c := d.lists[no].Counts()
	c.Add(d.columns[no].Counts())
	return c
}

// Close returns the memory.
func (d *Topology) Close() {
	for no := range d.lists {
		d.lists[no].Close()
		d.columns[no].Close()
	}
}

// Note records the changes that writers have committed under a sequence, before a reader sees them.
func (d *Topology) Note(seq uint64, ws []*staging.Writer) {
	for _, w := range ws {
		ch, no := w.Changes(), w.No()
		noteEdges(seq, d.lists[no], ch.Edges)
		d.changes.note(seq, ch.Props)
		d.touched.note(seq, w)
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

// NoteRepair records that a repair has changed the lists of a shard.
func (d *Topology) NoteRepair(seq uint64, no int, edges []staging.EdgeChange) {
	noteEdges(seq, d.lists[no], edges)
}

// ForgetKeys forgets the owners of unique keys.
func (d *Topology) ForgetKeys(seq uint64) { d.keys.Forget(seq) }

// NoteBatch records that a batch has changed records of a shard.
func (d *Topology) NoteBatch(version uint64, no int, c *storage.Touched) {
	lists, columns := d.lists[no], d.columns[no]
	for i, l := range c.Lists {
		block := l.Local / cache.ListBlock
		if i > 0 && c.Lists[i-1].Type == l.Type && c.Lists[i-1].Dir == l.Dir && c.Lists[i-1].Local/cache.ListBlock == block {
			continue
		}
		lists.Invalidate(version, l.Type, l.Dir, block)
	}
	for rest := c.Lists; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Type == rest[0].Type && rest[n].Dir == rest[0].Dir {
			n++
		}
		lists.Changed(version, rest[0].Type, rest[0].Dir, n, func(i int) uint64 { return rest[i].Local })
		rest = rest[n:]
	}
	for i, v := range c.Columns {
		columns.ChangedRange(version, v.Prop, v.First, v.Last-v.First+1)
		for block := v.First / cache.ColumnBlock; block <= v.Last/cache.ColumnBlock; block++ {
			if i > 0 && c.Columns[i-1].Prop == v.Prop && c.Columns[i-1].First/cache.ColumnBlock == block {
				continue
			}
			columns.Invalidate(version, v.Prop, block)
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
	var buf []cache.ValueChange
	for order := byProp(props); len(order) > 0; {
		first := &props[order[0]]
		prop, block := first.Prop, first.Vertex.Local()/cache.ColumnBlock
		buf = buf[:0]
		simple := true
		n := 0
		for ; n < len(order); n++ {
			p := &props[order[n]]
			if p.Prop != prop || p.Vertex.Local()/cache.ColumnBlock != block {
				break
			}
			simple = simple && !p.Unknown && cache.Simple(p.Value.Kind())
			buf = append(buf, cache.ValueChange{Vertex: p.Vertex.Local(), Value: p.Value})
		}
		if simple {
			c.Apply(seq, prop, buf)
		} else {
			c.InvalidateColumn(seq, prop, block)
		}
		c.Changed(seq, prop, buf)
		order = order[n:]
	}
}

// byProp returns the places of changes in the order of their properties and blocks, those of one block as they were made.
func byProp(props []staging.PropChange) []int32 {
	block := func(p *staging.PropChange) graph.VertexID { return p.Vertex / cache.ColumnBlock }
	compare := func(a, b staging.PropChange) int {
		return cmp.Or(cmp.Compare(a.Prop, b.Prop), cmp.Compare(block(&a), block(&b)))
	}
	if len(props) <= len(asMade) && slices.IsSortedFunc(props, compare) {
		return asMade[:len(props)]
	}
	order := make([]int32, len(props))
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
		type place struct {
			prop  graph.PropID
			at    int32
			block graph.VertexID
		}
		places := make([]place, len(props))
		for i := range props {
			places[i] = place{props[i].Prop, int32(i), block(&props[i])}
		}
		slices.SortFunc(places, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.prop, b.prop), cmp.Compare(a.block, b.block), cmp.Compare(a.at, b.at))
		})
		for i := range places {
			order[i] = places[i].at
		}
		return order
	}
	for i, n, at := 0, 0, 0; i < len(ends); i++ {
		n, ends[i] = ends[i], at
		at += n
	}
	for i := range props {
		at := slices.Index(ids, props[i].Prop)
		order[ends[at]] = int32(i)
		ends[at]++
	}
	return order
}

// asMade is the order of a few changes that are in order.
var asMade = func() (order [32]int32) {
	for i := range order {
		order[i] = int32(i)
	}
	return order
}()

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
