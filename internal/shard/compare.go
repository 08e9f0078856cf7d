package shard

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// EdgesAtOnce is how many vectors are read at a time where they are not packed: about a mebibyte of values.
func EdgesAtOnce(dimensions int) int {
	return min(max((1<<20)/int(unsafe.Sizeof(graph.Value{}))/max(dimensions, 1), 16), 4096)
}

// edgeMemory is memory for ReadAndCompareEdges.
type edgeMemory struct {
	req    Expand
	res    Neighbours
	scores []float64
}

var edgeMemories = sync.Pool{New: func() any { return new(edgeMemory) }}

// ReadAndCompareEdges is Composed.CompareEdges for vectors that are not packed.
func ReadAndCompareEdges(ctx context.Context, r Reader, req *Nearest, sources []graph.VertexID, best *Top) (found NearestFound, err error) {
	edges := edgeMemories.Get().(*edgeMemory)
	defer edgeMemories.Put(edges)
	found.Done = true
	x, res := &edges.req, &edges.res
	*x = Expand{Types: append(x.Types[:0], req.Type), Dir: graph.Out, Edges: true, Props: append(x.Props[:0], req.Prop), MaxEdges: EdgesAtOnce(req.Probe.Dimensions())}
	for len(sources) > 0 {
		x.Sources = sources
		if err := r.Expand(ctx, x, res); err != nil {
			return found, err
		}
		n := len(res.Targets)
		found.Compared += n
		edges.scores = slices.Grow(edges.scores[:0], n)[:n]
		found.Bytes += CompareLists(req.Probe, res.Props[0][:n], edges.scores)
		for u := range res.Done {
			for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
				if score := edges.scores[i]; !math.IsNaN(score) {
					e := graph.Edge{ID: res.Edges[i], Type: req.Type, Src: sources[u], Dst: res.Targets[i]}
					best.Add(req.K, Hit{Score: score, ID: uint64(e.ID), Edge: e})
				}
			}
		}
		sources = sources[res.Done:]
	}
	x.Sources = nil
	return found, nil
}

// ReadAndCompare is Composed.Compare for vectors that are not packed.
func ReadAndCompare(ctx context.Context, r Reader, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error) {
	n := min(len(ids), EdgesAtOnce(probe.Dimensions()))
	values := make([]graph.Value, n)
	for len(ids) > 0 {
		n = min(n, len(ids))
		if err := r.Properties(ctx, ids[:n], []graph.PropID{prop}, [][]graph.Value{values[:n]}); err != nil {
			return bytes, err
		}
		bytes += CompareLists(probe, values[:n], scores)
		ids, scores = ids[n:], scores[n:]
	}
	return bytes, nil
}

// CompareLists compares a probe with property values already read, as Compare does, and returns the bytes of their coordinates.
func CompareLists(probe *vector.Probe, values []graph.Value, scores []float64) (bytes int) {
	for i := range values {
		scores[i] = math.NaN()
		if vector.Dimensions(values[i]) != probe.Dimensions() {
			continue
		}
		if score, ok := probe.Score(values[i]); ok {
			scores[i] = score
		}
		bytes += 8 * probe.Dimensions()
	}
	return bytes
}

// Nearest is a search for the K vertices with a label (0: any), or edges of a type, whose property is most similar to a probe.
type Nearest struct {
	Label graph.LabelID
	Type  graph.TypeID // 0: of vertices
	Prop  graph.PropID
	Probe *vector.Probe
	K     int
	// HNSW are the settings of a graph that may be searched, which may miss some of them; nil: none may be missed.
	HNSW *graph.VectorOptions
}

// NearestFound says how a search was done.
type NearestFound struct {
	Done bool
	// Compared are the vectors that were compared, and Bytes theirs. Candidates are the vertices that a graph gave to be ranked: those that it
	// led to, and those that have changed since.
	Compared, Bytes, Candidates int
}

// Add adds what another shard or process has done.
func (f *NearestFound) Add(g NearestFound) {
	f.Compared, f.Bytes, f.Candidates = f.Compared+g.Compared, f.Bytes+g.Bytes, f.Candidates+g.Candidates
}

// FindNearest is Nearest for a part; it is always done.
func FindNearest(ctx context.Context, tx PartTx, req *Nearest, best *Top) (found NearestFound, err error) {
	if found, err = tx.Nearest(ctx, req, best); found.Done || err != nil {
		return found, err
	}
	const rows = 4096
	ids, scores := make([]graph.VertexID, 0, rows), make([]float64, rows)
	for from, done := graph.VertexID(0), false; !done; {
		if ids, from, done, err = tx.Scan(ctx, req.Label, from, ids[:0]); err != nil {
			return found, err
		}
		if req.Type != 0 {
			some, err := tx.CompareEdges(ctx, req, ids, best)
			if err != nil {
				return found, err
			}
			found.Add(some)
			continue
		}
		n, err := tx.Compare(ctx, req.Prop, req.Probe, ids, scores)
		if err != nil {
			return found, err
		}
		found.Compared, found.Bytes = found.Compared+len(ids), found.Bytes+n
		for i, id := range ids {
			if !math.IsNaN(scores[i]) {
				best.Add(req.K, Hit{Score: scores[i], ID: uint64(id)})
			}
		}
	}
	found.Done = true
	return found, nil
}

// Hit is a vertex or an edge that a search found.
type Hit struct {
	Score float64
	ID    uint64     // of the vertex or the edge
	Edge  graph.Edge // of an edge
}

// Top are the best of many hits: a heap whose first is the worst of them.
type Top struct{ Hits []Hit }

// better compares hits in the order of the answer.
func better(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) }

// Add keeps a hit if it is among the k best.
func (t *Top) Add(k int, h Hit) {
	if len(t.Hits) == k {
		if better(h, t.Hits[0]) > 0 {
			return
		}
		t.Hits[0] = h
		t.sink()
		return
	}
	t.Hits = append(t.Hits, h)
	for i := len(t.Hits) - 1; i > 0; {
		above := (i - 1) / 2
		if better(t.Hits[i], t.Hits[above]) < 0 {
			return
		}
		t.Hits[i], t.Hits[above] = t.Hits[above], t.Hits[i]
		i = above
	}
}

// sink moves the first to its place.
func (t *Top) sink() {
	for i := 0; ; {
		worst := i
		for below := 2*i + 1; below < min(2*i+3, len(t.Hits)); below++ {
			if better(t.Hits[below], t.Hits[worst]) > 0 {
				worst = below
			}
		}
		if worst == i {
			return
		}
		t.Hits[i], t.Hits[worst] = t.Hits[worst], t.Hits[i]
		i = worst
	}
}

// Sort sorts the hits in the order of the answer: the most similar first and, of equal ones, that with the least id.
func (t *Top) Sort() { slices.SortFunc(t.Hits, better) }
