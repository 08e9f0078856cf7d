package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// write is the part of a transaction that writes. Its maps are made when they are needed, see put.
type write struct {
	id      storage.CommitID // of the commit, or zero
	changes changeLog        // for the views of the caches
	ws      []*staging.Writer
	// sets caches the label sets of vertices that were touched; deleted ones keep here what they had.
	sets    labelSets
	deleted map[graph.VertexID]struct{}
	// touched are the vertices and edges whose required properties are checked at commit.
	touched      map[graph.VertexID]struct{}
	touchedEdges map[graph.EdgeID]graph.Edge
	// rows is memory for the properties of new vertices.
	rows [][]graph.Property
	// log holds what was applied, ids and all, so that it can be applied again to a later state.
	log []shard.Mutation
	// logged is about what log holds, in bytes.
	logged int
	// replaying says that what is created has its id already.
	replaying bool
	// due is the earliest time at which something that was written expires, and stamped the time of the writing.
	due     int64
	stamped graph.Value
	// dups holds, by index and tuple, further owners of what a unique index holds one of; at commit there must be none.
	dups map[string][]graph.IndexOwner

	inTurn  bool        // takes turns with others that change the same
	turns   []shard.Key // at which it has had its turn; Graph.turns guards it while it waits
	changed []shard.Key // at which it takes its turn because of its changes
	awaits  *waiter     // where it waits; Graph.turns guards it
}

// noWrite is that of transactions that only read.
var noWrite write

// put sets a key of a map that may not have been made yet.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// begin opens writers over the transaction's snapshot, or, without one, over the present state.
func (tx *Tx) begin() {
	tx.defs = tx.g.defs.Load()
	if tx.snap != nil {
		tx.defs = tx.snap.defs
	}
	tx.views = nil
	tx.write = &write{due: never}
	for no, s := range tx.g.shards {
		var w *staging.Writer
		if tx.snap != nil {
			w = s.NewWriterAt(tx.snap.views[no])
		} else {
			w = s.NewWriter()
		}
		tx.ws = append(tx.ws, w)
		tx.views = append(tx.views, w.View)
	}
}

// Apply implements shard.Tx.
func (tx *Tx) Apply(ctx context.Context, ms []shard.Mutation) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	if err := tx.writable(); err != nil {
		return err
	}
	tx.mu.Lock()
	tx.counts = nil
	tx.mu.Unlock()
	if tx.inTurn {
		if err := tx.takeTurns(ctx, ms); err != nil {
			return err
		}
	}
	if err := tx.prefetch(ctx, ms); err != nil {
		return err
	}
	if err := tx.prefetchEntries(ms); err != nil {
		return err
	}
	if err := tx.applyAll(ctx, ms); err != nil {
		return err
	}
	size := tx.logged
	for _, w := range tx.ws {
		size += w.Bytes()
	}
	if size > tx.on.opts.TxBytes {
		return graph.BudgetError("the transaction writes more than %d bytes, the limit of one transaction: query-memory, but not above 512 MiB", tx.on.opts.TxBytes)
	}
	if tx.snap != nil {
		tx.record(ms)
	}
	return nil
}

// applyAll applies mutations in their order, new vertices that are alike together, and likewise new edges of one type and
// changes of edges of one type.
func (tx *Tx) applyAll(ctx context.Context, ms []shard.Mutation) error {
	for i, until := 0, 0; i < len(ms); i++ {
		if i&0xff == 0xff {
			if err := kv.Alive(ctx); err != nil {
				return err
			}
		}
		if i >= until {
			if n := edgeChangesAlike(ms[i:]); n > 0 {
				if err := tx.changeEdges(ctx, ms[i:i+n]); err != nil {
					return err
				}
				i += n - 1
				continue
			}
			n := edgesAlike(ms[i:])
			if n >= tx.on.opts.Tuning.PackEdges {
				if err := tx.createEdges(ms[i : i+n]); err != nil {
					return err
				}
				i += n - 1
				continue
			}
			n = max(n, alike(ms[i:], tx.replaying))
			until = i + n
			if ms[i].Op == shard.CreateVertex && n >= tx.on.opts.Tuning.PackVertices {
				n, err := tx.createVertices(ms[i : i+n])
				if err != nil {
					return err
				}
				i += n - 1
				until = i + 1
				continue
			}
		}
		if err := tx.apply(ctx, &ms[i]); err != nil {
			return err
		}
	}
	return nil
}

// What the log takes for a mutation and for a property, in bytes, without their values, which the writers count.
const (
	mutationBytes = 128
	propertyBytes = 32
)

// record adds mutations to the log. Their values last as long as the transaction, their slices may not.
func (tx *Tx) record(ms []shard.Mutation) {
	n := 0
	for i := range ms {
		n += len(ms[i].Props)
	}
	tx.logged += mutationBytes*len(ms) + propertyBytes*n
	props := make([]graph.Property, 0, n)
	from := len(tx.log)
	tx.log = append(tx.log, ms...)
	for i := range tx.log[from:] {
		m := &tx.log[from+i]
		at := len(props)
		props = append(props, m.Props...)
		m.Props = props[at:len(props):len(props)]
	}
}

// prefetch reads the label sets of the vertices that mutations name.
func (tx *Tx) prefetch(ctx context.Context, ms []shard.Mutation) error {
	var ids []graph.VertexID
	need := func(id graph.VertexID) {
		if _, ok := tx.sets.get(id); !ok {
			if ids == nil {
				ids = make([]graph.VertexID, 0, 2*len(ms))
			}
			ids = append(ids, id)
		}
	}
	for i := range ms {
		switch m := &ms[i]; m.Op {
		case shard.SetVertex, shard.SetLabels, shard.DeleteVertex:
			need(m.Vertex)
		case shard.CreateEdge, shard.DeleteEdge:
			need(m.Edge.Src)
			need(m.Edge.Dst)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sets := make([]graph.LabelSet, len(ids))
	if err := tx.LabelSets(ctx, ids, sets); err != nil {
		return err
	}
	if len(tx.sets.one) == 0 {
		tx.sets.one = make(map[graph.VertexID]graph.LabelSet, len(ids))
	}
	for i, id := range ids {
		tx.sets.one[id] = sets[i]
	}
	return nil
}

// prefetchEntries fetches what other processes' shards hold of the tuples that changes put into unique indexes, which would otherwise be asked
// for one by one.
func (tx *Tx) prefetchEntries(ms []shard.Mutation) error {
	if !slices.ContainsFunc(tx.views, storage.Remote) {
		return nil
	}
	var entries [][]byte
	for i := range ms {
		m := &ms[i]
		var set graph.LabelSet
		switch m.Op {
		case shard.CreateVertex:
			set = m.Labels
		case shard.SetVertex:
			set = tx.set(m.Vertex)
		default:
			continue
		}
		for _, l := range tx.g.Labels(set) {
			for _, d := range tx.defs.ByLabel[l] {
				whole := m.Op == shard.CreateVertex || len(d.PropIDs) == 1 // all of the tuple's values are those of the change
				if !d.Unique || !d.Indexed || !whole || !d.Touches(m.Props) {
					continue
				}
				tuple, ok, loose, err := view.AppendIndexed(nil, &d.Index, d.Values(m.Props))
				if err != nil {
					return err
				}
				if ok && !loose {
					entries = append(entries, view.EntryKey(d.ID, tuple))
				}
			}
		}
	}
	slices.SortFunc(entries, bytes.Compare)
	for _, v := range tx.views {
		if err := storage.Prefetch(v, entries); err != nil {
			return err
		}
	}
	return nil
}

// set returns the label set of a vertex, 0 if there is none.
func (tx *Tx) set(id graph.VertexID) graph.LabelSet {
	if _, gone := tx.deleted[id]; gone {
		return 0
	}
	set, _ := tx.sets.get(id)
	return set
}

func (tx *Tx) apply(ctx context.Context, m *shard.Mutation) error {
	for _, p := range m.Props {
		if !keys.Storable(p.Value) {
			return graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", p.Value.Kind())
		}
	}
	switch m.Op {
	case shard.CreateVertex:
		return tx.createVertex(m)
	case shard.SetVertex:
		return tx.setVertex(ctx, m)
	case shard.SetLabels:
		return tx.setLabels(ctx, m)
	case shard.DeleteVertex:
		return tx.deleteVertex(ctx, m.Vertex)
	case shard.CreateEdge:
		return tx.createEdge(m)
	case shard.SetEdge, shard.DeleteEdge:
		return tx.changeEdges(ctx, []shard.Mutation{*m})
	}
	return misuse("an unknown mutation %d", m.Op)
}

// place chooses the shard of a new vertex: the one whose block is not full, else the one with the fewest vertices.
func (tx *Tx) place() *staging.Writer {
	best := tx.ws[0]
	for _, w := range tx.ws {
		n := w.NextVertex()
		if n%uint64(tx.on.opts.Tuning.PlaceBlock) != 0 {
			return w
		}
		if n < best.NextVertex() {
			best = w
		}
	}
	return best
}

func (tx *Tx) createVertex(m *shard.Mutation) error {
	set := max(m.Labels, graph.NoLabels)
	labels := tx.g.Labels(set)
	if err := tx.g.Present(set, m.Props); err != nil {
		return err
	}
	var w *staging.Writer
	if tx.replaying {
		w = tx.ws[m.Vertex.Shard()]
	} else {
		w = tx.place()
		m.Vertex = w.NewVertex()
	}
	props := tx.stampVertex(labels, m.Props)
	if err := w.Vertices.Put(m.Vertex, set, labels, props); err != nil {
		return err
	}
	put(&tx.sets.one, m.Vertex, set)
	return tx.indexVertex(labels, m.Vertex, props)
}

// indexVertex makes the index entries of a new vertex.
func (tx *Tx) indexVertex(labels []graph.LabelID, id graph.VertexID, props []graph.Property) error {
	for _, l := range labels {
		for _, d := range tx.defs.ByLabel[l] {
			if d.Required {
				put(&tx.touched, id, struct{}{})
			}
			if err := tx.putEntry(d, d.Values(props), graph.IndexOwner{Vertex: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *Tx) setVertex(ctx context.Context, m *shard.Mutation) error {
	set := tx.set(m.Vertex)
	if set == 0 {
		return gone("vertex", uint64(m.Vertex))
	}
	if err := tx.g.Present(set, m.Props); err != nil {
		return err
	}
	owner := graph.IndexOwner{Vertex: m.Vertex}
	props := tx.stampVertex(tx.g.Labels(set), m.Props)
	for _, l := range tx.g.Labels(set) {
		for _, d := range tx.defs.ByLabel[l] {
			if !d.Touches(props) {
				continue
			}
			if d.Required {
				put(&tx.touched, m.Vertex, struct{}{})
			}
			if d.Kind == graph.FullTextIndex {
				tx.ws[m.Vertex.Shard()].Texts.Note(d.ID, owner)
				continue
			}
			old, err := tx.valuesOf(ctx, d, m.Vertex)
			if err != nil {
				return err
			}
			if err := tx.moveEntry(d, old, d.Merged(old, props), owner); err != nil {
				return err
			}
		}
	}
	return tx.ws[m.Vertex.Shard()].Vertices.SetProps(m.Vertex, set, props)
}

// valuesOf reads the values of an index's properties of one vertex.
func (tx *Tx) valuesOf(ctx context.Context, d *index.Def, id graph.VertexID) ([]graph.Value, error) {
	cols := shard.Columns(len(d.PropIDs), 1)
	if err := tx.properties(ctx, []graph.VertexID{id}, d.PropIDs, cols); err != nil {
		return nil, err
	}
	vals := make([]graph.Value, len(cols))
	for i := range cols {
		vals[i] = cols[i][0]
	}
	return vals, nil
}

func (tx *Tx) setLabels(ctx context.Context, m *shard.Mutation) error {
	old, set := tx.set(m.Vertex), max(m.Labels, graph.NoLabels)
	if old == 0 {
		return gone("vertex", uint64(m.Vertex))
	}
	if old == set {
		return nil
	}
	var added, removed []graph.LabelID
	for _, l := range tx.g.Labels(set) {
		if !slices.Contains(tx.g.Labels(old), l) {
			added = append(added, l)
		}
	}
	for _, l := range tx.g.Labels(old) {
		if !slices.Contains(tx.g.Labels(set), l) {
			removed = append(removed, l)
		}
	}
	// What the vertex has may now be found under the new set too.
	var may []graph.Property
	props := tx.g.PropsOf(nil, old)
	for _, p := range props {
		may = append(may, graph.Property{ID: p, Value: graph.BoolValue(true)})
	}
	if err := tx.g.Present(set, may); err != nil {
		return err
	}
	if err := tx.restamp(ctx, m.Vertex, old, set); err != nil {
		return err
	}
	owner := graph.IndexOwner{Vertex: m.Vertex}
	for _, ls := range [...][]graph.LabelID{removed, added} {
		for _, l := range ls {
			for _, d := range tx.defs.ByLabel[l] {
				if d.Stamped() {
					continue
				}
				vals, err := tx.valuesOf(ctx, d, m.Vertex)
				if err != nil {
					return err
				}
				if slices.Contains(removed, l) {
					err = tx.deleteEntry(d, vals, owner)
				} else {
					if d.Required {
						put(&tx.touched, m.Vertex, struct{}{})
					}
					err = tx.putEntry(d, vals, owner)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	if err := tx.moveEnds(ctx, m.Vertex, added, removed); err != nil {
		return err
	}
	put(&tx.sets.one, m.Vertex, set)
	return tx.ws[m.Vertex.Shard()].Vertices.SetLabels(m.Vertex, old, set, added, removed, props)
}

// moveEnds keeps the counts of edges by their ends' labels when a vertex changes its labels.
func (tx *Tx) moveEnds(ctx context.Context, id graph.VertexID, added, removed []graph.LabelID) error {
	w := tx.ws[id.Shard()]
	for _, l := range tx.lists(nil, nil, graph.Both, view.Want{}) {
		ls, err := w.Lists(l.t, l.dir)
		if err != nil {
			return err
		}
		n, _, err := ls.Degree(ctx, id, false)
		ls.Close()
		if err != nil {
			return err
		}
		kind := stats.CountSrc
		if l.dir == graph.In {
			kind = stats.CountDst
		}
		for _, label := range added {
			w.Count(stats.Count{Kind: kind, Label: label, Type: l.t}, int64(n))
		}
		for _, label := range removed {
			w.Count(stats.Count{Kind: kind, Label: label, Type: l.t}, -int64(n))
		}
	}
	return nil
}

func (tx *Tx) deleteVertex(ctx context.Context, id graph.VertexID) error {
	set := tx.set(id)
	if set == 0 {
		return nil
	}
	owner := graph.IndexOwner{Vertex: id}
	var stamps []graph.PropID
	for _, l := range tx.g.Labels(set) {
		for _, d := range tx.defs.ByLabel[l] {
			if !d.Indexed {
				continue
			}
			if d.Stamped() {
				stamps = append(stamps, d.PropIDs[0])
			}
			vals, err := tx.valuesOf(ctx, d, id)
			if err != nil {
				return err
			}
			if err := tx.deleteEntry(d, vals, owner); err != nil {
				return err
			}
		}
	}
	keys, err := tx.dropKeys(ctx, id)
	if err != nil {
		return err
	}
	put(&tx.deleted, id, struct{}{})
	delete(tx.touched, id)
	return tx.ws[id.Shard()].Vertices.Drop(id, set, tx.g.Labels(set), slices.Concat(tx.g.PropsOf(nil, set), keys, stamps))
}

func (tx *Tx) createEdge(m *shard.Mutation) error {
	e := &m.Edge
	for _, id := range [...]graph.VertexID{e.Src, e.Dst} {
		if tx.set(id) == 0 {
			return gone("vertex", uint64(id))
		}
	}
	src, dst := tx.ws[e.Src.Shard()], tx.ws[e.Dst.Shard()]
	props := tx.stampEdge(e.Type, m.Props)
	body, err := src.Edges.Body(nil, e.Type, props)
	if err != nil {
		return err
	}
	if !tx.replaying {
		e.ID = src.NewEdge()
	}
	src.Edges.Add(*e, graph.Out, body)
	dst.Edges.Add(*e, graph.In, body)
	tx.countEdge(*e, 1)
	for _, d := range tx.defs.ByType[e.Type] {
		if d.Required {
			put(&tx.touchedEdges, e.ID, *e)
		}
		if err := tx.putEntry(d, d.Values(props), edgeOwner(*e)); err != nil {
			return err
		}
	}
	return nil
}

func edgeOwner(e graph.Edge) graph.IndexOwner {
	return graph.IndexOwner{Vertex: e.Src, Dst: e.Dst, Edge: e.ID, IsEdge: true}
}

// countEdge counts an edge in or out, by what its ends are, or were when they were deleted.
func (tx *Tx) countEdge(e graph.Edge, n int64) {
	src, dst := tx.ws[e.Src.Shard()], tx.ws[e.Dst.Shard()]
	src.Count(stats.Count{Kind: stats.CountEdges}, n)
	src.Count(stats.Count{Kind: stats.CountType, Type: e.Type}, n)
	srcSet, _ := tx.sets.get(e.Src)
	dstSet, _ := tx.sets.get(e.Dst)
	for _, l := range tx.g.Labels(srcSet) {
		src.Count(stats.Count{Kind: stats.CountSrc, Label: l, Type: e.Type}, n)
	}
	for _, l := range tx.g.Labels(dstSet) {
		dst.Count(stats.Count{Kind: stats.CountDst, Label: l, Type: e.Type}, n)
	}
}

func dupKey(ix graph.IndexID, tuple []byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, uint32(ix)), tuple...))
}

// dropKeys takes a vertex's keys out of the id spaces.
func (tx *Tx) dropKeys(ctx context.Context, id graph.VertexID) (props []graph.PropID, err error) {
	for _, d := range tx.g.defs.Load().Spaces {
		vals, err := tx.valuesOf(ctx, d, id)
		if err != nil {
			return nil, err
		}
		if vals[0].IsNull() {
			continue
		}
		if err := tx.deleteEntry(d, vals, graph.IndexOwner{Vertex: id}); err != nil {
			return nil, err
		}
		props = append(props, d.PropIDs[0])
	}
	return props, nil
}
