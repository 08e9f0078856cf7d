package oracle

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
)

// Tx is a transaction. It implements shard.Tx.
type Tx struct {
	g     *Graph
	state *state
	write bool
	ended atomic.Bool

	touchedVertices []graph.VertexID
	touchedEdges    []graph.EdgeID

	mu      sync.Mutex   // guards the fields below
	cursors []rangeEntry // by the number in a range cursor
}

// check returns an error if a request cannot be served now.
func (t *Tx) check(ctx context.Context) error {
	if t.ended.Load() {
		return misuse("the transaction has ended")
	}
	if err := ctx.Err(); err != nil {
		return graph.DeadlineError(err)
	}
	return nil
}

// misuse is the error of a caller that violates the interface.
func misuse(what string) error { return graph.InternalError("oracle: "+what, nil) }

// Counts returns the statistics, by a walk over the whole graph.
func (t *Tx) Counts() *graph.Counts { return t.Statistics() }

// Statistics implements shard.Tx.
func (t *Tx) Statistics() *graph.Counts {
	c := t.state.counts.Load()
	if c == nil {
		c = t.count()
		t.state.counts.Store(c)
	}
	return c
}

func (t *Tx) count() *graph.Counts {
	c := &graph.Counts{
		ByLabel: map[string]uint64{}, ByType: map[string]uint64{}, Ends: map[graph.TypeEnds]uint64{},
		Distinct: map[string]uint64{}, Props: map[graph.PropOf]uint64{},
	}
	// Count properties and labels of edges by number first: these are few, however large the graph is.
	type owner struct {
		labels graph.LabelSet
		typ    graph.TypeID
		prop   graph.PropID
	}
	type ends struct {
		src, dst graph.LabelSet
		typ      graph.TypeID
	}
	sets, props, edges := map[graph.LabelSet]uint64{}, map[owner]uint64{}, map[ends]uint64{}
	t.state.vertices(func(_ graph.VertexID, v *vertex) {
		c.Vertices++
		sets[v.labels]++
		for _, p := range v.props {
			props[owner{labels: v.labels, prop: p.ID}]++
		}
	})
	labelsOf := func(id graph.VertexID) graph.LabelSet {
		if v := t.state.vertex(id); v != nil {
			return v.labels
		}
		return graph.NoLabels
	}
	t.state.edges(func(e *edge) {
		c.Edges++
		edges[ends{labelsOf(e.Src), labelsOf(e.Dst), e.Type}]++
		for _, p := range e.props {
			props[owner{typ: e.Type, prop: p.ID}]++
		}
	})
	labels := func(set graph.LabelSet) (names []string) {
		for _, l := range t.g.Labels(set) {
			names = append(names, t.g.LabelName(l))
		}
		return names
	}
	for set, n := range sets {
		for _, l := range labels(set) {
			c.ByLabel[l] += n
		}
	}
	for o, n := range props {
		prop := t.g.PropName(o.prop)
		if o.typ != 0 {
			c.Props[graph.PropOf{Type: t.g.TypeName(o.typ), Prop: prop}] += n
			continue
		}
		for _, l := range append(labels(o.labels), "") {
			c.Props[graph.PropOf{Label: l, Prop: prop}] += n
		}
	}
	for e, n := range edges {
		typ := t.g.TypeName(e.typ)
		c.ByType[typ] += n
		for _, src := range append(labels(e.src), "") {
			for _, dst := range append(labels(e.dst), "") {
				c.Ends[graph.TypeEnds{Src: src, Type: typ, Dst: dst}] += n
			}
		}
	}
	for i := range t.state.indexes {
		x := &t.state.indexes[i]
		if x.Indexed && x.Kind != graph.FullTextIndex && x.Label != "" {
			c.Distinct[x.Name] = uint64(len(t.state.entries[x.ID]))
		}
	}
	return c
}

// Scan reads the vertices in ascending order.
func (t *Tx) Scan(
	ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID,
) (ids []graph.VertexID, next graph.VertexID, done bool, err error) {
	if err := t.check(ctx); err != nil {
		return dst, from, false, err
	}
	if len(dst) == cap(dst) {
		return dst, from, false, misuse("no room for a scan")
	}
	for n := from.Shard(); n < len(t.state.parts); n++ {
		p := &t.state.parts[n]
		var first uint64
		if n == from.Shard() {
			first = from.Local()
		}
		for i := first; i < uint64(len(p.vertices)); i++ {
			id, v := graph.MakeVertexID(n, i), p.vertices[i]
			if v == nil || !t.g.hasLabel(v.labels, label) {
				continue
			}
			if len(dst) == cap(dst) {
				return dst, id, false, nil
			}
			dst = append(dst, id)
		}
	}
	return dst, graph.NoVertex, true, nil
}

// LabelSets reads label sets.
func (t *Tx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for i, id := range ids {
		out[i] = 0
		if v := t.state.vertex(id); v != nil {
			out[i] = v.labels
		}
	}
	return nil
}

// Properties reads properties of vertices.
func (t *Tx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for p, prop := range props {
		for i, id := range ids {
			out[p][i] = graph.Value{}
			if v := t.state.vertex(id); v != nil {
				out[p][i] = property(v.props, prop)
			}
		}
	}
	return nil
}

// Records reads whole vertices.
func (t *Tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for i, id := range ids {
		out[i] = shard.Record{}
		if v := t.state.vertex(id); v != nil {
			out[i] = shard.Record{Labels: v.labels, Props: slices.Clone(v.props)}
		}
	}
	return nil
}

// find returns the edge with the given ends and type, or nil.
func (t *Tx) find(e graph.Edge) *edge {
	if found := t.state.edge(e.ID); found != nil && found.Edge == e {
		return found
	}
	return nil
}

// EdgeProperties reads properties of edges.
func (t *Tx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for p, prop := range props {
		for i, e := range edges {
			out[p][i] = graph.Value{}
			if found := t.find(e); found != nil {
				out[p][i] = property(found.props, prop)
			}
		}
	}
	return nil
}

// EdgeRecords reads whole edges.
func (t *Tx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for i, e := range edges {
		out[i] = shard.Record{}
		if found := t.find(e); found != nil {
			out[i] = shard.Record{Labels: 1, Props: slices.Clone(found.props)}
		}
	}
	return nil
}

// Label returns the number of a label, assigning one if needed.
func (t *Tx) Label(name string) (graph.LabelID, error) { return t.g.internLabel(name), nil }

// Type returns the number of an edge type, assigning one if needed.
func (t *Tx) Type(name string) (graph.TypeID, error) { return t.g.internType(name), nil }

// Prop returns the number of a property key, assigning one if needed.
func (t *Tx) Prop(name string) (graph.PropID, error) { return t.g.internProp(name), nil }

// LabelSet returns the number of a set of labels, assigning one if needed.
func (t *Tx) LabelSet(labels []graph.LabelID) (graph.LabelSet, error) {
	return t.g.internLabelSet(labels), nil
}

// Compare compares property values.
func (t *Tx) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (int, error) {
	return shard.ReadAndCompare(ctx, t, prop, probe, ids, scores)
}

// CompareEdges compares property values.
func (t *Tx) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) (shard.NearestFound, error) {
	return shard.ReadAndCompareEdges(ctx, t, req, sources, best)
}

// Nearest leaves the comparison of all to the caller.
func (*Tx) Nearest(context.Context, *shard.Nearest, *shard.Top) (shard.NearestFound, error) {
	return shard.NearestFound{}, nil
}

// features are those of a graph: only requests that plain values answer.
var features = func() (s shard.FeatureSet) {
	for f := range s {
		s[f] = "the oracle keeps plain values"
	}
	s[shard.FullText], s[shard.ExactCounts] = "", ""
	return s
}()

// Features implements shard.Tx.
func (t *Tx) Features() shard.Features { return shard.Features{Text: t, Exact: t, Set: &features} }

// ChangeLog implements shard.Graph.
func (*Graph) ChangeLog() shard.ChangeLog { return nil }

// Features implements shard.Graph.
func (*Graph) Features() *shard.FeatureSet { return &features }

// Features implements shard.Store: it has none.
func (*Store) Features() shard.StoreFeatures { return shard.StoreFeatures{} }

// Size implements shard.Graph.
func (g *Graph) Size() uint64 {
	c := (&Tx{g: g, state: g.state.Load()}).Counts()
	return c.Vertices + c.Edges
}
