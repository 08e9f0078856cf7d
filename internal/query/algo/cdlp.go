package algo

import (
	"context"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

var cdlp = Algorithm{
	Name: "algo.cdlp", Results: "node :: NODE, community :: INTEGER",
	Description: "Find communities by label propagation: a node takes the community that most of its neighbours have, of several the one with the least id.",
	keys:        []string{"direction", "maxIterations"},
	defaults:    undirected,
	compute:     computeCDLP,
}

// computeCDLP follows LDBC Graphalytics: all vertices change at the same time, and a neighbour counts as often as edges join it. It
// ends early when nothing changes any more.
func computeCDLP(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	lists, err := j.neighbours(ctx, j.direction)
	if err != nil {
		return nil, err
	}
	n := len(j.ids)
	now, err := slice[uint32](j, n)
	if err != nil {
		return nil, err
	}
	next, err := slice[uint32](j, n)
	if err != nil {
		return nil, err
	}
	for v := range now {
		now[v] = uint32(v)
	}
	counts, err := newWorkers(n, func() ([]uint32, error) { return slice[uint32](j, n) })
	if err != nil {
		return nil, err
	}
	for range j.maxIterations {
		var changed atomic.Bool
		err := j.each(ctx, n, func(own *runtime.Run) func(lo, hi int) error {
			count := *counts.of(own)
			var seen []uint32
			return func(lo, hi int) error {
				some := false
				for v := lo; v < hi; v++ {
					next[v], seen = mostFrequent(lists.of(v), now, now[v], count, seen)
					some = some || next[v] != now[v]
				}
				if some {
					changed.Store(true)
				}
				return nil
			}
		})
		if err != nil {
			return nil, err
		}
		now, next = next, now
		if !changed.Load() {
			break
		}
	}
	return j.of(column{numbers: now}), nil
}

// mostFrequent returns the label of most neighbours, the least in a tie, or own without neighbours. count is 0 for all labels,
// before and after.
func mostFrequent(neighbours, labels []uint32, own uint32, count, seen []uint32) (uint32, []uint32) {
	seen = seen[:0]
	best, most := own, uint32(0)
	for _, u := range neighbours {
		l := labels[u]
		c := count[l] + 1
		count[l] = c
		if c == 1 {
			seen = append(seen, l)
		}
		if c > most || c == most && l < best {
			best, most = l, c
		}
	}
	for _, l := range seen {
		count[l] = 0
	}
	return best, seen
}
