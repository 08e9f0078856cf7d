package local

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
)

// compareRows is how many lists are read at a time where they are not packed.
const compareRows = 64

// Compare implements shard.Comparer.
func (tx *Tx) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error) {
	if err := tx.check(ctx); err != nil {
		return 0, err
	}
	for i, id := range ids {
		if id.Shard() >= len(tx.views) {
			scores[i] = math.NaN()
		}
	}
	var missing []int
	if tx.plain {
		for i := range ids {
			missing = append(missing, i)
		}
	} else {
		for no, v := 0, tx.openColumns(); no < len(v); no++ {
			var n int
			if missing, n, err = v[no].Compare(prop, probe, ids, scores, missing); err != nil {
				return bytes, err
			}
			bytes += n
		}
	}
	if len(missing) == 0 {
		return bytes, nil
	}
	rows := sortRows(ids, missing)
	var some [compareRows]graph.VertexID
	var got [compareRows]float64
	values := make([]graph.Value, min(len(rows), compareRows))
	for len(rows) > 0 {
		n := min(len(rows), compareRows)
		for i, r := range rows[:n] {
			some[i] = ids[r]
		}
		if err := tx.properties(ctx, some[:n], []graph.PropID{prop}, [][]graph.Value{values[:n]}); err != nil {
			return bytes, err
		}
		bytes += shard.CompareLists(probe, values[:n], got[:n])
		for i, r := range rows[:n] {
			scores[r] = got[i]
		}
		rows = rows[n:]
	}
	return bytes, nil
}

// edgeComparison is the memory of a comparison of edges.
type edgeComparison struct {
	cached cache.EdgeComparison
	req    *shard.Nearest
	best   *shard.Top
	stored shard.EdgeMemory
}

var edgeComparisons = sync.Pool{New: func() any {
	x := new(edgeComparison)
	x.cached.Take = func(hits []cache.EdgeHit) {
		for i := range hits {
			h := &hits[i]
			x.best.Add(x.req.K, shard.Hit{Score: h.Score, ID: uint64(h.Edge), Edge: graph.Edge{ID: h.Edge, Type: x.req.Type, Src: h.Source, Dst: h.Target}})
		}
	}
	return x
}}

// CompareEdges implements shard.EdgeComparer.
func (tx *Tx) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) (found shard.NearestFound, err error) {
	if err := tx.check(ctx); err != nil {
		return found, err
	}
	x := edgeComparisons.Get().(*edgeComparison)
	defer edgeComparisons.Put(x)
	x.req, x.best = req, best
	c := &x.cached
	c.Type, c.Prop, c.Probe, c.Missing, c.Compared, c.Bytes = req.Type, req.Prop, req.Probe, c.Missing[:0], 0, 0
	if tx.plain {
		c.Missing = append(c.Missing, sources...)
	} else if err := tx.comparePacked(c, sources); err != nil {
		return found, err
	}
	if len(c.Missing) > 0 {
		slices.Sort(c.Missing)
		found, err = req.ReadEdges(c.Missing, &x.stored, func(req *shard.Expand, res *shard.Neighbours) error { return tx.Expand(ctx, req, res) }, best)
	}
	found.Done, found.Compared, found.Bytes = true, found.Compared+c.Compared, found.Bytes+c.Bytes
	x.req, x.best, c.Probe = nil, nil, nil
	return found, err
}

// comparePacked compares the edges whose vectors are packed.
func (tx *Tx) comparePacked(c *cache.EdgeComparison, sources []graph.VertexID) error {
	views := tx.openLists(false)
	defer views.close()
	for len(sources) > 0 {
		no := sources[0].Shard()
		n := 1
		for n < len(sources) && sources[n].Shard() == no {
			n++
		}
		if no < len(views.refs) && views.refs[no] != nil {
			if err := views.refs[no].CompareEdges(c, no, sources[:n]); err != nil {
				return err
			}
		}
		sources = sources[n:]
	}
	return nil
}

var graphSearches = sync.Pool{New: func() any { return new(cache.GraphSearch) }}

// Nearest implements shard.Searcher: it searches the HNSW graphs of all shards, if they are there. If not, or if a graph has too many changes to
// take in, a goroutine begins with that.
func (tx *Tx) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	if err := tx.check(ctx); err != nil {
		return found, err
	}
	if req.Type != 0 || req.HNSW == nil || req.HNSW.Dimensions != req.Probe.Dimensions() || tx.plain {
		return found, nil
	}
	key := cache.GraphKey{
		Label: req.Label, Prop: req.Prop, Similarity: req.HNSW.Similarity, Dimensions: req.HNSW.Dimensions, M: req.HNSW.M, EfConstruction: req.HNSW.EfConstruction,
		Quantized: req.HNSW.Quantized,
	}
	found.Done = true
	hits := *best
	hits.Hits = append([]shard.Hit(nil), best.Hits...)
	views := tx.openColumns()
	for no, v := range tx.views {
		if v == nil {
			continue // another process has the shard
		}
		if v.Version() != 0 && tx.g != nil {
			return shard.NearestFound{}, nil // another process has it, and answers for it in this transaction
		}
		var one shard.NearestFound
		if tx.snap != nil && tx.snap.sources[no].next < uint64(tx.on.opts.Tuning.GraphVectors) {
			one, err = tx.compareShard(ctx, no, req, &hits)
		} else {
			one, err = tx.nearestOf(ctx, no, &views[no], key, req, &hits)
		}
		if err != nil {
			return shard.NearestFound{}, err
		}
		found.Done = found.Done && one.Done
		found.Add(one)
	}
	if !found.Done {
		return shard.NearestFound{}, nil
	}
	*best = hits
	return found, nil
}

// nearestOf is Nearest for one shard.
func (tx *Tx) nearestOf(ctx context.Context, no int, v *cache.ColumnView, key cache.GraphKey, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	x := tx.on.topology.columns[no].Graph(key)
	s := graphSearches.Get().(*cache.GraphSearch)
	defer graphSearches.Put(s)
	done := v.Nearest(x, req.Probe, req.K, s)
	if s.Due && tx.mode == shard.Read {
		tx.growGraph(no, x, key)
	}
	if !done {
		return found, nil
	}
	found = shard.NearestFound{Done: true, Compared: s.Compared, Bytes: s.Bytes, Candidates: len(s.Hits) + len(s.Changed)}
	ids := make([]graph.VertexID, len(s.Changed), len(s.Changed)+len(s.Hits))
	for i, local := range s.Changed {
		ids[i] = graph.MakeVertexID(no, uint64(local))
	}
	if ids, err = tx.labelled(ctx, no, key.Label, ids); err != nil {
		return found, err
	}
	for _, h := range s.Hits {
		if id := graph.MakeVertexID(no, h.Vertex); key.Quantized {
			ids = append(ids, id)
		} else {
			best.Add(req.K, shard.Hit{Score: h.Score, ID: uint64(id)})
		}
	}
	slices.Sort(ids)
	err = tx.rank(ctx, ids, req, best, &found)
	return found, err
}

// compareShard is Nearest for a shard that is too small for a graph.
func (tx *Tx) compareShard(ctx context.Context, no int, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	found.Done = true
	window := make([]graph.VertexID, 0, rankRows)
	for from, done := uint64(0), false; !done; {
		var ids []graph.VertexID
		if ids, done, err = tx.views[no].Scan(ctx, req.Label, from, window[:0]); err != nil {
			return found, err
		}
		if !done {
			from = ids[len(ids)-1].Local() + 1
		}
		if err := tx.rank(ctx, ids, req, best, &found); err != nil {
			return found, err
		}
	}
	return found, nil
}

// rankRows is how many vertices are compared at a time beside a graph.
const rankRows = 1024

// rank compares vertices and adds them to the best.
func (tx *Tx) rank(ctx context.Context, ids []graph.VertexID, req *shard.Nearest, best *shard.Top, found *shard.NearestFound) error {
	scores := make([]float64, min(len(ids), rankRows))
	for len(ids) > 0 {
		some := ids[:min(len(ids), rankRows)]
		n, err := tx.Compare(ctx, req.Prop, req.Probe, some, scores)
		if err != nil {
			return err
		}
		found.Compared, found.Bytes = found.Compared+len(some), found.Bytes+n
		for i, id := range some {
			if !math.IsNaN(scores[i]) {
				best.Add(req.K, shard.Hit{Score: scores[i], ID: uint64(id)})
			}
		}
		ids = ids[len(some):]
	}
	return nil
}

// labelled moves those of some ids of a shard, in ascending order, to the front that have a label (0: any), and returns them.
func (tx *Tx) labelled(ctx context.Context, no int, label graph.LabelID, ids []graph.VertexID) ([]graph.VertexID, error) {
	out := ids[:0]
	var window [compareRows]graph.VertexID
	for len(ids) > 0 {
		got, last, err := tx.views[no].Scan(ctx, label, ids[0].Local(), window[:0])
		if err != nil || len(got) == 0 {
			return out, err
		}
		end := got[len(got)-1]
		for ; len(ids) > 0 && ids[0] <= end; ids = ids[1:] {
			for got[0] < ids[0] {
				got = got[1:]
			}
			if got[0] == ids[0] {
				out = append(out, ids[0])
			}
		}
		if last {
			return out, nil
		}
	}
	return out, nil
}

// growGraph has a goroutine build the graph of a shard, or take in what has changed.
func (tx *Tx) growGraph(no int, x *cache.VectorGraph, key cache.GraphKey) {
	if tx.on.ending() || !x.Claim() {
		return
	}
	again := tx.again
	if again == nil {
		g := tx.g
		again = func() (*Tx, error) {
			t, err := g.Begin(context.Background(), shard.Read)
			if err != nil {
				return nil, err
			}
			return t.(*Tx), nil
		}
	}
	on := tx.on
	on.graphs.Go(func() {
		defer x.Release()
		own, err := again()
		if err != nil {
			return // the graph is being closed, or the state has gone: a later search asks again
		}
		defer own.Rollback()
		own.plain = true
		if err := own.writeGraph(no, x, key); err != nil {
			on.opts.Logger.Error("build an HNSW graph", slog.String("graph", on.name), slog.Any("error", err))
		}
	})
}

// writeGraph makes the graph of a shard show what the transaction reads.
func (tx *Tx) writeGraph(no int, x *cache.VectorGraph, key cache.GraphKey) (err error) {
	w, changed, rebuild, ok := x.Write(tx.snap.seq)
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
		done, err = tx.putVectors(ctx, w, key, ids)
		return err
	}
	v := tx.views[no]
	window := make([]graph.VertexID, 0, 16*compareRows)
	total := 0
	for from, end := uint64(0), false; !end; {
		ids, last, err := v.Scan(ctx, key.Label, from, window[:0])
		if err != nil {
			return err
		}
		total += len(ids)
		if end = last; !end {
			from = ids[len(ids)-1].Local() + 1
		}
	}
	if !w.Fits(total, tx.on.opts.Tuning.GraphVectors) {
		return nil
	}
	for from, end := uint64(0), false; !end; {
		ids, last, err := v.Scan(ctx, key.Label, from, window[:0])
		if err != nil {
			return err
		}
		if ok, err := tx.putVectors(ctx, w, key, ids); !ok || err != nil {
			return err
		}
		if end = last; !end {
			from = ids[len(ids)-1].Local() + 1
		}
	}
	done = true
	return nil
}

// putVectors gives the vectors of vertices to the writer of a graph. It reports false if the graph is not to be finished.
func (tx *Tx) putVectors(ctx context.Context, w *cache.GraphWriter, key cache.GraphKey, ids []graph.VertexID) (bool, error) {
	var values [compareRows]graph.Value
	for len(ids) > 0 {
		if tx.on.ending() {
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
