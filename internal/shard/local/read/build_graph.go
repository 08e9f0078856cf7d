package read

import (
	"context"
	"log/slog"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
)

// growGraph has a goroutine build the graph of a shard, or take in what has changed.
func (tx *Reader) growGraph(no int, x *cache.VectorGraph, key cache.GraphKey) {
	if tx.on.Ending() || !x.Claim() {
		return
	}
	on, again := tx.on, tx.again
	if again == nil {
		again = on.Again
	}
	on.graphs.Go(func() {
		defer x.Release()
		own, end, err := again()
		if err != nil {
			return // the graph is being closed, or the state has gone: a later search asks again
		}
		defer end()
		own.plain = true
		if err := own.writeGraph(no, x, key); err != nil {
			on.Options.Logger.Error("build an HNSW graph", slog.String("graph", on.Name), slog.Any("error", err))
		}
	})
}

// writeGraph makes the graph of a shard show what the transaction reads.
func (tx *Reader) writeGraph(no int, x *cache.VectorGraph, key cache.GraphKey) (err error) {
	w, changed, rebuild, ok := x.Write(tx.snap.Seq)
	if !ok {
		return nil
	}
	done := false
	defer func() { w.End(done) }()
	ctx := context.Background()
	if !rebuild {
		ids := make([]graph.VertexID, len(changed))
		for i, local := range changed {
			ids[i] = graph.MakeVertexID(no, uint64(local))
		}
		if ids, err = tx.labelled(ctx, no, key.Label, ids); err != nil {
			return err
		}
		with := ids
		for _, local := range changed {
			if len(with) > 0 && with[0].Local() == uint64(local) {
				with = with[1:]
			} else if !w.Put(uint64(local), graph.Value{}) {
				return nil
			}
		}
		done, err = tx.putVectors(ctx, w, no, key, ids)
		return err
	}
	total := 0
	if err := tx.eachWindow(ctx, no, key.Label, func(ids []graph.VertexID) (bool, error) {
		n, err := tx.countVectors(ctx, no, key, ids)
		total += n
		return !tx.on.Ending(), err
	}); err != nil || !w.Fits(total, tx.on.Options.Tuning.GraphVectors) {
		return err
	}
	all := true
	err = tx.eachWindow(ctx, no, key.Label, func(ids []graph.VertexID) (_ bool, err error) {
		all, err = tx.putVectors(ctx, w, no, key, ids)
		return all, err
	})
	done = all && err == nil
	return err
}

// countVectors returns how many vectors some vertices of a shard have at most, or the edges that leave them.
func (tx *Reader) countVectors(ctx context.Context, no int, key cache.GraphKey, ids []graph.VertexID) (n int, err error) {
	if key.Type == 0 {
		return len(ids), nil
	}
	ls, err := tx.views[no].Lists(key.Type, graph.Out)
	if err != nil {
		return 0, err
	}
	defer ls.Close()
	for _, id := range ids {
		edges, _, err := ls.Degree(ctx, id, true)
		if err != nil {
			return 0, err
		}
		n += edges
	}
	return n, nil
}

// putVectors gives the vectors of vertices of a shard, or of the edges that leave them, to the writer of a graph. It reports false if the graph is
// not to be finished.
func (tx *Reader) putVectors(ctx context.Context, w *cache.GraphWriter, no int, key cache.GraphKey, ids []graph.VertexID) (bool, error) {
	if key.Type != 0 {
		begin := func(id graph.VertexID) bool { return !tx.on.Ending() && w.Begin(id.Local()) }
		return tx.eachVector(ctx, no, key.Type, key.Prop, ids, begin, w.PutEdge)
	}
	var values [compareRows]graph.Value
	for len(ids) > 0 {
		if tx.on.Ending() {
			return false, nil
		}
		n := min(len(ids), compareRows)
		if err := tx.properties(ctx, ids[:n], []graph.PropID{key.Prop}, [][]graph.Value{values[:n]}); err != nil {
			return false, err
		}
		for i, id := range ids[:n] {
			if !w.Put(id.Local(), values[i]) {
				return false, nil
			}
		}
		ids = ids[n:]
	}
	return true, nil
}
