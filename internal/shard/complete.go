package shard

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// Complete makes a Tx that only reads of a Reader and the Indexes beside it, or nil. Its other requests are composed of theirs, and the
// counts are taken with the first question for them. end is called once, by Commit or Rollback. It has none of Features.
func Complete(names graph.Catalog, r Reader, x Indexes, end func()) Tx {
	c := new(Completed)
	c.Init(names, r, x, end)
	return c
}

// Init makes c what Complete returns.
func (c *Completed) Init(names graph.Catalog, r Reader, x Indexes, end func()) {
	c.Reader, c.Indexes, c.names, c.end = r, x, names, end
	if x == nil {
		c.Indexes = noIndexes{}
	}
}

// Completed is what Complete returns. It may be part of another transaction, to be one allocation with it.
type Completed struct {
	Reader
	Indexes
	names graph.Catalog
	once  sync.Once
	end   func()

	count  sync.Once
	counts *graph.Counts
}

// readOnly are the features of what Complete returns.
var readOnly = func() (s FeatureSet) {
	for f := range s {
		s[f] = "the graph is read by its basic requests alone"
	}
	s[ExactCounts] = ""
	return s
}()

// Features implements Tx.
func (c *Completed) Features() Features { return Features{Exact: c, Set: &readOnly} }

// EdgeRecords implements Composed.
func (c *Completed) EdgeRecords(ctx context.Context, edges []graph.Edge, out []Record) error {
	return ReadEdgeRecords(ctx, c.names, c, edges, out)
}

// Step implements Composed.
func (c *Completed) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	req := Expand{Sources: from.AppendTo(nil), Types: types, Dir: dir, Into: out}
	slices.Sort(req.Sources)
	var res Neighbours
	for len(req.Sources) > 0 {
		if err := c.Expand(ctx, &req, &res); err != nil {
			return err
		}
		req.Sources = req.Sources[res.Done:]
	}
	return nil
}

// Compare implements Composed.
func (c *Completed) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (int, error) {
	return ReadAndCompare(ctx, c, prop, probe, ids, scores)
}

// CompareEdges implements Composed.
func (c *Completed) CompareEdges(ctx context.Context, req *Nearest, sources []graph.VertexID, best *Top) (NearestFound, error) {
	return ReadAndCompareEdges(ctx, c, req, sources, best)
}

// Nearest implements Composed: the caller compares all.
func (*Completed) Nearest(context.Context, *Nearest, *Top) (NearestFound, error) {
	return NearestFound{}, nil
}

// Counts implements Tx. It returns none if the backing fails, as it does with the requests that follow.
func (c *Completed) Counts() *graph.Counts {
	c.count.Do(func() {
		var err error
		if c.counts, err = CountAll(context.Background(), c.names, c.Reader); err != nil {
			c.counts = &graph.Counts{}
		}
	})
	return c.counts
}

// Statistics implements Tx.
func (c *Completed) Statistics() *graph.Counts { return c.Counts() }

// Records implements Tx.
func (c *Completed) Records(ctx context.Context, ids []graph.VertexID, out []Record) error {
	all := allProps(c.names)
	return ReadRecords(ctx, c, func(graph.LabelSet) []graph.PropID { return all }, ids, out)
}

// index finds an index by its number.
func (c *Completed) index(id graph.IndexID, edges bool) (IndexRef, graph.TypeID, error) {
	for _, ix := range c.names.Indexes() {
		if ix.ID == id && ix.Indexed && edges == (ix.Type != "") {
			t, _ := c.names.Type(ix.Type)
			return RefOf(&ix), t, nil
		}
	}
	return IndexRef{}, 0, graph.InternalError("there is no such index", nil)
}

// Seek implements Tx.
func (c *Completed) Seek(ctx context.Context, req *Seek, res *Found) error {
	ref, _, err := c.index(req.Index, false)
	if err != nil {
		return err
	}
	return LookupVertices(ctx, c, ref, req.Keys, res)
}

// SeekEdges implements Tx.
func (c *Completed) SeekEdges(ctx context.Context, req *Seek, res *FoundEdges) error {
	ref, t, err := c.index(req.Index, true)
	if err != nil {
		return err
	}
	return LookupEdges(ctx, c, ref, t, req.Keys, res)
}

// SeekRange implements Tx.
func (c *Completed) SeekRange(ctx context.Context, index graph.IndexID, r Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	ref, _, err := c.index(index, false)
	if err != nil {
		return dst, err
	}
	return RangeVertices(ctx, c, ref, r, cursor, dst)
}

// SeekEdgeRange implements Tx.
func (c *Completed) SeekEdgeRange(ctx context.Context, index graph.IndexID, r Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	ref, t, err := c.index(index, true)
	if err != nil {
		return dst, err
	}
	return RangeEdges(ctx, c, ref, t, r, cursor, dst)
}

func errReadOnly() error { return graph.InternalError("a write to a graph that can only be read", nil) }

// Label implements Writer.
func (*Completed) Label(string) (graph.LabelID, error) { return 0, errReadOnly() }

// Type implements Writer.
func (*Completed) Type(string) (graph.TypeID, error) { return 0, errReadOnly() }

// Prop implements Writer.
func (*Completed) Prop(string) (graph.PropID, error) { return 0, errReadOnly() }

// LabelSet implements Writer.
func (*Completed) LabelSet([]graph.LabelID) (graph.LabelSet, error) { return 0, errReadOnly() }

// Apply implements Writer.
func (*Completed) Apply(context.Context, []Mutation) error { return errReadOnly() }

// CheckUnique implements Writer.
func (*Completed) CheckUnique(context.Context) error { return nil }

// Commit implements Writer: there are no changes.
func (c *Completed) Commit(context.Context) error {
	c.Rollback()
	return nil
}

// Rollback implements Writer.
func (c *Completed) Rollback() { c.once.Do(c.end) }

// noIndexes are the Indexes of a backing without any.
type noIndexes struct{}

func (noIndexes) Lookup(context.Context, IndexRef, []graph.Value) ([]int, []graph.IndexOwner, error) {
	return nil, nil, graph.InternalError("a graph without indexes", nil)
}

func (noIndexes) Range(context.Context, IndexRef, Range, []byte, int) ([]Entry, bool, error) {
	return nil, false, graph.InternalError("a graph without indexes", nil)
}

// RefOf returns what Indexes need to know of an index.
func RefOf(ix *graph.Index) IndexRef {
	return IndexRef{ID: ix.ID, Unique: ix.Unique, Width: max(1, len(ix.Props))}
}

func allProps(names graph.Catalog) (out []graph.PropID) {
	for _, name := range names.AllProps() {
		if p, ok := names.Prop(name); ok {
			out = append(out, p)
		}
	}
	return out
}

// ReadRecords is Tx.Records by label sets and properties. props returns those that vertices of a label set may have, in ascending order.
func ReadRecords(ctx context.Context, r Reader, props func(graph.LabelSet) []graph.PropID, ids []graph.VertexID, out []Record) error {
	sets := make([]graph.LabelSet, len(ids))
	if err := r.LabelSets(ctx, ids, sets); err != nil {
		return err
	}
	return fillRecords(ids, sets, out, props, func(ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
		return r.Properties(ctx, ids, props, out)
	})
}

// ReadEdgeRecords is Composed.EdgeRecords by Expand: the edges of a source with all their properties, of which it takes those asked for.
func ReadEdgeRecords(ctx context.Context, names graph.Catalog, r Reader, edges []graph.Edge, out []Record) error {
	at := make(map[graph.EdgeID][]int, len(edges))
	req := Expand{Dir: graph.Out, Edges: true, Props: allProps(names), MaxEdges: manyEdges}
	for i, e := range edges {
		out[i] = Record{}
		at[e.ID] = append(at[e.ID], i)
		req.Sources, req.Types = append(req.Sources, e.Src), append(req.Types, e.Type)
	}
	slices.Sort(req.Sources)
	slices.Sort(req.Types)
	req.Sources, req.Types = slices.Compact(req.Sources), slices.Compact(req.Types)
	return eachEdge(ctx, r, &req, func(e graph.Edge, res *Neighbours, k int) error {
		for _, i := range at[e.ID] {
			if edges[i] != e {
				continue
			}
			out[i].Labels = graph.NoLabels
			for p, prop := range req.Props {
				if v := res.Props[p][k]; !v.IsNull() {
					out[i].Props = append(out[i].Props, graph.Property{ID: prop, Value: v})
				}
			}
		}
		return nil
	})
}

// manyEdges is about how many edges the requests of this package ask for at a time.
const manyEdges = 1 << 16

// eachEdge calls f with the edges that leave the sources of a request with Edges, and their numbers in the answer.
func eachEdge(ctx context.Context, r Reader, req *Expand, f func(e graph.Edge, res *Neighbours, k int) error) error {
	var res Neighbours
	for len(req.Sources) > 0 {
		if err := r.Expand(ctx, req, &res); err != nil {
			return err
		}
		for i, src := range req.Sources[:res.Done] {
			for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
				if err := f(graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: src, Dst: res.Targets[k]}, &res, k); err != nil {
					return err
				}
			}
		}
		req.Sources = req.Sources[res.Done:]
	}
	return nil
}

// LookupVertices is Tx.Seek by Lookup.
func LookupVertices(ctx context.Context, x Indexes, ref IndexRef, keys []graph.Value, res *Found) error {
	offsets, owners, err := x.Lookup(ctx, ref, keys)
	res.Offsets, res.IDs = append(res.Offsets[:0], offsets...), res.IDs[:0]
	for _, o := range owners {
		res.IDs = append(res.IDs, o.Vertex)
	}
	return err
}

// LookupEdges is Tx.SeekEdges by Lookup, for an index over edges of a type.
func LookupEdges(ctx context.Context, x Indexes, ref IndexRef, t graph.TypeID, keys []graph.Value, res *FoundEdges) error {
	offsets, owners, err := x.Lookup(ctx, ref, keys)
	res.Offsets, res.Edges = append(res.Offsets[:0], offsets...), res.Edges[:0]
	for _, o := range owners {
		res.Edges = append(res.Edges, edgeOf(o, t))
	}
	return err
}

func edgeOf(o graph.IndexOwner, t graph.TypeID) graph.Edge {
	return graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t}
}

// RangeVertices is Tx.SeekRange by Range.
func RangeVertices(ctx context.Context, x Indexes, ref IndexRef, r Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	entries, err := nextOf(ctx, x, ref, r, cursor, cap(dst)-len(dst))
	for _, e := range entries {
		dst = append(dst, e.Owner.Vertex)
	}
	return dst, err
}

// RangeEdges is Tx.SeekEdgeRange by Range, for an index over edges of a type.
func RangeEdges(ctx context.Context, x Indexes, ref IndexRef, t graph.TypeID, r Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	entries, err := nextOf(ctx, x, ref, r, cursor, cap(dst)-len(dst))
	for _, e := range entries {
		dst = append(dst, edgeOf(e.Owner, t))
	}
	return dst, err
}

// nextOf returns the entries of a range after a cursor, and moves it.
func nextOf(ctx context.Context, x Indexes, ref IndexRef, r Range, cursor *[]byte, room int) ([]Entry, error) {
	entries, more, err := x.Range(ctx, ref, r, *cursor, room)
	if err != nil {
		return nil, err
	}
	*cursor = nil
	if more {
		*cursor = entries[len(entries)-1].Cursor()
	}
	return entries, nil
}

// CountAll counts all vertices and edges of a snapshot, with their labels, types, ends and properties.
func CountAll(ctx context.Context, names graph.Catalog, r Reader) (*graph.Counts, error) {
	c := &counting{names: names, r: r, props: allProps(names), Counts: &graph.Counts{
		ByLabel: map[string]uint64{}, ByType: map[string]uint64{}, Ends: map[graph.TypeEnds]uint64{}, Props: map[graph.PropOf]uint64{},
	}}
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	for from, done := graph.VertexID(0), false; !done; {
		var err error
		if ids, from, done, err = r.Scan(ctx, 0, from, ids[:0]); err != nil {
			return nil, err
		}
		if err := c.take(ctx, ids); err != nil {
			return nil, err
		}
	}
	return c.Counts, nil
}

// counting is one CountAll.
type counting struct {
	*graph.Counts
	names graph.Catalog
	r     Reader
	props []graph.PropID
}

// labels returns the names of the labels of a set, and "" for any.
func (c *counting) labels(set graph.LabelSet) []string {
	names := []string{""}
	for _, l := range c.names.Labels(set) {
		names = append(names, c.names.LabelName(l))
	}
	return names
}

// take counts vertices and the edges that leave them.
func (c *counting) take(ctx context.Context, ids []graph.VertexID) error {
	sets, cols := make([]graph.LabelSet, len(ids)), Columns(len(c.props), len(ids))
	if err := cmp.Or(c.r.LabelSets(ctx, ids, sets), c.r.Properties(ctx, ids, c.props, cols)); err != nil {
		return err
	}
	for i, set := range sets {
		c.Vertices++
		for _, l := range c.labels(set) {
			if l != "" {
				c.ByLabel[l]++
			}
			for p, prop := range c.props {
				if !cols[p][i].IsNull() {
					c.Props[graph.PropOf{Label: l, Prop: c.names.PropName(prop)}]++
				}
			}
		}
	}
	var far []graph.LabelSet // of the targets of an answer
	req := Expand{Sources: ids, Dir: graph.Out, Edges: true, Props: c.props, MaxEdges: manyEdges}
	return eachEdge(ctx, c.r, &req, func(e graph.Edge, res *Neighbours, k int) error {
		if k == 0 {
			far = slices.Grow(far[:0], len(res.Targets))[:len(res.Targets)]
			if err := c.r.LabelSets(ctx, res.Targets, far); err != nil {
				return err
			}
		}
		typ := c.names.TypeName(e.Type)
		c.Edges++
		c.ByType[typ]++
		for p, prop := range c.props {
			if !res.Props[p][k].IsNull() {
				c.Props[graph.PropOf{Type: typ, Prop: c.names.PropName(prop)}]++
			}
		}
		at, _ := slices.BinarySearch(ids, e.Src)
		for _, src := range c.labels(sets[at]) {
			for _, dst := range c.labels(far[k]) {
				c.Ends[graph.TypeEnds{Src: src, Type: typ, Dst: dst}]++
			}
		}
		return nil
	})
}

// ReadOnly makes a Graph that can only be read. begin opens a transaction, as Complete makes one.
func ReadOnly(names graph.Catalog, begin func(ctx context.Context) (Tx, error)) Graph {
	g := &readOnlyGraph{Catalog: names, begin: begin}
	g.size = sync.OnceValue(func() uint64 {
		tx, err := begin(context.Background())
		if err != nil {
			return 0
		}
		defer tx.Rollback()
		c := tx.Counts()
		return c.Vertices + c.Edges
	})
	return g
}

type readOnlyGraph struct {
	graph.Catalog
	begin func(ctx context.Context) (Tx, error)
	size  func() uint64
}

// Begin implements Graph.
func (g *readOnlyGraph) Begin(ctx context.Context, mode Mode) (Tx, error) {
	if mode != Read {
		return nil, errReadOnly()
	}
	return g.begin(ctx)
}

// BeginStale implements Graph.
func (g *readOnlyGraph) BeginStale(ctx context.Context, _ time.Duration) (Tx, error) {
	return g.begin(ctx)
}

func (*readOnlyGraph) CreateIndex(context.Context, graph.Index) error  { return errReadOnly() }
func (*readOnlyGraph) IndexProgress(graph.IndexID) float64             { return 1 }
func (*readOnlyGraph) DropIndex(context.Context, string) error         { return errReadOnly() }
func (*readOnlyGraph) SetTTL(context.Context, graph.TTL) error         { return errReadOnly() }
func (*readOnlyGraph) DropTTL(context.Context, string, string) error   { return errReadOnly() }
func (*readOnlyGraph) TTLs() []graph.TTL                               { return nil }
func (*readOnlyGraph) Definitions() *definition.Set                    { return nil }
func (*readOnlyGraph) Load(context.Context, *Load) error               { return errReadOnly() }
func (*readOnlyGraph) Define(context.Context, definition.Change) error { return errReadOnly() }
func (g *readOnlyGraph) Size() uint64                                  { return g.size() }
func (*readOnlyGraph) ChangeLog() ChangeLog                            { return nil }
func (*readOnlyGraph) Features() *FeatureSet                           { return &readOnly }
func (*readOnlyGraph) LoadState(context.Context, string) (uint64, []byte, error) {
	return 0, nil, nil
}

// OneGraph is a Store of one graph, which can only be read.
func OneGraph(name string, g Graph) Store { return oneGraph{name, g} }

type oneGraph struct {
	name string
	g    Graph
}

// Graph implements Store.
func (s oneGraph) Graph(name string) (Graph, error) {
	if name != s.name {
		return nil, graph.NoGraph(name)
	}
	return s.g, nil
}

func (s oneGraph) Graphs() []string                        { return []string{s.name} }
func (oneGraph) CreateGraph(context.Context, string) error { return errReadOnly() }
func (oneGraph) DropGraph(context.Context, string) error   { return errReadOnly() }
func (oneGraph) Features() StoreFeatures                   { return StoreFeatures{} }
