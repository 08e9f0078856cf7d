package algo

import (
	"context"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

var bfs = Algorithm{
	Name: "algo.bfs", Results: "node :: NODE, distance :: INTEGER",
	Description: "Count the edges of a shortest path from a node to each node; null if there is none.",
	keys:        []string{"source", "direction"},
	required:    []string{"source"},
	compute:     computeBFS,
}

// start returns the number of the source.
func (j *job) start() (uint32, error) {
	s, ok := j.find(j.source)
	if !ok {
		return 0, invalid("%s: source is not one of the nodes", j.acct.Name)
	}
	return s, nil
}

// unreached is the distance of vertices that no way leads to.
const unreached = -1

// computeBFS requests one step of all vertices of a level at a time from the shards, as searches do, and reads no lists itself.
func computeBFS(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	s, err := j.start()
	if err != nil {
		return nil, err
	}
	distances, err := slice[int64](j, len(j.ids))
	if err != nil {
		return nil, err
	}
	for v := range distances {
		distances[v] = unreached
	}
	distances[s] = 0
	if err := j.acct.Grow(len(j.ids) / 4); err != nil { // a bit for each vertex in two sets
		return nil, err
	}
	level, next := &graph.VertexSet{}, &graph.VertexSet{}
	level.Add(j.source)
	var found []graph.VertexID
	for d, more := int64(1), true; more; d++ {
		if err := j.run.CheckCancel(ctx); err != nil {
			return nil, err
		}
		next.Clear()
		if err := j.call.Tx.Step(ctx, level, j.types, j.direction, next); err != nil {
			return nil, err
		}
		before := cap(found)
		found = next.AppendTo(found[:0])
		if err := j.acct.Grow(8 * (cap(found) - before)); err != nil {
			return nil, err
		}
		more = false
		for _, id := range found {
			if v, ok := j.find(id); ok && distances[v] == unreached {
				distances[v], more = d, true
			} else {
				next.Remove(id)
			}
		}
		level, next = next, level
	}
	return j.of(column{integers: distances, nullable: true, missing: unreached}), nil
}

var sssp = Algorithm{
	Name: "algo.sssp", Results: "node :: NODE, distance :: FLOAT",
	Description: "Add up the weights of a cheapest path from a node to each node; null if there is none.",
	keys:        []string{"source", "direction", "weight"},
	required:    []string{"source"},
	compute:     computeSSSP,
}

// computeSSSP is Dijkstra's algorithm.
func computeSSSP(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	s, err := j.start()
	if err != nil {
		return nil, err
	}
	out, err := j.neighbours(ctx, j.direction)
	if err != nil {
		return nil, err
	}
	h := &heap{}
	if h.cost, err = slice[float64](j, len(j.ids)); err != nil {
		return nil, err
	}
	if h.place, err = slice[int32](j, len(j.ids)); err != nil {
		return nil, err
	}
	if err := j.acct.Grow(4 * len(j.ids)); err != nil { // the heap
		return nil, err
	}
	for v := range h.cost {
		h.cost[v], h.place[v] = math.Inf(1), -1
	}
	h.lower(s, 0)
	for done := 0; len(h.heap) > 0; done++ {
		if done%partSize == 0 {
			if err := j.run.CheckCancel(ctx); err != nil {
				return nil, err
			}
		}
		v := h.pop()
		cost := h.cost[v]
		for i, u := range out.of(int(v)) {
			step := 1.0
			if out.weights != nil {
				step = out.weightsOf(int(v))[i]
			}
			if cost+step < h.cost[u] {
				h.lower(u, cost+step)
			}
		}
	}
	return j.of(column{floats: h.cost, nullable: true, missing: math.Inf(1)}), nil
}

// heap holds vertices, the cheapest first.
type heap struct {
	heap  []uint32
	place []int32 // of each vertex in heap; -1: it is not there
	cost  []float64
}

// lower lowers the cost of a vertex and adds it to the heap.
func (h *heap) lower(v uint32, cost float64) {
	h.cost[v] = cost
	i := h.place[v]
	if i < 0 {
		i = int32(len(h.heap))
		h.heap = append(h.heap, v)
	}
	for i > 0 {
		p := (i - 1) / 2
		u := h.heap[p]
		if h.cost[u] <= cost {
			break
		}
		h.heap[i], h.place[u] = u, i
		i = p
	}
	h.heap[i], h.place[v] = v, i
}

// pop takes the cheapest vertex out.
func (h *heap) pop() uint32 {
	top := h.heap[0]
	last := len(h.heap) - 1
	v := h.heap[last]
	h.heap = h.heap[:last]
	h.place[top] = -1
	if last == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h.cost[h.heap[c+1]] < h.cost[h.heap[c]] {
			c++
		}
		u := h.heap[c]
		if h.cost[v] <= h.cost[u] {
			break
		}
		h.heap[i], h.place[u] = u, int32(i)
		i = c
	}
	h.heap[i], h.place[v] = v, int32(i)
	return top
}
