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
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// compareRows is how many lists are read at a time where they are not packed.
const compareRows = 64

// Compare implements shard.Composed.
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

// CompareEdges implements shard.Composed.
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
		found, err = shard.ReadAndCompareEdges(ctx, tx, req, c.Missing, best)
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

// Nearest implements shard.Composed: it searches the HNSW graphs of all shards, if they are there. If not, or if a graph has too many changes to
// take in, a goroutine begins with that.
func (tx *Tx) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	if err := tx.check(ctx); err != nil {
		return found, err
	}
	if req.HNSW == nil || req.HNSW.Dimensions != req.Probe.Dimensions() || tx.plain {
		return found, nil
	}
	key := cache.GraphKey{
		Label: req.Label, Type: req.Type, Prop: req.Prop, Similarity: req.HNSW.Similarity, Dimensions: req.HNSW.Dimensions,
		M: req.HNSW.M, EfConstruction: req.HNSW.EfConstruction, Quantized: req.HNSW.Quantized,
	}
	found.Done = true
	hits := *best
	hits.Hits = append([]shard.Hit(nil), best.Hits...)
	for no, v := range tx.views {
		if v == nil {
			continue // another process has the shard
		}
		if storage.VersionOf(v) != 0 && tx.g != nil {
			return shard.NearestFound{}, nil // another process has it, and answers for it in this transaction
		}
		var one shard.NearestFound
		if req.Type == 0 && tx.snap != nil && tx.snap.sources[no].next < uint64(tx.on.opts.Tuning.GraphVectors) {
			one, err = tx.compareShard(ctx, no, req, &hits)
		} else {
			one, err = tx.nearestOf(ctx, no, key, req, &hits)
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
func (tx *Tx) nearestOf(ctx context.Context, no int, key cache.GraphKey, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	s := graphSearches.Get().(*cache.GraphSearch)
	defer graphSearches.Put(s)
	x, done := tx.searchGraph(no, key, req, s)
	grow := s.Due
	defer func() {
		if grow && err == nil && tx.mode == shard.Read {
			tx.growGraph(no, x, key)
		}
	}()
	if !done {
		if s.Few {
			return tx.compareShard(ctx, no, req, best)
		}
		return found, nil
	}
	ids := make([]graph.VertexID, len(s.Changed), len(s.Changed)+len(s.Hits))
	for i, local := range s.Changed {
		ids[i] = graph.MakeVertexID(no, uint64(local))
	}
	if ids, err = tx.labelled(ctx, no, key.Label, ids); err != nil {
		return found, err
	}
	var edges []graph.Edge
	for _, h := range s.Hits {
		id := graph.MakeVertexID(no, h.Vertex)
		hit := shard.Hit{Score: h.Score, ID: uint64(id)}
		if req.Type != 0 {
			hit.Edge = graph.Edge{ID: graph.MakeEdgeID(no, h.Edge), Type: req.Type, Src: id, Dst: h.Target}
			hit.ID = uint64(hit.Edge.ID)
		}
		switch {
		case !key.Quantized:
			best.Add(req.K, hit)
		case req.Type != 0:
			edges = append(edges, hit.Edge)
		default:
			ids = append(ids, id)
		}
	}
	if req.Type != 0 {
		err = tx.rankEdges(ctx, no, ids, edges, req, best, &found)
	} else {
		slices.Sort(ids)
		err = tx.rank(ctx, ids, req, best, &found)
	}
	found.Done, found.Candidates = true, found.Compared
	if !key.Quantized {
		found.Candidates += len(s.Hits)
	}
	grow = grow || s.Behind && found.Candidates-len(s.Hits) >= cache.DueChanges
	found.Compared, found.Bytes = found.Compared+s.Compared, found.Bytes+s.Bytes
	return found, err
}

// searchGraph searches the graph of a shard.
func (tx *Tx) searchGraph(no int, key cache.GraphKey, req *shard.Nearest, s *cache.GraphSearch) (x *cache.VectorGraph, done bool) {
	if key.Type == 0 {
		x = tx.on.topology.columns[no].Graph(key)
		return x, tx.openColumns()[no].Nearest(x, req.Probe, req.K, s)
	}
	x = tx.on.topology.lists[no].Graph(key)
	views := tx.openLists(false)
	defer views.close()
	return x, views.views[no].Nearest(x, req.Probe, req.K, s)
}

// compareShard is Nearest for a shard that has too few vectors for a graph.
func (tx *Tx) compareShard(ctx context.Context, no int, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	found.Done = true
	err = tx.eachWindow(ctx, no, req.Label, func(ids []graph.VertexID) (bool, error) {
		err := tx.rank(ctx, ids, req, best, &found)
		return err == nil, err
	})
	return found, err
}

// eachWindow calls f with the vertices of a shard that have a label (0: any), some at a time, until it returns false.
func (tx *Tx) eachWindow(ctx context.Context, no int, label graph.LabelID, f func(ids []graph.VertexID) (bool, error)) error {
	window := make([]graph.VertexID, 0, rankRows)
	for from, done := uint64(0), false; !done; {
		ids, last, err := tx.views[no].Scan(ctx, label, from, window[:0])
		if err != nil {
			return err
		}
		if done = last; !done {
			from = ids[len(ids)-1].Local() + 1
		}
		if more, err := f(ids); !more || err != nil {
			return err
		}
	}
	return nil
}

// rankRows is how many vertices are compared, or given to a graph, at a time.
const rankRows = 1024

// rank compares vertices, or the edges that leave them, and adds them to the best.
func (tx *Tx) rank(ctx context.Context, ids []graph.VertexID, req *shard.Nearest, best *shard.Top, found *shard.NearestFound) error {
	if req.Type != 0 {
		some, err := tx.CompareEdges(ctx, req, ids, best)
		found.Add(some)
		return err
	}
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

// rankEdges is rank for the edges that leave some vertices and have changed, so that they are in no packed form, and for others.
func (tx *Tx) rankEdges(
	ctx context.Context, no int, sources []graph.VertexID, edges []graph.Edge, req *shard.Nearest, best *shard.Top, found *shard.NearestFound,
) error {
	var score [1]float64
	var value [1]graph.Value
	rank := func(e graph.Edge, v graph.Value) bool {
		value[0] = v
		found.Compared++
		found.Bytes += shard.CompareLists(req.Probe, value[:], score[:])
		if !math.IsNaN(score[0]) {
			best.Add(req.K, shard.Hit{Score: score[0], ID: uint64(e.ID), Edge: e})
		}
		return true
	}
	if _, err := tx.eachVector(ctx, no, req.Type, req.Prop, sources, func(graph.VertexID) bool { return true }, rank); err != nil {
		return err
	}
	return tx.eachEdge(edges, tx.edgeOrder(edges), func(i int, ls *view.Lists) error {
		e := edges[i]
		_, err := ls.Edge(ctx, e.Src.Local(), e.Dst, e.ID, func(p graph.PropID, v graph.Value, ref keys.Ref, isRef bool) (err error) {
			if p != req.Prop {
				return nil
			}
			if isRef {
				if v, err = tx.value(ref); err != nil {
					return err
				}
			}
			rank(e, v)
			return nil
		})
		return err
	})
}

// eachVector calls begin with each of some vertices of a shard, and then edge with the edges of a type that leave it and what they have for a
// property, until one of them returns false; all reports whether none did.
func (tx *Tx) eachVector(
	ctx context.Context, no int, t graph.TypeID, prop graph.PropID, sources []graph.VertexID,
	begin func(graph.VertexID) bool, edge func(graph.Edge, graph.Value) bool,
) (all bool, err error) {
	ls, err := tx.views[no].Lists(t, graph.Out)
	if err != nil {
		return false, err
	}
	defer ls.Close()
	want := view.Want{IDs: true, Props: []graph.PropID{prop}}
	out := view.Edges{Props: make([][]graph.Value, 1)}
	var large []view.Pending
	for _, id := range sources {
		if !begin(id) {
			return false, nil
		}
		out.Targets, out.IDs, out.Props[0], large = out.Targets[:0], out.IDs[:0], out.Props[0][:0], large[:0]
		if err := ls.Append(ctx, id, want, &out, &large); err != nil {
			return false, err
		}
		rest := large
		for i, v := range out.Props[0] {
			if len(rest) > 0 && rest[0].I == i {
				if v, err = tx.value(rest[0].Ref); err != nil {
					return false, err
				}
				rest = rest[1:]
			}
			if !edge(graph.Edge{ID: out.IDs[i], Type: t, Src: id, Dst: out.Targets[i]}, v) {
				return false, nil
			}
		}
	}
	return true, nil
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
		done, err = tx.putVectors(ctx, w, no, key, ids)
		return err
	}
	total := 0
	if err := tx.eachWindow(ctx, no, key.Label, func(ids []graph.VertexID) (bool, error) {
		n, err := tx.countVectors(ctx, no, key, ids)
		total += n
		return !tx.on.ending(), err
	}); err != nil || !w.Fits(total, tx.on.opts.Tuning.GraphVectors) {
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
func (tx *Tx) countVectors(ctx context.Context, no int, key cache.GraphKey, ids []graph.VertexID) (n int, err error) {
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
func (tx *Tx) putVectors(ctx context.Context, w *cache.GraphWriter, no int, key cache.GraphKey, ids []graph.VertexID) (bool, error) {
	if key.Type != 0 {
		begin := func(id graph.VertexID) bool { return !tx.on.ending() && w.Begin(id.Local()) }
		return tx.eachVector(ctx, no, key.Type, key.Prop, ids, begin, w.PutEdge)
	}
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
