package search

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
)

// reachWays is what a reach keeps of the ways to its ends: their lengths, and the last edge of each.
type reachWays struct {
	depthAt, lastAt int     // positions in the result, or -1
	depths          []int32 // by end
	table           vertexTable
	edges           []graph.Edge // by the number of a vertex in table
}

func (w *reachWays) reset() {
	w.table.clear()
	w.edges = w.edges[:0]
}

func (w *reachWays) needsEdges() bool { return w != nil && w.lastAt >= 0 }

// reached notes that edge i of an answer to the sorted list is the first to lead to its target.
func (w *reachWays) reached(h *adjacency.Reader, i int, list []graph.VertexID) {
	u, _ := slices.BinarySearch(h.Answer.Offsets, i+1) // the first source whose edges end behind i
	w.table.put(h.Answer.Targets[i], int32(len(w.edges)))
	w.edges = append(w.edges, h.Edge(i, list[u-1]))
}

// measure numbers the distances of visited but for its first, which is the start; begins says where each begins.
func (w *reachWays) measure(visited []graph.VertexID, begins []int) {
	w.depths = slices.Grow(w.depths[:0], len(visited))
	d := 0
	for i := range visited {
		for d+1 < len(begins) && begins[d+1] <= i {
			d++
		}
		if i > 0 {
			w.depths = append(w.depths, int32(d))
		}
	}
}

// move puts what is known of end i in place n.
func (w *reachWays) move(n, i int) {
	if w != nil {
		w.depths[n] = w.depths[i]
	}
}

// describe adds what is known of the last n ends that were given to their columns.
func (x *varExpand) describe(n int) {
	w := x.reach.ways
	if w == nil {
		return
	}
	lo := x.endsGiven - n
	if w.depthAt >= 0 {
		col := &x.Out.Cols[w.depthAt]
		for _, d := range w.depths[lo : lo+n] {
			col.Vals = append(col.Vals, graph.IntValue(int64(d)))
		}
	}
	if w.lastAt >= 0 {
		col := &x.Out.Cols[w.lastAt]
		for _, v := range x.reach.ends[lo : lo+n] {
			at, _ := w.table.get(v)
			col.Vals = append(col.Vals, graph.EdgeRefValue(x.t.writer.Keep(w.edges[at])))
		}
	}
}
