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
