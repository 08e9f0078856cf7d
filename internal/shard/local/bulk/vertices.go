package bulk

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// newVertices are vertices of one label set and id space that are being made.
type newVertices struct {
	set    graph.LabelSet
	labels []graph.LabelID
	space  *index.Def
	keys   pack.Tuples
	props  []graph.PropID
	cols   [][]graph.Value // beside props, a value a vertex
	ids    []graph.VertexID
	// given counts the vertices that have got ids; the others are still to be made.
	given int
	// ends says that edges lacked them, so that no row has written them.
	ends bool
	// plain are the label set's other indexes, which constrain nothing.
	plain []*index.Def
}

// sameShape reports whether groups differ in their rows alone.
func sameShape(x, y *shard.LoadVertices) bool {
	return x.Labels == y.Labels && x.Space == y.Space && x.Action == y.Action && x.OnDuplicate == y.OnDuplicate &&
		slices.EqualFunc(x.Props, y.Props, func(a, b shard.LoadColumn) bool { return a.Prop == b.Prop && a.Strategy == b.Strategy })
}

// vertices carries out groups of the batch's vertices, which are alike.
func (b *Batch) vertices(from, to int) error {
	first := &b.l.Vertices[from]
	d, err := b.space(first.Space)
	if err != nil {
		return err
	}
	n := 0
	for i := from; i < to; i++ {
		group := &b.l.Vertices[i]
		n += len(group.Keys)
		for _, c := range group.Props {
			if len(c.Values) != len(group.Keys) {
				return fail.Misuse("a column of a load has %d values for %d rows", len(c.Values), len(group.Keys))
			}
		}
	}
	if n == 0 {
		return nil
	}
	set, err := b.newSet(d, first.Labels)
	if err != nil {
		return err
	}
	if first.Action == shard.Delete || b.constrained(d, set) {
		for i := from; i < to; i++ {
			if err := b.vertexRows(i, d); err != nil {
				return err
			}
		}
		return nil
	}
	t, err := b.table(d, n)
	if err != nil {
		return err
	}
	old := &oldVertices{first: first}
	for i := from; i < to; i++ {
		if err := b.newOrOld(i, d, set, t, old); err != nil {
			return err
		}
	}
	if len(old.rows) == 0 {
		return nil
	}
	return b.changeOld(d, old)
}

// constrained reports whether vertices of a label set have constraints besides that their key in the space is unique.
func (b *Batch) constrained(d *index.Def, set graph.LabelSet) bool {
	for _, l := range b.g.Labels(set) {
		for _, o := range b.defs.ByLabel[l] {
			if o != d && (o.Unique || o.Required) {
				return true
			}
		}
	}
	return false
}

// vertexRows carries out a group row by row.
func (b *Batch) vertexRows(i int, d *index.Def) error {
	if err := b.settle(); err != nil {
		return err
	}
	group := &b.l.Vertices[i]
	for row := range group.Keys {
		r, err := b.vertexRow(d, group, row)
		if err != nil {
			return err
		}
		if r != nil {
			b.refuse(false, i, row, r)
		}
	}
	return nil
}

// newOrOld carries out a group whose rows depend on nothing but their vertex: new ones are collected, those that are
// there are put aside, to be changed together.
func (b *Batch) newOrOld(i int, d *index.Def, set graph.LabelSet, t *keyTable, old *oldVertices) error {
	group := &b.l.Vertices[i]
	if err := b.fetch(d, t, group.Keys); err != nil {
		return err
	}
	at := b.pendingOf(d, set)
	p := b.pending[at]
	cols := p.columns(group.Props)
	var key []byte
	for row, k := range group.Keys {
		if err := b.alive(); err != nil {
			return err
		}
		if !isKey(k) {
			b.refuse(false, i, row, rejectKey)
			continue
		}
		id := t.get(k, &key)
		var r *reject
		switch how := group.OnDuplicate; {
		case how != shard.DuplicateOverwrite && (isPending(id) || group.Action == shard.Insert && b.repeats(id)):
			r = leave(how, &b.l.Counts.Vertices)
		case id == graph.NoVertex && group.Action == shard.Update:
			r = rejectMissing
		case id == graph.NoVertex:
			var n int
			if n, r = p.add(group, row, cols); r == nil {
				p.setKey(n, k)
				b.l.Counts.Vertices.Created++
				key, _ = keys.AppendOrdered(key[:0], k)
				p.keys.AddKey(key)
				t.put(key, makePendingID(at, n))
			}
		case group.Action == shard.Insert:
			r = rejectDuplicate
		case !isPending(id):
			old.add(id, i, row)
		default:
			other, n := splitPending(id)
			if other != at {
				// The vertex was begun with other labels.
				if err := b.makePending(); err != nil {
					return err
				}
				id = t.get(k, &key)
				at = b.pendingOf(d, set)
				p = b.pending[at]
				cols = p.columns(group.Props)
				old.add(id, i, row)
				break
			}
			var changed bool
			if changed, r = p.change(group, row, n, cols); r == nil {
				b.l.Counts.Vertices.Existing(changed)
				b.l.Counts.Vertices.Repeated++
			}
		}
		if r != nil {
			b.refuse(false, i, row, r)
		}
	}
	return nil
}

// pendingOf returns the place of the vertices that are being made with a label set in a space.
func (b *Batch) pendingOf(d *index.Def, set graph.LabelSet) int {
	for i, p := range b.pending {
		if p.set == set && p.space == d && p.given == 0 {
			return i
		}
	}
	p := &newVertices{set: set, labels: b.g.Labels(set), space: d}
	for _, l := range p.labels {
		for _, o := range b.defs.ByLabel[l] {
			if o != d && o.Indexed {
				p.plain = append(p.plain, o)
			}
		}
	}
	p.column(d.PropIDs[0])
	b.pending = append(b.pending, p)
	return len(b.pending) - 1
}

// column returns the place of a property's column, a new one if need be.
func (p *newVertices) column(prop graph.PropID) int {
	if i := slices.Index(p.props, prop); i >= 0 {
		return i
	}
	p.props = append(p.props, prop)
	p.cols = append(p.cols, make([]graph.Value, p.keys.Len(), max(p.keys.Len(), graph.BatchSize)))
	return len(p.props) - 1
}

// columns returns the places of a group's columns.
func (p *newVertices) columns(props []shard.LoadColumn) []int {
	out := make([]int, len(props))
	for i := range props {
		out[i] = p.column(props[i].Prop)
	}
	return out
}

// check says why a row's values cannot be stored.
func (p *newVertices) check(v graph.Value, prop graph.PropID) *reject {
	if !storable(v) {
		return rejectValue
	}
	return indexable(p.plain, v, prop)
}

// add appends a vertex with the values of a row and gives its place.
func (p *newVertices) add(group *shard.LoadVertices, row int, cols []int) (n int, r *reject) {
	for i := range group.Props {
		if r := p.check(group.Props[i].Values[row], group.Props[i].Prop); r != nil {
			return 0, r
		}
	}
	n = len(p.cols[0])
	for c := range p.cols {
		if n == cap(p.cols[c]) { // the rows that follow tend to be new too
			p.cols[c] = slices.Grow(p.cols[c], len(group.Keys)-row)
		}
		p.cols[c] = append(p.cols[c], graph.Value{})
	}
	// A property that the group names twice is combined with itself.
	if _, r := p.change(group, row, n, cols); r != nil {
		for c := range p.cols {
			p.cols[c] = p.cols[c][:n]
		}
		return 0, r
	}
	return n, nil
}

// setKey sets the property that holds the key.
func (p *newVertices) setKey(n int, key graph.Value) { p.cols[0][n] = key }

// change combines a row's values with those of vertex n, and reports whether any of these changes.
func (p *newVertices) change(group *shard.LoadVertices, row, n int, cols []int) (changed bool, _ *reject) {
	var undo [8]graph.Value
	was := undo[:0]
	for i, c := range cols {
		cell := &p.cols[c][n]
		was = append(was, *cell)
		v := group.Props[i].Values[row]
		if v.IsNull() {
			continue
		}
		v, r := combine(group.Props[i].Strategy, *cell, v)
		if r == nil {
			r = indexable(p.plain, v, group.Props[i].Prop)
		}
		if r != nil {
			for ; i >= 0; i-- {
				p.cols[cols[i]][n] = was[i]
			}
			return false, r
		}
		changed = changed || !keys.Identical(*cell, v)
		*cell = v
	}
	return changed, nil
}

// makePending returns ids to the vertices that are being made and puts them into the bulks.
func (b *Batch) makePending() error {
	for _, p := range b.pending {
		if err := b.make(p); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) make(p *newVertices) error {
	n := p.keys.Len()
	if p.given == n {
		return nil
	}
	p.stamp(b.tx.Stamp)
	var present []graph.Property
	for c, prop := range p.props {
		if slices.ContainsFunc(p.cols[c], func(v graph.Value) bool { return !v.IsNull() }) && !index.Hidden(prop) {
			present = append(present, graph.Property{ID: prop, Value: graph.BoolValue(true)})
		}
	}
	if err := b.g.Present(p.set, present); err != nil {
		return err
	}
	for from := 0; from < n; {
		w := b.tx.Place()
		no := slices.Index(b.tx.Writers(), w)
		k := n - from
		if len(b.tx.Writers()) > 1 {
			block := b.g.PlaceBlock
			k = min(k, block-int(w.NextVertex()%uint64(block)))
		}
		if err := b.makeIn(p, no, from, from+k); err != nil {
			return err
		}
		from += k
	}
	p.given = n
	if t := b.tables.byIndex[p.space.ID]; t != nil {
		for i, id := range p.ids {
			t.put(p.keys.At(i), id)
		}
	}
	p.cols = nil
	return nil
}

// makeIn makes the vertices [from, to) in a shard.
func (b *Batch) makeIn(p *newVertices, no, from, to int) error {
	bulk := b.bulk(no)
	cols := make([]pack.Column, 0, len(p.cols))
	for c, prop := range p.props {
		if err := kv.Alive(b.ctx); err != nil {
			return err
		}
		col, err := bulk.Column(prop, p.cols[c][from:to])
		if err != nil {
			return err
		}
		cols = append(cols, col)
	}
	first, err := bulk.Vertices(to-from, p.set, p.labels, cols)
	if err != nil {
		return err
	}
	locals := make([]uint64, to-from)
	for i := range locals {
		locals[i] = first + uint64(i)
		p.ids = append(p.ids, graph.MakeVertexID(no, locals[i]))
	}
	made := madeRange{graph.MakeVertexID(no, first), to - from, p.set}
	b.ranges = append(b.ranges, made)
	if !p.ends {
		b.now.AddRange(uint64(made.first), uint64(made.first)+uint64(made.n))
	}
	if err := p.record(b.log, made.first, from, to); err != nil {
		return err
	}
	bulk.Entries(p.space.ID, p.keys.Slice(from, to), locals, false)
	for _, d := range p.plain {
		if err := b.plainEntries(bulk, p, d, from, to, graph.MakeVertexID(no, first)); err != nil {
			return err
		}
	}
	return nil
}

// record tells the commit log of the vertices [from, to), whose ids begin with first.
func (p *newVertices) record(log *write.Recorder, first graph.VertexID, from, to int) error {
	cols := make([][]graph.Value, len(p.cols))
	for c := range cols {
		cols[c] = p.cols[c][from:to]
	}
	return log.CreatedVertices(first, to-from, p.set, p.props, cols)
}

// plainEntries adds the entries of an index that constrains nothing.
func (b *Batch) plainEntries(bulk *pack.Bulk, p *newVertices, d *index.Def, from, to int, first graph.VertexID) error {
	var tuples pack.Tuples
	var key []byte
	var locals []uint64
	vals := make([]graph.Value, len(d.PropIDs))
	at := make([]int, len(d.PropIDs))
	for i, prop := range d.PropIDs {
		if at[i] = slices.Index(p.props, prop); at[i] < 0 && i == 0 && d.Kind != graph.FullTextIndex {
			return nil
		}
	}
	for row := from; row < to; row++ {
		for i, c := range at {
			if c >= 0 {
				vals[i] = p.cols[c][row]
			}
		}
		if d.Kind == graph.FullTextIndex {
			if err := b.tx.PutEntry(d, vals, graph.IndexOwner{Vertex: first + graph.VertexID(row-from)}); err != nil {
				return err
			}
			continue
		}
		var ok bool
		var err error
		if key, ok, _, err = view.AppendIndexed(key[:0], &d.Index, vals); err != nil {
			return err
		}
		if ok {
			tuples.AddKey(key)
			b.tx.NoteDue(d, key)
			locals = append(locals, first.Local()+uint64(row-from))
		}
	}
	if len(locals) > 0 {
		bulk.Entries(d.ID, &tuples, locals, true)
	}
	return nil
}

// indexable says why a value of a property cannot be in one of the indexes.
func indexable(defs []*index.Def, v graph.Value, prop graph.PropID) *reject {
	switch v.Kind() {
	case graph.List, graph.Bytes, graph.VectorKind:
	case graph.String:
		if len(v.Str()) <= maxKeyText {
			return nil
		}
	default:
		return nil
	}
	for _, d := range defs {
		if d.TTL == 0 && d.Kind != graph.FullTextIndex && slices.Contains(d.PropIDs, prop) {
			if key, ok := keys.AppendOrdered(nil, v); ok && len(key) > keys.MaxOrdered {
				return &reject{"BadValue", "the value is too large for the index " + d.Name}
			}
		}
	}
	return nil
}

// storable reports whether a value can be a property; simple values can without a look.
func storable(v graph.Value) bool {
	switch v.Kind() {
	case graph.Null, graph.Bool, graph.Int, graph.Float, graph.String:
		return true
	}
	return keys.Storable(v)
}

// stamp returns the vertices that are being made the time of the write.
func (p *newVertices) stamp(now func() graph.Value) {
	for _, d := range p.plain {
		if !d.Stamped() {
			continue
		}
		col := p.cols[p.column(d.PropIDs[0])]
		for i := range col {
			col[i] = now()
		}
	}
}
