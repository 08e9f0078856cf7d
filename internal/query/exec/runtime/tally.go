package runtime

import (
	"context"
	"unsafe"

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
	requestSummarize
	requestCompare
	requestCountPairs
	requestReadBlocks
	NumRequests
)

var requestNames = [NumRequests]string{
	"scan", "labels", "properties", "records", "expand", "step", "degrees", "edge_properties", "edge_records", "seek", "seek_range", "seek_edges", "seek_edge_range", "search_text", "apply", "summarize", "compare", "count_pairs", "read_blocks",
}

// tallyTx counts the requests to shards. In a profiled run, it charges each request and its answer to the running stage.
type tallyTx struct {
	shard.Tx
	n [NumRequests]uint32
	r *Run // nil unless the run is profiled
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
	t.chargeBytes(8 * max(0, len(ids)-len(dst)))
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
	t.cells(res.Props, len(res.Targets))
	return err
}

func (t *tallyTx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.count(requestStep)
	if err := t.Tx.Step(ctx, from, types, dir, out); err != nil {
		return err
	}
	w, ok := t.Tx.(shard.Wired)
	if t.r == nil || !ok {
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
	t.chargeBytes(8 * len(ids))
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

func (t *tallyTx) Seek(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.Found) error {
	t.count(requestSeek)
	err := t.Tx.Seek(ctx, index, keys, res)
	t.chargeBytes(8 * len(res.IDs))
	return err
}

func (t *tallyTx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	t.count(requestSeekRange)
	ids, err := t.Tx.SeekRange(ctx, index, r, cursor, dst)
	t.chargeBytes(8 * max(0, len(ids)-len(dst)))
	return ids, err
}

func (t *tallyTx) SeekEdges(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.FoundEdges) error {
	t.count(requestSeekEdges)
	err := t.Tx.SeekEdges(ctx, index, keys, res)
	t.chargeBytes(32 * len(res.Edges))
	return err
}

func (t *tallyTx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	t.count(requestSeekEdgeRange)
	edges, err := t.Tx.SeekEdgeRange(ctx, index, r, cursor, dst)
	t.chargeBytes(32 * max(0, len(edges)-len(dst)))
	return edges, err
}

func (t *tallyTx) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	t.count(requestSearchText)
	err := t.Tx.SearchText(ctx, req, res)
	t.chargeBytes(8*len(res.Vertices) + 32*len(res.Edges) + 8*len(res.Scores))
	return err
}

func (t *tallyTx) Apply(ctx context.Context, ms []shard.Mutation) error {
	t.count(requestApply)
	return t.Tx.Apply(ctx, ms)
}

// Summarize asks for properties of all edges of a type, or of all vertices. It reports false, having passed nothing to the sink,
// if the transaction cannot answer block by block.
func (r *Run) Summarize(ctx context.Context, req *shard.Summarize, sink shard.Sink) (bool, error) {
	s, ok := r.Tally.Tx.(shard.Summarizer)
	if !ok {
		return false, nil
	}
	r.Tally.count(requestSummarize)
	return s.Summarize(ctx, req, sink)
}

// Blocks returns the number of blocks of vertices, as shard.BlockReader says. It reports false if the transaction has none.
func (r *Run) Blocks(ctx context.Context, req *shard.ReadBlocks) (n int, ok bool, err error) {
	b, ok := r.Tally.Tx.(shard.BlockReader)
	if !ok {
		return 0, false, nil
	}
	return b.Blocks(ctx, req)
}

// ReadBlocks reads some of these blocks.
func (r *Run) ReadBlocks(ctx context.Context, req *shard.ReadBlocks, lo, hi int, sink shard.CellSink) error {
	r.Tally.count(requestReadBlocks)
	return r.Tally.Tx.(shard.BlockReader).ReadBlocks(ctx, req, lo, hi, sink)
}

// CountsPairs reports whether the transaction counts edges by numbers of their ends.
func (r *Run) CountsPairs() bool {
	c, ok := r.Tally.Tx.(shard.PairCounter)
	return ok && c.PairsHere()
}

// CountPairs counts edges, as shard.PairCounter says, if CountsPairs.
func (r *Run) CountPairs(ctx context.Context, req *shard.Pairs, first graph.VertexID, n int, counts []int64) error {
	r.Tally.count(requestCountPairs)
	return r.Tally.Tx.(shard.PairCounter).CountPairs(ctx, req, first, n, counts)
}

// Compare compares a probe with a property of vertices, as shard.Comparer says. values is memory for reading lists, where the transaction
// keeps none packed.
func (r *Run) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64, values *[]graph.Value) error {
	t := r.Tally
	t.count(requestCompare)
	if t.r != nil {
		t.r.Stats[t.r.Current].Compared += int64(len(ids))
	}
	if c, ok := t.Tx.(shard.Comparer); ok {
		n, err := c.Compare(ctx, prop, probe, ids, scores)
		t.chargeBytes(n)
		return err
	}
	most := min(max(compareBytes/int(unsafe.Sizeof(graph.Value{}))/probe.Dimensions(), 1), len(ids))
	for len(*values) < most {
		*values = append(*values, graph.Value{})
	}
	for len(ids) > 0 {
		n := min(most, len(ids))
		got := (*values)[:n]
		if err := t.Tx.Properties(ctx, ids[:n], []graph.PropID{prop}, [][]graph.Value{got}); err != nil {
			return err
		}
		t.chargeBytes(shard.CompareLists(probe, got, scores))
		clear(got)
		ids, scores = ids[n:], scores[n:]
	}
	return nil
}

// CompareEdges compares edges, as shard.EdgeComparer says. memory is for edges where the transaction keeps no packed vectors.
func (r *Run) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top, memory *shard.EdgeMemory) error {
	t := r.Tally
	if c, ok := t.Tx.(shard.EdgeComparer); ok {
		t.count(requestCompare)
		found, err := c.CompareEdges(ctx, req, sources, best)
		return r.compared(req, &found, err)
	}
	found, err := req.ReadEdges(sources, memory, func(x *shard.Expand, res *shard.Neighbours) error {
		if err := r.CheckCancel(ctx); err != nil {
			return err
		}
		return t.Tx.Expand(ctx, x, res)
	}, best)
	return r.compared(req, &found, err)
}

// compared charges the comparisons of a request. Edges count as visited.
func (r *Run) compared(req *shard.Nearest, found *shard.NearestFound, err error) error {
	t := r.Tally
	t.chargeBytes(found.Bytes)
	if t.r != nil {
		st := &t.r.Stats[t.r.Current]
		st.Compared, st.Candidates = st.Compared+int64(found.Compared), st.Candidates+int64(found.Candidates)
	}
	if req.Type != 0 && err == nil {
		err = r.Visit(found.Compared)
	}
	return err
}

// Nearest finds the vertices or edges most similar to a probe, as shard.Searcher says. It reports false, having added nothing, if the caller must
// compare all.
func (r *Run) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (bool, error) {
	t := r.Tally
	s, ok := t.Tx.(shard.Searcher)
	if !ok {
		return false, nil
	}
	found, err := s.Nearest(ctx, req, best)
	if !found.Done || err != nil {
		return false, err
	}
	t.count(requestCompare)
	return true, r.compared(req, &found, nil)
}

// compareBytes is about how many bytes of lists Compare reads at a time.
const compareBytes = 1 << 20
