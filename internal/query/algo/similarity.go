package algo

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

var similarity = Algorithm{
	Name: "algo.similarity", Results: "node1 :: NODE, node2 :: NODE, similarity :: FLOAT",
	Description: "Find the nodes whose neighbours are most like those of each node: how many they share, as a part of all that either has (Jaccard).",
	keys:        []string{"direction", "topK", "source"},
	defaults:    config{topK: 10},
	compute:     computeSimilarity,
}

// similar finds the vertices that share neighbours with a vertex, on one goroutine.
type similar struct {
	count []uint32 // of shared neighbours, by vertex; 0 between two vertices
	seen  []uint32
	best  []pair
}

type pair struct {
	other uint32
	score float64
}

// computeSimilarity walks two steps from each vertex, there along the edges and back against them, and counts where the ways end.
func computeSimilarity(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	there, err := j.distinct(ctx, j.direction)
	if err != nil {
		return nil, err
	}
	back := there
	if j.direction != graph.Both {
		if back, err = j.distinct(ctx, j.direction.Reverse()); err != nil {
			return nil, err
		}
	}
	n := len(j.ids)
	first, vertices := uint32(0), n
	if j.source != graph.NoVertex {
		if first, err = j.start(); err != nil {
			return nil, err
		}
		vertices = 1
	}
	k := min(j.topK, max(n-1, 1))
	if vertices*k >= mostNumbers {
		return nil, graph.BudgetError("%s: there may be more than %d rows: ask for a smaller topK", j.acct.Name, mostNumbers)
	}
	found, err := slice[pair](j, vertices*k)
	if err != nil {
		return nil, err
	}
	many, err := slice[uint32](j, vertices)
	if err != nil {
		return nil, err
	}
	workers, err := newWorkers(n, func() (s similar, err error) {
		s.count, err = slice[uint32](j, n)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	if err := j.each(ctx, vertices, func(own *runtime.Run) func(lo, hi int) error {
		s, work := workers.of(own), 0
		return func(lo, hi int) error {
			for i := lo; i < hi; i++ {
				work += s.find(there, back, first+uint32(i), k)
				many[i] = uint32(copy(found[i*k:(i+1)*k], s.best))
				if work >= checkEvery {
					work = 0
					if err := own.CheckCancel(ctx); err != nil {
						return err
					}
				}
			}
			return nil
		}
	}); err != nil {
		return nil, err
	}
	return j.pairs(first, found, many, k)
}

// find puts the k vertices that are most similar to v into best, and returns the number of edges that it has walked.
func (s *similar) find(there, back *lists, v uint32, k int) (work int) {
	s.seen, s.best = s.seen[:0], s.best[:0]
	mine := there.of(int(v))
	for _, u := range mine {
		list := back.of(int(u))
		work += len(list)
		for _, w := range list {
			if s.count[w] == 0 {
				s.seen = append(s.seen, w)
			}
			s.count[w]++
		}
	}
	for _, w := range s.seen {
		shared := s.count[w]
		s.count[w] = 0
		if w == v {
			continue
		}
		s.best = append(s.best, pair{w, float64(shared) / float64(len(mine)+len(there.of(int(w)))-int(shared))})
		if len(s.best) == 2*k+64 {
			s.trim(k)
		}
	}
	s.trim(k)
	return work + len(s.seen)
}

// trim keeps the k best pairs: the most similar first, of equal ones that with the least id.
func (s *similar) trim(k int) {
	slices.SortFunc(s.best, func(a, b pair) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.other, b.other)) })
	s.best = s.best[:min(k, len(s.best))]
}

// pairs builds the rows: for each vertex from first on, the used ones of its k places.
func (j *job) pairs(first uint32, found []pair, many []uint32, k int) (*answer, error) {
	rows := 0
	for _, m := range many {
		rows += int(m)
	}
	ones, err := slice[graph.VertexID](j, rows)
	if err != nil {
		return nil, err
	}
	others, err := slice[graph.VertexID](j, rows)
	if err != nil {
		return nil, err
	}
	scores, err := slice[float64](j, rows)
	if err != nil {
		return nil, err
	}
	at := 0
	for i, m := range many {
		for _, p := range found[i*k : i*k+int(m)] {
			ones[at], others[at], scores[at] = j.ids[int(first)+i], j.ids[p.other], p.score
			at++
		}
	}
	return &answer{n: rows, columns: []column{{vertices: ones}, {vertices: others}, {floats: scores}}}, nil
}
