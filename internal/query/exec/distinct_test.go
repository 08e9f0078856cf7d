package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// The distinct ends of two expansions equal those of all their rows, whichever edges must differ and whatever operators stand
// between. The last expansion returns each end once.
func TestDistinctEnds(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 3 + rng.IntN(20)
		w := newWorld(t, rng, 1+2*int(seed%2), n, n+rng.IntN(3*n))
		q := &plan.Query{}
		a, e, b := q.NewCol("a", graph.VertexKind), q.NewCol("e", graph.EdgeKind), q.NewCol("b", graph.VertexKind)
		f, c := q.NewCol("f", graph.EdgeKind), q.NewCol("c", graph.VertexKind)
		x := &plan.Expand{From: b, Edge: f, To: c, Dir: graph.Direction(rng.IntN(3)), Input: &plan.Expand{
			From: a, Edge: e, To: b, Dir: graph.Direction(rng.IntN(3)), Input: &plan.Scan{Input: &plan.Unit{}, Out: a},
		}}
		if rng.IntN(2) == 0 {
			x.DistinctFrom = []plan.Col{e}
		}
		seen, want := map[int]bool{}, []string{}
		for _, r := range w.rows(x) {
			if v := r.v[c]; !seen[v] {
				seen[v] = true
				want = append(want, fmt.Sprintf("v%d", v))
			}
		}
		slices.Sort(want)
		q.Root, q.Out = &plan.Distinct{Cols: []plan.Col{c}, Input: &plan.Project{Input: x, Items: []plan.Item{{Col: c, Expr: &plan.ColRef{Col: c}}}}}, []plan.Col{c}
		batch := []int{1, 3, 1024}[rng.IntN(3)]
		require.Equal(t, want, w.run(t, q, batch))

		p, err := Compile(q, Options{BatchSize: batch})
		require.NoError(t, err)
		rows, err := p.Run(ctx, w.g, w.tx, runtime.Env{})
		require.NoError(t, err)
		for got := 0; got < len(want); {
			out, err := rows.Next(ctx)
			require.NoError(t, err)
			got += out.N
		}
		for i, s := range p.program.Stages {
			if s.Node == x {
				require.EqualValues(t, len(want), rows.Stats()[i].Rows)
			}
		}
		rows.Close()
	}
}
