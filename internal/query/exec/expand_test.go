package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// someChain builds a chain of scans and expansions, with all of their options.
func someChain(rng *rand.Rand, q *plan.Query, steps int) (root plan.Node, vertices, edges []plan.Col) {
	newVertex := func() plan.Col {
		c := q.NewCol("v", graph.VertexKind)
		vertices = append(vertices, c)
		return c
	}
	root = &plan.Scan{Input: &plan.Unit{}, Out: newVertex(), Labels: someLabels(rng)}
	for range steps {
		if rng.IntN(8) == 0 && len(vertices) < 3 {
			root = &plan.Scan{Input: root, Out: newVertex(), Labels: someLabels(rng)}
			continue
		}
		x := &plan.Expand{Input: root, From: vertices[rng.IntN(len(vertices))], Types: someTypes(rng), Dir: someDirection(rng)}
		for _, e := range edges {
			if rng.IntN(2) == 0 {
				x.DistinctFrom = append(x.DistinctFrom, e)
			}
		}
		if x.Into = rng.IntN(3) == 0; x.Into {
			x.To = vertices[rng.IntN(len(vertices))]
		} else {
			x.To = newVertex()
		}
		if rng.IntN(3) == 0 {
			x.Labels = someLabels(rng)
		}
		if rng.IntN(4) > 0 {
			x.Edge = q.NewCol("e", graph.EdgeKind)
			edges = append(edges, x.Edge)
			switch rng.IntN(6) {
			case 0, 1:
				x.Where = append(x.Where, heavier(x.Edge, intConst(rng.IntN(8))))
			case 2:
				x.Where = append(x.Where, heavier(x.Edge, &plan.Prop{X: &plan.ColRef{Col: x.From}, Key: "n"}))
			}
		}
		root = x
	}
	return root, vertices, edges
}

// Rows equal those of the interpreter, whichever columns are requested.
func TestExpandIsRight(t *testing.T) { worlds(t, 1500, checkExpand) }

func checkExpand(t *testing.T, rng *rand.Rand, w *world, batch int) {
	q := &plan.Query{}
	root, vertices, edges := someChain(rng, q, 1+rng.IntN(3))
	q.Root = root
	for _, c := range append(vertices, edges...) {
		if rng.IntN(3) > 0 {
			q.Out = append(q.Out, c)
			q.Names = append(q.Names, "c")
		}
	}
	want := w.want(q)
	require.Equal(t, want, w.run(t, q, batch), "%s", plan.Format(q))
	require.Equal(t, want, w.runInSubplan(t, q, batch), "%s", plan.Format(q))
}

// Edges between two vertices of each row are found whichever end has long lists, both or none, of several edges or of none at all.
func TestExpandIntoLongLists(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := &world{stored: seed%2 > 0}
		const n = 6
		w.vertices = make([]worldVertex, n)
		hubs := [2]int{1 + rng.IntN(n), 1 + rng.IntN(n)} // sources and targets, so some vertices have no edges
		for range 1200 {
			w.edges = append(w.edges, worldEdge{src: rng.IntN(hubs[0]), dst: n - 1 - rng.IntN(hubs[1]), typ: []string{"R", "S"}[rng.IntN(2)]})
		}
		makeWorld(t, w, rng, 1+int(seed%3), 0, 0)
		for range 6 {
			q := &plan.Query{}
			x := &plan.Expand{Types: someTypes(rng), Dir: someDirection(rng), Into: true, Edge: q.NewCol("e", graph.EdgeKind)}
			x.From, x.To = q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
			x.Input = &plan.Scan{Input: &plan.Scan{Input: &plan.Unit{}, Out: x.From}, Out: x.To}
			if rng.IntN(2) == 0 {
				x.Input = &plan.Scan{Input: &plan.Scan{Input: &plan.Unit{}, Out: x.To}, Out: x.From}
			}
			q.Root, q.Out, q.Names = x, []plan.Col{x.From, x.Edge, x.To}, []string{"a", "e", "b"}
			want := w.want(q)
			for _, batch := range []int{1, 3, 1024} {
				require.Equal(t, want, w.run(t, q, batch), "%s", plan.Format(q))
			}
		}
	}
}

// Operators are correct over a store, too, whose shards answer on their own.
func TestStoredGraphs(t *testing.T) {
	checks := []func(*testing.T, *rand.Rand, *world, int){
		checkExpand, checkVarExpand, checkVarExpandEnds, checkShortestPath, checkFrontierCount,
	}
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 11))
		n := 2 + rng.IntN(7)
		w := newStoredWorld(t, rng, 1+int(seed%3), n, min(9, rng.IntN(2*n+1)))
		for range 40 {
			checks[rng.IntN(len(checks))](t, rng, w, []int{1, 3, 1024}[rng.IntN(3)])
		}
	}
}
