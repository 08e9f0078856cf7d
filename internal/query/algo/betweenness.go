package algo

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

var betweenness = Algorithm{
	Name: "algo.betweenness", Results: "node :: NODE, score :: FLOAT",
	Description: "Count the shortest paths between other nodes that pass through each node, as a share of all shortest paths between the same two; over a sample of the nodes if samples is given.",
	keys:        []string{"direction", "samples", "seed"},
	compute:     computeBetweenness,
}

// computeBetweenness is Brandes' algorithm. Parallel edges are one way.
func computeBetweenness(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	out, err := j.distinct(ctx, j.direction)
	if err != nil {
		return nil, err
	}
	n := len(j.ids)
	sources, err := j.sample(n)
	if err != nil {
		return nil, err
	}
	score, err := slice[float64](j, n)
	if err != nil {
		return nil, err
	}
	workers, err := newBrandes(j, n)
	if err != nil {
		return nil, err
	}
	if err := j.share(ctx, len(sources), 2, func(own *runtime.Run) func(lo, hi int) error {
		b := workers.of(own)
		return func(lo, hi int) error {
			for _, s := range sources[lo:hi] {
				if err := b.from(ctx, own, out, s); err != nil {
					return err
				}
			}
			return nil
		}
	}); err != nil {
		return nil, err
	}
	scale := 1.0
	if j.direction == graph.Both {
		scale = 0.5 // each way was found from both its ends
	}
	if len(sources) > 0 {
		scale *= float64(n) / float64(len(sources))
	}
	for _, b := range workers.by {
		for v, x := range b.score {
			score[v] += scale * x
		}
	}
	return j.of(column{floats: score}), nil
}

// sample draws the sources, all vertices if no number of them is asked for.
func (j *job) sample(n int) ([]uint32, error) {
	all, err := slice[uint32](j, n)
	if err != nil {
		return nil, err
	}
	for v := range all {
		all[v] = uint32(v)
	}
	if j.samples == 0 || j.samples >= n {
		return all, nil
	}
	r := rand.New(rand.NewPCG(uint64(j.seed), 0))
	for i := range j.samples {
		k := i + r.IntN(n-i)
		all[i], all[k] = all[k], all[i]
	}
	return all[:j.samples], nil
}

// brandes holds the shortest paths from one vertex, on one goroutine, and their contributions to the scores.
type brandes struct {
	level  []int32   // the distance from the source, plus 1; 0: not reached
	ways   []float64 // shortest paths from the source
	depend []float64 // the sum over the paths through a vertex
	score  []float64
	order  []uint32 // reached, the nearest first
}

func newBrandes(j *job, n int) (*perWorker[brandes], error) {
	return newWorkers(n, func() (b brandes, err error) {
		if b.level, err = slice[int32](j, n); err != nil {
			return b, err
		}
		for _, s := range []*[]float64{&b.ways, &b.depend, &b.score} {
			if *s, err = slice[float64](j, n); err != nil {
				return b, err
			}
		}
		b.order, err = slice[uint32](j, n)
		return b, err
	})
}

// from adds the ways from s.
func (b *brandes) from(ctx context.Context, own *runtime.Run, out *lists, s uint32) error {
	b.order = append(b.order[:0], s)
	b.level[s], b.ways[s] = 1, 1
	work := 0
	check := func(edges int) error {
		if work += edges; work < checkEvery {
			return nil
		}
		work = 0
		return own.CheckCancel(ctx)
	}
	for i := 0; i < len(b.order); i++ {
		v := b.order[i]
		for _, u := range out.of(int(v)) {
			if b.level[u] == 0 {
				b.level[u] = b.level[v] + 1
				b.order = append(b.order, u)
			}
			if b.level[u] == b.level[v]+1 {
				b.ways[u] += b.ways[v]
			}
		}
		if err := check(len(out.of(int(v)))); err != nil {
			return err
		}
	}
	for _, v := range slices.Backward(b.order) {
		for _, u := range out.of(int(v)) {
			if b.level[u] == b.level[v]+1 {
				b.depend[v] += b.ways[v] / b.ways[u] * (1 + b.depend[u])
			}
		}
		if v != s {
			b.score[v] += b.depend[v]
		}
		if err := check(len(out.of(int(v)))); err != nil {
			return err
		}
	}
	for _, v := range b.order {
		b.level[v], b.ways[v], b.depend[v] = 0, 0, 0
	}
	return own.CheckCancel(ctx)
}
