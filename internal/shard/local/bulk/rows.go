package bulk

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// find looks one key up, in the table or through the transaction.
func (b *Batch) find(d *index.Def, key graph.Value) (graph.VertexID, error) {
	tuple, _ := keys.AppendOrdered(nil, key)
	if t := b.tables.byIndex[d.ID]; t != nil {
		if id, ok := t.find(tuple); ok {
			return id, nil
		}
		if t.complete && !t.onDisk() {
			return graph.NoVertex, nil
		}
	}
	o, ok, err := b.tx.Owner(d.ID, tuple)
	if err != nil || !ok {
		return graph.NoVertex, err
	}
	return o.Vertex, nil
}

// forget drops the tables of other indexes, whose entries may have changed; the next use fills them again.
func (b *Batch) forget(d *index.Def) error {
	for id := range b.tables.byIndex {
		if id != d.ID {
			if err := b.tables.drop(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// vertexRow carries out one row through the transaction.
func (b *Batch) vertexRow(d *index.Def, group *shard.LoadVertices, row int) (*reject, error) {
	if err := b.alive(); err != nil {
		return nil, err
	}
	key := group.Keys[row]
	if !isKey(key) {
		return rejectKey, nil
	}
	id, err := b.find(d, key)
	if err != nil {
		return nil, err
	}
	exists, again := id != graph.NoVertex, b.repeats(id)
	if again && group.OnDuplicate != shard.DuplicateOverwrite {
		return leave(group.OnDuplicate, &b.l.Counts.Vertices), nil
	}
	switch {
	case exists && group.Action == shard.Insert:
		return rejectDuplicate, nil
	case !exists && group.Action == shard.Update:
		return rejectMissing, nil
	case group.Action == shard.Delete:
		if !exists {
			return nil, nil
		}
		b.l.Counts.Vertices.Deleted++
		if again {
			b.l.Counts.Vertices.Repeated++
		}
		if err := b.forget(d); err != nil {
			return nil, err
		}
		b.put(d, key, graph.NoVertex)
		return nil, b.detach(id)
	}
	if !exists {
		props, r := rowProps(group.Props, row, nil)
		if r != nil {
			return r, nil
		}
		id, r, err := b.create(d, key, group.Labels, props)
		if r == nil && err == nil {
			b.wrote(id, false)
		}
		return r, err
	}
	return b.changeRow(d, group, row, id)
}

// put adds a key to a space's table.
func (b *Batch) put(d *index.Def, key graph.Value, id graph.VertexID) {
	if t := b.tables.byIndex[d.ID]; t != nil {
		tuple, _ := keys.AppendOrdered(nil, key)
		t.put(tuple, id)
	}
}

// rowProps returns the new properties of a row; old are the existing ones.
func rowProps(cols []shard.LoadColumn, row int, old []graph.Property) ([]graph.Property, *reject) {
	var props []graph.Property
	for i := range cols {
		c := &cols[i]
		v := c.Values[row]
		if v.IsNull() {
			continue
		}
		at := slices.IndexFunc(props, func(p graph.Property) bool { return p.ID == c.Prop })
		var was graph.Value
		if at >= 0 {
			was = props[at].Value
		} else if k := slices.IndexFunc(old, func(p graph.Property) bool { return p.ID == c.Prop }); k >= 0 {
			was = old[k].Value
		}
		v, r := combine(c.Strategy, was, v)
		if r != nil {
			return nil, r
		}
		if at >= 0 {
			props[at].Value = v
		} else {
			props = append(props, graph.Property{ID: c.Prop, Value: v})
		}
	}
	return props, nil
}

// changes reports whether setting properties changes those that there are.
func changes(old, set []graph.Property) bool {
	return slices.ContainsFunc(set, func(p graph.Property) bool {
		at := slices.IndexFunc(old, func(o graph.Property) bool { return o.ID == p.ID })
		return at < 0 || !keys.Identical(old[at].Value, p.Value)
	})
}

// create creates a vertex under an external key through the transaction.
func (b *Batch) create(d *index.Def, key graph.Value, labels graph.LabelSet, props []graph.Property) (graph.VertexID, *reject, error) {
	set, err := b.newSet(d, labels)
	if err != nil {
		return graph.NoVertex, nil, err
	}
	if !d.Bare() {
		props = setProp(props, d.PropIDs[0], key)
	}
	if r, err := b.violation(graph.NoVertex, set, props); r != nil || err != nil {
		return graph.NoVertex, r, err
	}
	m := shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: props}
	if err := b.tx.Mutate(b.ctx, &m); err != nil {
		return graph.NoVertex, nil, err
	}
	if d.Bare() {
		w := b.tx.Writers()[m.Vertex.Shard()]
		if err := w.Vertices.SetProps(m.Vertex, m.Labels, []graph.Property{{ID: d.PropIDs[0], Value: key}}, nil); err != nil {
			return graph.NoVertex, nil, err
		}
		if err := b.tx.PutEntry(d, []graph.Value{key}, graph.IndexOwner{Vertex: m.Vertex}); err != nil {
			return graph.NoVertex, nil, err
		}
	}
	b.l.Counts.Vertices.Created++
	b.put(d, key, m.Vertex)
	return m.Vertex, nil, b.forget(d)
}

func setProp(props []graph.Property, id graph.PropID, v graph.Value) []graph.Property {
	for i := range props {
		if props[i].ID == id {
			props[i].Value = v
			return props
		}
	}
	return append(props, graph.Property{ID: id, Value: v})
}

// changeRow changes an existing vertex, unless that is left as an earlier row of the load has written it.
func (b *Batch) changeRow(d *index.Def, group *shard.LoadVertices, row int, id graph.VertexID) (*reject, error) {
	again := b.repeats(id)
	if again && group.OnDuplicate != shard.DuplicateOverwrite {
		return leave(group.OnDuplicate, &b.l.Counts.Vertices), nil
	}
	var rec [1]shard.Record
	if err := b.tx.Records(b.ctx, []graph.VertexID{id}, rec[:]); err != nil {
		return nil, err
	}
	props, r := rowProps(group.Props, row, rec[0].Props)
	if r != nil {
		return r, nil
	}
	set, err := b.union(rec[0].Labels, group.Labels)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(rec[0].Props)
	for _, p := range props {
		all = setProp(all, p.ID, p.Value)
	}
	if r, err := b.violation(id, set, all); r != nil || err != nil {
		return r, err
	}
	b.l.Counts.Vertices.Existing(set != rec[0].Labels || changes(rec[0].Props, props))
	b.wrote(id, again)
	b.tx.Know(id, rec[0].Labels)
	if set != rec[0].Labels {
		m := shard.Mutation{Op: shard.SetLabels, Vertex: id, Labels: set}
		if err := b.tx.Mutate(b.ctx, &m); err != nil {
			return nil, err
		}
		if err := b.forget(d); err != nil {
			return nil, err
		}
	}
	if len(props) == 0 {
		return nil, nil
	}
	for _, l := range b.g.Labels(set) {
		for _, o := range b.defs.ByLabel[l] {
			if o.Unique && o.Touches(props) {
				// A key may have moved, in this space too.
				if err := b.tables.drop(o.ID); err != nil {
					return nil, err
				}
			}
		}
	}
	m := shard.Mutation{Op: shard.SetVertex, Vertex: id, Props: props}
	return nil, b.tx.Mutate(b.ctx, &m)
}

// violation returns the constraint that a vertex would violate with these labels and properties. id is NoVertex for a new one.
func (b *Batch) violation(id graph.VertexID, set graph.LabelSet, props []graph.Property) (*reject, error) {
	for _, l := range b.g.Labels(set) {
		for _, d := range b.defs.ByLabel[l] {
			if r, err := b.breach(d, props, graph.IndexOwner{Vertex: id}); r != nil || err != nil {
				return r, err
			}
		}
	}
	return nil, nil
}

// breach reports whether properties violate a constraint; own is their owner, whose id is NoVertex or noEdge if it is new.
func (b *Batch) breach(d *index.Def, props []graph.Property, own graph.IndexOwner) (*reject, error) {
	vals := d.Values(props)
	if p := d.Missing(vals); p != "" {
		if own.IsEdge {
			return violates(index.MissingEdgeProp(d, p)), nil
		}
		return violates(index.MissingProp(d, p)), nil
	}
	if !d.Indexed {
		return nil, nil
	}
	tuple, ok, nan, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil {
		return &reject{"BadValue", err.Error()}, nil //nolint:nilerr // the row is refused, and the load continues
	}
	if !d.Unique || !ok || nan {
		return nil, nil
	}
	o, ok, err := b.tx.Owner(d.ID, tuple)
	if !ok || err != nil {
		return nil, err
	}
	if own.IsEdge && o.Edge == own.Edge || !own.IsEdge && o.Vertex == own.Vertex {
		return nil, nil
	}
	gets := index.OwnerName(own)
	switch {
	case own.IsEdge && own.Edge == noEdge:
		gets = "a new edge"
	case !own.IsEdge && own.Vertex == graph.NoVertex:
		gets = "a new vertex"
	}
	return violates(index.DuplicateError(d, vals, index.OwnerName(o), gets)), nil
}

func violates(err error) *reject { return &reject{"ConstraintViolation", err.Error()} }

// detach deletes a vertex with its edges.
func (b *Batch) detach(id graph.VertexID) error {
	var res shard.Neighbours
	req := shard.Expand{Sources: []graph.VertexID{id}, Dir: graph.Both, Edges: true}
	if err := b.tx.Expand(b.ctx, &req, &res); err != nil {
		return err
	}
	ms := make([]shard.Mutation, 0, len(res.Targets)+1)
	for i, far := range res.Targets {
		e := graph.Edge{ID: res.Edges[i], Src: id, Dst: far, Type: res.Types[i]}
		if res.Reverse[i] {
			e.Src, e.Dst = far, id
		}
		ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
	}
	ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: id})
	return b.apply(ms)
}

// apply makes changes whose constraints have been checked.
func (b *Batch) apply(ms []shard.Mutation) error {
	if err := b.tx.Prefetch(b.ctx, ms); err != nil {
		return err
	}
	for i := range ms {
		if err := b.tx.Mutate(b.ctx, &ms[i]); err != nil {
			return err
		}
	}
	return nil
}

// edgeRow carries out one row of edges, whose ends are known, through the transaction.
func (b *Batch) edgeRow(group *shard.LoadEdges, row int, src, dst graph.VertexID) (*reject, error) {
	if err := b.alive(); err != nil {
		return nil, err
	}
	var between []graph.Edge
	if group.Action != shard.Insert {
		var err error
		if between, err = b.between(group.Type, src, dst); err != nil {
			return nil, err
		}
	}
	switch {
	case group.Action == shard.Delete:
		var ms []shard.Mutation
		for _, e := range between {
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
		b.l.Counts.Edges.Deleted += len(ms)
		return nil, b.apply(ms)
	case group.Action == shard.Update && len(between) == 0:
		return rejectNoEdge, nil
	case len(between) == 0:
		props, r := rowProps(group.Props, row, nil)
		if r != nil {
			return r, nil
		}
		if r, err := b.edgeViolation(noEdge, group.Type, props); r != nil || err != nil {
			return r, err
		}
		b.l.Counts.Edges.Created++
		return nil, b.apply([]shard.Mutation{{Op: shard.CreateEdge, Edge: graph.Edge{Src: src, Dst: dst, Type: group.Type}, Props: props}})
	}
	for _, e := range between {
		var rec [1]shard.Record
		if err := b.tx.EdgeRecords(b.ctx, []graph.Edge{e}, rec[:]); err != nil {
			return nil, err
		}
		props, r := rowProps(group.Props, row, rec[0].Props)
		if r != nil {
			return r, nil
		}
		all := slices.Clone(rec[0].Props)
		for _, p := range props {
			all = setProp(all, p.ID, p.Value)
		}
		if r, err := b.edgeViolation(e.ID, group.Type, all); r != nil || err != nil {
			return r, err
		}
		b.l.Counts.Edges.Existing(changes(rec[0].Props, props))
		if len(props) == 0 {
			continue
		}
		if err := b.apply([]shard.Mutation{{Op: shard.SetEdge, Edge: e, Props: props}}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// between returns the edges of a type from one vertex to another, in the order of their ids.
func (b *Batch) between(t graph.TypeID, src, dst graph.VertexID) ([]graph.Edge, error) {
	ls, err := b.tx.Writers()[src.Shard()].Lists(t, graph.Out)
	if err != nil {
		return nil, err
	}
	defer ls.Close()
	var out view.Edges
	var pending []view.Pending
	if err := ls.Append(b.ctx, src, view.Want{IDs: true}, &out, &pending); err != nil {
		return nil, err
	}
	var edges []graph.Edge
	at, _ := slices.BinarySearch(out.Targets, dst)
	for ; at < len(out.Targets) && out.Targets[at] == dst; at++ {
		edges = append(edges, graph.Edge{ID: out.IDs[at], Src: src, Dst: dst, Type: t})
	}
	return edges, nil
}

// noEdge is not the id of any edge.
const noEdge = ^graph.EdgeID(0)

// edgeViolation returns the constraint that an edge would violate. id is noEdge for a new one.
func (b *Batch) edgeViolation(id graph.EdgeID, t graph.TypeID, props []graph.Property) (*reject, error) {
	for _, d := range b.defs.ByType[t] {
		if r, err := b.breach(d, props, graph.IndexOwner{Edge: id, IsEdge: true}); r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}
