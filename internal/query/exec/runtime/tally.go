package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/shard"
)

// The kinds of requests to shards.
const (
	requestScan = iota
	requestLabelSets
	requestProperties
	requestRecords
	requestExpand
	requestStep
	requestDegrees
	requestEdgeProperties
	requestEdgeRecords
	requestSeek
	requestSeekRange
	requestSeekEdges
	requestSeekEdgeRange
	requestSearchText
	requestApply
	requestAggregate
	requestCompare
	NumRequests
)

var requestNames = [NumRequests]string{
	"scan", "labels", "properties", "records", "expand", "step", "degrees", "edge_properties", "edge_records", "seek", "seek_range", "seek_edges", "seek_edge_range", "search_text", "apply", "aggregate", "compare",
}

// tallyTx counts the requests to shards. In a profiled run, it charges each request and its answer to the running stage.
type tallyTx struct {
	shard.Tx
	n      [NumRequests]uint32
	visits int64 // see cost.Cost
	r      *Run  // nil unless the run is profiled
}

func (t *tallyTx) count(request int) {
	t.n[request]++
	if t.r != nil {
		t.r.Stats[t.r.Current].Requests++
	}
}

// chargeBytes charges an answer of n bytes.
func (t *tallyTx) chargeBytes(n int) {
	if t.r != nil {
		t.r.Stats[t.r.Current].Bytes += int64(n)
	}
}

// chargeEdges charges edges that a request read.
func (t *tallyTx) chargeEdges(n int) {
	if t.r != nil {
		t.r.Stats[t.r.Current].Edges += int64(n)
	}
}

// cells charges columns of values.
func (t *tallyTx) cells(cols [][]graph.Value, n int) {
	if t.r == nil {
		return
	}
	for _, col := range cols {
		for i := range min(n, len(col)) {
			t.chargeBytes(memory.ValueSize(col[i]))
		}
	}
}

// records charges records.
func (t *tallyTx) records(rs []shard.Record) {
	if t.r == nil {
		return
	}
	for i := range rs {
		t.chargeBytes(4)
		for _, p := range rs[i].Props {
			t.chargeBytes(4 + memory.ValueSize(p.Value))
		}
	}
}

func (t *tallyTx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	t.count(requestScan)
	ids, next, done, err := t.Tx.Scan(ctx, label, from, dst)
	t.chargeList(len(ids)-len(dst), 8)
	return ids, next, done, err
}

func (t *tallyTx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	t.count(requestLabelSets)
	err := t.Tx.LabelSets(ctx, ids, out)
	t.chargeBytes(4 * len(ids))
	return err
}

func (t *tallyTx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	t.count(requestProperties)
	err := t.Tx.Properties(ctx, ids, props, out)
	t.cells(out, len(ids))
	return err
}

func (t *tallyTx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	t.count(requestRecords)
	err := t.Tx.Records(ctx, ids, out)
	t.records(out)
	return err
}

func (t *tallyTx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	t.count(requestExpand)
	err := t.Tx.Expand(ctx, req, res)
	t.chargeBytes(8*(len(res.Targets)+len(res.Edges)) + 4*len(res.Types))
	t.chargeEdges(res.Seen)
	t.visits += int64(res.Seen)
	t.cells(res.Props, len(res.Targets))
	return err
}

func (t *tallyTx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.count(requestStep)
	if err := t.Tx.Step(ctx, from, types, dir, out); err != nil {
		return err
	}
	t.visits += int64(from.Len() + out.Len()) // it reads no edge by itself
	if t.r == nil {
		return nil
	}
	w := t.Tx.Features().Wire
	if w == nil {
		return nil
	}
	// A step does not report the edges that it read. This request does not belong to the statement, so it is not counted.
	w.Wire(nil)
	defer w.Wire(&t.r.io.wire)
	ids := from.AppendTo(nil)
	degrees := make([]int, len(ids))
	if err := t.Tx.Degrees(ctx, ids, types, dir, degrees); err != nil {
		return err
	}
	for _, n := range degrees {
		t.chargeEdges(n)
	}
	return nil
}

func (t *tallyTx) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	t.count(requestDegrees)
	err := t.Tx.Degrees(ctx, ids, types, dir, out)
	t.chargeList(len(ids), 8)
	return err
}

func (t *tallyTx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	t.count(requestEdgeProperties)
	err := t.Tx.EdgeProperties(ctx, edges, props, out)
	t.cells(out, len(edges))
	return err
}

func (t *tallyTx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	t.count(requestEdgeRecords)
	err := t.Tx.EdgeRecords(ctx, edges, out)
	t.records(out)
	return err
}

func (t *tallyTx) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) error {
	t.count(requestSeek)
	err := t.Tx.Seek(ctx, req, res)
	t.chargeBytes(8 * len(res.IDs))
	t.visits += int64(max(len(res.IDs), len(res.Offsets)-1)) // a key without a vertex is an entry that was looked for
	return err
}

func (t *tallyTx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	t.count(requestSeekRange)
	ids, err := t.Tx.SeekRange(ctx, index, r, cursor, dst)
	t.chargeList(len(ids)-len(dst), 8)
	return ids, err
}

func (t *tallyTx) SeekEdges(ctx context.Context, req *shard.Seek, res *shard.FoundEdges) error {
	t.count(requestSeekEdges)
	err := t.Tx.SeekEdges(ctx, req, res)
	t.chargeBytes(32 * len(res.Edges))
	t.visits += int64(max(len(res.Edges), len(res.Offsets)-1))
	return err
}

func (t *tallyTx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	t.count(requestSeekEdgeRange)
	edges, err := t.Tx.SeekEdgeRange(ctx, index, r, cursor, dst)
	t.chargeList(len(edges)-len(dst), 32)
	return edges, err
}

func (t *tallyTx) Apply(ctx context.Context, ms []shard.Mutation) error {
	t.count(requestApply)
	t.visits += int64(len(ms))
	return t.Tx.Apply(ctx, ms)
}

func (t *tallyTx) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (int, error) {
	t.count(requestCompare)
	n, err := t.Tx.Compare(ctx, prop, probe, ids, scores)
	t.chargeVectors(&shard.NearestFound{Compared: len(ids), Bytes: n})
	return n, err
}

func (t *tallyTx) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) (shard.NearestFound, error) {
	t.count(requestCompare)
	found, err := t.Tx.CompareEdges(ctx, req, sources, best)
	t.chargeVectors(&found)
	return found, err
}

func (t *tallyTx) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (shard.NearestFound, error) {
	found, err := t.Tx.Nearest(ctx, req, best)
	if found.Done && err == nil {
		t.count(requestCompare)
		t.chargeVectors(&found)
	}
	return found, err
}

// chargeList charges an answer of n vertices, edges or index entries of so many bytes each.
func (t *tallyTx) chargeList(n, size int) {
	n = max(0, n)
	t.chargeBytes(size * n)
	t.visits += int64(n)
}

// chargeVectors charges the comparisons of a request.
func (t *tallyTx) chargeVectors(found *shard.NearestFound) {
	t.chargeBytes(found.Bytes)
	t.visits += int64(found.Compared)
	if t.r != nil {
		st := &t.r.Stats[t.r.Current]
		st.Compared, st.Candidates = st.Compared+int64(found.Compared), st.Candidates+int64(found.Candidates)
	}
}

// Features implements shard.Tx: those of the transaction, whose requests the methods of Run count.
func (t *tallyTx) Features() shard.Features { return t.Tx.Features() }

// SearchText searches a full-text index, as shard.TextSearcher says.
func (r *Run) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	t := &r.Tally
	f := t.Features()
	if f.Text == nil {
		return graph.InternalError("a full-text search without full-text indexes: "+f.Set[shard.FullText], nil)
	}
	t.count(requestSearchText)
	err := f.Text.SearchText(ctx, req, res)
	t.chargeBytes(8*len(res.Vertices) + 32*len(res.Edges) + 8*len(res.Scores))
	t.visits += int64(len(res.Scores))
	return err
}

// DegreeBounds fills out[i] with at least the degree of ids[i], as shard.Bounder says.
func (r *Run) DegreeBounds(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	b := r.Tx.Features().Bounds
	if b == nil {
		return r.Tx.Degrees(ctx, ids, types, dir, out)
	}
	r.Tally.count(requestDegrees)
	r.Tally.chargeList(len(ids), 8)
	return b.DegreeBounds(ctx, ids, types, dir, out)
}

// ScanRange appends visible vertices to dst, as shard.RuleScanner says.
func (r *Run) ScanRange(ctx context.Context, rg *shard.RuleRange, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	r.Tally.count(requestSeekRange)
	ids, err := r.Tally.Features().Rules.ScanRange(ctx, rg, cursor, dst)
	r.Tally.chargeList(len(ids)-len(dst), 8)
	return ids, err
}

// Aggregate prepares an aggregation, as shard.Aggregator says. The plan is one for graphs with shard.Aggregates.
func (r *Run) Aggregate(ctx context.Context, req *shard.Aggregate) (shard.Aggregation, error) {
	r.Tally.count(requestAggregate)
	return r.Tally.Features().Aggregates.Aggregate(ctx, req)
}

// CompareEdges is that of the transaction. Edges count as visited.
func (r *Run) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) error {
	found, err := r.Tx.CompareEdges(ctx, req, sources, best)
	if err != nil {
		return err
	}
	return r.Visit(found.Compared)
}

// Nearest finds the vertices or edges most similar to a probe, as that of the transaction. It reports false, having added nothing, if the
// caller must compare all.
func (r *Run) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (bool, error) {
	found, err := r.Tx.Nearest(ctx, req, best)
	if err == nil && found.Done && req.Type != 0 {
		err = r.Visit(found.Compared)
	}
	return found.Done, err
}
