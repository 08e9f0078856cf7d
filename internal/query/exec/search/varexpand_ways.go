package search

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// reachWays is what a reach keeps of the ways to its ends: their lengths, and the last edge of each.
type reachWays struct {
	depthAt, lastAt int     // positions in the result, or -1
	depths          []int32 // by end
}

func (w *reachWays) needsEdges() bool { return w != nil && w.lastAt >= 0 }

// reached notes that edge i of an answer to the sorted list is the first to lead to its target.
func (s *reach) reached(i int, list []graph.VertexID) {
	u, _ := slices.BinarySearch(s.reader.Answer.Offsets, i+1) // the first source whose edges end behind i
	s.tree.add(s.reader.Answer.Targets[i])
	s.tree.edges = append(s.tree.edges, s.reader.Edge(i, list[u-1]))
}

// measure numbers the distances of visited except for its first, which is the start; begins says where each begins.
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
		for _, v := range x.reach.ids[lo : lo+n] {
			at, _ := x.reach.tree.table.get(v)
			col.Vals = append(col.Vals, graph.EdgeRefValue(x.t.writer.Keep(x.reach.tree.edges[at])))
		}
	}
}
