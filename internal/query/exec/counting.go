package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// countingTx charges each shard request to the stage that is running.
type countingTx struct {
	shard.Tx
	r *run
}

func (t *countingTx) count() { t.r.stats[t.r.current].Requests++ }

func (t *countingTx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	t.count()
	return t.Tx.Scan(ctx, label, from, dst)
}

func (t *countingTx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	t.count()
	return t.Tx.LabelSets(ctx, ids, out)
}

func (t *countingTx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	t.count()
	return t.Tx.Properties(ctx, ids, props, out)
}

func (t *countingTx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	t.count()
	return t.Tx.Records(ctx, ids, out)
}

func (t *countingTx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	t.count()
	return t.Tx.Expand(ctx, req, res)
}

func (t *countingTx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.count()
	return t.Tx.Step(ctx, from, types, dir, out)
}

func (t *countingTx) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	t.count()
	return t.Tx.Degrees(ctx, ids, types, dir, out)
}

func (t *countingTx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	t.count()
	return t.Tx.EdgeProperties(ctx, edges, props, out)
}

func (t *countingTx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	t.count()
	return t.Tx.EdgeRecords(ctx, edges, out)
}

func (t *countingTx) Seek(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.Found) error {
	t.count()
	return t.Tx.Seek(ctx, index, keys, res)
}

func (t *countingTx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	t.count()
	return t.Tx.SeekRange(ctx, index, r, cursor, dst)
}

func (t *countingTx) SeekEdges(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.FoundEdges) error {
	t.count()
	return t.Tx.SeekEdges(ctx, index, keys, res)
}

func (t *countingTx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	t.count()
	return t.Tx.SeekEdgeRange(ctx, index, r, cursor, dst)
}

func (t *countingTx) Apply(ctx context.Context, ms []shard.Mutation) error {
	t.count()
	return t.Tx.Apply(ctx, ms)
}
