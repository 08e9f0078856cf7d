package exec

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Totals are what the operators of all runs have done and have asked the shards for. A run adds to them when it is closed.
type Totals struct {
	requests [numRequests]atomic.Uint64
	mu       sync.Mutex
	byName   map[string]*OperatorTotal
}

// OperatorTotal is what the operators of one kind have done.
type OperatorTotal struct {
	Rows, Batches, Spilled atomic.Uint64 // given, and bytes written to disk
}

// Operators gives a copy of the totals by the names of plan nodes.
func (t *Totals) Operators() map[string]*OperatorTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]*OperatorTotal, len(t.byName))
	maps.Copy(out, t.byName)
	return out
}

// Requests gives how many requests the shards were sent, by their names.
func (t *Totals) Requests() map[string]uint64 {
	out := make(map[string]uint64, numRequests)
	for i, name := range requestNames {
		out[name] = t.requests[i].Load()
	}
	return out
}

// operators gives the totals of a plan's stages.
func (t *Totals) operators(stages []*stage) []*OperatorTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*OperatorTotal{}
	}
	out := make([]*OperatorTotal, len(stages))
	for i, s := range stages {
		name := reflect.TypeOf(s.node).Elem().Name()
		if t.byName[name] == nil {
			t.byName[name] = &OperatorTotal{}
		}
		out[i] = t.byName[name]
	}
	return out
}

// total adds what a run has done to the totals, if anybody wants to know.
func (r *run) total() {
	t := r.env.Totals
	if t == nil {
		return
	}
	of := r.p.totals.Load()
	if of == nil || of.t != t {
		of = &stageTotals{t, t.operators(r.p.stages)}
		r.p.totals.Store(of)
	}
	for i := range r.stats {
		if st := &r.stats[i]; st.Batches > 0 {
			of.stages[i].Rows.Add(uint64(st.Rows))
			of.stages[i].Batches.Add(uint64(st.Batches))
			if st.Spilled > 0 {
				of.stages[i].Spilled.Add(uint64(st.Spilled))
			}
		}
	}
	for i, n := range r.tally.n {
		if n > 0 {
			t.requests[i].Add(uint64(n))
			r.tally.n[i] = 0
		}
	}
}

// stageTotals are where the stages of a plan count.
type stageTotals struct {
	t      *Totals
	stages []*OperatorTotal
}

// The requests to shards.
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
	requestApply
	numRequests
)

var requestNames = [numRequests]string{
	"scan", "labels", "properties", "records", "expand", "step", "degrees", "edge_properties", "edge_records", "seek", "seek_range", "seek_edges", "seek_edge_range", "apply",
}

// tallyTx counts requests.
type tallyTx struct {
	shard.Tx
	n [numRequests]uint32
}

func (t *tallyTx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	t.n[requestScan]++
	return t.Tx.Scan(ctx, label, from, dst)
}

func (t *tallyTx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	t.n[requestLabelSets]++
	return t.Tx.LabelSets(ctx, ids, out)
}

func (t *tallyTx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	t.n[requestProperties]++
	return t.Tx.Properties(ctx, ids, props, out)
}

func (t *tallyTx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	t.n[requestRecords]++
	return t.Tx.Records(ctx, ids, out)
}

func (t *tallyTx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	t.n[requestExpand]++
	return t.Tx.Expand(ctx, req, res)
}

func (t *tallyTx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.n[requestStep]++
	return t.Tx.Step(ctx, from, types, dir, out)
}

func (t *tallyTx) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	t.n[requestDegrees]++
	return t.Tx.Degrees(ctx, ids, types, dir, out)
}

func (t *tallyTx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	t.n[requestEdgeProperties]++
	return t.Tx.EdgeProperties(ctx, edges, props, out)
}

func (t *tallyTx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	t.n[requestEdgeRecords]++
	return t.Tx.EdgeRecords(ctx, edges, out)
}

func (t *tallyTx) Seek(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.Found) error {
	t.n[requestSeek]++
	return t.Tx.Seek(ctx, index, keys, res)
}

func (t *tallyTx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	t.n[requestSeekRange]++
	return t.Tx.SeekRange(ctx, index, r, cursor, dst)
}

func (t *tallyTx) SeekEdges(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.FoundEdges) error {
	t.n[requestSeekEdges]++
	return t.Tx.SeekEdges(ctx, index, keys, res)
}

func (t *tallyTx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	t.n[requestSeekEdgeRange]++
	return t.Tx.SeekEdgeRange(ctx, index, r, cursor, dst)
}

func (t *tallyTx) Apply(ctx context.Context, ms []shard.Mutation) error {
	t.n[requestApply]++
	return t.Tx.Apply(ctx, ms)
}
