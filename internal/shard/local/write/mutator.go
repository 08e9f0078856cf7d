package write

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Never is later than all times.
const Never = math.MaxInt64

// Mutator applies the mutations of a transaction: to the writers of the shards, to the entries of indexes and to the counters. It reads the
// state through its own changes. One goroutine uses it. Its maps are made when they are needed, see put.
type Mutator struct {
	read.Overlay
	read    *read.Tx
	catalog *storage.Catalog
	opts    *storage.Options
	name    string // of the graph
	defs    *index.Defs
	ws      []*staging.Writer
	// sets caches the label sets of vertices that were touched; deleted ones keep here what they had.
	sets    labelSets
	deleted map[graph.VertexID]struct{}
	// touched are the vertices and edges whose required properties are checked at commit.
	touched      map[graph.VertexID]struct{}
	touchedEdges map[graph.EdgeID]graph.Edge
	// rows is memory for the properties of new vertices.
	rows [][]graph.Property
	// log holds what was applied over a snapshot, with ids, so that it can be applied again to a later state.
	log []shard.Mutation
	// logged is about what log holds, in bytes.
	logged int
	// logs reports whether there is a log.
	logs bool
	// replaying reports whether new elements have their ids already.
	replaying bool
	// of says which transactions a replay is of.
	of transactions
	// due is the earliest time at which something that was written expires, in nanoseconds since 1970, and stamped the time of the writing.
	due     int64
	stamped graph.Value
	// Log records the changes for the commit log.
	Log Recorder
}

// State is what a transaction writes to.
type State struct {
	Readers *read.Readers
	Catalog *storage.Catalog
	Shards  []*storage.Shard
	// Seq and Defs are those of the present state. They are used only without a snapshot.
	Seq  uint64
	Defs *index.Defs
	// Mode says how much is recorded for the commit log.
	Mode changelog.Mode
}

// Begin makes a transaction write over a snapshot, or, if that is nil, over the present state, for which the caller holds the writer's lock.
func Begin(tx *read.Tx, snap *read.Snapshot, st State) *Mutator {
	m := &Mutator{read: tx, catalog: st.Catalog, opts: st.Readers.Options, name: st.Readers.Name, defs: st.Defs, due: Never, logs: snap != nil}
	if snap != nil {
		m.defs = snap.Defs
	}
	tx.OpenOver(st.Readers, st.Catalog, snap, st.Shards, st.Seq, m.defs, &m.Overlay)
	m.ws = m.Writers()
	m.Log.begin(m, st.Mode)
	return m
}

// Replay applies the mutations of transactions, with the ids that they have, to the present state, as if at the time stamped, and checks all
// constraints.
func Replay(ctx context.Context, st State, stamped graph.Value, txs ...*Mutator) (_ *Mutator, err error) {
	m := BeginReplay(st, stamped)
	defer EndReplay(m)
	all := make([]shard.Mutation, 0, len(txs[0].log))
	for _, tx := range txs {
		all = append(all, tx.log...)
		m.of.ends = append(m.of.ends, len(all))
	}
	for len(all) > 0 && err == nil {
		n := min(len(all), replayStep)
		err = m.Apply(ctx, all[:n])
		all = all[n:]
	}
	if err == nil {
		err = m.Verify(ctx)
	}
	if err != nil {
		m.Discard()
		return nil, err
	}
	return m, nil
}

// BeginReplay makes a transaction write over the present state, as if at the time stamped, new vertices and edges with the ids that the
// mutations have. The caller holds the writer's lock.
func BeginReplay(st State, stamped graph.Value) *Mutator {
	m := Begin(&read.Tx{}, nil, st)
	m.replaying, m.stamped = true, stamped
	return m
}

// EndReplay lets go of what the transaction has read.
func EndReplay(m *Mutator) { m.read.CloseDecoded() }

// replayStep is how many mutations are applied together in a replay.
const replayStep = 4096

// Mutations are what was applied over a snapshot.
func (tx *Mutator) Mutations() []shard.Mutation { return tx.log }

// Stamped is the time that was written as that of writing, null if none was.
func (tx *Mutator) Stamped() graph.Value { return tx.stamped }

// Due is the earliest time at which something that was written expires, in nanoseconds since 1970.
func (tx *Mutator) Due() int64 { return tx.due }

// Empty reports whether there is nothing to commit.
func (tx *Mutator) Empty() bool {
	return !slices.ContainsFunc(tx.ws, func(w *staging.Writer) bool { return !w.Empty() })
}

// Bytes is about how much memory the changes take.
func (tx *Mutator) Bytes() int {
	n := tx.logged
	for _, w := range tx.ws {
		n += w.Bytes()
	}
	return n
}

// Discard throws the changes away.
func (tx *Mutator) Discard() {
	for _, w := range tx.ws {
		if err := w.Discard(); err != nil {
			tx.opts.Logger.Error("end a transaction", slog.String("graph", tx.name), slog.Any("error", err))
		}
	}
}

// Writable says why a transaction cannot write now, or nil.
func (tx *Mutator) Writable() error {
	switch {
	case tx == nil:
		return fail.Misuse("a write in a transaction that only reads")
	case tx.read.Ended():
		return fail.Misuse("the transaction has ended")
	}
	return nil
}

// Label implements shard.Tx.
func (tx *Mutator) Label(name string) (graph.LabelID, error) {
	if err := tx.Writable(); err != nil {
		return 0, err
	}
	return tx.catalog.NewLabel(name)
}

// Type implements shard.Tx.
func (tx *Mutator) Type(name string) (graph.TypeID, error) {
	if err := tx.Writable(); err != nil {
		return 0, err
	}
	return tx.catalog.NewType(name)
}

// Prop implements shard.Tx.
func (tx *Mutator) Prop(name string) (graph.PropID, error) {
	if err := tx.Writable(); err != nil {
		return 0, err
	}
	return tx.catalog.NewProp(name)
}

// LabelSet implements shard.Tx.
func (tx *Mutator) LabelSet(labels []graph.LabelID) (graph.LabelSet, error) {
	if err := tx.Writable(); err != nil {
		return 0, err
	}
	return tx.catalog.NewLabelSet(labels)
}

// put sets a key of a map that may not have been made yet.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// Apply makes changes, see shard.Tx.
func (tx *Mutator) Apply(ctx context.Context, ms []shard.Mutation) error {
	tx.read.Changed()
	if err := tx.Prefetch(ctx, ms); err != nil {
		return err
	}
	if err := tx.prefetchEntries(ms); err != nil {
		return err
	}
	if err := tx.of.apply(ctx, tx, ms); err != nil {
		return err
	}
	if tx.Bytes() > tx.opts.TxBytes {
		return graph.BudgetError("the transaction writes more than %d bytes, the limit of one transaction: query-memory, but not above 512 MiB", tx.opts.TxBytes)
	}
	if tx.logs {
		tx.record(ms)
	}
	return nil
}

// transactions are those of a replay. The zero value is one that is not a replay.
type transactions struct {
	ends     []int // the numbers of mutations at which transactions end, from that with number no on
	no, done int
}

// apply applies mutations, one transaction's after the other's.
func (x *transactions) apply(ctx context.Context, tx *Mutator, ms []shard.Mutation) error {
	for len(x.ends) > 0 && len(ms) > 0 {
		n := min(len(ms), x.ends[0]-x.done)
		tx.Log.next(x.no)
		if err := tx.applyAll(ctx, ms[:n]); err != nil {
			return err
		}
		ms = ms[n:]
		if x.done += n; x.done == x.ends[0] {
			x.ends = x.ends[1:]
			x.no++
		}
	}
	if len(ms) == 0 {
		return nil
	}
	return tx.applyAll(ctx, ms)
}

// applyAll applies mutations in their order, new vertices that are alike together, and likewise changes of properties of vertices, new edges
// of one type and changes of edges of one type.
func (tx *Mutator) applyAll(ctx context.Context, ms []shard.Mutation) error {
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
			if n := setsAlike(ms[i:]); n > 0 {
				if err := setVertices(ctx, tx, ms[i:i+n]); err != nil {
					return err
				}
				i += n - 1
				continue
			}
			n := edgesAlike(ms[i:])
			if n >= tx.opts.Tuning.PackEdges {
				if err := tx.createEdges(ctx, ms[i:i+n]); err != nil {
					return err
				}
				i += n - 1
				continue
			}
			n = max(n, alike(ms[i:], tx.replaying))
			until = i + n
			if ms[i].Op == shard.CreateVertex && n >= tx.opts.Tuning.PackVertices {
				n, err := tx.createVertices(ms[i : i+n])
				if err != nil {
					return err
				}
				i += n - 1
				until = i + 1
				continue
			}
		}
		if err := tx.Mutate(ctx, &ms[i]); err != nil {
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
func (tx *Mutator) record(ms []shard.Mutation) {
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

// Prefetch reads the label sets of the vertices that mutations name.
func (tx *Mutator) Prefetch(ctx context.Context, ms []shard.Mutation) error {
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
		case shard.SetEdge:
			if tx.Log.mode == changelog.Off {
				continue
			}
			fallthrough
		case shard.CreateEdge, shard.DeleteEdge:
			need(m.Edge.Src)
			need(m.Edge.Dst)
		}
	}
	if len(ids) == 0 {
		return tx.Log.prefetch(ctx, ms)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sets := make([]graph.LabelSet, len(ids))
	if err := tx.read.LabelSets(ctx, ids, sets); err != nil {
		return err
	}
	if len(tx.sets.one) == 0 {
		tx.sets.one = make(map[graph.VertexID]graph.LabelSet, len(ids))
	}
	for i, id := range ids {
		tx.sets.one[id] = sets[i]
	}
	return tx.Log.prefetch(ctx, ms)
}

// prefetchEntries fetches what other processes' shards hold of the tuples that changes put into unique indexes, which would otherwise be asked
// for one by one.
func (tx *Mutator) prefetchEntries(ms []shard.Mutation) error {
	if !slices.ContainsFunc(tx.read.Views(), storage.Remote) {
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
		for _, l := range tx.catalog.Labels(set) {
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
	for _, v := range tx.read.Views() {
		if err := storage.Prefetch(v, entries); err != nil {
			return err
		}
	}
	return nil
}

// set returns the label set of a vertex, 0 if there is none.
func (tx *Mutator) set(id graph.VertexID) graph.LabelSet {
	if _, gone := tx.deleted[id]; gone {
		return 0
	}
	set, _ := tx.sets.get(id)
	return set
}

// Mutate makes a change; it checks no constraint and needs what Prefetch reads.
func (tx *Mutator) Mutate(ctx context.Context, m *shard.Mutation) error {
	if err := storable(m.Props); err != nil {
		return err
	}
	switch m.Op {
	case shard.CreateVertex:
		return tx.createVertex(m)
	case shard.SetVertex:
		return setVertices(ctx, tx, []shard.Mutation{*m})
	case shard.SetLabels:
		return tx.setLabels(ctx, m)
	case shard.DeleteVertex:
		return tx.deleteVertex(ctx, m.Vertex)
	case shard.CreateEdge:
		return tx.createEdge(ctx, m)
	case shard.SetEdge, shard.DeleteEdge:
		return tx.changeEdges(ctx, []shard.Mutation{*m})
	}
	return fail.Misuse("an unknown mutation %d", m.Op)
}

// storable checks that all values can be properties.
func storable(props []graph.Property) error {
	for i := range props {
		if v := props[i].Value; !keys.Storable(v) {
			return graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", v.Kind())
		}
	}
	return nil
}

// Place chooses the shard of a new vertex: the one whose block is not full, else the one with the fewest vertices.
func (tx *Mutator) Place() *staging.Writer {
	best := tx.ws[0]
	for _, w := range tx.ws {
		n := w.NextVertex()
		if n%uint64(tx.opts.Tuning.PlaceBlock) != 0 {
			return w
		}
		if n < best.NextVertex() {
			best = w
		}
	}
	return best
}

func (tx *Mutator) createVertex(m *shard.Mutation) error {
	set := max(m.Labels, graph.NoLabels)
	labels := tx.catalog.Labels(set)
	if err := tx.catalog.Present(set, m.Props); err != nil {
		return err
	}
	var w *staging.Writer
	if tx.replaying {
		w = tx.ws[m.Vertex.Shard()]
	} else {
		w = tx.Place()
		m.Vertex = w.NewVertex()
	}
	props := tx.stampVertex(labels, m.Props)
	if err := w.Vertices.Put(m.Vertex, set, labels, props); err != nil {
		return err
	}
	put(&tx.sets.one, m.Vertex, set)
	if err := tx.Log.Created(m.Vertex, set, props); err != nil {
		return err
	}
	return tx.indexVertex(labels, m.Vertex, props)
}

// indexVertex makes the index entries of a new vertex.
func (tx *Mutator) indexVertex(labels []graph.LabelID, id graph.VertexID, props []graph.Property) error {
	for _, l := range labels {
		for _, d := range tx.defs.ByLabel[l] {
			if d.Required {
				put(&tx.touched, id, struct{}{})
			}
			if err := tx.PutEntry(d, d.Values(props), graph.IndexOwner{Vertex: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *Mutator) setLabels(ctx context.Context, m *shard.Mutation) error {
	old, set := tx.set(m.Vertex), max(m.Labels, graph.NoLabels)
	if old == 0 {
		return fail.Gone("vertex", uint64(m.Vertex))
	}
	if old == set {
		return nil
	}
	var added, removed []graph.LabelID
	for _, l := range tx.catalog.Labels(set) {
		if !slices.Contains(tx.catalog.Labels(old), l) {
			added = append(added, l)
		}
	}
	for _, l := range tx.catalog.Labels(old) {
		if !slices.Contains(tx.catalog.Labels(set), l) {
			removed = append(removed, l)
		}
	}
	// What the vertex has may now be found under the new set too.
	var may []graph.Property
	props := tx.catalog.PropsOf(nil, old)
	for _, p := range props {
		may = append(may, graph.Property{ID: p, Value: graph.BoolValue(true)})
	}
	if err := tx.catalog.Present(set, may); err != nil {
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
					err = tx.DeleteEntry(d, vals, owner)
				} else {
					if d.Required {
						put(&tx.touched, m.Vertex, struct{}{})
					}
					err = tx.PutEntry(d, vals, owner)
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
	if _, err := tx.Log.set(ctx, m.Vertex, old, set, nil); err != nil {
		return err
	}
	put(&tx.sets.one, m.Vertex, set)
	return tx.ws[m.Vertex.Shard()].Vertices.SetLabels(m.Vertex, old, set, added, removed, props)
}

// moveEnds keeps the counts of edges by their ends' labels when a vertex changes its labels.
func (tx *Mutator) moveEnds(ctx context.Context, id graph.VertexID, added, removed []graph.LabelID) error {
	w := tx.ws[id.Shard()]
	for _, t := range tx.read.Types() {
		for _, end := range [...]struct {
			dir  graph.Direction
			kind stats.CountKind
		}{{graph.Out, stats.CountSrc}, {graph.In, stats.CountDst}} {
			ls, err := w.Lists(t, end.dir)
			if err != nil {
				return err
			}
			n, _, err := ls.Degree(ctx, id, false)
			ls.Close()
			if err != nil {
				return err
			}
			for _, label := range added {
				w.Count(stats.Count{Kind: end.kind, Label: label, Type: t}, int64(n))
			}
			for _, label := range removed {
				w.Count(stats.Count{Kind: end.kind, Label: label, Type: t}, -int64(n))
			}
		}
	}
	return nil
}

func (tx *Mutator) deleteVertex(ctx context.Context, id graph.VertexID) error {
	set := tx.set(id)
	if set == 0 {
		return nil
	}
	if err := tx.Log.deleted(ctx, id, set); err != nil {
		return err
	}
	owner := graph.IndexOwner{Vertex: id}
	var stamps []graph.PropID
	for _, l := range tx.catalog.Labels(set) {
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
			if err := tx.DeleteEntry(d, vals, owner); err != nil {
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
	return tx.ws[id.Shard()].Vertices.Drop(id, set, tx.catalog.Labels(set), slices.Concat(tx.catalog.PropsOf(nil, set), keys, stamps))
}

func (tx *Mutator) createEdge(ctx context.Context, m *shard.Mutation) error {
	e := &m.Edge
	for _, id := range [...]graph.VertexID{e.Src, e.Dst} {
		if tx.set(id) == 0 {
			return fail.Gone("vertex", uint64(id))
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
	if err := tx.Log.CreatedEdge(ctx, *e, props); err != nil {
		return err
	}
	for _, d := range tx.defs.ByType[e.Type] {
		if d.Required {
			put(&tx.touchedEdges, e.ID, *e)
		}
		if err := tx.PutEntry(d, d.Values(props), index.EdgeOwner(*e)); err != nil {
			return err
		}
	}
	return nil
}

// countEdge counts an edge in or out, by what its ends are, or were when they were deleted.
func (tx *Mutator) countEdge(e graph.Edge, n int64) {
	src, dst := tx.ws[e.Src.Shard()], tx.ws[e.Dst.Shard()]
	src.Count(stats.Count{Kind: stats.CountEdges}, n)
	src.Count(stats.Count{Kind: stats.CountType, Type: e.Type}, n)
	srcSet, _ := tx.sets.get(e.Src)
	dstSet, _ := tx.sets.get(e.Dst)
	for _, l := range tx.catalog.Labels(srcSet) {
		src.Count(stats.Count{Kind: stats.CountSrc, Label: l, Type: e.Type}, n)
	}
	for _, l := range tx.catalog.Labels(dstSet) {
		dst.Count(stats.Count{Kind: stats.CountDst, Label: l, Type: e.Type}, n)
	}
}

// dropKeys deletes a vertex's keys from the id spaces.
func (tx *Mutator) dropKeys(ctx context.Context, id graph.VertexID) (props []graph.PropID, err error) {
	for _, d := range tx.defs.Spaces {
		vals, err := tx.valuesOf(ctx, d, id)
		if err != nil {
			return nil, err
		}
		if vals[0].IsNull() {
			continue
		}
		if err := tx.DeleteEntry(d, vals, graph.IndexOwner{Vertex: id}); err != nil {
			return nil, err
		}
		props = append(props, d.PropIDs[0])
	}
	return props, nil
}

// Know says which labels a vertex has, so that Mutate need not read them.
func (tx *Mutator) Know(id graph.VertexID, set graph.LabelSet) { put(&tx.sets.one, id, set) }
