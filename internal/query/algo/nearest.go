package algo

import (
	"context"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// Nearest is a search for the vertices or edges whose vectors are most similar to another one.
type Nearest struct {
	Label  graph.LabelID // of vertices, or 0
	Type   graph.TypeID  // of edges, or 0
	Prop   graph.PropID
	K      int // how many to find
	By     graph.Similarity
	Vector graph.Value // a Vector or a List, valid for the similarity
	// HNSW are the settings of a graph of the vertices' vectors that may miss some; nil: the search is exact.
	HNSW *graph.VectorOptions
}

const (
	// nearestWindow is how many vertices are found before their vectors are compared.
	nearestWindow = 16 << 10
	// nearestShared is from how many vertices on other cores help.
	nearestShared = 512
	// valueBytes is what a coordinate takes that is read from a list.
	valueBytes = 24
	// MostAsked is how many hits other processes are asked for at most.
	MostAsked = 1 << 16
	// nearestRows is how many vertices a goroutine compares at a time.
	nearestRows = 1024
)

// Run searches. The rows of its table are pairs of a vertex or edge and its score, the most similar first and, of equal ones, that
// with the least id.
func (n *Nearest) Run(ctx context.Context, c *runtime.Call) (*runtime.Table, error) {
	j := &job{call: c, run: c.Run, acct: runtime.Account{Run: c.Run, Name: "NearestVectors"}}
	j.pool = exchange.NewPool(c.Run, func() {})
	hits, err := n.find(ctx, j)
	if err != nil {
		j.acct.Release()
		return nil, err
	}
	return &runtime.Table{
		N: len(hits),
		Append: func(result, lo, hi int, dst []graph.Value) []graph.Value {
			for i := range hits[lo:hi] {
				h := &hits[lo+i]
				switch {
				case result == 1:
					dst = append(dst, graph.FloatValue(h.Score))
				case n.Type != 0:
					dst = append(dst, graph.EdgeRefValue(&graph.EdgeValue{Edge: h.Edge}))
				default:
					dst = append(dst, graph.VertexValue(graph.VertexID(h.ID)))
				}
			}
			return dst
		},
		Close: j.acct.Release,
	}, nil
}

// request is what shards are asked, with a probe that it sets.
func (n *Nearest) request(probe *vector.Probe) *shard.Nearest {
	probe.Set(n.By, n.Vector)
	return &shard.Nearest{Label: n.Label, Type: n.Type, Prop: n.Prop, Probe: probe, K: n.K, HNSW: n.HNSW}
}

// find compares the vectors, a window of vertices after the other.
func (n *Nearest) find(ctx context.Context, j *job) ([]shard.Hit, error) {
	counts := j.call.Tx.Counts()
	candidates := counts.Vertices
	if n.Type != 0 {
		candidates = counts.Edges
	}
	workers, err := newWorkers(nearestWindow, func() (*finder, error) {
		dimensions := vector.Dimensions(n.Vector)
		f := &finder{n: n}
		f.req = n.request(&f.probe)
		most := min(uint64(n.K), candidates)
		return f, j.acct.Grow(int(most)*int(sizeOf(shard.Hit{})) + shard.EdgesAtOnce(dimensions)*valueBytes*(dimensions+1))
	})
	if err != nil {
		return nil, err
	}
	if n.K <= MostAsked {
		var probe vector.Probe
		var best shard.Top
		if done, err := j.run.Nearest(ctx, n.request(&probe), &best); done || err != nil {
			best.Sort()
			return best.Hits, err
		}
	}
	window, err := slice[graph.VertexID](j, nearestWindow)
	if err != nil {
		return nil, err
	}
	for from, done := graph.VertexID(0), false; !done; {
		if window, from, done, err = j.call.Tx.Scan(ctx, n.Label, from, window[:0]); err != nil {
			return nil, err
		}
		if err := j.share(ctx, len(window), nearestShared, func(own *runtime.Run) func(lo, hi int) error {
			f := *workers.of(own)
			return func(lo, hi int) error { return f.compare(ctx, own, window[lo:hi]) }
		}); err != nil {
			return nil, err
		}
	}
	var best shard.Top
	for _, f := range workers.by {
		for _, h := range (*f).best.Hits {
			best.Add(n.K, h)
		}
	}
	best.Sort()
	return best.Hits, nil
}

// finder finds the best hits on one goroutine.
type finder struct {
	n      *Nearest
	probe  vector.Probe
	best   shard.Top
	req    *shard.Nearest
	scores [nearestRows]float64
}

// compare takes in vertices, or the edges that leave them.
func (f *finder) compare(ctx context.Context, own *runtime.Run, ids []graph.VertexID) error {
	if f.n.Type != 0 {
		return f.compareEdges(ctx, own, ids)
	}
	for len(ids) > 0 {
		if err := own.CheckCancel(ctx); err != nil {
			return err
		}
		some := ids[:min(len(ids), nearestRows)]
		if _, err := own.Tx.Compare(ctx, f.n.Prop, &f.probe, some, f.scores[:]); err != nil {
			return err
		}
		for i, id := range some {
			if score := f.scores[i]; !math.IsNaN(score) {
				f.best.Add(f.n.K, shard.Hit{Score: score, ID: uint64(id)})
			}
		}
		ids = ids[len(some):]
	}
	return nil
}

func (f *finder) compareEdges(ctx context.Context, own *runtime.Run, sources []graph.VertexID) error {
	for len(sources) > 0 {
		if err := own.CheckCancel(ctx); err != nil {
			return err
		}
		some := sources[:min(len(sources), nearestRows)]
		if err := own.CompareEdges(ctx, f.req, some, &f.best); err != nil {
			return err
		}
		sources = sources[len(some):]
	}
	return nil
}
