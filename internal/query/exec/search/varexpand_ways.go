package search

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// reachWays records the lengths and last edges of the paths that a reach finds.
type reachWays struct {
	depthAt, lastAt int     // positions in the result, or -1
	depths          []int32 // by end
}

func (w *reachWays) needsEdges() bool { return w != nil && w.lastAt >= 0 }

// reached records that edge i of an answer to the sorted list is the first to reach its target.
func (s *reach) reached(i int, list []graph.VertexID) {
	u, _ := slices.BinarySearch(s.reader.Answer.Offsets, i+1) // the first source whose edges end behind i
	s.tree.add(s.reader.Answer.Targets[i])
	s.tree.edges = append(s.tree.edges, s.reader.Edge(i, list[u-1]))
}

// measure computes the distances of visited except for its first vertex, the start; begins holds the first position of each
// distance.
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

// move moves the record of end i to n.
func (w *reachWays) move(n, i int) {
	if w != nil {
		w.depths[n] = w.depths[i]
	}
}

// describe writes the records of the last n ends to their columns.
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
