package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// countingTx charges each shard request, and what it gives, to the stage that is running.
type countingTx struct {
	shard.Tx
	r *run
}

func (t *countingTx) count() { t.r.stats[t.r.current].Requests++ }

// gave charges what a request gave, in bytes.
func (t *countingTx) gave(n int) { t.r.stats[t.r.current].Bytes += int64(n) }

// cells charges columns of values.
func (t *countingTx) cells(cols [][]graph.Value, n int) {
	for _, col := range cols {
		for i := range min(n, len(col)) {
			t.gave(valueSize(col[i]))
		}
	}
}

// records charges records.
func (t *countingTx) records(rs []shard.Record) {
	for i := range rs {
		t.gave(4)
		for _, p := range rs[i].Props {
			t.gave(4 + valueSize(p.Value))
		}
	}
}

func (t *countingTx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	t.count()
	ids, next, done, err := t.Tx.Scan(ctx, label, from, dst)
	t.gave(8 * max(0, len(ids)-len(dst)))
	return ids, next, done, err
}

func (t *countingTx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	t.count()
	err := t.Tx.LabelSets(ctx, ids, out)
	t.gave(4 * len(ids))
	return err
}

func (t *countingTx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	t.count()
	err := t.Tx.Properties(ctx, ids, props, out)
	t.cells(out, len(ids))
	return err
}

func (t *countingTx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	t.count()
	err := t.Tx.Records(ctx, ids, out)
	t.records(out)
	return err
}

func (t *countingTx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	t.count()
	err := t.Tx.Expand(ctx, req, res)
	t.gave(8*(len(res.Targets)+len(res.Edges)) + 4*len(res.Types))
	t.r.stats[t.r.current].Edges += int64(res.Seen)
	t.cells(res.Props, len(res.Targets))
	return err
}

func (t *countingTx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.count()
	if err := t.Tx.Step(ctx, from, types, dir, out); err != nil {
		return err
	}
	w, ok := t.Tx.(shard.Wired)
	if !ok {
		return nil
	}
	// A step does not tell over how many edges it went. The question is not one of the statement's, and is not counted.
	w.Wire(nil)
	defer w.Wire(t.r.wire)
	ids := from.AppendTo(nil)
	degrees := make([]int, len(ids))
	if err := t.Tx.Degrees(ctx, ids, types, dir, degrees); err != nil {
		return err
	}
	for _, n := range degrees {
		t.r.stats[t.r.current].Edges += int64(n)
	}
	return nil
}

func (t *countingTx) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	t.count()
	err := t.Tx.Degrees(ctx, ids, types, dir, out)
	t.gave(8 * len(ids))
	return err
}

func (t *countingTx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	t.count()
	err := t.Tx.EdgeProperties(ctx, edges, props, out)
	t.cells(out, len(edges))
	return err
}

func (t *countingTx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	t.count()
	err := t.Tx.EdgeRecords(ctx, edges, out)
	t.records(out)
	return err
}

func (t *countingTx) Seek(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.Found) error {
	t.count()
	err := t.Tx.Seek(ctx, index, keys, res)
	t.gave(8 * len(res.IDs))
	return err
}

func (t *countingTx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	t.count()
	ids, err := t.Tx.SeekRange(ctx, index, r, cursor, dst)
	t.gave(8 * max(0, len(ids)-len(dst)))
	return ids, err
}

func (t *countingTx) SeekEdges(ctx context.Context, index graph.IndexID, keys []graph.Value, res *shard.FoundEdges) error {
	t.count()
	err := t.Tx.SeekEdges(ctx, index, keys, res)
	t.gave(32 * len(res.Edges))
	return err
}

func (t *countingTx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	t.count()
	edges, err := t.Tx.SeekEdgeRange(ctx, index, r, cursor, dst)
	t.gave(32 * max(0, len(edges)-len(dst)))
	return edges, err
}

func (t *countingTx) Apply(ctx context.Context, ms []shard.Mutation) error {
	t.count()
	return t.Tx.Apply(ctx, ms)
}
