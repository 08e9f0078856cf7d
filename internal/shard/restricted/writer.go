package restricted

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// The writer checks each mutation by the state before it. A vertex is created with its labels one by one, as Neo4j requires; the other
// actions are permitted on an element by the rules of all its labels. Creating an element with properties needs the right to set them.

func forbidden(format string, args ...any) error {
	return graph.Forbidden(graph.PhaseRuntime, "Rules", format, args...)
}

// Label implements shard.Writer.
func (t *tx) Label(name string) (graph.LabelID, error) { return t.r.tx.Label(name) }

// Type implements shard.Writer.
func (t *tx) Type(name string) (graph.TypeID, error) { return t.r.tx.Type(name) }

// Prop implements shard.Writer.
func (t *tx) Prop(name string) (graph.PropID, error) {
	_, known := t.r.names.Prop(name)
	id, err := t.r.tx.Prop(name)
	if !known && err == nil { // a condition may read it
		t.r.bound.Store(t.policy.Bind(t.r.names))
	}
	return id, err
}

// LabelSet implements shard.Writer.
func (t *tx) LabelSet(labels []graph.LabelID) (graph.LabelSet, error) { return t.r.tx.LabelSet(labels) }

// CheckUnique implements shard.Writer.
func (t *tx) CheckUnique(ctx context.Context) error { return conceal(t.r.tx.CheckUnique(ctx)) }

// Commit implements shard.Writer.
func (t *tx) Commit(ctx context.Context) error { return conceal(t.r.tx.Commit(ctx)) }

// conceal keeps the elements and values that a broken constraint names from the caller, who may not see them.
func conceal(err error) error {
	if err == nil || graph.AsError(err).Detail != "ConstraintViolation" {
		return err
	}
	return graph.ConstraintError("the change breaks a constraint: another vertex or edge has the same values")
}

// Apply implements shard.Writer.
func (t *tx) Apply(ctx context.Context, ms []shard.Mutation) error {
	c, err := t.changes(ctx, ms)
	if err != nil {
		return err
	}
	for i := range ms {
		if err := c.check(i); err != nil {
			return err
		}
	}
	t.r.memo = nil
	if err := t.r.tx.Apply(ctx, ms); err != nil || !t.policy.Checks() {
		return conceal(err)
	}
	return t.stillSeen(ctx, ms)
}

// changes are mutations with the state of what they change.
type changes struct {
	t        *tx
	ms       []shard.Mutation
	vertices *vertices // of the vertex, or the ends of the edge, at 2i and 2i+1
	edge     []int     // the row of an existing edge in cols
	cols     [][]graph.Value
}

func (t *tx) changes(ctx context.Context, ms []shard.Mutation) (c *changes, err error) {
	c = &changes{t: t, ms: ms}
	ids, edges := make([]graph.VertexID, 2*len(ms)), []graph.Edge{}
	c.edge = make([]int, len(ms))
	for i := range ms {
		switch m := &ms[i]; m.Op {
		case shard.CreateVertex:
		case shard.CreateEdge:
			ids[2*i], ids[2*i+1] = m.Edge.Src, m.Edge.Dst
		case shard.SetEdge, shard.DeleteEdge:
			ids[2*i], ids[2*i+1] = m.Edge.Src, m.Edge.Dst
			c.edge[i], edges = len(edges), append(edges, m.Edge)
		default:
			ids[2*i], ids[2*i+1] = m.Vertex, m.Vertex
		}
	}
	if c.vertices, err = t.r.look(ctx, ids, always); err != nil {
		return nil, err
	}
	_, c.cols, err = t.r.edges(ctx, edges, nil, nil)
	return c, err
}

// check returns an error unless the policy permits a mutation.
func (c *changes) check(i int) error {
	m := &c.ms[i]
	b := c.t.r.bound.Load()
	switch m.Op {
	case shard.CreateVertex:
		return c.create(b, m)
	case shard.CreateEdge:
		if !c.vertices.seen[2*i] || !c.vertices.seen[2*i+1] {
			return forbidden("the caller may not create an edge between these vertices")
		}
		return c.createEdge(b, m)
	case shard.SetEdge, shard.DeleteEdge:
		return c.changeEdge(b.Edges(m.Edge.Type), i)
	default:
		return c.changeVertex(b, i)
	}
}

// own returns the values of a new element's properties as columns of one row.
func own(props []graph.PropID, m *shard.Mutation) [][]graph.Value {
	cols := shard.Columns(len(props), 1)
	for k, p := range props {
		for _, set := range m.Props {
			if set.ID == p {
				cols[k][0] = set.Value
			}
		}
	}
	return cols
}

func (c *changes) create(b *rules.Bound, m *shard.Mutation) error {
	names, cols := c.labelNames(m.Labels), own(b.VertexProps, m)
	single := []*rules.Element{}
	for _, name := range names {
		single = append(single, b.Named(false, name))
	}
	if len(names) == 0 {
		single = append(single, b.Named(false))
	}
	for k, e := range single {
		if g := e.Gate(rules.Create, ""); !g.Permits(cols, 0) {
			return forbidden("the caller may not create vertices%s", label(names, k))
		}
	}
	return c.set(b.Vertices(m.Labels), m, cols, 0)
}

func label(names []string, k int) string {
	if len(names) == 0 {
		return " without labels"
	}
	return " with the label " + names[k]
}

func (c *changes) labelNames(set graph.LabelSet) (names []string) {
	for _, l := range c.t.r.names.Labels(set) {
		names = append(names, c.t.r.names.LabelName(l))
	}
	return names
}

func (c *changes) createEdge(b *rules.Bound, m *shard.Mutation) error {
	e, cols := b.Edges(m.Edge.Type), own(b.EdgeProps, m)
	if g := e.Gate(rules.Create, ""); !g.Permits(cols, 0) {
		return forbidden("the caller may not create edges of the type %s", c.t.r.names.TypeName(m.Edge.Type))
	}
	return c.set(e, m, cols, 0)
}

// set returns an error unless all properties of a mutation may be set.
func (c *changes) set(e *rules.Element, m *shard.Mutation, cols [][]graph.Value, row int) error {
	for _, p := range m.Props {
		name := c.t.r.names.PropName(p.ID)
		if g := e.Gate(rules.SetProperty, name); !g.Permits(cols, row) {
			return forbidden("the caller may not set the property %s of this element", name)
		}
	}
	return nil
}

func (c *changes) changeEdge(e *rules.Element, i int) error {
	m, at := &c.ms[i], c.edge[i]
	// The transaction may have deleted an end of the edge, which the caller saw then.
	seen := func(end int) bool { return c.vertices.seen[end] || c.vertices.elements[end] == nil }
	if !seen(2*i) || !seen(2*i+1) || !e.Visible.Permits(c.cols, at) {
		return forbidden("the caller may not change this edge")
	}
	if m.Op == shard.SetEdge {
		return c.set(e, m, c.cols, at)
	}
	if g := e.Gate(rules.Delete, ""); !g.Permits(c.cols, at) {
		return forbidden("the caller may not delete edges of the type %s", c.t.r.names.TypeName(m.Edge.Type))
	}
	return nil
}

func (c *changes) changeVertex(b *rules.Bound, i int) error {
	m, e := &c.ms[i], c.vertices.elements[2*i]
	switch {
	case e == nil:
		return nil // it is deleted, which the graph answers as ever
	case !c.vertices.seen[2*i]:
		return forbidden("the caller may not change this vertex")
	case m.Op == shard.SetVertex:
		return c.set(e, m, c.vertices.cols, 2*i)
	case m.Op == shard.SetLabels:
		return c.setLabels(b, i)
	}
	if g := e.Gate(rules.Delete, ""); !g.Permits(c.vertices.cols, 2*i) {
		return forbidden("the caller may not delete this vertex")
	}
	return nil
}

func (c *changes) setLabels(b *rules.Bound, i int) error {
	was, now := c.vertices.elements[2*i].Names(), c.labelNames(c.ms[i].Labels)
	change := func(action rules.Action, some, others []string, what string) error {
		for _, name := range some {
			if slices.Contains(others, name) {
				continue
			}
			if g := b.Named(false, name).Gate(action, ""); !g.Permits(c.vertices.cols, 2*i) {
				return forbidden("the caller may not %s the label %s", what, name)
			}
		}
		return nil
	}
	if err := change(rules.SetLabel, now, was, "set"); err != nil {
		return err
	}
	return change(rules.RemoveLabel, was, now, "remove")
}

// stillSeen returns an error if the caller no longer sees what mutations have made or changed.
func (t *tx) stillSeen(ctx context.Context, ms []shard.Mutation) error {
	var ids []graph.VertexID
	var edges []graph.Edge
	for i := range ms {
		switch m := &ms[i]; m.Op {
		case shard.CreateVertex, shard.SetVertex, shard.SetLabels:
			ids = append(ids, m.Vertex)
		case shard.CreateEdge, shard.SetEdge:
			edges = append(edges, m.Edge)
		}
	}
	v, err := t.r.look(ctx, ids, nil)
	if err != nil {
		return err
	}
	seen, _, err := t.r.edges(ctx, edges, nil, nil)
	if err != nil {
		return err
	}
	for i, e := range v.elements {
		v.seen[i] = v.seen[i] || e == nil // deleted meanwhile
	}
	if slices.Contains(v.seen, false) || slices.Contains(seen, false) {
		return forbidden("the change would hide an element from its writer, which a rule WITH CHECK refuses")
	}
	return nil
}
