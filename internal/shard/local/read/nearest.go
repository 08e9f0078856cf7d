package read

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

var graphSearches = sync.Pool{New: func() any { return new(cache.GraphSearch) }}

// Nearest implements shard.Composed: it searches the HNSW graphs of all shards, if they exist. If one does not, or lacks many changes, a
// goroutine builds it.
func (tx *Reader) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	if err := tx.Alive(ctx); err != nil {
		return found, err
	}
	if req.HNSW == nil || req.HNSW.Dimensions != req.Probe.Dimensions() || tx.plain {
		return found, nil
	}
	hits := *best
	hits.Hits = append([]shard.Hit(nil), best.Hits...)
	x := nearest{tx: tx, req: req, best: &hits}
	x.key = cache.GraphKey{
		Label: req.Label, Type: req.Type, Prop: req.Prop, Similarity: req.HNSW.Similarity, Dimensions: req.HNSW.Dimensions,
		M: req.HNSW.M, EfConstruction: req.HNSW.EfConstruction, Quantized: req.HNSW.Quantized,
	}
	found.Done = true
	for no, v := range tx.views {
		if v == nil {
			continue // another process has the shard
		}
		if storage.VersionOf(v) != 0 && tx.whole != nil {
			return shard.NearestFound{}, nil // another process has it, and answers for it in this transaction
		}
		x.no, x.found = no, shard.NearestFound{}
		if req.Type == 0 && tx.snap != nil && tx.snap.sources[no].next < uint64(tx.on.Options.Tuning.GraphVectors) {
			err = x.compareAll(ctx)
		} else {
			err = x.search(ctx)
		}
		if err != nil {
			return shard.NearestFound{}, err
		}
		found.Done = found.Done && x.found.Done
		found.Add(x.found)
	}
	if !found.Done {
		return shard.NearestFound{}, nil
	}
	*best = hits
	return found, nil
}

// nearest is a search for the nearest vectors of a shard.
type nearest struct {
	tx    *Reader
	no    int
	key   cache.GraphKey
	req   *shard.Nearest
	best  *shard.Top
	found shard.NearestFound
}

// search searches the graph of the shard, and compares what the graph does not have.
func (x *nearest) search(ctx context.Context) (err error) {
	s := graphSearches.Get().(*cache.GraphSearch)
	defer graphSearches.Put(s)
	g, done := x.searchGraph(s)
	grow := s.Due
	defer func() {
		if grow && err == nil && x.tx.over == nil {
			x.tx.growGraph(x.no, g, x.key)
		}
	}()
	if !done {
		if s.Few {
			return x.compareAll(ctx)
		}
		return nil
	}
	no, found := x.no, &x.found
	ids := make([]graph.VertexID, len(s.Changed), len(s.Changed)+len(s.Hits))
	for i, local := range s.Changed {
		ids[i] = graph.MakeVertexID(no, uint64(local))
	}
	if ids, err = x.tx.labelled(ctx, no, x.key.Label, ids); err != nil {
		return err
	}
	var edges []graph.Edge
	for _, h := range s.Hits {
		id := graph.MakeVertexID(no, h.Vertex)
		hit := shard.Hit{Score: h.Score, ID: uint64(id)}
		if x.req.Type != 0 {
			hit.Edge = graph.Edge{ID: graph.MakeEdgeID(no, h.Edge), Type: x.req.Type, Src: id, Dst: h.Target}
			hit.ID = uint64(hit.Edge.ID)
		}
		switch {
		case !x.key.Quantized:
			x.best.Add(x.req.K, hit)
		case x.req.Type != 0:
			edges = append(edges, hit.Edge)
		default:
			ids = append(ids, id)
		}
	}
	if x.req.Type != 0 {
		err = x.rankEdges(ctx, ids, edges)
	} else {
		slices.Sort(ids)
		err = x.rank(ctx, ids)
	}
	found.Done, found.Candidates = true, found.Compared
	if !x.key.Quantized {
		found.Candidates += len(s.Hits)
	}
	grow = grow || s.Behind && found.Candidates-len(s.Hits) >= cache.DueChanges
	found.Compared, found.Bytes = found.Compared+s.Compared, found.Bytes+s.Bytes
	return err
}

// searchGraph searches the graph of the shard.
func (x *nearest) searchGraph(s *cache.GraphSearch) (g *cache.VectorGraph, done bool) {
	if x.key.Type == 0 {
		g = x.tx.on.Topology.columns[x.no].Graph(x.key)
		return g, x.tx.openColumns()[x.no].Nearest(g, x.req.Probe, x.req.K, s)
	}
	g = x.tx.on.Topology.lists[x.no].Graph(x.key)
	views := x.tx.openLists(false)
	defer views.Close()
	return g, views.Views[x.no].Nearest(g, x.req.Probe, x.req.K, s)
}

// compareAll compares all vectors of a shard that has too few for a graph.
func (x *nearest) compareAll(ctx context.Context) error {
	x.found.Done = true
	return x.tx.eachWindow(ctx, x.no, x.req.Label, func(ids []graph.VertexID) (bool, error) {
		err := x.rank(ctx, ids)
		return err == nil, err
	})
}

// eachWindow calls f with the vertices of a shard that have a label (0: any), some at a time, until it returns false.
func (tx *Reader) eachWindow(ctx context.Context, no int, label graph.LabelID, f func(ids []graph.VertexID) (bool, error)) error {
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
func (x *nearest) rank(ctx context.Context, ids []graph.VertexID) error {
	if x.req.Type != 0 {
		some, err := x.tx.CompareEdges(ctx, x.req, ids, x.best)
		x.found.Add(some)
		return err
	}
	scores := make([]float64, min(len(ids), rankRows))
	for len(ids) > 0 {
		some := ids[:min(len(ids), rankRows)]
		n, err := x.tx.Compare(ctx, x.req.Prop, x.req.Probe, some, scores)
		if err != nil {
			return err
		}
		x.found.Compared, x.found.Bytes = x.found.Compared+len(some), x.found.Bytes+n
		for i, id := range some {
			if !math.IsNaN(scores[i]) {
				x.best.Add(x.req.K, shard.Hit{Score: scores[i], ID: uint64(id)})
			}
		}
		ids = ids[len(some):]
	}
	return nil
}

// rankEdges is rank for the edges that leave some vertices and have changed, so that they are in no packed form, and for others.
func (x *nearest) rankEdges(ctx context.Context, sources []graph.VertexID, edges []graph.Edge) error {
	tx, req := x.tx, x.req
	var score [1]float64
	var value [1]graph.Value
	rank := func(e graph.Edge, v graph.Value) bool {
		value[0] = v
		x.found.Compared++
		x.found.Bytes += shard.CompareLists(req.Probe, value[:], score[:])
		if !math.IsNaN(score[0]) {
			x.best.Add(req.K, shard.Hit{Score: score[0], ID: uint64(e.ID), Edge: e})
		}
		return true
	}
	if _, err := tx.eachVector(ctx, x.no, req.Type, req.Prop, sources, func(graph.VertexID) bool { return true }, rank); err != nil {
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
func (tx *Reader) eachVector(
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
func (tx *Reader) labelled(ctx context.Context, no int, label graph.LabelID, ids []graph.VertexID) ([]graph.VertexID, error) {
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
