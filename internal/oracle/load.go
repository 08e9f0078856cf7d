package oracle

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/shard"
)

// Load applies one load batch, row by row. A refused row changes nothing.
//
// Vertices: Upsert and Update add the batch's labels to the existing ones; Delete also deletes the vertex's edges.
// Edges: Insert always creates an edge, Upsert only if the ends have none of the type, Update changes and Delete removes all of the type
// between the ends. Deleting what does not exist has no effect. OnDuplicate comes before the action.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	l.Rejected, l.Counts, l.Skipped = l.Rejected[:0], shard.LoadCounts{}, false
	b := &batch{g: g, s: g.state.Load().clone(), l: l}
	if l.Stream != "" {
		if l.Restart {
			delete(b.s.streams, l.Stream)
		}
		if l.Seq <= b.s.streams[l.Stream].seq {
			l.Skipped = true
			g.state.Store(b.s)
			return l.Again(b.s.streams[l.Stream].seq, b.s.streams[l.Stream].mark)
		}
	}
	b.written = map[graph.VertexID]bool{}
	st := stream{}
	if name := cmp.Or(l.Stream, l.Run); name != "" && !l.Restart {
		st = b.s.streams[name]
		maps.Copy(b.written, st.written)
	}
	if st.remembers = st.remembers || l.Remembers(); st.remembers && st.forgotten {
		return shard.LoadForgotten()
	}
	for i := range l.Vertices {
		group := &l.Vertices[i]
		x := b.space(group.Space)
		if x == nil {
			return graph.InternalError("load: there is no such unique index or id space", nil)
		}
		for row := range group.Keys {
			if r := b.vertex(x, group, row); r != nil {
				l.Rejected = append(l.Rejected, shard.Rejected{Group: i, Row: row, Code: r.code, Msg: r.msg})
			}
		}
	}
	for i := range l.Edges {
		group := &l.Edges[i]
		src, dst := b.space(group.SrcSpace), b.space(group.DstSpace)
		if src == nil || dst == nil {
			return graph.InternalError("load: there is no such unique index or id space", nil)
		}
		for row := range group.Src {
			if r := b.edge(src, dst, group, row); r != nil {
				l.Rejected = append(l.Rejected, shard.Rejected{Edge: true, Group: i, Row: row, Code: r.code, Msg: r.msg})
			}
		}
	}
	if l.Stream != "" {
		st.seq, st.mark, st.written = l.Seq, l.AppendOutcome(slices.Clone(l.Mark)), b.written
		b.s.streams[l.Stream] = st
	} else if l.Run != "" {
		st.written = b.written
		b.s.streams[l.Run] = st
	}
	g.state.Store(b.s)
	return nil
}

// Restart has the graph forget what a server does not know any more after it has started again.
func (g *Graph) Restart() {
	s := g.state.Load().clone()
	for name, st := range s.streams {
		if !st.remembers {
			st.written, st.forgotten = nil, st.seq > 0
			s.streams[name] = st
		}
	}
	g.state.Store(s)
}

// batch is a load batch at work on its state.
type batch struct {
	g *Graph
	s *state
	l *shard.Load
	// written are the vertices that rows of the load have written.
	written map[graph.VertexID]bool
}

// reject records why a row is refused.
type reject struct{ code, msg string }

// space returns a unique index over vertices, or a bare id space, or nil.
func (b *batch) space(id graph.IndexID) *index {
	for i := range b.s.indexes {
		if x := &b.s.indexes[i]; x.ID == id && x.Unique && x.Type == "" {
			return x
		}
	}
	return nil
}

// find returns the vertex with an external key.
func (b *batch) find(x *index, key graph.Value) (graph.VertexID, bool) {
	k, ok := tupleKey([]graph.Value{key})
	if ids := b.s.entries[x.ID][k]; ok && len(ids) > 0 {
		return ids[0], true
	}
	return 0, false
}

// create creates a vertex under an external key.
func (b *batch) create(x *index, key graph.Value, labels graph.LabelSet, props []graph.Property) *reject {
	v := &vertex{labels: max(labels, graph.NoLabels), props: props}
	if x.bare() {
		k, _ := tupleKey([]graph.Value{key})
		v.spaces = []spaceKey{{x.ID, k}}
	} else {
		v.labels = b.g.union(v.labels, b.g.internLabelSet([]graph.LabelID{x.label}))
		v.props = withProperties(v.props, []graph.Property{{ID: x.props[0], Value: key}})
	}
	id := b.s.addVertex(v)
	if err := b.s.checkVertex(id); err != nil {
		b.s.putVertex(id, nil)
		return &reject{"ConstraintViolation", err.Error()}
	}
	b.l.Counts.Vertices.Created++
	return nil
}

func (b *batch) vertex(x *index, group *shard.LoadVertices, row int) *reject {
	key := group.Keys[row]
	if k := key.Kind(); k != graph.Int && k != graph.String {
		return &reject{"MissingKey", "a key must be an integer or a string"}
	}
	id, exists := b.find(x, key)
	again := exists && b.written[id]
	switch {
	case again && group.OnDuplicate == shard.DuplicateError:
		return &reject{"RepeatedKey", "an earlier row of the load has this key"}
	case again && group.OnDuplicate == shard.DuplicateKeepFirst:
		b.l.Counts.Vertices.Unchanged++
		b.l.Counts.Vertices.Repeated++
		return nil
	case exists && group.Action == shard.Insert:
		return &reject{"DuplicateKey", "there is a vertex with this key already"}
	case !exists && group.Action == shard.Update:
		return &reject{"MissingVertex", "there is no vertex with this key"}
	case group.Action == shard.Delete:
		if exists {
			b.detach(id)
			b.l.Counts.Vertices.Deleted++
			b.wrote(id, again)
		}
		return nil
	}
	var old *vertex
	var props []graph.Property
	if exists {
		old = b.s.vertex(id)
		props = old.props
	}
	props, r := combine(props, group.Props, row)
	if r != nil {
		return r
	}
	if !exists {
		r := b.create(x, key, group.Labels, props)
		if id, ok := b.find(x, key); ok {
			b.wrote(id, false)
		}
		return r
	}
	v := &vertex{labels: b.g.union(old.labels, group.Labels), props: props, spaces: old.spaces}
	b.s.putVertex(id, v)
	if err := b.s.checkVertex(id); err != nil {
		b.s.putVertex(id, old)
		return &reject{"ConstraintViolation", err.Error()}
	}
	b.l.Counts.Vertices.Existing(v.labels != old.labels || !same(v.props, old.props))
	b.wrote(id, again)
	return nil
}

// wrote notes that a row has written a vertex, again if an earlier one had.
func (b *batch) wrote(id graph.VertexID, again bool) {
	b.written[id] = true
	if again {
		b.l.Counts.Vertices.Repeated++
	}
}

// detach deletes a vertex with its edges.
func (b *batch) detach(id graph.VertexID) {
	for _, e := range slices.Concat(b.s.incident(id, false), b.s.incident(id, true)) {
		b.s.removeEdge(e)
	}
	b.s.putVertex(id, nil)
}

func (b *batch) edge(srcSpace, dstSpace *index, group *shard.LoadEdges, row int) *reject {
	for _, end := range []struct {
		x   *index
		key graph.Value
	}{{srcSpace, group.Src[row]}, {dstSpace, group.Dst[row]}} {
		if k := end.key.Kind(); k != graph.Int && k != graph.String {
			return &reject{"MissingKey", "the key of an edge's end must be an integer or a string"}
		}
		if _, ok := b.find(end.x, end.key); ok {
			continue
		}
		switch group.Dangling {
		case shard.DanglingReject:
			return &reject{"DanglingEdge", "an end of the edge does not exist"}
		case shard.DanglingSkip:
			return nil
		}
		if r := b.create(end.x, end.key, graph.NoLabels, nil); r != nil {
			return r
		}
	}
	src, _ := b.find(srcSpace, group.Src[row])
	dst, _ := b.find(dstSpace, group.Dst[row])

	var between []graph.EdgeID
	for _, id := range b.s.incident(src, false) {
		if e := b.s.edge(id); e.Dst == dst && e.Type == group.Type {
			between = append(between, id)
		}
	}
	switch {
	case group.Action == shard.Delete:
		for _, id := range between {
			b.s.removeEdge(id)
			b.l.Counts.Edges.Deleted++
		}
		return nil
	case group.Action == shard.Update && len(between) == 0:
		return &reject{"MissingEdge", "there is no such edge"}
	case group.Action == shard.Insert || len(between) == 0:
		props, r := combine(nil, group.Props, row)
		if r != nil {
			return r
		}
		id := b.s.addEdge(src, dst, group.Type, props)
		if err := b.s.checkEdge(id); err != nil {
			b.s.removeEdge(id)
			return &reject{"ConstraintViolation", err.Error()}
		}
		b.l.Counts.Edges.Created++
		return nil
	}
	for _, id := range between {
		old := b.s.edge(id)
		props, r := combine(old.props, group.Props, row)
		if r != nil {
			return r
		}
		b.s.parts[id.Shard()].edges[id.Local()] = &edge{Edge: old.Edge, props: props}
		if err := b.s.checkEdge(id); err != nil {
			b.s.parts[id.Shard()].edges[id.Local()] = old
			return &reject{"ConstraintViolation", err.Error()}
		}
		b.l.Counts.Edges.Existing(!same(props, old.props))
	}
	return nil
}

// combine returns old changed by one row of columns.
func combine(old []graph.Property, cols []shard.LoadColumn, row int) ([]graph.Property, *reject) {
	props := old
	for _, c := range cols {
		v := c.Values[row]
		if v.IsNull() {
			continue
		}
		if was := property(props, c.Prop); !was.IsNull() {
			var ok bool
			if v, ok = merge(c.Strategy, was, v); !ok {
				return nil, &reject{"StrategyType", "the update strategy does not fit the types of the values"}
			}
		}
		if !storable(v) {
			return nil, &reject{"BadValue", "a property cannot hold this value"}
		}
		props = withProperties(props, []graph.Property{{ID: c.Prop, Value: v}})
	}
	return props, nil
}

// same reports whether properties are the same ones, with values of the same types.
func same(a, b []graph.Property) bool {
	return slices.EqualFunc(a, b, func(x, y graph.Property) bool {
		return x.ID == y.ID && bytes.Equal(notation.Append(nil, x.Value), notation.Append(nil, y.Value))
	})
}

// merge combines an old and a new value, neither of them null. ok is false if their types do not fit.
func merge(strategy shard.Strategy, old, new graph.Value) (v graph.Value, ok bool) {
	switch strategy {
	case shard.Override:
		return new, true
	case shard.Sum:
		switch {
		case old.Kind() == graph.Int && new.Kind() == graph.Int:
			sum := old.Int() + new.Int()
			overflows := (sum > old.Int()) != (new.Int() > 0) && new.Int() != 0
			return graph.IntValue(sum), !overflows
		case old.IsNumber() && new.IsNumber():
			return graph.FloatValue(old.Number() + new.Number()), true
		}
		return v, false
	case shard.Bigger, shard.Smaller:
		c, ok := compare(old, new)
		if !ok || old.Kind() == graph.List || old.Kind() == graph.Bool || old.Kind() == graph.String {
			return v, false
		}
		if (c < 0) == (strategy == shard.Bigger) && c != 0 {
			return new, true
		}
		return old, true
	}
	if old.Kind() != graph.List || new.Kind() != graph.List {
		return v, false
	}
	a, b := old.List(), new.List()
	switch strategy {
	case shard.Append:
		return graph.ListValue(slices.Concat(a, b)), true
	case shard.Union:
		return graph.ListValue(distinct(slices.Concat(a, b))), true
	case shard.Intersection:
		return graph.ListValue(distinct(keep(a, b, true))), true
	case shard.Eliminate:
		return graph.ListValue(distinct(keep(a, b, false))), true
	}
	return v, false
}

// distinct returns the first of equal values, in their order.
func distinct(vs []graph.Value) []graph.Value {
	var out []graph.Value
	for _, v := range vs {
		if !contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// keep returns the values of a that are (or are not) in b.
func keep(a, b []graph.Value, in bool) []graph.Value {
	var out []graph.Value
	for _, v := range a {
		if contains(b, v) == in {
			out = append(out, v)
		}
	}
	return out
}

func contains(vs []graph.Value, v graph.Value) bool {
	key, _ := indexKey(nil, v)
	return slices.ContainsFunc(vs, func(o graph.Value) bool {
		k, _ := indexKey(nil, o)
		return string(k) == string(key)
	})
}
