package shard

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// Comparer is a Tx that compares vectors where they are kept, packed.
type Comparer interface {
	// Compare sets scores[i] to the similarity of a probe and property prop of vertex ids[i], or to NaN if that is no vector of the
	// probe's dimensions or the similarity does not accept it. ids may be in any order and repeat; sorted ids are fastest. It returns
	// the bytes of the vectors that it compared.
	Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error)
}

// CompareLists compares a probe with property values already read, as Comparer does, and returns the bytes of their coordinates.
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

// Searcher is a Tx that asks other processes, which find the most similar of their own vertices.
type Searcher interface {
	// Nearest adds to best the vertices with a label (0: any) whose property is most similar to a probe, at most k of each process. It returns
	// how many were compared, and the bytes of their vectors.
	Nearest(ctx context.Context, label graph.LabelID, prop graph.PropID, probe *vector.Probe, k int, best *Top) (compared, bytes int, err error)
}

// FindNearest is Searcher's Nearest for the vertices of a part.
func FindNearest(ctx context.Context, tx PartTx, label graph.LabelID, prop graph.PropID, probe *vector.Probe, k int, best *Top) (compared, bytes int, err error) {
	const rows = 4096
	ids, scores := make([]graph.VertexID, 0, rows), make([]float64, rows)
	for from, done := graph.VertexID(0), false; !done; {
		if ids, from, done, err = tx.Scan(ctx, label, from, ids[:0]); err != nil {
			return compared, bytes, err
		}
		n, err := tx.Compare(ctx, prop, probe, ids, scores)
		if err != nil {
			return compared, bytes, err
		}
		compared, bytes = compared+len(ids), bytes+n
		for i, id := range ids {
			if !math.IsNaN(scores[i]) {
				best.Add(k, Hit{Score: scores[i], ID: uint64(id)})
			}
		}
	}
	return compared, bytes, nil
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
