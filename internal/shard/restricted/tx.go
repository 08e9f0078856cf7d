package restricted

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// tx is a transaction under a policy. What it does not do itself, shard.Complete composes of its reader.
type tx struct {
	shard.Tx
	composed shard.Completed // which Tx is
	own      reader          // which r is

	r      *reader
	policy *rules.Policy
	set    *shard.FeatureSet
	// what stands for features of the transaction without a policy
	sums  aggregator
	texts texts
	turns heir
	scans scans
}

// New returns a transaction that shows and permits what a policy does. names are those of the graph; set are the features of FeaturesOf.
func New(of shard.Tx, names graph.Catalog, policy *rules.Policy, set *shard.FeatureSet) shard.Tx {
	return (&scope{policy: policy, names: names, closed: true}).open(of, set)
}

// open returns a transaction under the policy of a scope.
func (s *scope) open(of shard.Tx, set *shard.FeatureSet) shard.Tx {
	t := &tx{policy: s.policy, set: set}
	r := &t.own
	s.begin(r, of)
	t.composed.Init(s.names, r, r, nil)
	f := of.Features()
	t.Tx, t.r, t.sums, t.texts, t.turns, t.scans = &t.composed, r, aggregator{r, f.Aggregates}, texts{r, f.Text}, heir{f.Turns}, scans{r, s.view}
	return t
}

// Rollback implements shard.Tx.
func (t *tx) Rollback() { t.r.tx.Rollback() }

// FeaturesOf returns the features of transactions under a policy, of those that they have without one.
func FeaturesOf(of *shard.FeatureSet) *shard.FeatureSet {
	set := *of
	for _, f := range []shard.Feature{shard.ReadMetering, shard.WireMetering, shard.ExactCounts, shard.ChangeDates} {
		set[f] = "what it counts would tell of hidden elements"
	}
	set[shard.DegreeBounds], set[shard.RuleScans] = "", ""
	return &set
}

// Features implements shard.Tx.
func (t *tx) Features() shard.Features {
	f := t.r.tx.Features()
	f.Set, f.Reads, f.Wire, f.Exact, f.Dated, f.Bounds, f.Rules = t.set, nil, nil, nil, nil, t, &t.scans
	if f.Versions != nil {
		f.Versions = &versions{t.r, f.Versions}
	}
	if f.Aggregates != nil {
		f.Aggregates = &t.sums
	}
	if f.Text != nil {
		f.Text = &t.texts
	}
	if f.Turns != nil {
		f.Turns = &t.turns
	}
	return f
}

// Counts implements shard.Tx: at least as many as the caller sees.
func (t *tx) Counts() *graph.Counts { return t.r.tx.Counts() }

// Statistics implements shard.Tx: those of the whole graph, to plan by.
func (t *tx) Statistics() *graph.Counts { return t.r.tx.Statistics() }

// Records implements shard.Tx.
func (t *tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := t.r.tx.Records(ctx, ids, out); err != nil {
		return err
	}
	b := t.r.bound.Load()
	if !b.All(false) {
		seen, err := t.r.visible(ctx, ids)
		if err != nil {
			return err
		}
		for i, ok := range seen {
			if !ok {
				out[i] = shard.Record{}
			}
		}
	}
	masked := func(rec shard.Record) bool {
		return slices.ContainsFunc(rec.Props, func(p graph.Property) bool { return !b.Read(false, p.ID) })
	}
	if !slices.ContainsFunc(out[:len(ids)], masked) {
		return nil
	}
	v, err := t.r.look(ctx, ids, always)
	if err != nil {
		return err
	}
	for i, e := range v.elements {
		if e != nil {
			out[i].Props = readable(out[i].Props, e, v.cols, i)
		}
	}
	return nil
}

// readable returns the properties of an element that may be read, in other memory if some may not: a record may be shared.
func readable(props []graph.Property, e *rules.Element, cols [][]graph.Value, i int) []graph.Property {
	hidden := func(p graph.Property) bool { return !e.Read(p.ID).Permits(cols, i) }
	if !slices.ContainsFunc(props, hidden) {
		return props
	}
	return slices.DeleteFunc(slices.Clone(props), hidden)
}

// EdgeRecords implements shard.Tx.
func (t *tx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	if err := t.r.tx.EdgeRecords(ctx, edges, out); err != nil {
		return err
	}
	seen, cols, err := t.r.edges(ctx, edges, nil, nil)
	if err != nil {
		return err
	}
	for i := range edges {
		if !seen[i] {
			out[i] = shard.Record{}
			continue
		}
		out[i].Props = readable(out[i].Props, t.r.bound.Load().Edges(edges[i].Type), cols, i)
	}
	return nil
}

// DegreeBounds implements shard.Bounder by the degrees without a policy.
func (t *tx) DegreeBounds(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	return t.r.tx.Degrees(ctx, ids, types, dir, out)
}

// Seek implements shard.Tx.
func (t *tx) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) error {
	if err := t.r.tx.Seek(ctx, req, res); err != nil {
		return err
	}
	found := flagsOf(len(res.IDs))
	defer flags.Put(found)
	if err := t.r.findVertices(ctx, req.Index, res.IDs, *found); err != nil {
		return err
	}
	narrow(res.Offsets, *found)
	res.IDs = keep(res.IDs, *found)
	return nil
}

// SeekEdges implements shard.Tx.
func (t *tx) SeekEdges(ctx context.Context, req *shard.Seek, res *shard.FoundEdges) error {
	if err := t.r.tx.SeekEdges(ctx, req, res); err != nil {
		return err
	}
	found, err := t.r.foundEdges(ctx, req.Index, res.Edges)
	if err != nil {
		return err
	}
	narrow(res.Offsets, found)
	res.Edges = keep(res.Edges, found)
	return nil
}

// narrow makes offsets those of the elements that keep leaves.
func narrow(offsets []int, found []bool) {
	n, at := 0, 0
	for k := 1; k < len(offsets); k++ {
		for ; at < offsets[k]; at++ {
			if found[at] {
				n++
			}
		}
		offsets[k] = n
	}
}

// manySources is from how many sources on a step takes sets, whose memory is that of the graph's vertices, one bit each.
const manySources = 1 << 10

// Step implements shard.Tx.
func (t *tx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	vertices, edges := t.r.free()
	if vertices && edges {
		return t.r.tx.Step(ctx, from, types, dir, out)
	}
	sources := from.AppendTo(nil)
	if !edges || len(sources) < manySources {
		return t.Tx.Step(ctx, from, types, dir, out)
	}
	sources, err := t.r.filter(ctx, sources)
	if err != nil {
		return err
	}
	var near, far graph.VertexSet
	near.AddAll(sources)
	if err := t.r.tx.Step(ctx, &near, types, dir, &far); err != nil {
		return err
	}
	targets, err := t.r.filter(ctx, far.AppendTo(nil))
	out.AddAll(targets)
	return err
}

// aggregator adds up where the graph is what the policy leaves as it is.
type aggregator struct {
	r  *reader
	of shard.Aggregator
}

// Aggregate implements shard.Aggregator.
func (a *aggregator) Aggregate(ctx context.Context, req *shard.Aggregate) (shard.Aggregation, error) {
	v, e := a.r.free()
	b, edges := a.r.bound.Load(), req.Type != 0
	read := slices.Clone(req.Props)
	for i := range req.Where {
		read = append(read, req.Where[i].Prop)
	}
	if !v || !e || !b.Reads(edges, read) {
		return nil, nil
	}
	return a.of.Aggregate(ctx, req)
}

// heir unwraps the transactions that take over turns.
type heir struct{ shard.Heir }

// Inherit implements shard.Heir.
func (h *heir) Inherit(ctx context.Context, from shard.Tx) error {
	if t, ok := from.(*tx); ok {
		from = t.r.tx
	}
	return h.Heir.Inherit(ctx, from)
}

// texts searches full-text indexes for what the caller may find.
type texts struct {
	r  *reader
	of shard.TextSearcher
}

// SearchText implements shard.TextSearcher. A hit whose indexed properties may not all be read is left out: it may be one because of them.
func (s *texts) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	all := *req
	all.Most = 0
	if err := s.of.SearchText(ctx, &all, res); err != nil || req.Await {
		return err
	}
	found, err := s.found(ctx, req.Index, res)
	if err != nil {
		return err
	}
	res.Scores = keep(res.Scores, found)
	if n := req.Most; n > 0 && n < len(res.Scores) {
		res.Scores, res.Vertices, res.Edges = res.Scores[:n], first(res.Vertices, n), first(res.Edges, n)
	}
	return nil
}

// found drops the hits that the caller may not find, and returns which these are not.
func (s *texts) found(ctx context.Context, index graph.IndexID, res *shard.TextHits) (found []bool, err error) {
	if len(res.Edges) > 0 {
		if found, err = s.r.foundEdges(ctx, index, res.Edges); err == nil {
			res.Edges = keep(res.Edges, found)
		}
		return found, err
	}
	if found, err = s.r.foundVertices(ctx, index, res.Vertices); err == nil {
		res.Vertices = keep(res.Vertices, found)
	}
	return found, err
}
