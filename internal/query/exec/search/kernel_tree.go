package search

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// tree numbers vertices in the order in which a search reaches them, and keeps for each the last edges of the paths to it: one,
// or all of the least length. The zero value is empty.
type tree struct {
	table  vertexTable
	vertex []graph.VertexID
	dist   []int32 // parallel to vertex, in edges; the other slices only if the search fills them
	cost   []float64
	head   []int32 // the first link, or -1
	links  []treeLink
	edges  []graph.Edge // parallel to links, or to vertex where each vertex has one link
	level  int          // the start of the last level in vertex
}

// treeLink is the last edge of a path to a vertex.
type treeLink struct {
	pred int32 // the vertex before
	next int32 // the next link of the same vertex, or -1
}

func (t *tree) clear() {
	t.table.clear()
	t.vertex, t.dist, t.cost, t.head = t.vertex[:0], t.dist[:0], t.cost[:0], t.head[:0]
	t.links, t.edges, t.level = t.links[:0], t.edges[:0], 0
}

// start sets the first level to one vertex.
func (t *tree) start(v graph.VertexID) {
	t.clear()
	t.add(v)
	t.dist = append(t.dist, 0)
}

// nextLevel starts the next level. It returns the last one, sorted; entry i of it is vertex lo+f.Order[i].
func (t *tree) nextLevel(f *runtime.Frontier) (lo int32, list []graph.VertexID) {
	lo = int32(t.level)
	f.Set(t.vertex[lo:])
	t.level = len(t.vertex)
	return lo, f.IDs
}

// add returns the number of a vertex and whether it is new.
func (t *tree) add(v graph.VertexID) (at int32, added bool) {
	at, added = t.table.put(v, int32(len(t.vertex)))
	if added {
		t.vertex = append(t.vertex, v)
	}
	return at, added
}

// bytes estimates the memory of the tree.
func (t *tree) bytes() int {
	return 8*(len(t.vertex)+len(t.cost)+len(t.links)) + 4*(len(t.dist)+len(t.head)) + 32*(len(t.edges)+t.table.n)
}
